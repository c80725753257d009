/* SPDX-License-Identifier: MIT */
/*
 * Hashes of the iterations [begin, end), one by each thread; buffers.c. Each of the eight words of an iteration has its address,
 * and is `stride` words from that of the next iteration.
 */
#include "buffers.h"

extern "C" __global__ void hash(const unsigned int *word0, const unsigned int *word1, const unsigned int *word2,
                                const unsigned int *word3, const unsigned int *word4, const unsigned int *word5,
                                const unsigned int *word6, const unsigned int *word7, unsigned int *hashes,
                                unsigned int stride, unsigned long long begin, unsigned long long end)
{
    unsigned long long i = begin + blockIdx.x * (unsigned long long)BUFFERS_BLOCK + threadIdx.x;
    if (i >= end)
        return;
    unsigned long long at = i * stride;
    unsigned int words[BUFFERS_WORDS] = {word0[at], word1[at], word2[at], word3[at],
                                         word4[at], word5[at], word6[at], word7[at]};
    unsigned int sum = 1;
    for (int pass = 0; pass < BUFFERS_PASSES; pass++)
        for (int j = 0; j < BUFFERS_WORDS; j++)
            sum = sum * BUFFERS_FACTOR + words[j];
    hashes[i] = sum;
}
