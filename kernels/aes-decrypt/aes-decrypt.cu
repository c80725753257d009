/* SPDX-License-Identifier: MIT */
/*
 * aes-decrypt: AES decryption with a 128-bit key, block after block independently (ECB); the padding comes out as it
 * went in.
 *
 * Like aes-encrypt, with the equivalent inverse cipher of FIPS 197: rows shift the other way, the tables are those of
 * the inverse substitution and mixing, and the host mixes the round keys of the inner rounds. The last round needs the
 * inverse substitution itself, which is in none of the tables, so it has one of its own (256 bytes).
 *
 * The spatial multitasking paper uses it as compute-bound (HPCA 2012, table 1: one kernel of 4097 thread blocks of 256
 * threads for 4 MB). 4 MB are 4096 thread blocks; the last one has the block of padding.
 *
 * What limits it: the shared memory pipeline and arithmetic. 16 bytes are read and written for ten rounds of look-ups
 * at addresses that depend on the data, so that lanes meet in banks, and a barrier after each round.
 */
#include "aes.cuh"

__device__ __forceinline__ unsigned int unmixed(const unsigned char *box, unsigned int s0, unsigned int s1,
                                                unsigned int s2, unsigned int s3)
{
    return box[s0 & 0xff] | (unsigned int)box[s1 >> 8 & 0xff] << 8 | (unsigned int)box[s2 >> 16 & 0xff] << 16 |
           (unsigned int)box[s3 >> 24] << 24;
}

extern "C" __global__ void __launch_bounds__(AES_THREADS)
    aes_decrypt(const unsigned int *__restrict__ tables, const unsigned char *__restrict__ substitution,
                const unsigned int *__restrict__ round_keys, const unsigned int *__restrict__ cipher,
                unsigned int *__restrict__ text, int words)
{
    __shared__ unsigned int table[4][256];
    __shared__ unsigned char box[256];
    __shared__ unsigned int key[4 * (AES_ROUNDS + 1)];
    __shared__ unsigned int state[2][AES_THREADS]; /* of alternate rounds, so that one barrier a round is enough */
    int thread = threadIdx.x;
    for (int row = 0; row < 4; row++)
        table[row][thread] = tables[256 * row + thread];
    box[thread] = substitution[thread];
    if (thread < 4 * (AES_ROUNDS + 1))
        key[thread] = round_keys[thread];
    int word = blockIdx.x * AES_THREADS + thread;
    unsigned int own = word < words ? cipher[word] : 0;
    __syncthreads();

    int column = thread & 3;
    int block = thread & ~3;
    int left1 = block | ((column + 3) & 3);
    int left2 = block | ((column + 2) & 3);
    int left3 = block | ((column + 1) & 3);
    own ^= key[column];
#pragma unroll
    for (int round = 1; round <= AES_ROUNDS; round++) {
        unsigned int *columns = state[round & 1];
        columns[thread] = own;
        __syncthreads();
        unsigned int s1 = columns[left1];
        unsigned int s2 = columns[left2];
        unsigned int s3 = columns[left3];
        own = (round < AES_ROUNDS ? aes_mixed(table, own, s1, s2, s3) : unmixed(box, own, s1, s2, s3)) ^
              key[4 * round + column];
    }
    if (word < words)
        text[word] = own;
}
