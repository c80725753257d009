/* SPDX-License-Identifier: MIT */
/* Prices of the options [begin, end), one by each thread; pricing.c. */
#include "pricing.h"

extern "C" __global__ void price(const float *stocks, const float *strikes, const float *years, float *calls,
                                 float *puts, unsigned long long begin, unsigned long long end)
{
    unsigned long long i = begin + blockIdx.x * (unsigned long long)PRICING_BLOCK + threadIdx.x;
    if (i < end)
        pricing_price(stocks[i], strikes[i], years[i], calls + i, puts + i);
}
