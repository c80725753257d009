/* SPDX-License-Identifier: MIT */
/* c = a + b */
#include "corun/workload.h"

static bool compute(const struct corun_problem *problem)
{
    uint64_t n = (uint64_t)corun_problem_value(problem, "n");
    const float *a = corun_problem_data(problem, "a", CORUN_ELEMENT_F32, n);
    const float *b = corun_problem_data(problem, "b", CORUN_ELEMENT_F32, n);
    float *c = corun_problem_data(problem, "c", CORUN_ELEMENT_F32, n);
    if (!a || !b || !c)
        return false;
    for (uint64_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
    return true;
}

const struct corun_reference corun_reference_vector_add = {.name = "vector-add", .compute = compute};
