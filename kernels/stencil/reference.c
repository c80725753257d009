/* SPDX-License-Identifier: MIT */
/* Jacobi steps with weights 0.125 (neighbours) and -0.25 (centre); points on the border stay. */
#include "corun/workload.h"

#include <stdlib.h>

struct grid {
    size_t nx, ny, nz, points;
};

static struct grid grid_of(const struct corun_problem *problem)
{
    struct grid grid = {(size_t)corun_problem_value(problem, "nx"), (size_t)corun_problem_value(problem, "ny"),
                        (size_t)corun_problem_value(problem, "nz"), 0};
    grid.points = grid.nx * grid.ny * grid.nz;
    return grid;
}

static bool generate(const struct corun_problem *problem)
{
    struct grid grid = grid_of(problem);
    float *now = corun_problem_data(problem, "now", CORUN_ELEMENT_F32, grid.points);
    float *next = corun_problem_data(problem, "next", CORUN_ELEMENT_F32, grid.points);
    if (!now || !next)
        return false;
    uint64_t state = problem->seed;
    for (size_t i = 0; i < grid.points; i++)
        now[i] = next[i] = corun_random_unit(&state);
    return true;
}

static bool compute(const struct corun_problem *problem)
{
    struct grid grid = grid_of(problem);
    int64_t steps = corun_problem_value(problem, "steps");
    if (grid.nx < 3 || grid.ny < 3 || grid.nz < 3)
        return false;
    float *now = corun_problem_data(problem, "now", CORUN_ELEMENT_F32, grid.points);
    float *next = malloc(grid.points * sizeof *next);
    if (!now || !next) {
        free(next);
        return false;
    }
    size_t row = grid.nx, plane = grid.nx * grid.ny;
    for (int64_t step = 0; step < steps; step++) {
        memcpy(next, now, grid.points * sizeof *next);
        for (size_t z = 1; z < grid.nz - 1; z++) {
            for (size_t y = 1; y < grid.ny - 1; y++) {
                for (size_t x = 1; x < grid.nx - 1; x++) {
                    const float *p = now + (z * plane + y * row + x);
                    float around = p[-1] + p[1] + p[-(ptrdiff_t)row] + p[row] + p[-(ptrdiff_t)plane] + p[plane];
                    next[p - now] = 0.125f * around - 0.25f * *p;
                }
            }
        }
        memcpy(now, next, grid.points * sizeof *next);
    }
    free(next);
    return true;
}

const struct corun_reference corun_reference_stencil = {
    .name = "stencil",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"grids", generate}, {0}},
};
