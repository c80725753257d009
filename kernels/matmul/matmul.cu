/* SPDX-License-Identifier: MIT */
/*
 * matmul: C = A * B in single precision, all matrices stored by rows, tiled in shared memory.
 *
 * The classic one: a thread block computes 16 by 16 elements of C, one a thread. It walks along 16 rows of A and 16
 * columns of B in tiles of 16 by 16; each thread loads one element of either tile, and all of them are used 16 times.
 * Sizes need not be multiples of 16: what a tile has beyond the edges is zero.
 *
 * Kernelet uses it as MM, one of its compute-intensive kernels (TPDS 2014, table 2; from the CUDA SDK); the CAP chapter
 * splits it between CPU and GPU by rows of C (mm, two matrices of 1K by 1K), so the kernel takes a sub-range: the rows
 * from `first` to before `last`, and writes nothing else.
 *
 * What limits it: the throughput of shared memory and of issue. A multiply-add takes two loads from shared memory, so
 * that only a third of the instructions do arithmetic; global memory is read once for 16 uses. sgemm, blocked in
 * registers, is what is done about that.
 */
#define TILE 16

extern "C" __global__ void __launch_bounds__(TILE *TILE)
    matmul_tiled(float *c, const float *a, const float *b, int first, int last, int n, int k)
{
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];
    int row = first + blockIdx.y * TILE + threadIdx.y;
    int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;

    for (int start = 0; start < k; start += TILE) {
        int a_column = start + threadIdx.x;
        int b_row = start + threadIdx.y;
        a_tile[threadIdx.y][threadIdx.x] = row < last && a_column < k ? a[row * k + a_column] : 0.0f;
        b_tile[threadIdx.y][threadIdx.x] = b_row < k && column < n ? b[b_row * n + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++)
            sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
        __syncthreads();
    }
    if (row < last && column < n)
        c[row * n + column] = sum;
}
