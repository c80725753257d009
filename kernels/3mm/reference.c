/* E = A B, F = C D, G = E F by blocks in double precision. */
#include "corun/workload.h"

#include "dense.h"

static void store(float *to, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)from[i];
}

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
    double *factors[4], *left = malloc(ni * nj * sizeof *left), *right = malloc(nj * nl * sizeof *right);
    double *result = malloc(ni * nl * sizeof *result);
    bool complete = e && f && g && left && right && result;
    for (size_t i = 0; i < 4; i++) {
        const float *input = corun_problem_data(problem, inputs[i].name, CORUN_ELEMENT_F32, inputs[i].count);
        factors[i] = input ? dense_copy(input, inputs[i].count) : NULL;
        complete = complete && factors[i];
    }
    if (complete) {
        dense_multiply(factors[0], factors[1], left, ni, nk, nj);
        dense_multiply(factors[2], factors[3], right, nj, nm, nl);
        dense_multiply(left, right, result, ni, nj, nl);
        store(e, left, ni * nj);
        store(f, right, nj * nl);
        store(g, result, ni * nl);
    }
    for (size_t i = 0; i < 4; i++)
        free(factors[i]);
    free(left);
    free(right);
    free(result);
    return complete;
}

const struct corun_reference corun_reference_3mm = {.name = "3mm", .compute = compute};
