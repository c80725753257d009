/* SPDX-License-Identifier: MIT */
/* Dense matrices, stored by rows, for references: products and sums in double precision. */
#ifndef CORUN_DENSE_H
#define CORUN_DENSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* row . x, in four partial sums. */
static inline double dense_dot(const float *row, const float *x, size_t count)
{
    double sums[4] = {0};
    size_t j = 0;
    for (; j + 4 <= count; j += 4) {
        for (size_t lane = 0; lane < 4; lane++)
            sums[lane] += (double)row[j + lane] * (double)x[j + lane];
    }
    for (; j < count; j++)
        sums[0] += (double)row[j] * (double)x[j];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* sums += factor * row */
static inline void dense_add_scaled(double *sums, double factor, const float *row, size_t count)
{
    for (size_t j = 0; j < count; j++)
        sums[j] += factor * (double)row[j];
}

enum { DENSE_ROWS = 4, DENSE_DEPTH = 64, DENSE_COLUMNS = 256 };

/* c[0 .. rows) += a * b over one block of the depth, for a strip of columns that stays in the first-level cache. */
static inline void dense_multiply_block(const double *a, const double *b, double *c, size_t rows, size_t depth,
                                        size_t columns, size_t a_stride, size_t b_stride, size_t c_stride)
{
    size_t i = 0;
    for (; i + DENSE_ROWS <= rows; i += DENSE_ROWS) {
        double *restrict c0 = c + i * c_stride, *restrict c1 = c0 + c_stride;
        double *restrict c2 = c1 + c_stride, *restrict c3 = c2 + c_stride;
        for (size_t k = 0; k + 2 <= depth; k += 2) {
            const double *f = a + i * a_stride + k, *g = f + a_stride, *h = g + a_stride, *l = h + a_stride;
            const double *restrict b0 = b + k * b_stride, *restrict b1 = b0 + b_stride;
            double f0 = f[0], f1 = f[1], g0 = g[0], g1 = g[1], h0 = h[0], h1 = h[1], l0 = l[0], l1 = l[1];
            for (size_t j = 0; j < columns; j++) {
                c0[j] += f0 * b0[j] + f1 * b1[j];
                c1[j] += g0 * b0[j] + g1 * b1[j];
                c2[j] += h0 * b0[j] + h1 * b1[j];
                c3[j] += l0 * b0[j] + l1 * b1[j];
            }
        }
        if (depth % 2) {
            for (size_t row = i; row < i + DENSE_ROWS; row++) {
                double factor = a[row * a_stride + depth - 1];
                for (size_t j = 0; j < columns; j++)
                    c[row * c_stride + j] += factor * b[(depth - 1) * b_stride + j];
            }
        }
    }
    for (; i < rows; i++) {
        for (size_t k = 0; k < depth; k++) {
            for (size_t j = 0; j < columns; j++)
                c[i * c_stride + j] += a[i * a_stride + k] * b[k * b_stride + j];
        }
    }
}

/*
 * a * b, a new matrix of rows x columns, to be freed; a: rows x depth, b: depth x columns. By blocks, so that thousands of
 * rows take seconds. NULL: out of memory, or a factor is NULL.
 */
static inline double *dense_multiply(const double *a, const double *b, size_t rows, size_t depth, size_t columns)
{
    double *c = a && b ? calloc(rows * columns, sizeof *c) : NULL;
    if (!c)
        return NULL;
    for (size_t j = 0; j < columns; j += DENSE_COLUMNS) {
        size_t wide = columns - j < DENSE_COLUMNS ? columns - j : DENSE_COLUMNS;
        for (size_t k = 0; k < depth; k += DENSE_DEPTH) {
            size_t deep = depth - k < DENSE_DEPTH ? depth - k : DENSE_DEPTH;
            dense_multiply_block(a + k, b + k * columns + j, c + j, rows, deep, wide, depth, columns, columns);
        }
    }
    return c;
}

/* A copy of `count` elements in double precision, to be freed; NULL: out of memory. */
static inline double *dense_copy(const float *from, size_t count)
{
    double *copy = calloc(count, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = from[i];
    return copy;
}

/* In single precision again; false if there is nothing to copy. */
static inline bool dense_store(float *to, const double *from, size_t count)
{
    for (size_t i = 0; from && i < count; i++)
        to[i] = (float)from[i];
    return from != NULL;
}

#endif
