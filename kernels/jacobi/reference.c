/* SPDX-License-Identifier: MIT */
/*
 * Light that surfaces pass on to one another: of what surface i receives from each other one, in shares that are
 * random, it passes on a part, up to nine tenths; b is what it emits. Each row is scaled by a factor of its own. And
 * Jacobi's method in double precision.
 */
#include "corun/workload.h"

#include <stdlib.h>

static bool generate(const struct corun_problem *problem)
{
    size_t n = (size_t)corun_problem_value(problem, "n");
    float *a = corun_problem_data(problem, "a", CORUN_ELEMENT_F32, n * n);
    float *b = corun_problem_data(problem, "b", CORUN_ELEMENT_F32, n);
    float *x = corun_problem_data(problem, "x", CORUN_ELEMENT_F32, n);
    float *next = corun_problem_data(problem, "next", CORUN_ELEMENT_F32, n);
    if (!a || !b || !x || !next)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x7375726661636573);
    for (size_t i = 0; i < n; i++) {
        float *row = a + i * n;
        double sum = 0;
        for (size_t j = 0; j < n; j++) {
            row[j] = -corun_random_unit(&state);
            sum -= i == j ? 0.0 : (double)row[j];
        }
        row[i] = (float)(sum / (0.3 + 0.6 * (double)corun_random_unit(&state)) + 1.0);
        b[i] = row[i] * corun_random_unit(&state);
        x[i] = next[i] = corun_random_unit(&state);
    }
    return true;
}

static void step(const float *a, const float *b, size_t n, size_t first, size_t rows, const double *x, double *next)
{
    for (size_t i = first; i < first + rows; i++) {
        const float *row = a + i * n;
        double rest = 0;
        for (size_t j = 0; j < i; j++)
            rest += (double)row[j] * x[j];
        for (size_t j = i + 1; j < n; j++)
            rest += (double)row[j] * x[j];
        next[i] = ((double)b[i] - rest) / (double)row[i];
    }
}

static bool compute(const struct corun_problem *problem)
{
    size_t n = (size_t)corun_problem_value(problem, "n");
    size_t first = (size_t)corun_problem_value(problem, "first");
    size_t rows = (size_t)corun_problem_value(problem, "rows");
    const float *a = corun_problem_data(problem, "a", CORUN_ELEMENT_F32, n * n);
    const float *b = corun_problem_data(problem, "b", CORUN_ELEMENT_F32, n);
    float *x = corun_problem_data(problem, "x", CORUN_ELEMENT_F32, n);
    double *vectors = malloc(2 * n * sizeof *vectors);
    if (!a || !b || !x || !vectors || first > n || rows > n - first) {
        free(vectors);
        return false;
    }
    double *now = vectors, *next = vectors + n;
    for (size_t i = 0; i < n; i++)
        now[i] = next[i] = x[i];
    for (int64_t i = 0; i < corun_problem_value(problem, "steps"); i++) {
        step(a, b, n, first, rows, now, next);
        double *other = now;
        now = next;
        next = other;
    }
    for (size_t i = first; i < first + rows; i++)
        x[i] = (float)now[i];
    free(vectors);
    return true;
}

const struct corun_reference corun_reference_jacobi = {
    .name = "jacobi",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"surfaces", generate}, {0}},
};
