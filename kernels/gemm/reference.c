/* SPDX-License-Identifier: MIT */
/* C = alpha A B + beta C by blocks in double precision. */
#include "corun/workload.h"

#include "dense.h"

static bool compute(const struct corun_problem *problem)
{
    const double alpha = 1.5, beta = 0.5; /* as in the launch */
    size_t ni = (size_t)corun_problem_value(problem, "ni");
    size_t nj = (size_t)corun_problem_value(problem, "nj");
    size_t nk = (size_t)corun_problem_value(problem, "nk");
    const float *a = corun_problem_data(problem, "a", CORUN_ELEMENT_F32, ni * nk);
    const float *b = corun_problem_data(problem, "b", CORUN_ELEMENT_F32, nk * nj);
    float *c = corun_problem_data(problem, "c", CORUN_ELEMENT_F32, ni * nj);
    if (!a || !b || !c)
        return false;
    double *left = dense_copy(a, ni * nk), *right = dense_copy(b, nk * nj);
    double *product = dense_multiply(left, right, ni, nk, nj);
    for (size_t i = 0; product && i < ni * nj; i++)
        c[i] = (float)(alpha * product[i] + beta * c[i]);
    bool complete = product != NULL;
    free(left);
    free(right);
    free(product);
    return complete;
}

const struct corun_reference corun_reference_gemm = {.name = "gemm", .compute = compute};
