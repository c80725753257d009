/* SPDX-License-Identifier: MIT */
/*
 * spmv: y = A * x with a sparse matrix in jagged diagonal storage (JDS), single precision.
 *
 * Rows are sorted by their number of entries, longest first, and stored by "diagonals": first the first entry of every
 * row, then the second of those that have one, and so on, so that neighbouring threads read neighbouring entries. Rows
 * of one warp are padded to the same length; diagonal starts and warp lengths are in constant memory.
 *
 * The papers use Parboil's spmv as a memory-intensive kernel (spmvjds in table 2-2 of the SMK chapter: 46.9 % of the
 * registers, no shared memory, 93.8 % of the threads of a GTX 980 SM, that is 10 thread blocks of 192 threads with 16
 * registers; 91 % of the cycles stalled).
 *
 * What limits it: memory. Each entry is 8 bytes from DRAM, used for one multiply-add, and the gather of x depends on
 * the column just loaded and touches up to 32 lines per warp; rows of unequal length leave warps of unequal work.
 */
#define MAX_DIAGONALS 1024
#define MAX_WARPS 5120

__constant__ int diagonal_start[MAX_DIAGONALS];
__constant__ int warp_length[MAX_WARPS];

extern "C" __global__ void __launch_bounds__(192)
    spmv_jds(float *y, const float *values, const int *columns, const int *permutation, const float *x, int rows)
{
    int rank = blockIdx.x * blockDim.x + threadIdx.x;
    if (rank >= rows)
        return;
    int length = warp_length[rank / 32];
    float sum = 0.0f;
    int k = 0;   /* every row has an entry, if only padding */
#pragma unroll 1 /* unrolled, it takes more registers, and fewer warps are there to hide latency */
    do {
        int entry = diagonal_start[k] + rank;
        sum += values[entry] * __ldg(x + columns[entry]);
    } while (++k < length);
    y[permutation[rank]] = sum;
}
