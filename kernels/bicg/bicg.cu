/* SPDX-License-Identifier: MIT */
/*
 * bicg: s = transpose(A) * r and q = A * p, the two products of a step of the biconjugate gradient method, single
 * precision, A stored by rows.
 *
 * Two kernels as in PolyBench/GPU: s with one thread per column, then q with one thread per row; each clears its sum
 * itself. Thread blocks of 256 threads in one dimension (grid 16 for the program's own 4096 x 4096). SMQoS (Parallel
 * Computing 2022) counts it among its memory-intensive programs (BICG), and its cycles on a Quadro V100 are published,
 * hence size v100.
 *
 * What limits it: memory, as with atax. Every element of A is used for one multiply-add in each kernel; the first is
 * coalesced with few threads, in the second the threads of a warp read words a row apart, 32 lines per load, which must
 * stay in the L1 for the iterations that use the rest of them.
 */
#include "matrix_vector.cuh"

extern "C" __global__ void __launch_bounds__(256) bicg_columns(const float *a, const float *r, float *s, int nx, int ny)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= ny)
        return;
    s[j] = 0.0f;
    add_column_times(a, r, s, j, nx, ny);
}

extern "C" __global__ void __launch_bounds__(256) bicg_rows(const float *a, const float *p, float *q, int nx, int ny)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nx)
        return;
    q[i] = 0.0f;
    add_row_times(a, p, q, i, ny);
}
