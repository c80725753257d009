/* SPDX-License-Identifier: MIT */
/*
 * Sums of payoffs of the paths [begin, end), one for each granule of 1024 paths; mc.c. A thread block takes a granule, a thread four
 * paths; their sums are added in shared memory.
 */
#include "option.h"

#define THREADS 256

extern "C" __global__ void __launch_bounds__(THREADS)
    simulate(unsigned long long *sums, struct option option, unsigned long long begin, unsigned long long end)
{
    __shared__ unsigned long long partial[THREADS];
    unsigned long long granule = begin / OPTION_GRANULE + blockIdx.x, sum = 0;
    for (unsigned int i = threadIdx.x; i < OPTION_GRANULE; i += THREADS) {
        unsigned long long path = granule * OPTION_GRANULE + i;
        if (path < end)
            sum += option_payoff(&option, (unsigned int)path, (unsigned int)(path >> 32));
    }
    partial[threadIdx.x] = sum;
    for (unsigned int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        sums[granule] = partial[0];
}
