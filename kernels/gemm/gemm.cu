/* SPDX-License-Identifier: MIT */
/*
 * gemm: C = alpha * A * B + beta * C, single precision, all matrices stored by rows.
 *
 * One kernel as in PolyBench/GPU: one thread per element of C, thread blocks of 32 x 8, no tiles and no shared memory
 * (sgemm is the program that has them). One of the programs whose cycles on a Quadro V100 are published, hence size
 * v100, its own 512 x 512 x 512.
 *
 * What limits it: each SM's own way to the L2. Elements of A are the same for a whole warp and those of B neighbours,
 * and both mostly hit the L1; but the sum is the element of C in memory and every one of its terms is stored, 128 bytes
 * per warp and multiply-add, and stores go through. On 16 SMs the L2 takes what they send, so that it scales with SMs
 * like a compute-bound program.
 */
#include "matrix_product.cuh"

extern "C" __global__ void __launch_bounds__(256)
    gemm(const float *a, const float *b, float *c, int ni, int nj, int nk, float alpha, float beta)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= ni || j >= nj)
        return;
    c[i * nj + j] *= beta;
    add_row_times_column(alpha, a, b, c, i, j, nk, nj);
}
