/* SPDX-License-Identifier: MIT */
/*
 * aes-encrypt: AES encryption with a 128-bit key, block after block independently (ECB), padded as PKCS #7 says.
 *
 * A thread computes one column (32 bits) of a 16-byte block through all ten rounds; the four threads of a block
 * exchange their columns through shared memory. Substitution, row shift and column mixing of a round are four look-ups
 * in tables of 256 words, which every thread block copies to shared memory first (4 KB), with the round keys that the
 * host has expanded.
 *
 * The spatial multitasking paper uses it as compute-bound (HPCA 2012, table 1: one kernel of 4097 thread blocks of 256
 * threads for 4 MB). 4 MB are 4096 thread blocks; the last one has the block of padding.
 *
 * What limits it: the shared memory pipeline and arithmetic. 16 bytes are read and written for ten rounds of look-ups
 * at addresses that depend on the data, so that lanes meet in banks, and a barrier after each round.
 */
#include "aes.cuh"

/* Without mixing: the byte of an entry whose factor is 1 is the substituted byte itself. */
__device__ __forceinline__ unsigned int unmixed(const unsigned int (*table)[256], unsigned int s0, unsigned int s1,
                                                unsigned int s2, unsigned int s3)
{
    return (table[2][s0 & 0xff] & 0xff) | (table[3][s1 >> 8 & 0xff] & 0xff00) | (table[0][s2 >> 16 & 0xff] & 0xff0000) |
           (table[1][s3 >> 24] & 0xff000000);
}

extern "C" __global__ void __launch_bounds__(AES_THREADS)
    aes_encrypt(const unsigned int *__restrict__ tables, const unsigned int *__restrict__ round_keys,
                const unsigned int *__restrict__ text, unsigned int *__restrict__ cipher, int words)
{
    __shared__ unsigned int table[4][256];
    __shared__ unsigned int key[4 * (AES_ROUNDS + 1)];
    __shared__ unsigned int state[2][AES_THREADS]; /* of alternate rounds, so that one barrier a round is enough */
    int thread = threadIdx.x;
    for (int row = 0; row < 4; row++)
        table[row][thread] = tables[256 * row + thread];
    if (thread < 4 * (AES_ROUNDS + 1))
        key[thread] = round_keys[thread];
    int word = blockIdx.x * AES_THREADS + thread;
    unsigned int own = word < words ? text[word] : 0;
    __syncthreads();

    int column = thread & 3;
    int block = thread & ~3;
    int right1 = block | ((column + 1) & 3);
    int right2 = block | ((column + 2) & 3);
    int right3 = block | ((column + 3) & 3);
    own ^= key[column];
#pragma unroll
    for (int round = 1; round <= AES_ROUNDS; round++) {
        unsigned int *columns = state[round & 1];
        columns[thread] = own;
        __syncthreads();
        unsigned int s1 = columns[right1];
        unsigned int s2 = columns[right2];
        unsigned int s3 = columns[right3];
        own = (round < AES_ROUNDS ? aes_mixed(table, own, s1, s2, s3) : unmixed(table, own, s1, s2, s3)) ^
              key[4 * round + column];
    }
    if (word < words)
        cipher[word] = own;
}
