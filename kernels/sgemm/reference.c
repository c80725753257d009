/* SPDX-License-Identifier: MIT */
/* C = 1.5 * A * transpose(B) - 0.5 * C, by columns, summed in double precision. */
#include "corun/workload.h"

#include <stdlib.h>

static bool compute(const struct corun_problem *problem)
{
    size_t m = (size_t)corun_problem_value(problem, "m");
    size_t n = (size_t)corun_problem_value(problem, "n");
    size_t k = (size_t)corun_problem_value(problem, "k");
    const float *a = corun_problem_data(problem, "a", CORUN_ELEMENT_F32, m * k);
    const float *b = corun_problem_data(problem, "b", CORUN_ELEMENT_F32, n * k);
    float *c = corun_problem_data(problem, "c", CORUN_ELEMENT_F32, m * n);
    double *column = malloc(m * sizeof *column);
    if (!a || !b || !c || !column) {
        free(column);
        return false;
    }
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < m; i++)
            column[i] = 0;
        for (size_t p = 0; p < k; p++) {
            double factor = b[p * n + j];
            for (size_t i = 0; i < m; i++)
                column[i] += (double)a[p * m + i] * factor;
        }
        for (size_t i = 0; i < m; i++)
            c[j * m + i] = (float)(1.5 * column[i] - 0.5 * c[j * m + i]);
    }
    free(column);
    return true;
}

const struct corun_reference corun_reference_sgemm = {.name = "sgemm", .compute = compute};
