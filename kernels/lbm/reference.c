/* SPDX-License-Identifier: MIT */
/*
 * D3Q19 lattice Boltzmann with one relaxation time, written from the equations: f_i(x + c_i) = f_i + omega (f_i^eq - f_i),
 * f_i^eq = w_i rho (1 + 3 c.u + 9/2 (c.u)^2 - 3/2 u^2); walls send every direction back along its opposite.
 */
#include "corun/workload.h"

#include <stdlib.h>

#define DIRECTIONS 19
#define CELL_WALL 1u
#define CELL_MOVING 2u
#define OMEGA 1.7f

static const int velocity[DIRECTIONS][3] = {
    {0, 0, 0},   {0, 1, 0},  {0, -1, 0}, {1, 0, 0},   {-1, 0, 0},  {0, 0, 1},  {0, 0, -1},
    {1, 1, 0},   {-1, 1, 0}, {1, -1, 0}, {-1, -1, 0}, {0, 1, 1},   {0, 1, -1}, {0, -1, 1},
    {0, -1, -1}, {1, 0, 1},  {1, 0, -1}, {-1, 0, 1},  {-1, 0, -1},
};

struct lattice {
    int64_t nx, ny, nz, pitch, slice, margin, stride;
};

static struct lattice lattice_of(const struct corun_problem *problem)
{
    return (struct lattice){
        .nx = corun_problem_value(problem, "nx"),
        .ny = corun_problem_value(problem, "ny"),
        .nz = corun_problem_value(problem, "nz"),
        .pitch = corun_problem_value(problem, "pitch"),
        .slice = corun_problem_value(problem, "slice"),
        .margin = corun_problem_value(problem, "margin"),
        .stride = corun_problem_value(problem, "stride"),
    };
}

static double weight_of(int direction)
{
    int speed = 0;
    for (int axis = 0; axis < 3; axis++)
        speed += abs(velocity[direction][axis]);
    return speed == 0 ? 1.0 / 3.0 : speed == 1 ? 1.0 / 18.0 : 1.0 / 36.0;
}

static int opposite_of(int direction)
{
    int other = 0;
    while (velocity[other][0] != -velocity[direction][0] || velocity[other][1] != -velocity[direction][1] ||
           velocity[other][2] != -velocity[direction][2])
        other++;
    return other;
}

static int64_t offset_of(const struct lattice *lattice, int direction)
{
    return velocity[direction][0] + velocity[direction][1] * lattice->pitch + velocity[direction][2] * lattice->slice;
}

static int64_t cell_of(const struct lattice *lattice, int64_t x, int64_t y, int64_t z)
{
    return lattice->margin + x + y * lattice->pitch + z * lattice->slice;
}

static uint32_t random_flag(const struct lattice *lattice, int64_t x, int64_t y, int64_t z, uint64_t *state)
{
    bool border = x == 0 || y == 0 || z == 0 || x == lattice->nx - 1 || y == lattice->ny - 1 || z == lattice->nz - 1;
    bool obstacle = corun_random(state) % 100 == 0;
    if (border || obstacle)
        return CELL_WALL;
    return z == lattice->nz - 2 ? CELL_MOVING : 0;
}

/* A box with walls all around, a few obstacles, a moving layer below its lid, and a fluid nearly at rest. */
static bool generate(const struct corun_problem *problem)
{
    struct lattice lattice = lattice_of(problem);
    if (lattice.nx > lattice.pitch || lattice.margin < lattice.slice + lattice.pitch + 1)
        return false;
    uint64_t count = (uint64_t)(DIRECTIONS * lattice.stride);
    float *now = corun_problem_data(problem, "now", CORUN_ELEMENT_F32, count);
    float *next = corun_problem_data(problem, "next", CORUN_ELEMENT_F32, count);
    uint32_t *flags = corun_problem_data(problem, "flags", CORUN_ELEMENT_U32, (uint64_t)lattice.stride);
    if (!now || !next || !flags)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x666c756964000000);
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        float weight = (float)weight_of(direction);
        for (int64_t i = 0; i < lattice.stride; i++) {
            int64_t place = direction * lattice.stride + i;
            now[place] = next[place] = weight * (0.99f + 0.02f * corun_random_unit(&state));
        }
    }
    for (int64_t z = 0; z < lattice.nz; z++) {
        for (int64_t y = 0; y < lattice.ny; y++) {
            for (int64_t x = 0; x < lattice.nx; x++)
                flags[cell_of(&lattice, x, y, z)] = random_flag(&lattice, x, y, z, &state);
        }
    }
    return true;
}

static void step_cell(const struct lattice *lattice, const float *now, float *next, uint32_t flag, int64_t cell)
{
    float here[DIRECTIONS], density = 0, flow[3] = {0, 0, 0};
    for (int i = 0; i < DIRECTIONS; i++) {
        here[i] = now[i * lattice->stride + cell];
        density += here[i];
        for (int axis = 0; axis < 3; axis++)
            flow[axis] += (float)velocity[i][axis] * here[i];
    }
    for (int axis = 0; axis < 3; axis++)
        flow[axis] /= density;
    if (flag & CELL_MOVING) {
        flow[0] = 0.005f;
        flow[1] = 0.002f;
        flow[2] = 0.0f;
    }
    float square = flow[0] * flow[0] + flow[1] * flow[1] + flow[2] * flow[2];
    for (int i = 0; i < DIRECTIONS; i++) {
        float along = 0;
        for (int axis = 0; axis < 3; axis++)
            along += (float)velocity[i][axis] * flow[axis];
        float equilibrium =
            (float)weight_of(i) * density * (1.0f + 3.0f * along + 4.5f * along * along - 1.5f * square);
        float value = flag & CELL_WALL ? here[opposite_of(i)] : here[i] + OMEGA * (equilibrium - here[i]);
        next[i * lattice->stride + cell + offset_of(lattice, i)] = value;
    }
}

static bool compute(const struct corun_problem *problem)
{
    struct lattice lattice = lattice_of(problem);
    int64_t steps = corun_problem_value(problem, "steps");
    uint64_t count = (uint64_t)(DIRECTIONS * lattice.stride);
    float *result = corun_problem_data(problem, "now", CORUN_ELEMENT_F32, count);
    float *now = result;
    float *next = corun_problem_data(problem, "next", CORUN_ELEMENT_F32, count);
    const uint32_t *flags = corun_problem_data(problem, "flags", CORUN_ELEMENT_U32, (uint64_t)lattice.stride);
    if (!now || !next || !flags)
        return false;
    for (int64_t step = 0; step < steps; step++) {
        for (int64_t z = 0; z < lattice.nz; z++) {
            for (int64_t y = 0; y < lattice.ny; y++) {
                for (int64_t x = 0; x < lattice.nx; x++) {
                    int64_t cell = cell_of(&lattice, x, y, z);
                    step_cell(&lattice, now, next, flags[cell], cell);
                }
            }
        }
        float *last = now;
        now = next;
        next = last;
    }
    if (now != result)
        memcpy(result, now, count * sizeof *result);
    return true;
}

const struct corun_reference corun_reference_lbm = {
    .name = "lbm",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"fluid", generate}, {0}},
};
