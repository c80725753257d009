/* SPDX-License-Identifier: MIT */
/*
 * attention: softmax(Q * transpose(K) / 8) * V for each head, half precision in, single precision out, on tensor cores.
 *
 * One pass over the keys without the matrix of scores, as Dao et al. do (FlashAttention, NeurIPS 2022): a thread block of 4 warps has 64
 * queries of a head, a warp 16 of them. 64 keys and values at a time come by cp.async into one of two places in shared memory. A warp multiplies
 * its queries with them (mma.sync m16n8k16), takes maxima and sums of each row by exchanging with the three other lanes that have a part of the row, corrects what it has
 * summed up so far where the maximum rose, and multiplies the weights, rounded to half precision, with the values, whose fragments ldmatrix transposes.
 * Heads have 64 columns; length: a multiple of 64. Needs sm_80.
 *
 * What limits it: the schedulers and pipelines of SMs: beside 64 products a warp computes 1024 exponentials, and their sums
 * and maxima, for each 64 keys. Keys and values come from the L2.
 */
#include "tensor.cuh"

#define COLUMNS 64
#define TILE_ROWS 64
#define PIECE 8 /* elements: 16 bytes */
#define PIECES (COLUMNS / PIECE)
#define ROW_BYTES (COLUMNS * 2)
#define TILE_BYTES (TILE_ROWS * ROW_BYTES)
#define LOWEST -1e30f

/* Where a piece of a row lies within a tile: eight rows of one column are in eight places of 128 bytes. */
TENSOR_FUNCTION unsigned int piece_offset(int row, int piece)
{
    return (unsigned int)(row * ROW_BYTES + (piece ^ (row & (PIECES - 1))) * 16);
}

/* 128 threads bring four pieces each: every sixteenth row. */
TENSOR_FUNCTION void fetch_tile(unsigned int to, const unsigned short *from)
{
    copy_16_bytes<0>(to, from);
    copy_16_bytes<16 * ROW_BYTES>(to, from + 16 * COLUMNS);
    copy_16_bytes<32 * ROW_BYTES>(to, from + 32 * COLUMNS);
    copy_16_bytes<48 * ROW_BYTES>(to, from + 48 * COLUMNS);
}

TENSOR_FUNCTION float power_of_two(float x)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

/* Two values in half precision, the first one in the lower half. */
TENSOR_FUNCTION unsigned int pack(float low, float high)
{
    unsigned int result;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
    return result;
}

/* Two columns of 8 scores each, for 16 keys and 16 of the columns. */
template <int offset>
TENSOR_FUNCTION void multiply_16_keys(float (&left)[4], float (&right)[4], const unsigned int (&queries)[4],
                                      unsigned int from)
{
    unsigned int keys[4];
    load_matrices<offset>(keys, from);
    multiply_add(left, queries, keys[0], keys[1]);
    multiply_add(right, queries, keys[2], keys[3]);
}

/* scores = queries * transpose(keys), 16 x 64; `from`: the lane's row and piece of the first matrices. */
TENSOR_FUNCTION void multiply_keys(float (&scores)[8][4], const unsigned int (&queries)[4][4], unsigned int from)
{
#pragma unroll
    for (int step = 0; step < COLUMNS / 16; step++) { /* two pieces on: other bits in the place of a piece */
        multiply_16_keys<0>(scores[0], scores[1], queries[step], from ^ step * 32);
        multiply_16_keys<16 * ROW_BYTES>(scores[2], scores[3], queries[step], from ^ step * 32);
        multiply_16_keys<32 * ROW_BYTES>(scores[4], scores[5], queries[step], from ^ step * 32);
        multiply_16_keys<48 * ROW_BYTES>(scores[6], scores[7], queries[step], from ^ step * 32);
    }
}

/* sums += weights * values for 16 keys, whose weights are the scores' registers, rounded. */
template <int offset>
TENSOR_FUNCTION void multiply_16_values(float (&sums)[8][4], const float (&left)[4], const float (&right)[4],
                                        unsigned int from)
{
    unsigned int weights[4] = {pack(left[0], left[1]), pack(left[2], left[3]), pack(right[0], right[1]),
                               pack(right[2], right[3])};
#pragma unroll
    for (int j = 0; j < 4; j++) {
        unsigned int values[4];
        load_matrices_transposed<offset>(values, from ^ j * 32);
        multiply_add(sums[j * 2], weights, values[0], values[1]);
        multiply_add(sums[j * 2 + 1], weights, values[2], values[3]);
    }
}

TENSOR_FUNCTION void multiply_values(float (&sums)[8][4], const float (&scores)[8][4], unsigned int from)
{
    multiply_16_values<0>(sums, scores[0], scores[1], from);
    multiply_16_values<16 * ROW_BYTES>(sums, scores[2], scores[3], from);
    multiply_16_values<32 * ROW_BYTES>(sums, scores[4], scores[5], from);
    multiply_16_values<48 * ROW_BYTES>(sums, scores[6], scores[7], from);
}

/*
 * Scores become weights, 2 to the power of scaled differences to the row's largest score so far. `half` is 0 for row lane / 4, 1 for the row
 * eight below; what was summed up under a smaller maximum is corrected.
 */
TENSOR_FUNCTION void weigh_row(float (&scores)[8][4], float (&sums)[8][4], float &largest, float &total, int half,
                               float scale)
{
    float highest = largest;
#pragma unroll
    for (int j = 0; j < 8; j++)
        highest = fmaxf(highest, fmaxf(scores[j][half * 2], scores[j][half * 2 + 1]));
    highest = fmaxf(highest, __shfl_xor_sync(0xffffffff, highest, 1));
    highest = fmaxf(highest, __shfl_xor_sync(0xffffffff, highest, 2));
    float correction = power_of_two((largest - highest) * scale), offset = highest * scale;
    largest = highest;
    total *= correction;
#pragma unroll
    for (int j = 0; j < 8; j++) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float weight = power_of_two(scores[j][half * 2 + i] * scale - offset);
            scores[j][half * 2 + i] = weight;
            total += weight;
            sums[j][half * 2 + i] *= correction;
        }
    }
}

TENSOR_FUNCTION void store_row(float *to, const float (&sums)[8][4], float total, int half)
{
    total += __shfl_xor_sync(0xffffffff, total, 1);
    total += __shfl_xor_sync(0xffffffff, total, 2);
    float factor = 1.0f / total;
#pragma unroll
    for (int j = 0; j < 8; j++)
        store_pair(to + j * 8, sums[j][half * 2] * factor, sums[j][half * 2 + 1] * factor);
}

extern "C" __global__ void __launch_bounds__(128) attention(const unsigned short *q, const unsigned short *k,
                                                            const unsigned short *v, float *out, int length, float scale)
{
    __shared__ __align__(128) unsigned char tiles[5 * TILE_BYTES]; /* two of keys and values, in turn; queries */
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int head = blockIdx.y * length * COLUMNS, first = blockIdx.x * TILE_ROWS;
    unsigned int first_tile = shared_address(tiles), reading = 0;
    unsigned int fetched = first_tile + piece_offset(threadIdx.x / PIECES, threadIdx.x % PIECES);
    unsigned int from_keys = first_tile + piece_offset(lane / 16 * 8 + lane % 8, lane / 8 % 2);
    unsigned int from_values = first_tile + TILE_BYTES + piece_offset(lane % 16, lane / 16);
    int thread_first = head + threadIdx.x * PIECE;
    k += thread_first;
    v += thread_first;

    fetch_tile(fetched + 4 * TILE_BYTES, q + thread_first + first * COLUMNS);
    fetch_tile(fetched, k);
    fetch_tile(fetched + TILE_BYTES, v);
    commit_copies();
    WAIT_FOR_COPIES(0);
    __syncthreads();
    unsigned int queries[4][4];
    unsigned int from_queries = first_tile + 4 * TILE_BYTES + piece_offset(warp * 16 + lane % 16, lane / 16);
#pragma unroll
    for (int i = 0; i < 4; i++)
        load_matrices<0>(queries[i], from_queries ^ i * 32);

    float sums[8][4] = {}, largest[2] = {LOWEST, LOWEST}, total[2] = {0.0f, 0.0f};
    for (int steps = length / TILE_ROWS; steps; steps--) {
        WAIT_FOR_COPIES(0);
        __syncthreads();
        if (steps > 1) {
            k += TILE_ROWS * COLUMNS;
            v += TILE_ROWS * COLUMNS;
            fetch_tile(fetched + 2 * TILE_BYTES - reading, k);
            fetch_tile(fetched + 3 * TILE_BYTES - reading, v);
            commit_copies();
        }
        float scores[8][4] = {};
        multiply_keys(scores, queries, from_keys + reading);
        weigh_row(scores, sums, largest[0], total[0], 0, scale);
        weigh_row(scores, sums, largest[1], total[1], 1, scale);
        multiply_values(sums, scores, from_values + reading);
        reading = 2 * TILE_BYTES - reading;
    }
    float *row = out + head + (first + warp * 16 + lane / 4) * COLUMNS + lane % 4 * 2;
    store_row(row, sums, total[0], 0);
    store_row(row + 8 * COLUMNS, sums, total[1], 1);
}
