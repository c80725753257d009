/* SPDX-License-Identifier: MIT */
/*
 * C = A B for the rows [begin, end) of C; mm.c. A thread block computes 32 rows by 64 columns, a thread 4 by 4 of them in
 * registers; tiles of A and B, 16 deep, go through shared memory. Each element is a chain of fused multiply-adds, k ascending,
 * as on the CPU. B lies in panels of 32 columns: what a warp loads of it is in one piece.
 */
#define ROWS 32
#define COLUMNS 64
#define DEPTH 16
#define PANEL 32
#define EACH 4 /* rows and columns of a thread */
#define THREADS (ROWS * COLUMNS / (EACH * EACH))

extern "C" __global__ void __launch_bounds__(THREADS)
    multiply(const float *a, const float *b, float *c, unsigned int n, unsigned int first_row, unsigned int last_row)
{
    __shared__ float4 a_tile[DEPTH][ROWS / EACH + 1]; /* by columns of A; the last element keeps them in different banks */
    __shared__ float4 b_tile[DEPTH][COLUMNS / EACH];
    unsigned int thread = threadIdx.x, x = thread % (COLUMNS / EACH), y = thread / (COLUMNS / EACH);
    unsigned int row = first_row + blockIdx.y * ROWS, column = blockIdx.x * COLUMNS;
    float sum[EACH][EACH] = {};

    for (unsigned int start = 0; start < n; start += DEPTH) {
        __syncthreads();
        for (unsigned int i = thread; i < ROWS * DEPTH; i += THREADS) {
            unsigned int k = i % DEPTH, r = i / DEPTH;
            ((float *)a_tile[k])[r] = row + r < last_row ? a[(unsigned long long)(row + r) * n + start + k] : 0.0f;
        }
        for (unsigned int i = thread; i < DEPTH * COLUMNS / EACH; i += THREADS) {
            unsigned int in_panel = i % (PANEL / EACH), k = i / (PANEL / EACH) % DEPTH, panel = i / (PANEL / EACH * DEPTH);
            const float4 *from = (const float4 *)(b + (unsigned long long)(column / PANEL + panel) * n * PANEL);
            b_tile[k][panel * (PANEL / EACH) + in_panel] = from[(start + k) * (PANEL / EACH) + in_panel];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float4 of_a = a_tile[k][y], of_b = b_tile[k][x];
            float rows[EACH] = {of_a.x, of_a.y, of_a.z, of_a.w}, columns[EACH] = {of_b.x, of_b.y, of_b.z, of_b.w};
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++)
                    sum[i][j] = fmaf(rows[i], columns[j], sum[i][j]);
        }
    }
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        unsigned int r = row + y * EACH + i;
        if (r < last_row)
            ((float4 *)(c + (unsigned long long)r * n + column))[x] =
                make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    }
}
