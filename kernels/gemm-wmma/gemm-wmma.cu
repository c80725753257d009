/* SPDX-License-Identifier: MIT */
/*
 * gemm-wmma: C = A * transpose(B), half precision in, single precision out, all matrices stored by rows, on tensor cores.
 *
 * What gemm-mma computes, with what a V100 has: wmma m16n16k16 on fragments that wmma.load takes out of shared memory. A thread block of 8
 * warps computes 128 x 128 of C, a warp 64 x 32 of it. Two tiles of A and B, 32 of the depth each, are in shared memory; threads hold the next one in
 * registers while they work on one. Rows are 16 bytes longer than their elements, so that fragments of 16 rows spread over the banks. m, n: multiples of
 * 128; k: of 32. Needs sm_70.
 *
 * What limits it: the tensor pipelines, and shared memory near them: fragments of wmma are twice as large as those of mma, as
 * every element is in two lanes.
 */
#include "tensor.cuh"

#define TILE_ROWS 128
#define TILE_DEPTH 32
#define PIECE 8 /* elements: 16 bytes */
#define PIECES (TILE_DEPTH / PIECE)
#define STRIDE (TILE_DEPTH + PIECE)
#define TILE_BYTES (TILE_ROWS * STRIDE * 2)
#define STAGE_BYTES (2 * TILE_BYTES) /* a tile of A, a tile of B */
#define WARP_ROWS 64
#define WARP_COLUMNS 32

/* The products of 16 of the depth. */
TENSOR_FUNCTION void multiply_step(float (&sum)[4][2][8], unsigned int a_tile, unsigned int b_tile)
{
    unsigned int a[8], b[2][8];
#pragma unroll
    for (int j = 0; j < 2; j++)
        wmma_load_b(b[j], b_tile + j * 16 * STRIDE * 2, STRIDE);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        wmma_load_a(a, a_tile + i * 16 * STRIDE * 2, STRIDE);
#pragma unroll
        for (int j = 0; j < 2; j++)
            wmma_multiply_add(sum[i][j], a, b[j]);
    }
}

extern "C" __global__ void __launch_bounds__(256)
    gemm_wmma(const unsigned short *a, const unsigned short *b, float *c, int n, int k)
{
    __shared__ __align__(128) unsigned char tiles[2 * STAGE_BYTES];
    int warp = threadIdx.x / 32, row = threadIdx.x / PIECES, column = threadIdx.x % PIECES * PIECE;
    int warp_row = warp / 4 * WARP_ROWS, warp_column = warp % 4 * WARP_COLUMNS;
    unsigned int first = shared_address(tiles), stored = first + (row * STRIDE + column) * 2;
    unsigned int a_tile = first + warp_row * STRIDE * 2;
    unsigned int b_tile = first + TILE_BYTES + warp_column * STRIDE * 2;
    int half = TILE_ROWS / 2 * k;
    a += blockIdx.y * TILE_ROWS * k + row * k + column;
    b += blockIdx.x * TILE_ROWS * k + row * k + column;

    unsigned int next[4][4]; /* a piece of two rows of A and of two rows of B: i and i + 64 */
    float sum[4][2][8] = {};
    unsigned int reading = STAGE_BYTES;
    for (int depth = -TILE_DEPTH; depth < k; depth += TILE_DEPTH) { /* the first round only fetches */
        bool more = depth + TILE_DEPTH < k;
        if (more) {
            load_piece(next[0], a + depth + TILE_DEPTH);
            load_piece(next[1], a + depth + TILE_DEPTH + half);
            load_piece(next[2], b + depth + TILE_DEPTH);
            load_piece(next[3], b + depth + TILE_DEPTH + half);
        }
        if (depth >= 0) {
#pragma unroll
            for (int part = 0; part < TILE_DEPTH / 16; part++)
                multiply_step(sum, a_tile + reading + part * 32, b_tile + reading + part * 32);
        }
        reading = STAGE_BYTES - reading;
        if (more) {
            store_piece(stored + reading, next[0]);
            store_piece(stored + reading + TILE_BYTES / 2, next[1]);
            store_piece(stored + reading + TILE_BYTES, next[2]);
            store_piece(stored + reading + TILE_BYTES + TILE_BYTES / 2, next[3]);
        }
        __syncthreads();
    }

    float *corner = c + (blockIdx.y * TILE_ROWS + warp_row) * n + blockIdx.x * TILE_ROWS + warp_column;
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 2; j++)
            wmma_store(corner + i * 16 * n + j * 16, sum[i][j], n);
    }
}
