/* SPDX-License-Identifier: MIT */
/*
 * The product of rows of a dense matrix and a vector: a warp each, eight to a thread block. Tiles of x go through shared memory
 * for all eight; a lane loads two neighbours of its row at a time, 256 bytes a warp. dense.h says in which order is added.
 */
#ifndef EXAMPLES_SPLIT_DENSE_CUH
#define EXAMPLES_SPLIT_DENSE_CUH

#define WARP 32
#define ROWS 8
#define TILE 1024

/* For all threads of the block, `row` is that of the warp; a warp that has none (`works` false) helps with the tiles. Lane 0 has the sum. */
__device__ __forceinline__ float dense_row(const float *matrix, const float *x, unsigned int n, unsigned int row, bool works)
{
    __shared__ float2 tile[TILE / 2];
    unsigned int lane = threadIdx.x % WARP;
    const float2 *elements = (const float2 *)(matrix + (unsigned long long)row * n);
    float even = 0.0f, odd = 0.0f;
    for (unsigned int start = 0; start < n; start += TILE) {
        unsigned int pairs = min((unsigned int)TILE, n - start) / 2;
        __syncthreads();
        for (unsigned int i = threadIdx.x; i < pairs; i += ROWS * WARP)
            tile[i] = ((const float2 *)x)[start / 2 + i];
        __syncthreads();
        if (works) {
#pragma unroll 4
            for (unsigned int i = lane; i < pairs; i += WARP) {
                float2 element = elements[start / 2 + i], factor = tile[i];
                even = fmaf(element.x, factor.x, even);
                odd = fmaf(element.y, factor.y, odd);
            }
        }
    }
    float sum = even + odd;
#pragma unroll
    for (unsigned int half = WARP / 2; half > 0; half /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, half);
    return sum;
}

#endif
