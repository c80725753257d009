/* SPDX-License-Identifier: MIT */
/*
 * GMRES with restarts (Saad and Schultz, SIAM J. Sci. Stat. Comput. 7, 1986) on π (P − I) = 0. Every residual of a distribution sums up
 * to 0, and so does what a step makes of it: corrections leave the sum of the distribution at 1, and the singular matrix does no harm.
 *
 * Plain iteration of π ← π P forgets as slowly as the warps do: with R_m = 0.01 some 1 000 steps. The slow modes are few (powers of
 * those of single warps), which is what a Krylov space is good at: some ten steps.
 */
#include "model/stationary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPACE 16u /* vectors until a restart */
#define MOST_RESTARTS 64u

struct workspace {
    double *vectors; /* SPACE + 1, one after the other: an orthonormal base */
    double columns[SPACE][SPACE + 1], cosines[SPACE], sines[SPACE], rest[SPACE + 1];
};

static double dot(const double *a, const double *b, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* to = from (P − I) */
static void step_minus_one(const struct stationary_problem *problem, const double *from, double *to)
{
    problem->step(problem->user, from, to);
    for (uint32_t i = 0; i < problem->states; i++)
        to[i] -= from[i];
}

/* Adds a column to the Hessenberg matrix and rotates its lower entry away. Returns the norm of the residual that is left. */
static double add_column(const struct stationary_problem *problem, struct workspace *work, uint32_t k)
{
    uint32_t n = problem->states;
    double *column = work->columns[k], *next = work->vectors + (size_t)(k + 1) * n;
    step_minus_one(problem, work->vectors + (size_t)k * n, next);
    for (uint32_t i = 0; i <= k; i++) {
        const double *vector = work->vectors + (size_t)i * n;
        column[i] = dot(next, vector, n);
        for (uint32_t j = 0; j < n; j++)
            next[j] -= column[i] * vector[j];
    }
    double norm = sqrt(dot(next, next, n));
    if (norm > 0)
        for (uint32_t j = 0; j < n; j++)
            next[j] /= norm;
    for (uint32_t i = 0; i < k; i++) {
        double upper = work->cosines[i] * column[i] + work->sines[i] * column[i + 1];
        column[i + 1] = work->cosines[i] * column[i + 1] - work->sines[i] * column[i];
        column[i] = upper;
    }
    double length = hypot(column[k], norm);
    work->cosines[k] = length > 0 ? column[k] / length : 1;
    work->sines[k] = length > 0 ? norm / length : 0;
    column[k] = length;
    work->rest[k + 1] = -work->sines[k] * work->rest[k];
    work->rest[k] *= work->cosines[k];
    return fabs(work->rest[k + 1]);
}

/* distribution += the combination of the first `count` vectors that leaves the smallest residual */
static void correct(const struct stationary_problem *problem, struct workspace *work, uint32_t count,
                    double *distribution)
{
    double weights[SPACE];
    for (uint32_t k = count; k-- > 0;) {
        double sum = work->rest[k];
        for (uint32_t j = k + 1; j < count; j++)
            sum -= work->columns[j][k] * weights[j];
        weights[k] = work->columns[k][k] > 0 ? sum / work->columns[k][k] : 0;
        const double *vector = work->vectors + (size_t)k * problem->states;
        for (uint32_t i = 0; i < problem->states; i++)
            distribution[i] += weights[k] * vector[i];
    }
}

enum corun_status stationary_find(const struct stationary_problem *problem, double *distribution, uint32_t *iterations)
{
    uint32_t n = problem->states;
    struct workspace *work = calloc(1, sizeof *work);
    double *vectors = malloc((SPACE + 1) * (size_t)n * sizeof *vectors);
    enum corun_status status = work && vectors ? CORUN_LIMIT : CORUN_MEMORY;
    *iterations = 0;
    for (uint32_t restart = 0; status == CORUN_LIMIT && restart < MOST_RESTARTS; restart++) {
        work->vectors = vectors;
        step_minus_one(problem, distribution, vectors);
        ++*iterations;
        double norm = sqrt(dot(vectors, vectors, n));
        double wanted = problem->tolerance * sqrt(dot(distribution, distribution, n));
        if (norm <= wanted) {
            status = CORUN_OK;
            break;
        }
        for (uint32_t i = 0; i < n; i++)
            vectors[i] /= norm;
        memset(work->rest, 0, sizeof work->rest);
        work->rest[0] = -norm;
        uint32_t count = 0;
        double left = norm;
        while (count < SPACE && count < n && left > wanted / 2) {
            left = add_column(problem, work, count++);
            ++*iterations;
        }
        correct(problem, work, count, distribution);
    }
    free(vectors);
    free(work);
    return status;
}
