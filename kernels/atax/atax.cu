/* SPDX-License-Identifier: MIT */
/*
 * atax: y = transpose(A) * (A * x), single precision, A stored by rows.
 *
 * Two kernels as in PolyBench/GPU: tmp = A * x with one thread per row, then y = transpose(A) * tmp with one thread per
 * column; thread blocks of 256 threads in one dimension (grid 16 for the program's own 4096 x 4096). SMQoS (Parallel
 * Computing 2022) counts it among its memory-intensive programs (ATAX), and its cycles on a Quadro V100 are published,
 * hence size v100.
 *
 * What limits it: memory. Every element of A is used for one multiply-add in each kernel. In the first one the threads
 * of a warp read words a row apart: each load touches 32 lines, of which the next iterations use the rest, if they are
 * still in the L1 then. A thread block alone walks through 256 lines at a time (32 KB); two thread blocks per SM are
 * more than the L1 of a GTX 980 holds. The second one is coalesced, but has few threads: a column each.
 */
#include "matrix_vector.cuh"

extern "C" __global__ void __launch_bounds__(256) atax_rows(const float *a, const float *x, float *tmp, int nx, int ny)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nx)
        add_row_times(a, x, tmp, i, ny);
}

extern "C" __global__ void __launch_bounds__(256)
    atax_columns(const float *a, const float *tmp, float *y, int nx, int ny)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < ny)
        add_column_times(a, tmp, y, j, nx, ny);
}
