/* SPDX-License-Identifier: MIT */
/* The cheapest way to each column of the last row: whole rows at a time, in place. */
#include "corun/workload.h"

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static bool compute(const struct corun_problem *problem)
{
    int64_t columns = corun_problem_value(problem, "columns");
    int64_t rows = corun_problem_value(problem, "rows");
    const int32_t *wall = corun_problem_data(problem, "wall", CORUN_ELEMENT_S32, (uint64_t)(columns * rows));
    int32_t *cost = corun_problem_data(problem, "cost", CORUN_ELEMENT_S32, (uint64_t)columns);
    if (!wall || !cost)
        return false;
    for (int64_t y = 0; y < rows; y++) {
        int32_t left = cost[0]; /* of the row before, already overwritten */
        for (int64_t x = 0; x < columns; x++) {
            int32_t here = cost[x];
            int32_t cheapest = least(left, here);
            if (x + 1 < columns)
                cheapest = least(cheapest, cost[x + 1]);
            cost[x] = cheapest + wall[y * columns + x];
            left = here;
        }
    }
    return true;
}

const struct corun_reference corun_reference_pathfinder = {.name = "pathfinder", .compute = compute};
