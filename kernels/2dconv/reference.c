/* SPDX-License-Identifier: MIT */
/* The convolution, weight by weight over whole rows. */
#include "corun/workload.h"

#include <stdlib.h>

static const double weights[3][3] = {{0.1875, -0.25, 0.3125}, {0.4375, 0.5625, 0.625}, {-0.75, -0.875, 0.125}};

static bool compute(const struct corun_problem *problem)
{
    size_t ni = (size_t)corun_problem_value(problem, "ni");
    size_t nj = (size_t)corun_problem_value(problem, "nj");
    const float *in = corun_problem_data(problem, "in", CORUN_ELEMENT_F32, ni * nj);
    float *out = corun_problem_data(problem, "out", CORUN_ELEMENT_F32, ni * nj);
    double *sums = malloc(nj * sizeof *sums);
    if (!in || !out || !sums || ni < 3 || nj < 3) {
        free(sums);
        return false;
    }
    for (size_t i = 1; i + 1 < ni; i++) {
        for (size_t j = 1; j + 1 < nj; j++)
            sums[j] = 0;
        for (size_t row = 0; row < 3; row++) {
            for (size_t column = 0; column < 3; column++) {
                const float *from = in + (i + row - 1) * nj + column - 1;
                for (size_t j = 1; j + 1 < nj; j++)
                    sums[j] += weights[row][column] * (double)from[j];
            }
        }
        for (size_t j = 1; j + 1 < nj; j++)
            out[i * nj + j] = (float)sums[j];
    }
    free(sums);
    return true;
}

const struct corun_reference corun_reference_2dconv = {.name = "2dconv", .compute = compute};
