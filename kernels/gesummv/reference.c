/* SPDX-License-Identifier: MIT */
/* y = alpha A x + beta B x, and tmp = A x. */
#include "corun/workload.h"

#include "dense.h"

static bool compute(const struct corun_problem *problem)
{
    const double alpha = 0.75, beta = 1.25; /* as in the launch */
    size_t n = (size_t)corun_problem_value(problem, "n");
    const float *a = corun_problem_data(problem, "a", CORUN_ELEMENT_F32, n * n);
    const float *b = corun_problem_data(problem, "b", CORUN_ELEMENT_F32, n * n);
    const float *x = corun_problem_data(problem, "x", CORUN_ELEMENT_F32, n);
    float *tmp = corun_problem_data(problem, "tmp", CORUN_ELEMENT_F32, n);
    float *y = corun_problem_data(problem, "y", CORUN_ELEMENT_F32, n);
    if (!a || !b || !x || !tmp || !y)
        return false;
    for (size_t i = 0; i < n; i++) {
        double from_a = dense_dot(a + i * n, x, n);
        tmp[i] = (float)from_a;
        y[i] = (float)(alpha * from_a + beta * dense_dot(b + i * n, x, n));
    }
    return true;
}

const struct corun_reference corun_reference_gesummv = {.name = "gesummv", .compute = compute};
