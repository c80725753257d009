/* SPDX-License-Identifier: MIT */
/*
 * The product of a dense matrix, stored by rows, and a vector, for cg and jacobi. CPU and GPU (dense.cuh) add in the same
 * order: 64 sums side by side, each of every 64th product, then sums of two neighbours, then halves. So a row's result does
 * not depend on who computed it. fmaf rounds once, as the GPU's instruction does and the CPU's with -march=native.
 */
#ifndef EXAMPLES_SPLIT_DENSE_H
#define EXAMPLES_SPLIT_DENSE_H

#include <math.h>
#include <stdint.h>

enum { DENSE_SUMS = 64 };                     /* rows are a multiple of it long */
enum { DENSE_ROWS = 8, DENSE_THREADS = 256 }; /* a thread block of dense.cuh */

static inline float dense_row(const float *restrict row, const float *restrict x, uint64_t n)
{
    float sum[DENSE_SUMS] = {0}, pair[DENSE_SUMS / 2];
    for (uint64_t j = 0; j < n; j += DENSE_SUMS)
        for (int i = 0; i < DENSE_SUMS; i++)
            sum[i] = fmaf(row[j + i], x[j + i], sum[i]);
    for (int i = 0; i < DENSE_SUMS / 2; i++)
        pair[i] = sum[2 * i] + sum[2 * i + 1];
    for (int half = DENSE_SUMS / 4; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            pair[i] += pair[i + half];
    return pair[0];
}

/* The independent one that results are checked with. */
static inline double dense_row_exact(const float *row, const float *x, uint64_t n)
{
    double sum = 0;
    for (uint64_t j = 0; j < n; j++)
        sum += (double)row[j] * x[j];
    return sum;
}

#endif
