/* SPDX-License-Identifier: MIT */
/* A sparse matrix with rows of very unequal length in jagged diagonal storage, and its product with a vector. */
#include "corun/workload.h"

#include <stdlib.h>

#define WARP 32

struct matrix {
    int64_t rows, warps, longest, entries;
    float *values;
    int32_t *columns, *permutation, *starts, *lengths;
};

static bool matrix_of(const struct corun_problem *problem, struct matrix *matrix)
{
    matrix->rows = corun_problem_value(problem, "rows");
    matrix->warps = corun_problem_value(problem, "warps");
    matrix->longest = corun_problem_value(problem, "longest");
    matrix->entries = corun_problem_value(problem, "entries");
    if (matrix->rows < 1 || matrix->longest < 1 || matrix->warps != (matrix->rows + WARP - 1) / WARP)
        return false;
    uint64_t rows = (uint64_t)matrix->rows, entries = (uint64_t)matrix->entries;
    matrix->values = corun_problem_data(problem, "values", CORUN_ELEMENT_F32, entries);
    matrix->columns = corun_problem_data(problem, "columns", CORUN_ELEMENT_S32, entries);
    matrix->permutation = corun_problem_data(problem, "permutation", CORUN_ELEMENT_S32, rows);
    matrix->starts = corun_problem_data(problem, "starts", CORUN_ELEMENT_S32, (uint64_t)matrix->longest);
    matrix->lengths = corun_problem_data(problem, "lengths", CORUN_ELEMENT_S32, (uint64_t)matrix->warps);
    return matrix->values && matrix->columns && matrix->permutation && matrix->starts && matrix->lengths;
}

/* Entries of the row of rank `rank`: from longest to 1, falling with the third power. */
static int64_t length_of(const struct matrix *matrix, int64_t rank)
{
    double left = 1.0 - (double)rank / (double)matrix->rows;
    return 1 + (int64_t)((double)(matrix->longest - 1) * left * left * left);
}

/* Lengths per warp and where each diagonal starts; false if there are more entries than room. */
static bool lay_out(const struct matrix *matrix)
{
    int64_t start = 0;
    for (int64_t warp = 0; warp < matrix->warps; warp++)
        matrix->lengths[warp] = (int32_t)length_of(matrix, warp * WARP);
    int64_t warps = matrix->warps; /* that reach diagonal k */
    for (int64_t k = 0; k < matrix->longest; k++) {
        while (warps > 0 && matrix->lengths[warps - 1] <= k)
            warps--;
        matrix->starts[k] = (int32_t)start;
        start += warps * WARP;
    }
    return start <= matrix->entries && start <= INT32_MAX;
}

static void shuffle_rows(const struct matrix *matrix, uint64_t *state)
{
    for (int64_t i = 0; i < matrix->rows; i++)
        matrix->permutation[i] = (int32_t)i;
    for (int64_t i = matrix->rows - 1; i > 0; i--) {
        int64_t other = (int64_t)(corun_random(state) % (uint64_t)(i + 1));
        int32_t row = matrix->permutation[i];
        matrix->permutation[i] = matrix->permutation[other];
        matrix->permutation[other] = row;
    }
}

/* One half of the entries lies near the diagonal, the other anywhere. */
static int32_t random_column(const struct matrix *matrix, int64_t row, uint64_t *state)
{
    uint64_t random = corun_random(state);
    int64_t column =
        random & 1 ? row + (int64_t)(random >> 32) % 65 - 32 : (int64_t)((random >> 32) % (uint64_t)matrix->rows);
    return (int32_t)((column + matrix->rows) % matrix->rows);
}

static bool generate(const struct corun_problem *problem)
{
    struct matrix matrix;
    if (!matrix_of(problem, &matrix) || matrix.rows < 64 || !lay_out(&matrix))
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x7370617273650000);
    shuffle_rows(&matrix, &state);
    for (int64_t rank = 0; rank < matrix.rows; rank++) {
        int64_t length = length_of(&matrix, rank); /* the rest of the warp's length is padding: zeros */
        for (int64_t k = 0; k < length; k++) {
            int64_t entry = matrix.starts[k] + rank;
            matrix.columns[entry] = random_column(&matrix, matrix.permutation[rank], &state);
            matrix.values[entry] = 2.0f * corun_random_unit(&state) - 1.0f;
        }
    }
    return true;
}

static bool compute(const struct corun_problem *problem)
{
    struct matrix matrix;
    if (!matrix_of(problem, &matrix))
        return false;
    uint64_t rows = (uint64_t)matrix.rows;
    const float *x = corun_problem_data(problem, "x", CORUN_ELEMENT_F32, rows);
    float *y = corun_problem_data(problem, "y", CORUN_ELEMENT_F32, rows);
    if (!x || !y)
        return false;
    for (int64_t rank = 0; rank < matrix.rows; rank++) {
        double sum = 0;
        for (int64_t k = 0; k < matrix.lengths[rank / WARP]; k++) {
            int64_t entry = matrix.starts[k] + rank;
            sum += (double)matrix.values[entry] * (double)x[matrix.columns[entry]];
        }
        y[matrix.permutation[rank]] = (float)sum;
    }
    return true;
}

const struct corun_reference corun_reference_spmv = {
    .name = "spmv",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"matrix", generate}, {0}},
};
