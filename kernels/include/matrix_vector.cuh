/* SPDX-License-Identifier: MIT */
/*
 * Sums over a row or a column of a matrix stored by rows, one thread each, as the PolyBench/GPU programs take them: the
 * sum is an element in memory, and since the compiler cannot know that it does not lie within the matrix, every term is
 * stored.
 */
#ifndef CORUN_MATRIX_VECTOR_CUH
#define CORUN_MATRIX_VECTOR_CUH

/* sum[row] += matrix[row][..] * x: neighbouring threads read words that lie `columns` words apart. */
static __device__ __forceinline__ void add_row_times(const float *matrix, const float *x, float *sum, int row,
                                                     int columns)
{
    const float *element = matrix + row * columns;
    for (int j = 0; j < columns; j++)
        sum[row] += element[j] * x[j];
}

/* sum[column] += matrix[..][column] * x: neighbouring threads read neighbouring words. */
static __device__ __forceinline__ void add_column_times(const float *matrix, const float *x, float *sum, int column,
                                                        int rows, int columns)
{
    const float *element = matrix + column;
    for (int i = 0; i < rows; i++) {
        sum[column] += *element * x[i];
        element += columns;
    }
}

#endif
