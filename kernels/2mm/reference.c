/* SPDX-License-Identifier: MIT */
/* C = A B, E = C D by blocks in double precision. */
#include "corun/workload.h"

#include "dense.h"

static bool compute(const struct corun_problem *problem)
{
    size_t ni = (size_t)corun_problem_value(problem, "ni");
    size_t nj = (size_t)corun_problem_value(problem, "nj");
    size_t nk = (size_t)corun_problem_value(problem, "nk");
    size_t nl = (size_t)corun_problem_value(problem, "nl");
    const float *a = corun_problem_data(problem, "a", CORUN_ELEMENT_F32, ni * nk);
    const float *b = corun_problem_data(problem, "b", CORUN_ELEMENT_F32, nk * nj);
    float *c = corun_problem_data(problem, "c", CORUN_ELEMENT_F32, ni * nj);
    const float *d = corun_problem_data(problem, "d", CORUN_ELEMENT_F32, nj * nl);
    float *e = corun_problem_data(problem, "e", CORUN_ELEMENT_F32, ni * nl);
    if (!a || !b || !c || !d || !e)
        return false;
    double *first = dense_copy(a, ni * nk), *second = dense_copy(b, nk * nj), *third = dense_copy(d, nj * nl);
    double *inner = dense_multiply(first, second, ni, nk, nj), *outer = dense_multiply(inner, third, ni, nj, nl);
    bool complete = dense_store(c, inner, ni * nj) && dense_store(e, outer, ni * nl);
    free(first);
    free(second);
    free(third);
    free(inner);
    free(outer);
    return complete;
}

const struct corun_reference corun_reference_2mm = {.name = "2mm", .compute = compute};
