/* SPDX-License-Identifier: MIT */
/* The numbers [begin, end), one by each thread; uneven.c. */
#include "uneven.h"

extern "C" __global__ void map(const float *first, float *last, unsigned shape, unsigned least, unsigned long long n,
                               unsigned long long begin, unsigned long long end)
{
    unsigned long long i = begin + blockIdx.x * (unsigned long long)UNEVEN_BLOCK + threadIdx.x;
    if (i < end)
        last[i] = uneven_map(first[i], uneven_count(shape, least, i, n));
}
