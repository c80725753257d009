/* SPDX-License-Identifier: MIT */
/*
 * 2mm: E = (A * B) * D, single precision, all matrices stored by rows.
 *
 * Two launches as in PolyBench/GPU, C = A * B and E = C * D: one thread per element of the result, thread blocks of 32
 * x 8, no tiles and no shared memory. One of the programs whose cycles on a Quadro V100 are published, hence size v100,
 * its own 2048 x 2048 x 2048.
 *
 * What limits it: the way to the L2, as with gemm: every term of a sum is stored. At size v100 a matrix is 16 MB, so
 * that columns come from DRAM again for every wave of thread blocks.
 */
#include "matrix_product.cuh"

/* Both products are the same kernel here; PolyBench/GPU has it twice. */
extern "C" __global__ void __launch_bounds__(256)
    mm2_product(const float *left, const float *right, float *product, int rows, int columns, int depth)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < rows && j < columns)
        add_row_times_column(1.0f, left, right, product, i, j, depth, columns);
}
