/* SPDX-License-Identifier: MIT */
/* Linear functions: by least squares (LAPACK), and by stochastic gradient descent. */
#include "model/learners.h"
#include "model/library.h"

#include <lapacke.h>

#include <math.h>
#include <stdlib.h>

/* The learning rate of a step t is RATE / t^DECAY, with a pull of RIDGE towards 0: what libraries of learning take when nothing is said. */
#define EPOCHS 50u
#define RATE 0.01
#define DECAY 0.25
#define RIDGE 1e-4

enum corun_status linear_learn(struct linear *linear, const struct point *points, uint32_t count,
                               enum predictor_target target, struct corun_diagnostics *list)
{
    __typeof__(LAPACKE_dgelsd) *least_squares = NULL;
    const struct library_function functions[] = {{"LAPACKE_dgelsd", &least_squares}};
    enum corun_status status = library_functions(CORUN_LAPACKE_LIBRARY, functions, 1, list);
    if (status != CORUN_OK)
        return status;
    double *rows = malloc((size_t)count * (FEATURES + 1) * sizeof *rows), *right = malloc(count * sizeof *right);
    status = rows && right ? CORUN_OK : CORUN_MEMORY;
    for (uint32_t i = 0; i < count && status == CORUN_OK; i++) {
        for (uint32_t f = 0; f < FEATURES; f++)
            rows[(size_t)i * (FEATURES + 1) + f] = points[i].x[f];
        rows[(size_t)i * (FEATURES + 1) + FEATURES] = 1;
        right[i] = points[i].y[target];
    }
    /* by singular values: a feature that never changes is a column of zeros */
    double values[FEATURES + 1];
    lapack_int rank;
    if (status == CORUN_OK && least_squares(LAPACK_ROW_MAJOR, (lapack_int)count, FEATURES + 1, 1, rows, FEATURES + 1,
                                            right, 1, values, 1e-10, &rank) != 0)
        status = CORUN_MEMORY;
    for (uint32_t f = 0; f <= FEATURES && status == CORUN_OK; f++)
        linear->weights[f] = right[f];
    free(rows);
    free(right);
    return status;
}

double linear_predict(const struct linear *linear, const double x[FEATURES])
{
    double y = linear->weights[FEATURES];
    for (uint32_t f = 0; f < FEATURES; f++)
        y += linear->weights[f] * x[f];
    return y;
}

void sgd_learn(struct linear *linear, const struct point *points, uint32_t count, enum predictor_target target,
               uint64_t seed)
{
    *linear = (struct linear){{0}};
    for (uint64_t step = 1; step <= (uint64_t)EPOCHS * count; step++) {
        const struct point *point = &points[learner_random(&seed) % count];
        double rate = RATE / pow((double)step, DECAY), off = linear_predict(linear, point->x) - point->y[target];
        for (uint32_t f = 0; f < FEATURES; f++)
            linear->weights[f] -= rate * (off * point->x[f] + RIDGE * linear->weights[f]);
        linear->weights[FEATURES] -= rate * off;
    }
}
