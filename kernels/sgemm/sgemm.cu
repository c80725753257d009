/* SPDX-License-Identifier: MIT */
/*
 * sgemm: C = alpha * A * transpose(B) + beta * C in single precision, all matrices stored by columns.
 *
 * The papers use Parboil's sgemm as their compute-intensive kernel (mysgemmNT in table 2-2 of the SMK chapter: 94.5 %
 * of the registers, 5.7 % of the shared memory, 68.8 % of the threads of a GTX 980 SM, that is 11 thread blocks of 128
 * threads with 44 registers and 512 bytes). The same blocking here: a thread block computes 128 rows by 16 columns, a
 * thread one row of it in 16 registers; 8 by 16 elements of B at a time go through shared memory and are read by all
 * threads alike.
 *
 * What limits it: shared memory. For each k a thread loads one element of A (coalesced, each used once per block) and
 * does 16 multiply-adds, each with another element of B, so that it loads as often from shared memory as it computes,
 * and an SM loads for one warp while four can issue: its schedulers issue in two cycles of five (in the chapter 52.5 %
 * of the cycles are stalled). Global memory has little to do, speed grows with the SMs. Registers limit occupancy.
 */
#define TILE_ROWS 128
#define TILE_COLUMNS 16
#define TILE_DEPTH 8

extern "C" __global__ void __launch_bounds__(TILE_ROWS)
    sgemm_nt(const float *a, int lda, const float *b, int ldb, float *c, int ldc, int k, float alpha, float beta)
{
    __shared__ float tile[TILE_DEPTH][TILE_COLUMNS];
    float sum[TILE_COLUMNS];
#pragma unroll
    for (int n = 0; n < TILE_COLUMNS; n++)
        sum[n] = 0.0f;

    int row = blockIdx.x * TILE_ROWS + threadIdx.y * TILE_COLUMNS + threadIdx.x;
    int first_column = blockIdx.y * TILE_COLUMNS;
    const float *a_row = a + row;
    const float *b_element = b + (threadIdx.y * ldb + first_column + threadIdx.x);

    for (int depth = 0; depth < k; depth += TILE_DEPTH) {
        tile[threadIdx.y][threadIdx.x] = *b_element;
        b_element += TILE_DEPTH * ldb;
        __syncthreads();
#pragma unroll
        for (int j = 0; j < TILE_DEPTH; j++) {
            float a_value = *a_row;
            a_row += lda;
#pragma unroll
            for (int n = 0; n < TILE_COLUMNS; n++)
                sum[n] += a_value * tile[j][n];
        }
        __syncthreads();
    }

    float *c_element = c + (first_column * ldc + row);
#pragma unroll
    for (int n = 0; n < TILE_COLUMNS; n++) {
        *c_element = alpha * sum[n] + beta * *c_element;
        c_element += ldc;
    }
}
