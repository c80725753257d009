/* SPDX-License-Identifier: MIT */
/*
 * The payoff of a European call option at the end of one random path, computed alike on CPU (mc.c) and GPU (mc.cu): integers, and
 * operations that round correctly everywhere (fused multiply-add, division, square root), in place of the two sides' own
 * logarithms and exponentials. No product is added to anything but by fmaf, so that no compiler can fuse more or less.
 * Payoffs are integers, and their sums exact.
 *
 * The random number is a function of the path's number: Philox 2x32 with ten rounds (Salmon et al.: Parallel Random Numbers: As
 * Easy as 1, 2, 3, SC 2011). Two words of it make a normal number (Box, Muller: A Note on the Generation of Random Normal
 * Deviates, 1958), which makes the price of the stock after geometric Brownian motion.
 */
#ifndef EXAMPLES_SPLIT_OPTION_H
#define EXAMPLES_SPLIT_OPTION_H

#if defined __CUDACC__ || defined __CUDA__
#define OPTION_FUNCTION static __device__ __forceinline__
#else
#include <math.h>
#define OPTION_FUNCTION static inline
#endif

enum option_constants {
    OPTION_GRANULE = 1024, /* paths that are summed up together */
    OPTION_UNIT = 1 << 16  /* of a payoff; one is 65536 of them */
};

struct option {
    float price, strike;   /* of the stock now, and what the option lets its owner buy it for */
    float mean, deviation; /* of the logarithm of the stock's growth */
};

/* The same bits. */
OPTION_FUNCTION unsigned int option_bits(float value)
{
    union {
        float value;
        unsigned int bits;
    } both;
    both.value = value;
    return both.bits;
}

OPTION_FUNCTION float option_value(unsigned int bits)
{
    union {
        float value;
        unsigned int bits;
    } both;
    both.bits = bits;
    return both.value;
}

/* Two random words for the path `low` + 2^32 `high`. */
OPTION_FUNCTION void option_random(unsigned int low, unsigned int high, unsigned int *first, unsigned int *second)
{
    unsigned int key = 0;
    for (int round = 0; round < 10; round++) {
        unsigned long long product = 0xd256d193ull * low;
        low = (unsigned int)(product >> 32) ^ key ^ high;
        high = (unsigned int)product;
        key += 0x9e3779b9u;
    }
    *first = low;
    *second = high;
}

/* In the middle of one of 2^23 equal parts of (0, 1); exact. */
OPTION_FUNCTION float option_uniform(unsigned int word)
{
    return ((float)(int)(word >> 9) + 0.5f) * (1.0f / 8388608.0f);
}

/* Natural logarithm: exponent, and twice the inverse hyperbolic tangent of a fraction below 0.172. */
OPTION_FUNCTION float option_log(float x)
{
    int exponent = (int)(option_bits(x) - 0x3f3504f3u) >> 23; /* the rest is from sqrt(1/2) to sqrt(2) */
    float rest = option_value(option_bits(x) - ((unsigned int)exponent << 23));
    float fraction = (rest - 1.0f) / (rest + 1.0f), square = fraction * fraction;
    float sum = fmaf(square, 2.0f / 9.0f, 2.0f / 7.0f);
    sum = fmaf(square, sum, 2.0f / 5.0f);
    sum = fmaf(square, sum, 2.0f / 3.0f);
    sum = fmaf(square, sum, 2.0f);
    return fmaf((float)exponent, 0.693147181f, fraction * sum);
}

/* e to the power of x, for |x| below 80: a power of two, and the Taylor series of what is left, at most log(2) / 2. */
OPTION_FUNCTION float option_exp(float x)
{
    float exponent = rintf(x * 1.44269504f);
    float rest = fmaf(exponent, -0.693145752f, x); /* log(2) in two parts */
    rest = fmaf(exponent, -1.42860677e-6f, rest);
    float sum = fmaf(rest, 1.0f / 5040.0f, 1.0f / 720.0f);
    sum = fmaf(rest, sum, 1.0f / 120.0f);
    sum = fmaf(rest, sum, 1.0f / 24.0f);
    sum = fmaf(rest, sum, 1.0f / 6.0f);
    sum = fmaf(rest, sum, 0.5f);
    sum = fmaf(rest, sum, 1.0f);
    sum = fmaf(rest, sum, 1.0f);
    return option_value(option_bits(sum) + ((unsigned int)(int)exponent << 23));
}

/* Cosine of 2 pi x for |x| of at most 1/2: 1 - 2 sin(pi x)^2, the sine by its Taylor series. */
OPTION_FUNCTION float option_cosine(float x)
{
    float angle = 3.14159265f * x, square = angle * angle;
    float sum = fmaf(square, 1.0f / 6227020800.0f, -1.0f / 39916800.0f);
    sum = fmaf(square, sum, 1.0f / 362880.0f);
    sum = fmaf(square, sum, -1.0f / 5040.0f);
    sum = fmaf(square, sum, 1.0f / 120.0f);
    sum = fmaf(square, sum, -1.0f / 6.0f);
    sum = fmaf(square, sum, 1.0f);
    float sine = angle * sum;
    return fmaf(-2.0f * sine, sine, 1.0f);
}

/* In OPTION_UNIT. */
OPTION_FUNCTION int option_payoff(const struct option *option, unsigned int low, unsigned int high)
{
    unsigned int first, second;
    option_random(low, high, &first, &second);
    float radius = sqrtf(-2.0f * option_log(option_uniform(first)));
    float normal = radius * option_cosine(option_uniform(second) - 0.5f);
    float growth = option_exp(fmaf(option->deviation, normal, option->mean));
    float payoff = fmaf(option->price, growth, -option->strike);
    return (int)((payoff > 0.0f ? payoff : 0.0f) * (float)OPTION_UNIT);
}

#endif
