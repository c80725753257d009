/* SPDX-License-Identifier: MIT */
/*
 * Iterations that differ: each maps a number by x -> 3.75 x (1 - x), as many times as its place in the range says; alike on CPU (uneven.c) and GPU
 * (uneven.cu): no product is added to anything but by fmaf.
 */
#ifndef BENCH_SPLIT_UNEVEN_H
#define BENCH_SPLIT_UNEVEN_H

#include "../../examples/split/option.h"

enum { UNEVEN_BLOCK = 128 }; /* iterations of a thread block; one is a thread */

enum uneven_shape { EVEN, RISING, FALLING, HEAVY_FRONT, HEAVY_BACK, HEAVY_MIDDLE, SHAPES };

/* How often iteration i of n maps its number, where the lightest maps it `least` times. */
OPTION_FUNCTION unsigned uneven_count(unsigned shape, unsigned least, unsigned long long i, unsigned long long n)
{
    unsigned hundredth = (unsigned)(100 * i / n);
    switch (shape) {
    case RISING:
        return least * (1 + hundredth);
    case FALLING:
        return least * (100 - hundredth);
    case HEAVY_FRONT:
        return hundredth < 10 ? 100 * least : least;
    case HEAVY_BACK:
        return hundredth >= 90 ? 100 * least : least;
    case HEAVY_MIDDLE:
        return hundredth >= 40 && hundredth < 60 ? 100 * least : least;
    default:
        return 20 * least;
    }
}

OPTION_FUNCTION float uneven_map(float x, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        x = 3.75f * fmaf(-x, x, x);
    return x;
}

#endif
