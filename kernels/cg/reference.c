/* SPDX-License-Identifier: MIT */
/*
 * A dense, symmetric, positive definite matrix as Gaussian processes have it: correlations of random points of the
 * plane that fall with their distance, and some noise on the diagonal. And steps of conjugate gradients for some of its
 * rows in double precision.
 */
#include "corun/workload.h"

#include <stdlib.h>

static bool generate(const struct corun_problem *problem)
{
    size_t n = (size_t)corun_problem_value(problem, "n");
    float *a = corun_problem_data(problem, "a", CORUN_ELEMENT_F32, n * n);
    float *places = calloc(2 * n, sizeof *places);
    if (!a || !places) {
        free(places);
        return false;
    }
    uint64_t state = problem->seed ^ UINT64_C(0x6367706f696e7473);
    for (size_t i = 0; i < 2 * n; i++)
        places[i] = corun_random_unit(&state);
    /*
     * The rational quadratic 1 / (1 + d * d / l) is positive definite; only operations that are the same everywhere.
     * With l = 2 / n, the largest eigenvalue is some tens in any size, the least one above the noise.
     */
    const float scale = (float)n / 2.0f;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            float x = places[2 * i] - places[2 * j], y = places[2 * i + 1] - places[2 * j + 1];
            a[i * n + j] = 1.0f / (1.0f + scale * (x * x + y * y));
        }
        a[i * n + i] = 1.5f;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++)
            a[i * n + j] = a[j * n + i];
    }
    free(places);
    return true;
}

/* The system of the rows from `first` on. */
struct system {
    const float *a; /* from its first row on */
    size_t n, first, rows;
};

/* q = A v, where v is zero outside of the rows, if it has only those. */
static double product(const struct system *system, size_t row, const double *v, bool all)
{
    const float *elements = system->a + row * system->n + (all ? 0 : system->first);
    double sum = 0;
    for (size_t j = 0; j < (all ? system->n : system->rows); j++)
        sum += (double)elements[j] * v[j];
    return sum;
}

static double dot(const double *left, const double *right, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += left[i] * right[i];
    return sum;
}

/* x has all elements; r, p and q those of the rows. */
static void solve(const struct system *system, const float *b, int64_t steps, double *x, double *r, double *p,
                  double *q)
{
    for (size_t i = 0; i < system->rows; i++)
        p[i] = r[i] = (double)b[system->first + i] - product(system, i, x, true);
    for (int64_t step = 0; step < steps; step++) {
        double before = dot(r, r, system->rows);
        for (size_t i = 0; i < system->rows; i++)
            q[i] = product(system, i, p, false);
        double alpha = before / dot(p, q, system->rows);
        for (size_t i = 0; i < system->rows; i++) {
            x[system->first + i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        double beta = dot(r, r, system->rows) / before;
        for (size_t i = 0; i < system->rows; i++)
            p[i] = r[i] + beta * p[i];
    }
}

static bool compute(const struct corun_problem *problem)
{
    size_t n = (size_t)corun_problem_value(problem, "n");
    struct system system = {
        .n = n,
        .first = (size_t)corun_problem_value(problem, "first"),
        .rows = (size_t)corun_problem_value(problem, "rows"),
    };
    const float *a = corun_problem_data(problem, "a", CORUN_ELEMENT_F32, n * n);
    const float *b = corun_problem_data(problem, "b", CORUN_ELEMENT_F32, n);
    float *x = corun_problem_data(problem, "x", CORUN_ELEMENT_F32, n);
    float *r = corun_problem_data(problem, "r", CORUN_ELEMENT_F32, n);
    float *p = corun_problem_data(problem, "p", CORUN_ELEMENT_F32, n);
    double *exact = malloc(4 * n * sizeof *exact);
    if (!a || !b || !x || !r || !p || !exact || system.first > n || system.rows > n - system.first) {
        free(exact);
        return false;
    }
    system.a = a + system.first * n;
    for (size_t i = 0; i < n; i++)
        exact[i] = x[i];
    solve(&system, b, corun_problem_value(problem, "steps"), exact, exact + n, exact + 2 * n, exact + 3 * n);
    for (size_t i = system.first; i < system.first + system.rows; i++) {
        x[i] = (float)exact[i];
        r[i] = (float)exact[n + i - system.first];
        p[i] = (float)exact[2 * n + i - system.first];
    }
    free(exact);
    return true;
}

const struct corun_reference corun_reference_cg = {
    .name = "cg",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"correlations", generate}, {0}},
};
