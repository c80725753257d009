/* SPDX-License-Identifier: MIT */
/* Points on the sphere, a clustered set and uniform ones, and their pairs counted by angle. */
#include "corun/workload.h"

#include <math.h>
#include <stdlib.h>

#define BINS 20
#define PER_DECADE 5.0
#define CLUSTERS 12

struct sky {
    int64_t points, random_sets;
    float *x, *y, *z, *borders;
};

static bool sky_of(const struct corun_problem *problem, struct sky *sky)
{
    sky->points = corun_problem_value(problem, "points");
    sky->random_sets = corun_problem_value(problem, "random_sets");
    if (sky->points < 2 || sky->random_sets < 1)
        return false;
    uint64_t all = (uint64_t)(sky->points * (sky->random_sets + 1));
    sky->x = corun_problem_data(problem, "x", CORUN_ELEMENT_F32, all);
    sky->y = corun_problem_data(problem, "y", CORUN_ELEMENT_F32, all);
    sky->z = corun_problem_data(problem, "z", CORUN_ELEMENT_F32, all);
    sky->borders = corun_problem_data(problem, "borders", CORUN_ELEMENT_F32, BINS + 1);
    return sky->x && sky->y && sky->z && sky->borders;
}

/* Anywhere on the unit sphere (Marsaglia 1972: from a point in the unit circle, without trigonometry). */
static void random_direction(double direction[3], uint64_t *state)
{
    double u, v, square;
    do {
        u = 2.0 * (double)corun_random_unit(state) - 1.0;
        v = 2.0 * (double)corun_random_unit(state) - 1.0;
        square = u * u + v * v;
    } while (square >= 1.0);
    direction[0] = 2.0 * u * sqrt(1.0 - square);
    direction[1] = 2.0 * v * sqrt(1.0 - square);
    direction[2] = 1.0 - 2.0 * square;
}

static void put(const struct sky *sky, int64_t index, const double direction[3])
{
    double length = sqrt(direction[0] * direction[0] + direction[1] * direction[1] + direction[2] * direction[2]);
    sky->x[index] = (float)(direction[0] / length);
    sky->y[index] = (float)(direction[1] / length);
    sky->z[index] = (float)(direction[2] / length);
}

/* Three quarters of the points lie in clusters that get denser towards their centres, down to about an arc minute. */
static void generate_observed(const struct sky *sky, uint64_t *state)
{
    double centres[CLUSTERS][3];
    for (int i = 0; i < CLUSTERS; i++)
        random_direction(centres[i], state);
    for (int64_t i = 0; i < sky->points; i++) {
        double direction[3], offset[3];
        random_direction(direction, state);
        if (i % 4 != 0) {
            const double *centre = centres[corun_random(state) % CLUSTERS];
            double unit = (double)corun_random_unit(state);
            random_direction(offset, state);
            for (int axis = 0; axis < 3; axis++)
                direction[axis] = centre[axis] + 0.3 * unit * unit * unit * offset[axis];
        }
        put(sky, i, direction);
    }
}

static bool generate(const struct corun_problem *problem)
{
    struct sky sky;
    if (!sky_of(problem, &sky))
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x736b790000000000);
    generate_observed(&sky, &state);
    for (int64_t i = sky.points; i < sky.points * (sky.random_sets + 1); i++) {
        double direction[3];
        random_direction(direction, &state);
        put(&sky, i, direction);
    }
    const double arc_minute = 3.14159265358979323846 / (180.0 * 60.0);
    for (int i = 0; i <= BINS; i++)
        sky.borders[i] = (float)cos(arc_minute * pow(10.0, i / PER_DECADE));
    return true;
}

/* Most pairs lie far apart: the bins are tried from the widest angle on. */
static void count_pair(const struct sky *sky, int64_t a, int64_t b, uint32_t counts[BINS])
{
    float cosine = fmaf(sky->x[b], sky->x[a], fmaf(sky->y[b], sky->y[a], sky->z[b] * sky->z[a]));
    if (cosine <= sky->borders[BINS])
        return;
    for (int bin = BINS - 1; bin >= 0; bin--) {
        if (cosine <= sky->borders[bin]) {
            counts[bin]++;
            return;
        }
    }
}

static bool compute(const struct corun_problem *problem)
{
    struct sky sky;
    if (!sky_of(problem, &sky))
        return false;
    uint64_t combinations = (uint64_t)(2 * sky.random_sets + 1);
    uint32_t *counts = corun_problem_data(problem, "histograms", CORUN_ELEMENT_U32, combinations * BINS);
    if (!counts)
        return false;
    memset(counts, 0, combinations * BINS * sizeof *counts);
    for (int64_t set = 0; set <= sky.random_sets; set++) {
        int64_t first = set * sky.points;
        for (int64_t i = 0; i < sky.points; i++) {
            for (int64_t j = i + 1; j < sky.points; j++)
                count_pair(&sky, first + i, first + j, counts + set * BINS);
        }
    }
    for (int64_t set = 1; set <= sky.random_sets; set++) {
        for (int64_t i = 0; i < sky.points; i++) {
            for (int64_t j = 0; j < sky.points; j++)
                count_pair(&sky, i, set * sky.points + j, counts + (sky.random_sets + set) * BINS);
        }
    }
    return true;
}

const struct corun_reference corun_reference_tpacf = {
    .name = "tpacf",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"sky", generate}, {0}},
};
