/* SPDX-License-Identifier: MIT */
/* Both products in one pass over the rows of the matrix. */
#include "corun/workload.h"

#include "dense.h"

static bool compute(const struct corun_problem *problem)
{
    size_t n = (size_t)corun_problem_value(problem, "n");
    const float *a = corun_problem_data(problem, "a", CORUN_ELEMENT_F32, n * n);
    const float *y1 = corun_problem_data(problem, "y1", CORUN_ELEMENT_F32, n);
    const float *y2 = corun_problem_data(problem, "y2", CORUN_ELEMENT_F32, n);
    float *x1 = corun_problem_data(problem, "x1", CORUN_ELEMENT_F32, n);
    float *x2 = corun_problem_data(problem, "x2", CORUN_ELEMENT_F32, n);
    double *sums = x2 ? dense_copy(x2, n) : NULL;
    if (!a || !y1 || !y2 || !x1 || !sums) {
        free(sums);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        x1[i] = (float)(x1[i] + dense_dot(a + i * n, y1, n));
        dense_add_scaled(sums, y2[i], a + i * n, n);
    }
    for (size_t j = 0; j < n; j++)
        x2[j] = (float)sums[j];
    free(sums);
    return true;
}

const struct corun_reference corun_reference_mvt = {.name = "mvt", .compute = compute};
