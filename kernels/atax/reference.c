/* SPDX-License-Identifier: MIT */
/* y = sum over rows of row * (row . x): both products in one pass over the matrix. */
#include "corun/workload.h"

#include "dense.h"

static bool compute(const struct corun_problem *problem)
{
    size_t nx = (size_t)corun_problem_value(problem, "nx");
    size_t ny = (size_t)corun_problem_value(problem, "ny");
    const float *a = corun_problem_data(problem, "a", CORUN_ELEMENT_F32, nx * ny);
    const float *x = corun_problem_data(problem, "x", CORUN_ELEMENT_F32, ny);
    float *tmp = corun_problem_data(problem, "tmp", CORUN_ELEMENT_F32, nx);
    float *y = corun_problem_data(problem, "y", CORUN_ELEMENT_F32, ny);
    double *sums = calloc(ny, sizeof *sums);
    if (!a || !x || !tmp || !y || !sums) {
        free(sums);
        return false;
    }
    for (size_t i = 0; i < nx; i++) {
        double product = dense_dot(a + i * ny, x, ny);
        tmp[i] = (float)product;
        dense_add_scaled(sums, product, a + i * ny, ny);
    }
    for (size_t j = 0; j < ny; j++)
        y[j] = (float)sums[j];
    free(sums);
    return true;
}

const struct corun_reference corun_reference_atax = {.name = "atax", .compute = compute};
