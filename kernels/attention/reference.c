/* SPDX-License-Identifier: MIT */
/* softmax(Q * transpose(K) / 8) * V, head by head and row by row in double precision. */
#include "half.h"

#define COLUMNS 64u

static bool generate(const struct corun_problem *problem)
{
    uint64_t length = (uint64_t)corun_problem_value(problem, "length"), state = problem->seed;
    uint64_t cells = (uint64_t)corun_problem_value(problem, "heads") * length * COLUMNS;
    uint16_t *q = corun_problem_data(problem, "q", CORUN_ELEMENT_U16, cells);
    uint16_t *k = corun_problem_data(problem, "k", CORUN_ELEMENT_U16, cells);
    uint16_t *v = corun_problem_data(problem, "v", CORUN_ELEMENT_U16, cells);
    if (!q || !k || !v || length % 64)
        return false;
    half_fill(q, cells, 2, &state); /* scores differ by some units, so some keys count much more than others */
    half_fill(k, cells, 2, &state);
    half_fill(v, cells, 1, &state);
    return true;
}

/* One row: weights[] is space for `length` values. */
static void attend(const double *query, const double *keys, const double *values, size_t length, double *weights,
                   float *out)
{
    double largest = -INFINITY, total = 0, row[COLUMNS] = {0};
    for (size_t i = 0; i < length; i++) {
        double score = 0;
        for (size_t j = 0; j < COLUMNS; j++)
            score += query[j] * keys[i * COLUMNS + j];
        weights[i] = score / 8;
        largest = fmax(largest, weights[i]);
    }
    for (size_t i = 0; i < length; i++) {
        double weight = exp(weights[i] - largest);
        total += weight;
        for (size_t j = 0; j < COLUMNS; j++)
            row[j] += weight * values[i * COLUMNS + j];
    }
    for (size_t j = 0; j < COLUMNS; j++)
        out[j] = (float)(row[j] / total);
}

static bool compute(const struct corun_problem *problem)
{
    size_t heads = (size_t)corun_problem_value(problem, "heads");
    size_t length = (size_t)corun_problem_value(problem, "length"), cells = heads * length * COLUMNS;
    const uint16_t *q = corun_problem_data(problem, "q", CORUN_ELEMENT_U16, cells);
    const uint16_t *k = corun_problem_data(problem, "k", CORUN_ELEMENT_U16, cells);
    const uint16_t *v = corun_problem_data(problem, "v", CORUN_ELEMENT_U16, cells);
    float *out = corun_problem_data(problem, "out", CORUN_ELEMENT_F32, cells);
    if (!q || !k || !v || !out)
        return false;
    double *queries = half_copy(q, cells), *keys = half_copy(k, cells), *values = half_copy(v, cells);
    double *weights = calloc(length, sizeof *weights);
    bool complete = queries && keys && values && weights;
    for (size_t row = 0; complete && row < heads * length; row++) {
        size_t head = row / length * length * COLUMNS;
        attend(queries + row * COLUMNS, keys + head, values + head, length, weights, out + row * COLUMNS);
    }
    free(queries);
    free(keys);
    free(values);
    free(weights);
    return complete;
}

static const struct corun_generator generators[] = {{"tokens", generate}, {NULL, NULL}};
const struct corun_reference corun_reference_attention = {
    .name = "attention", .compute = compute, .generators = generators};
