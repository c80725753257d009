/* SPDX-License-Identifier: MIT */
/* Water molecules in a box, in bins; their cut-off Coulomb potential on a lattice, in double precision, atom by atom. */
#include "corun/workload.h"

#include <math.h>
#include <stdlib.h>

#define BIN_LENGTH 4.0 /* angstrom */
#define BIN_DEPTH 8
#define REGION 8
#define SPACING (BIN_LENGTH / REGION)
#define MAX_NEIGHBOURS 1331

struct box {
    int64_t size[3];   /* in bins, without those around it */
    int64_t padded[3]; /* with those */
    int64_t pad, cutoff;
    int64_t first_layer, layers; /* of regions to compute */
    float *bins;                 /* x, y, z, charge of each place */
};

static bool box_of(const struct corun_problem *problem, struct box *box)
{
    *box = (struct box){
        .size = {corun_problem_value(problem, "size_x"), corun_problem_value(problem, "size_y"),
                 corun_problem_value(problem, "size_z")},
        .pad = corun_problem_value(problem, "pad"),
        .cutoff = corun_problem_value(problem, "cutoff"),
        .first_layer = corun_problem_value(problem, "first_layer"),
        .layers = corun_problem_value(problem, "layers"),
    };
    if (box->cutoff < 1 || (double)box->pad * BIN_LENGTH < (double)box->cutoff || box->first_layer < 0 ||
        box->first_layer + box->layers > box->size[2])
        return false;
    uint64_t places = BIN_DEPTH;
    for (int axis = 0; axis < 3; axis++) {
        box->padded[axis] = box->size[axis] + 2 * box->pad;
        places *= (uint64_t)box->padded[axis];
    }
    box->bins = corun_problem_data(problem, "bins", CORUN_ELEMENT_F32, 4 * places);
    return box->bins;
}

static float *bin_at(const struct box *box, const double position[3])
{
    int64_t index = 0;
    for (int axis = 2; axis >= 0; axis--)
        index = index * box->padded[axis] + box->pad + (int64_t)(position[axis] / BIN_LENGTH);
    return box->bins + index * BIN_DEPTH * 4;
}

static int atoms_in(const float *bin)
{
    int count = 0;
    while (count < BIN_DEPTH && bin[4 * count + 3] != 0)
        count++;
    return count;
}

static bool put_atom(const struct box *box, const double position[3], float charge)
{
    for (int axis = 0; axis < 3; axis++) {
        if (position[axis] < 0 || (float)position[axis] >= (float)((double)box->size[axis] * BIN_LENGTH))
            return false;
    }
    float *bin = bin_at(box, position);
    int count = atoms_in(bin);
    if (count == BIN_DEPTH)
        return false;
    for (int axis = 0; axis < 3; axis++)
        bin[4 * count + axis] = (float)position[axis];
    bin[4 * count + 3] = charge;
    return true;
}

static void remove_last_atom(const struct box *box, const double position[3])
{
    float *bin = bin_at(box, position);
    memset(bin + 4 * (atoms_in(bin) - 1), 0, 4 * sizeof *bin);
}

/* A vector of that length in any direction (from a point in the unit ball). */
static void random_vector(double vector[3], double length, uint64_t *state)
{
    double square;
    do {
        square = 0;
        for (int axis = 0; axis < 3; axis++) {
            vector[axis] = 2.0 * (double)corun_random_unit(state) - 1.0;
            square += vector[axis] * vector[axis];
        }
    } while (square > 1.0 || square < 0.01);
    for (int axis = 0; axis < 3; axis++)
        vector[axis] *= length / sqrt(square);
}

/* One molecule, as a whole or not at all: bonds of 0.957 A at 104.5 degrees, charges as in the TIP3P model. */
static void put_molecule(const struct box *box, const double oxygen[3], uint64_t *state)
{
    double first[3], second[3], atoms[3][3];
    random_vector(first, 0.957, state);
    random_vector(second, 1.0, state);
    double along = 0, across = 0;
    for (int axis = 0; axis < 3; axis++)
        along += first[axis] * second[axis] / 0.957;
    for (int axis = 0; axis < 3; axis++) {
        second[axis] -= along * first[axis] / 0.957;
        across += second[axis] * second[axis];
    }
    for (int axis = 0; axis < 3; axis++) {
        atoms[0][axis] = oxygen[axis];
        atoms[1][axis] = oxygen[axis] + first[axis];
        atoms[2][axis] = oxygen[axis] - 0.2504 * first[axis] + 0.957 * 0.9681 * second[axis] / sqrt(fmax(across, 1e-6));
    }
    for (int i = 0; i < 3; i++) {
        if (put_atom(box, atoms[i], i == 0 ? -0.834f : 0.417f))
            continue;
        while (i-- > 0)
            remove_last_atom(box, atoms[i]);
        return;
    }
}

/* Offsets of the bins that have a point nearer than the cutoff to some point of a region. */
static bool list_neighbours(const struct corun_problem *problem, const struct box *box)
{
    int32_t *count = corun_problem_data(problem, "neighbour_count", CORUN_ELEMENT_S32, 1);
    int32_t *offsets = corun_problem_data(problem, "neighbours", CORUN_ELEMENT_S32, MAX_NEIGHBOURS);
    if (!count || !offsets)
        return false;
    *count = 0;
    for (int64_t z = -box->pad; z <= box->pad; z++) {
        for (int64_t y = -box->pad; y <= box->pad; y++) {
            for (int64_t x = -box->pad; x <= box->pad; x++) {
                double square = 0;
                const int64_t offset[3] = {x, y, z};
                for (int axis = 0; axis < 3; axis++) {
                    double between = BIN_LENGTH * (double)(llabs(offset[axis]) - 1);
                    square += between > 0 ? between * between : 0;
                }
                if (square >= (double)(box->cutoff * box->cutoff))
                    continue;
                if (*count == MAX_NEIGHBOURS)
                    return false;
                offsets[*count] = (int32_t)((z * box->padded[1] + y) * box->padded[0] + x);
                ++*count;
            }
        }
    }
    return true;
}

/* Water of 0.0334 molecules per cubic angstrom: about one in each cell of 3.1 A, anywhere in the middle of it. */
static bool generate(const struct corun_problem *problem)
{
    struct box box;
    if (!box_of(problem, &box) || !list_neighbours(problem, &box))
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x7761746572000000);
    const double cell = 3.105;
    double oxygen[3], end[3];
    for (int axis = 0; axis < 3; axis++)
        end[axis] = (double)box.size[axis] * BIN_LENGTH;
    for (int k = 0; k * cell < end[2]; k++) {
        for (int j = 0; j * cell < end[1]; j++) {
            for (int i = 0; i * cell < end[0]; i++) {
                oxygen[0] = i * cell + cell * (0.2 + 0.6 * (double)corun_random_unit(&state));
                oxygen[1] = j * cell + cell * (0.2 + 0.6 * (double)corun_random_unit(&state));
                oxygen[2] = k * cell + cell * (0.2 + 0.6 * (double)corun_random_unit(&state));
                put_molecule(&box, oxygen, &state);
            }
        }
    }
    return true;
}

/* Adds what one atom does to the lattice: points of computed regions within the cutoff of it. */
static void add_atom(const struct box *box, const float atom[4], double *lattice)
{
    double cutoff = (double)box->cutoff;
    int64_t low[3], high[3];
    for (int axis = 0; axis < 3; axis++) {
        int64_t first = axis == 2 ? box->first_layer * REGION : 0;
        int64_t last = (axis == 2 ? box->first_layer + box->layers : box->size[axis]) * REGION - 1;
        low[axis] = (int64_t)fmax(ceil(((double)atom[axis] - cutoff) / SPACING), (double)first);
        high[axis] = (int64_t)fmin(floor(((double)atom[axis] + cutoff) / SPACING), (double)last);
    }
    for (int64_t z = low[2]; z <= high[2]; z++) {
        for (int64_t y = low[1]; y <= high[1]; y++) {
            for (int64_t x = low[0]; x <= high[0]; x++) {
                double dx = (double)x * SPACING - (double)atom[0];
                double dy = (double)y * SPACING - (double)atom[1];
                double dz = (double)z * SPACING - (double)atom[2];
                double square = dx * dx + dy * dy + dz * dz;
                if (square >= cutoff * cutoff)
                    continue;
                double window = 1.0 - square / (cutoff * cutoff);
                int64_t region = (z / REGION * box->size[1] + y / REGION) * box->size[0] + x / REGION;
                int64_t point = (z % REGION * REGION + y % REGION) * REGION + x % REGION;
                lattice[region * REGION * REGION * REGION + point] += (double)atom[3] / sqrt(square) * window * window;
            }
        }
    }
}

static bool compute(const struct corun_problem *problem)
{
    struct box box;
    if (!box_of(problem, &box))
        return false;
    uint64_t points = (uint64_t)(box.size[0] * box.size[1] * box.size[2]) * REGION * REGION * REGION;
    float *potential = corun_problem_data(problem, "potential", CORUN_ELEMENT_F32, points);
    double *lattice = calloc(points, sizeof *lattice);
    if (!potential || !lattice) {
        free(lattice);
        return false;
    }
    int64_t places = box.padded[0] * box.padded[1] * box.padded[2] * BIN_DEPTH;
    for (int64_t i = 0; i < places; i++) {
        if (box.bins[4 * i + 3] != 0)
            add_atom(&box, box.bins + 4 * i, lattice);
    }
    for (uint64_t i = 0; i < points; i++)
        potential[i] = (float)lattice[i];
    free(lattice);
    return true;
}

const struct corun_reference corun_reference_cutcp = {
    .name = "cutcp",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"water", generate}, {0}},
};
