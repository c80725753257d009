/* SPDX-License-Identifier: MIT */
/*
 * gemm-mma: C = A * transpose(B), half precision in, single precision out, all matrices stored by rows, on tensor cores.
 *
 * The shape of the libraries' kernels since the A100: a thread block of 8 warps computes 128 x 128 of C, a warp 64 x 32 of it in 64
 * registers. Three tiles of A and B, 32 of the depth each, are in shared memory: cp.async brings the next two while
 * mma.sync m16n8k16 works on one, whose fragments ldmatrix takes out. The 16-byte pieces of a row lie in an order that depends on
 * the row, so that neither copies nor ldmatrix meet in a bank. m, n: multiples of 128; k: of 32. Needs sm_80.
 *
 * What limits it: the tensor pipelines, where the rest keeps up. For 16 products of 2048 multiply-adds a warp takes 3072 bytes of
 * fragments; at 128 bytes a cycle for the SM that is 192 cycles for 8 warps, in which four pipelines of 256 multiply-adds a cycle
 * (A100) do three quarters of the products: they decide. Pipelines of twice the rate (H100) wait for shared memory, which is why
 * these GPUs have products that read it themselves (wgmma).
 */
#include "tensor.cuh"

#define TILE_ROWS 128
#define TILE_DEPTH 32
#define STAGES 3
#define PIECE 8 /* elements: 16 bytes */
#define PIECES (TILE_DEPTH / PIECE)
#define ROW_BYTES (TILE_DEPTH * 2)
#define TILE_BYTES (TILE_ROWS * ROW_BYTES)
#define STAGE_BYTES (2 * TILE_BYTES) /* a tile of A, a tile of B */
#define WARP_ROWS 64
#define WARP_COLUMNS 32

/* Where a piece of a row lies within a tile: eight rows of one column are in eight places of 128 bytes. */
TENSOR_FUNCTION unsigned int piece_offset(int row, int piece)
{
    return (unsigned int)(row * ROW_BYTES + (piece ^ (row >> 1 & (PIECES - 1))) * 16);
}

/* 256 threads bring two pieces each: rows i and i + 64. */
TENSOR_FUNCTION void fetch_stage(unsigned int to, const unsigned short *a, const unsigned short *b, int half)
{
    copy_16_bytes<0>(to, a);
    copy_16_bytes<TILE_BYTES / 2>(to, a + half);
    copy_16_bytes<TILE_BYTES>(to, b);
    copy_16_bytes<TILE_BYTES + TILE_BYTES / 2>(to, b + half);
}

/* The products of 16 of the depth; addresses are those of the lane's row in the warp's first matrices. */
TENSOR_FUNCTION void multiply_step(float (&sum)[4][4][4], unsigned int from_a, unsigned int from_b)
{
    unsigned int a[4][4], b[2][4];
    load_matrices<0>(a[0], from_a);
    load_matrices<16 * ROW_BYTES>(a[1], from_a);
    load_matrices<32 * ROW_BYTES>(a[2], from_a);
    load_matrices<48 * ROW_BYTES>(a[3], from_a);
    load_matrices<0>(b[0], from_b);
    load_matrices<16 * ROW_BYTES>(b[1], from_b);
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 4; j++)
            multiply_add(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
}

extern "C" __global__ void __launch_bounds__(256)
    gemm_mma(const unsigned short *a, const unsigned short *b, float *c, int n, int k)
{
    extern __shared__ __align__(128) unsigned char tiles[]; /* STAGES * STAGE_BYTES */
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int warp_row = warp / 4 * WARP_ROWS, warp_column = warp % 4 * WARP_COLUMNS;
    unsigned int first = shared_address(tiles);
    unsigned int fetched = first + piece_offset(threadIdx.x / PIECES, threadIdx.x % PIECES);
    unsigned int from_a = first + piece_offset(warp_row + lane % 16, lane / 16);
    unsigned int from_b = first + TILE_BYTES + piece_offset(warp_column + lane / 16 * 8 + lane % 8, lane / 8 % 2);
    int thread_first = threadIdx.x / PIECES * k + threadIdx.x % PIECES * PIECE, half = TILE_ROWS / 2 * k;
    a += blockIdx.y * TILE_ROWS * k + thread_first;
    b += blockIdx.x * TILE_ROWS * k + thread_first;
    int steps = k / TILE_DEPTH;

#pragma unroll
    for (int stage = 0; stage < STAGES - 1; stage++) {
        if (stage < steps)
            fetch_stage(fetched + stage * STAGE_BYTES, a + stage * TILE_DEPTH, b + stage * TILE_DEPTH, half);
        commit_copies();
    }

    float sum[4][4][4] = {};
    unsigned int reading = 0, writing = (STAGES - 1) * STAGE_BYTES;
    for (int step = 0; step < steps; step++) {
        WAIT_FOR_COPIES(STAGES - 2);
        __syncthreads();
        if (step + STAGES - 1 < steps) {
            int depth = (step + STAGES - 1) * TILE_DEPTH;
            fetch_stage(fetched + writing, a + depth, b + depth, half);
        }
        commit_copies();
#pragma unroll
        for (int part = 0; part < TILE_DEPTH / 16; part++) /* two pieces on: another bit in the place of a piece */
            multiply_step(sum, (from_a + reading) ^ part * 32, (from_b + reading) ^ part * 32);
        reading = reading == (STAGES - 1) * STAGE_BYTES ? 0 : reading + STAGE_BYTES;
        writing = writing == (STAGES - 1) * STAGE_BYTES ? 0 : writing + STAGE_BYTES;
    }

    float *row = c + (blockIdx.y * TILE_ROWS + warp_row + lane / 4) * n + blockIdx.x * TILE_ROWS + warp_column + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 8; i++) { /* 8 rows each */
#pragma unroll
        for (int j = 0; j < 4; j++)
            store_pair(row + j * 8, sum[i / 2][j][i % 2 * 2], sum[i / 2][j][i % 2 * 2 + 1]);
        row += 8 * n;
    }
}
