/* SPDX-License-Identifier: MIT */
/* Half precision as bits, for generators and references. */
#ifndef CORUN_HALF_H
#define CORUN_HALF_H

#include "corun/workload.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* The bits of steps / 1024, exact for -2048 to 2048. */
static inline uint16_t half_of_steps(int steps)
{
    uint16_t sign = steps < 0 ? 0x8000 : 0;
    unsigned magnitude = (unsigned)abs(steps);
    if (!magnitude)
        return 0;
    unsigned exponent = 5; /* of 1/1024, biased */
    while (magnitude >> (exponent - 4))
        exponent++;
    unsigned fraction = magnitude << (16 - exponent) >> 1 & 0x3ff; /* 2048 has exponent 16 */
    return (uint16_t)(sign | exponent << 10 | fraction);
}

/* The value of bits that are no infinity and no NaN. */
static inline double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    double magnitude = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits & 0x8000 ? -magnitude : magnitude;
}

/* Multiples of 1/1024 in [-reach, reach); reach is 1 or 2. */
static inline void half_fill(uint16_t *halves, uint64_t count, int reach, uint64_t *state)
{
    for (uint64_t i = 0; i < count; i++)
        halves[i] = half_of_steps((int)(corun_random(state) % (2048u * (unsigned)reach)) - 1024 * reach);
}

/* In double precision, to be freed; NULL: out of memory. */
static inline double *half_copy(const uint16_t *from, size_t count)
{
    double *copy = calloc(count, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = half_value(from[i]);
    return copy;
}

#endif
