/* SPDX-License-Identifier: MIT */
/* Some rows of C = A * B, each as a sum of rows of B, in double precision. */
#include "corun/workload.h"

#include <stdlib.h>

static bool compute(const struct corun_problem *problem)
{
    size_t m = (size_t)corun_problem_value(problem, "m");
    size_t n = (size_t)corun_problem_value(problem, "n");
    size_t k = (size_t)corun_problem_value(problem, "k");
    size_t first = (size_t)corun_problem_value(problem, "first");
    size_t rows = (size_t)corun_problem_value(problem, "rows");
    const float *a = corun_problem_data(problem, "a", CORUN_ELEMENT_F32, m * k);
    const float *b = corun_problem_data(problem, "b", CORUN_ELEMENT_F32, k * n);
    float *c = corun_problem_data(problem, "c", CORUN_ELEMENT_F32, m * n);
    double *sums = malloc(n * sizeof *sums);
    if (!a || !b || !c || !sums || first > m || rows > m - first) {
        free(sums);
        return false;
    }
    for (size_t i = first; i < first + rows; i++) {
        for (size_t j = 0; j < n; j++)
            sums[j] = 0;
        for (size_t p = 0; p < k; p++) {
            double factor = a[i * k + p];
            for (size_t j = 0; j < n; j++)
                sums[j] += factor * (double)b[p * n + j];
        }
        for (size_t j = 0; j < n; j++)
            c[i * n + j] = (float)sums[j];
    }
    free(sums);
    return true;
}

const struct corun_reference corun_reference_matmul = {.name = "matmul", .compute = compute};
