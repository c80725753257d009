/* SPDX-License-Identifier: MIT */
/* The problem of the matrix multiplications on tensor cores: c = a * transpose(b), a: m x k, b: n x k, half precision by rows. */
#ifndef CORUN_HALVES_H
#define CORUN_HALVES_H

#include "dense.h"
#include "half.h"

static inline bool halves_generate(const struct corun_problem *problem)
{
    uint64_t m = (uint64_t)corun_problem_value(problem, "m"), n = (uint64_t)corun_problem_value(problem, "n");
    uint64_t k = (uint64_t)corun_problem_value(problem, "k"), state = problem->seed;
    uint16_t *a = corun_problem_data(problem, "a", CORUN_ELEMENT_U16, m * k);
    uint16_t *b = corun_problem_data(problem, "b", CORUN_ELEMENT_U16, n * k);
    if (!a || !b || m % 128 || n % 128 || k % 32)
        return false;
    half_fill(a, m * k, 1, &state);
    half_fill(b, n * k, 1, &state);
    return true;
}

static const struct corun_generator halves_generators[] = {{"factors", halves_generate}, {NULL, NULL}};

static inline bool halves_multiply(const struct corun_problem *problem)
{
    size_t m = (size_t)corun_problem_value(problem, "m"), n = (size_t)corun_problem_value(problem, "n");
    size_t k = (size_t)corun_problem_value(problem, "k");
    const uint16_t *a = corun_problem_data(problem, "a", CORUN_ELEMENT_U16, m * k);
    const uint16_t *b = corun_problem_data(problem, "b", CORUN_ELEMENT_U16, n * k);
    float *c = corun_problem_data(problem, "c", CORUN_ELEMENT_F32, m * n);
    if (!a || !b || !c)
        return false;
    double *left = half_copy(a, m * k), *right = calloc(k * n, sizeof *right);
    for (size_t j = 0; right && j < n; j++) {
        for (size_t p = 0; p < k; p++)
            right[p * n + j] = half_value(b[j * k + p]);
    }
    double *product = dense_multiply(left, right, m, k, n);
    bool complete = dense_store(c, product, m * n);
    free(left);
    free(right);
    free(product);
    return complete;
}

#endif
