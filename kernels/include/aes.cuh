/* SPDX-License-Identifier: MIT */
/* Rounds of AES with a thread for each 32-bit column of the state, for aes-encrypt and aes-decrypt. */
#ifndef CORUN_KERNELS_AES_CUH
#define CORUN_KERNELS_AES_CUH

#define AES_THREADS 256
#define AES_ROUNDS 10

/* Substitution, row shift and column mixing of one column at once: a look-up for each byte, in the tables of its row. */
static __device__ __forceinline__ unsigned int aes_mixed(const unsigned int (*table)[256], unsigned int s0,
                                                         unsigned int s1, unsigned int s2, unsigned int s3)
{
    return table[0][s0 & 0xff] ^ table[1][s1 >> 8 & 0xff] ^ table[2][s2 >> 16 & 0xff] ^ table[3][s3 >> 24];
}

#endif
