/* SPDX-License-Identifier: MIT */
/*
 * gemm-wgmma: C = A * transpose(B), half precision in, single precision out, all matrices stored by rows, on the tensor cores of sm_90a.
 *
 * The shape of the libraries' kernels for the H100, with cp.async where those have the tensor memory accelerator: a thread block of two
 * warpgroups computes 128 x 128 of C, a warpgroup 64 x 128 of it in 64 registers of each thread. Three tiles of A and B, 32 of the depth
 * each, are in shared memory: cp.async brings the next two while wgmma m64n128k16 multiplies one. A row of a tile has 64 bytes, in the
 * order of the 64-byte swizzle. m, n: multiples of 128; k: of 32. Needs sm_90a.
 *
 * What limits it: the way of the tiles to shared memory. The products of 128 x 128 x 32 take four tensor pipelines of 512 multiply-adds a
 * cycle (H100) 256 cycles, and what wgmma reads of shared memory 192 of them at 128 bytes a cycle; in that time 16 KiB are to come from
 * the L2, for each thread block of the SM.
 */
#include "tensor.cuh"

#define TILE_ROWS 128
#define TILE_DEPTH 32
#define STAGES 3
#define AHEAD 2 /* stages that are fetched before they are multiplied */
#define PIECE 8 /* elements: 16 bytes */
#define PIECES (TILE_DEPTH / PIECE)
#define ROW_BYTES (TILE_DEPTH * 2)
#define TILE_BYTES (TILE_ROWS * ROW_BYTES)
#define STAGE_BYTES (2 * TILE_BYTES) /* a tile of A, a tile of B */
#define GROUP_ROWS 64

/* Where a piece of a row lies within a tile: bits 4 and 5 of the address, exclusive-or bits 7 and 8. */
TENSOR_FUNCTION unsigned int piece_offset(int row, int piece)
{
    return (unsigned int)(row * ROW_BYTES + (piece ^ (row >> 1 & (PIECES - 1))) * 16);
}

/* 256 threads bring two pieces of each tile: rows i and i + 64. */
TENSOR_FUNCTION void fetch_stage(unsigned int to, const unsigned short *a, const unsigned short *b, int half)
{
    copy_16_bytes<0>(to, a);
    copy_16_bytes<TILE_BYTES / 2>(to, a + half);
    copy_16_bytes<TILE_BYTES>(to, b);
    copy_16_bytes<TILE_BYTES + TILE_BYTES / 2>(to, b + half);
}

/* A matrix from an address in shared memory on: 512 bytes from 8 rows to the next, 64-byte swizzle. */
TENSOR_FUNCTION unsigned long long descriptor(unsigned int address)
{
    return (unsigned long long)(address >> 4) | 1ull << 16 | 512ull >> 4 << 32 | 2ull << 62;
}

/* sum += a * b, where 64 x 16 of A and 128 x 16 of B are described. */
TENSOR_FUNCTION void multiply_group(float (&sum)[64], unsigned long long a, unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
                 "}, %64, %65, 1, 1, 1, 0, 0;"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
                   "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]),
                   "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]),
                   "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]), "+f"(sum[25]),
                   "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31]),
                   "+f"(sum[32]), "+f"(sum[33]), "+f"(sum[34]), "+f"(sum[35]), "+f"(sum[36]), "+f"(sum[37]),
                   "+f"(sum[38]), "+f"(sum[39]), "+f"(sum[40]), "+f"(sum[41]), "+f"(sum[42]), "+f"(sum[43]),
                   "+f"(sum[44]), "+f"(sum[45]), "+f"(sum[46]), "+f"(sum[47]), "+f"(sum[48]), "+f"(sum[49]),
                   "+f"(sum[50]), "+f"(sum[51]), "+f"(sum[52]), "+f"(sum[53]), "+f"(sum[54]), "+f"(sum[55]),
                   "+f"(sum[56]), "+f"(sum[57]), "+f"(sum[58]), "+f"(sum[59]), "+f"(sum[60]), "+f"(sum[61]),
                   "+f"(sum[62]), "+f"(sum[63])
                 : "l"(a), "l"(b)
                 : "memory");
}

#define PRODUCTS_FENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT_PRODUCTS() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
/* Until at most `groups` of the groups that were committed are under way. */
#define WAIT_FOR_PRODUCTS(groups) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory")
/* What threads, and their copies, have stored is seen by products. */
#define SHOW_TO_PRODUCTS() asm volatile("fence.proxy.async;" ::: "memory")

extern "C" __global__ void __launch_bounds__(256)
    gemm_wgmma(const unsigned short *a, const unsigned short *b, float *c, int n, int k)
{
    extern __shared__ __align__(1024) unsigned char tiles[]; /* STAGES * STAGE_BYTES */
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int first = shared_address(tiles);
    unsigned int fetched = first + piece_offset(threadIdx.x / PIECES, threadIdx.x % PIECES);
    unsigned long long from_a = descriptor(first + warp / 4 * GROUP_ROWS * ROW_BYTES);
    unsigned long long from_b = descriptor(first + TILE_BYTES);
    int thread_first = threadIdx.x / PIECES * k + threadIdx.x % PIECES * PIECE, half = TILE_ROWS / 2 * k;
    a += blockIdx.y * TILE_ROWS * k + thread_first;
    b += blockIdx.x * TILE_ROWS * k + thread_first;
    int steps = k / TILE_DEPTH;

#pragma unroll
    for (int stage = 0; stage < AHEAD; stage++) {
        if (stage < steps)
            fetch_stage(fetched + stage * STAGE_BYTES, a + stage * TILE_DEPTH, b + stage * TILE_DEPTH, half);
        commit_copies();
    }

    float sum[64] = {};
    unsigned int reading = 0, writing = AHEAD * STAGE_BYTES;
    for (int step = 0; step < steps; step++) {
        WAIT_FOR_COPIES(AHEAD - 1);
        WAIT_FOR_PRODUCTS(0); /* the stage that they have read is fetched next */
        SHOW_TO_PRODUCTS();
        __syncthreads();
        PRODUCTS_FENCE();
        multiply_group(sum, from_a + reading, from_b + reading);
        multiply_group(sum, from_a + reading + 2, from_b + reading + 2); /* 32 bytes on */
        COMMIT_PRODUCTS();
        if (step + AHEAD < steps) {
            int depth = (step + AHEAD) * TILE_DEPTH;
            fetch_stage(fetched + writing, a + depth, b + depth, half);
        }
        commit_copies();
        reading = reading == (STAGES - 1) * STAGE_BYTES / 16 ? 0 : reading + STAGE_BYTES / 16;
        writing = writing == (STAGES - 1) * STAGE_BYTES ? 0 : writing + STAGE_BYTES;
    }
    WAIT_FOR_PRODUCTS(0);

    float *row = c + (blockIdx.y * TILE_ROWS + warp * 16 + lane / 4) * n + blockIdx.x * TILE_ROWS + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 16; i++) { /* 8 columns each */
        store_pair(row + i * 8, sum[i * 4], sum[i * 4 + 1]);
        store_pair(row + 8 * n + i * 8, sum[i * 4 + 2], sum[i * 4 + 3]);
    }
}
