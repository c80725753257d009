/* SPDX-License-Identifier: MIT */
/*
 * One element of a matrix product per thread, as the PolyBench/GPU programs compute it: no tiles, no shared memory, and
 * the sum is the element of the result in memory. The compiler cannot know that it does not lie within a factor, so
 * every term is stored.
 */
#ifndef CORUN_MATRIX_PRODUCT_CUH
#define CORUN_MATRIX_PRODUCT_CUH

/* c[row][column] += alpha * a[row][..] * b[..][column]; all matrices stored by rows, c and b `columns` wide. */
static __device__ __forceinline__ void add_row_times_column(float alpha, const float *a, const float *b, float *c,
                                                            int row, int column, int depth, int columns)
{
    const float *from_a = a + row * depth, *from_b = b + column;
    float *sum = c + (row * columns + column);
    for (int k = 0; k < depth; k++) {
        *sum += alpha * from_a[k] * *from_b;
        from_b += columns;
    }
}

#endif
