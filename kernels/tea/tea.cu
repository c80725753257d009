/* SPDX-License-Identifier: MIT */
/*
 * tea: the Tiny Encryption Algorithm, 64-bit blocks, 128-bit key, 32 cycles, each block by itself.
 *
 * A thread reads one block, runs the 64 rounds in two registers, and writes it. A round is two shifts, three additions
 * with words of the key and the running sum, two exclusive ors, and the addition to the other half.
 *
 * Kernelet uses it as compute-intensive (TPDS 2014: group CI with Black-Scholes, matrix multiplication and MRI-Q), also
 * with its input transferred before each run; the paper states no launch shape. Here: 128 threads to a thread block.
 *
 * What limits it: integer arithmetic. Some 600 instructions for 16 bytes from and to memory; each round depends on the
 * one before, and enough warps are there to fill the gaps.
 */
#define THREADS 128
#define CYCLES 32
#define DELTA 0x9e3779b9u

__constant__ unsigned int key[4];

extern "C" __global__ void __launch_bounds__(THREADS)
    tea_encrypt(const uint2 *__restrict__ text, uint2 *__restrict__ cipher, int blocks)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= blocks)
        return;
    uint2 block = text[i];
    unsigned int key0 = key[0];
    unsigned int key1 = key[1];
    unsigned int key2 = key[2];
    unsigned int key3 = key[3];
    unsigned int sum = 0;
#pragma unroll 8
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        sum += DELTA;
        block.x += ((block.y << 4) + key0) ^ (block.y + sum) ^ ((block.y >> 5) + key1);
        block.y += ((block.x << 4) + key2) ^ (block.x + sum) ^ ((block.x >> 5) + key3);
    }
    cipher[i] = block;
}
