/* SPDX-License-Identifier: MIT */
/*
 * 3mm: G = (A * B) * (C * D), single precision, all matrices stored by rows.
 *
 * Three launches as in PolyBench/GPU, E = A * B, F = C * D and G = E * F: one thread per element of the result, which
 * it clears first; thread blocks of 32 x 8, no tiles and no shared memory. One of the programs whose cycles on a Quadro
 * V100 are published, hence size v100, its own 512 x 512 x 512.
 *
 * What limits it: the way to the L2, as with gemm: every term of a sum is stored.
 */
#include "matrix_product.cuh"

/* All three products are the same kernel here; PolyBench/GPU has it three times. */
extern "C" __global__ void __launch_bounds__(256)
    mm3_product(const float *left, const float *right, float *product, int rows, int columns, int depth)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= columns)
        return;
    product[i * columns + j] = 0.0f;
    add_row_times_column(1.0f, left, right, product, i, j, depth, columns);
}
