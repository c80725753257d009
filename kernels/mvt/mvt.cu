/* SPDX-License-Identifier: MIT */
/*
 * mvt: x1 += A * y1 and x2 += transpose(A) * y2, single precision, A square and stored by rows.
 *
 * Two kernels as in PolyBench/GPU: x1 with one thread per row, x2 with one thread per column; thread blocks of 256
 * threads in one dimension (grid 16 for the program's own 4096 x 4096). One of the programs whose cycles on a Quadro
 * V100 are published, hence size v100.
 *
 * What limits it: memory, as with atax, whose two kernels have the same loops: here the second does not depend on the
 * first.
 */
#include "matrix_vector.cuh"

extern "C" __global__ void __launch_bounds__(256) mvt_rows(const float *a, const float *y1, float *x1, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        add_row_times(a, y1, x1, i, n);
}

extern "C" __global__ void __launch_bounds__(256) mvt_columns(const float *a, const float *y2, float *x2, int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n)
        add_column_times(a, y2, x2, j, n, n);
}
