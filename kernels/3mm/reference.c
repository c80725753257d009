/* SPDX-License-Identifier: MIT */
/* E = A B, F = C D, G = E F by blocks in double precision. */
#include "corun/workload.h"

#include "dense.h"

static bool compute(const struct corun_problem *problem)
{
    size_t ni = (size_t)corun_problem_value(problem, "ni");
    size_t nj = (size_t)corun_problem_value(problem, "nj");
    size_t nk = (size_t)corun_problem_value(problem, "nk");
    size_t nl = (size_t)corun_problem_value(problem, "nl");
    size_t nm = (size_t)corun_problem_value(problem, "nm");
    const struct {
        const char *name;
        size_t count;
    } inputs[4] = {{"a", ni * nk}, {"b", nk * nj}, {"c", nj * nm}, {"d", nm * nl}};
    float *e = corun_problem_data(problem, "e", CORUN_ELEMENT_F32, ni * nj);
    float *f = corun_problem_data(problem, "f", CORUN_ELEMENT_F32, nj * nl);
    float *g = corun_problem_data(problem, "g", CORUN_ELEMENT_F32, ni * nl);
    if (!e || !f || !g)
        return false;
    double *factors[4];
    for (size_t i = 0; i < 4; i++) {
        const float *input = corun_problem_data(problem, inputs[i].name, CORUN_ELEMENT_F32, inputs[i].count);
        factors[i] = input ? dense_copy(input, inputs[i].count) : NULL;
    }
    double *left = dense_multiply(factors[0], factors[1], ni, nk, nj);
    double *right = dense_multiply(factors[2], factors[3], nj, nm, nl);
    double *result = dense_multiply(left, right, ni, nj, nl);
    bool complete = dense_store(e, left, ni * nj) && dense_store(f, right, nj * nl) && dense_store(g, result, ni * nl);
    for (size_t i = 0; i < 4; i++)
        free(factors[i]);
    free(left);
    free(right);
    free(result);
    return complete;
}

const struct corun_reference corun_reference_3mm = {.name = "3mm", .compute = compute};
