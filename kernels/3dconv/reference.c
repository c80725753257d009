/* SPDX-License-Identifier: MIT */
/* The convolution, point by point from a list of neighbours. */
#include "corun/workload.h"

static const struct {
    int plane, row, column;
    double weight;
} neighbours[] = {
    {-1, -1, -1, 0.1875}, {-1, -1, 1, 0.375}, {-1, 0, 1, -0.5},   {-1, 1, 1, -0.75},
    {0, -1, 0, -0.3125},  {0, 0, 0, 0.5625},  {0, 1, 0, -0.4375}, {1, -1, -1, 0.25},
    {1, -1, 1, 0.625},    {1, 0, 1, 0.6875},  {1, 1, 1, 0.125},
};

static bool compute(const struct corun_problem *problem)
{
    int64_t ni = corun_problem_value(problem, "ni");
    int64_t nj = corun_problem_value(problem, "nj");
    int64_t nk = corun_problem_value(problem, "nk");
    if (ni < 3 || nj < 3 || nk < 3)
        return false;
    uint64_t count = (uint64_t)ni * (uint64_t)nj * (uint64_t)nk;
    const float *in = corun_problem_data(problem, "in", CORUN_ELEMENT_F32, count);
    float *out = corun_problem_data(problem, "out", CORUN_ELEMENT_F32, count);
    if (!in || !out)
        return false;
    for (int64_t i = 1; i < ni - 1; i++) {
        for (int64_t j = 1; j < nj - 1; j++) {
            for (int64_t k = 1; k < nk - 1; k++) {
                double sum = 0;
                for (size_t n = 0; n < sizeof neighbours / sizeof *neighbours; n++) {
                    int64_t plane = i + neighbours[n].plane, row = j + neighbours[n].row;
                    sum += neighbours[n].weight * (double)in[(plane * nj + row) * nk + k + neighbours[n].column];
                }
                out[(i * nj + j) * nk + k] = (float)sum;
            }
        }
    }
    return true;
}

const struct corun_reference corun_reference_3dconv = {.name = "3dconv", .compute = compute};
