/* SPDX-License-Identifier: MIT */
/* Row by row: its dot product with p is one element of q, and its multiple goes into s. */
#include "corun/workload.h"

#include "dense.h"

static bool compute(const struct corun_problem *problem)
{
    size_t nx = (size_t)corun_problem_value(problem, "nx");
    size_t ny = (size_t)corun_problem_value(problem, "ny");
    const float *a = corun_problem_data(problem, "a", CORUN_ELEMENT_F32, nx * ny);
    const float *r = corun_problem_data(problem, "r", CORUN_ELEMENT_F32, nx);
    const float *p = corun_problem_data(problem, "p", CORUN_ELEMENT_F32, ny);
    float *s = corun_problem_data(problem, "s", CORUN_ELEMENT_F32, ny);
    float *q = corun_problem_data(problem, "q", CORUN_ELEMENT_F32, nx);
    double *sums = calloc(ny, sizeof *sums);
    if (!a || !r || !p || !s || !q || !sums) {
        free(sums);
        return false;
    }
    for (size_t i = 0; i < nx; i++) {
        q[i] = (float)dense_dot(a + i * ny, p, ny);
        dense_add_scaled(sums, r[i], a + i * ny, ny);
    }
    for (size_t j = 0; j < ny; j++)
        s[j] = (float)sums[j];
    free(sums);
    return true;
}

const struct corun_reference corun_reference_bicg = {.name = "bicg", .compute = compute};
