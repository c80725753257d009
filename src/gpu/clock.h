/* SPDX-License-Identifier: MIT */
/*
 * Clock domains. Time in each is a count of its own cycles; all domains start together at 0. A count is carried over
 * with exact rational arithmetic: no drift at any length of a run.
 */
#ifndef CORUN_GPU_CLOCK_H
#define CORUN_GPU_CLOCK_H

#include <stdint.h>

#define NEVER UINT64_MAX /* a cycle that does not come, of any domain */

/* Cycles of `to` per cycle of `from`, as p / q in lowest terms. */
struct clock_ratio {
    uint64_t p, q;
    uint64_t whole;    /* p / q */
    uint64_t fraction; /* (p mod q) / q in units of 2^-64, rounded down */
};

static inline struct clock_ratio clock_ratio(uint32_t from_khz, uint32_t to_khz)
{
    uint64_t a = from_khz, b = to_khz;
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    struct clock_ratio ratio = {.p = to_khz / a, .q = from_khz / a};
    ratio.whole = ratio.p / ratio.q;
    ratio.fraction = (uint64_t)(((unsigned __int128)(ratio.p % ratio.q) << 64) / ratio.q);
    return ratio;
}

/* floor(cycle * p / q): the last edge of `to` at or before this edge of `from`. */
static inline uint64_t clock_floor(const struct clock_ratio *ratio, uint64_t cycle)
{
    uint64_t result = cycle * ratio->whole;
    if (ratio->q == 1)
        return result;
    /* The rounded fraction makes this too small by one at most; the remainder, exact modulo 2^64, tells. */
    result += (uint64_t)((unsigned __int128)cycle * ratio->fraction >> 64);
    return result + (cycle * ratio->p - result * ratio->q >= ratio->q);
}

/* ceil(cycle * p / q): the first edge of `to` at or after this edge of `from`. */
static inline uint64_t clock_ceil(const struct clock_ratio *ratio, uint64_t cycle)
{
    uint64_t result = clock_floor(ratio, cycle);
    return ratio->q == 1 ? result : result + (result * ratio->q != cycle * ratio->p);
}

#endif
