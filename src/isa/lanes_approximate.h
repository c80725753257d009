/* SPDX-License-Identifier: MIT */
/*
 * The .approx operations: our own algorithms in double, of additions, multiplications, divisions and square roots only, so that every
 * compiler and processor gives the same bits. They are more exact than PTX asks for (its limits are in the comments, from "Floating
 * point instructions" of the PTX ISA); a GPU's own bits differ between its generations, and docs/conformance.md says how far those of an
 * H100 are away.
 */
#ifndef CORUN_ISA_LANES_APPROXIMATE_H
#define CORUN_ISA_LANES_APPROXIMATE_H

#include "isa/lanes_rounding.h"

/* 2^-n / n! and the like: Taylor series suffice where the argument has been made small. */
#define TERM(sum, factor, coefficient) ((coefficient) + (factor) * (sum))

/* 2 ulp for 2^-126 <= |b| <= 2^126; above that 0, or NaN if a is infinite. */
static inline float approximate_divide(float a, float b)
{
    float quotient = a / b;
    bool large = __builtin_fabsf(b) > 0x1p126f && __builtin_fabsf(b) < __builtin_inff();
    return large ? a * __builtin_copysignf(0.0f, b) : quotient;
}

/* Relative error 2^-22.9. */
static inline float approximate_rsqrt(float a)
{
    return (float)(1.0 / __builtin_sqrt((double)a));
}

/* 2^x for |x| <= 1/2, to 2^-37: the terms are powers of ln 2 over factorials. */
static inline double small_power_of_2(double x)
{
    double sum = 7.0549116208011233e-9;
    sum = TERM(sum, x, 1.0178086009239699e-7);
    sum = TERM(sum, x, 1.3215486790144309e-6);
    sum = TERM(sum, x, 1.5252733804059840e-5);
    sum = TERM(sum, x, 1.5403530393381610e-4);
    sum = TERM(sum, x, 1.3333558146428443e-3);
    sum = TERM(sum, x, 9.6181291076284772e-3);
    sum = TERM(sum, x, 5.5504108664821580e-2);
    sum = TERM(sum, x, 2.4022650695910071e-1);
    sum = TERM(sum, x, 6.9314718055994531e-1);
    return TERM(sum, x, 1.0);
}

/* |x| <= 1000 */
static inline double power_of_2(double x)
{
    double shifted = x + 0x1.8p52; /* rounds to whole; the low bits are the number */
    uint64_t scale = (bits_of_f64(shifted) + 1023) << 52;
    return small_power_of_2(x - (shifted - 0x1.8p52)) * f64_of_bits(scale);
}

/* 2 ulp. */
static inline float approximate_ex2(float a)
{
    double x = a > -200.0f ? a : -200.0;
    double power = power_of_2(x < 200.0 ? x : 200.0);
    return a != a ? a : (float)power;
}

/* Absolute error 2^-22 between 0.5 and 2, relative error 2^-22 elsewhere. log2 m = 2/ln 2 * artanh((m-1)/(m+1)). */
static inline float approximate_lg2(float a)
{
    const uint64_t half_square_root = UINT64_C(0x3fe6a09e667f3bcd); /* 2^-1/2 */
    uint64_t bits = bits_of_f64(a);
    uint64_t exponent =
        (bits - half_square_root + (UINT64_C(1023) << 52)) >> 52; /* biased, of the power of two taken out */
    double m = f64_of_bits(bits - (exponent << 52) + (UINT64_C(1023) << 52));
    double whole = f64_of_bits(UINT64_C(0x4330000000000000) | exponent) - (0x1p52 + 1023.0);
    double s = (m - 1.0) / (m + 1.0), square = s * s;
    double sum = 2.0 / 15.0;
    sum = TERM(sum, square, 2.0 / 13.0);
    sum = TERM(sum, square, 2.0 / 11.0);
    sum = TERM(sum, square, 2.0 / 9.0);
    sum = TERM(sum, square, 2.0 / 7.0);
    sum = TERM(sum, square, 2.0 / 5.0);
    sum = TERM(sum, square, 2.0 / 3.0);
    sum = TERM(sum, square, 2.0);
    float logarithm = (float)(whole + s * sum * 1.4426950408889634);
    float special = a == 0.0f ? -__builtin_inff() : a < 0.0f ? __builtin_nanf("") : a;
    return a > 0.0f && a < __builtin_inff() ? logarithm : special;
}

/*
 * Absolute error 2^-20.5 within +-2 pi, 2^-14.7 within +-100 pi. In turns: t = a / 2 pi less its nearest quarter, at most 1/8. Beyond
 * 2^40, where a double holds no fraction of a turn worth having, the angle counts as 0, with its sign, as on the H100.
 */
static inline float approximate_sine(float a, uint64_t quarters_ahead)
{
    double turns = a * 0.15915494309189535; /* 1 / 2 pi */
    turns = __builtin_fabsf(a) < 0x1p40f ? turns : (double)__builtin_copysignf(a - a, a);
    double shifted = turns + 0x1.8p50; /* the last bit weighs a quarter */
    double x = (turns - (shifted - 0x1.8p50)) * 6.283185307179586, square = x * x;
    uint64_t quarter = bits_of_f64(shifted) + quarters_ahead;
    double sine = -2.5052108385441719e-8;
    sine = TERM(sine, square, 2.7557319223985891e-6);
    sine = TERM(sine, square, -1.9841269841269841e-4);
    sine = TERM(sine, square, 8.3333333333333333e-3);
    sine = TERM(sine, square, -1.6666666666666667e-1);
    sine = TERM(sine, square, 1.0) * x;
    double cosine = 2.0876756987868099e-9;
    cosine = TERM(cosine, square, -2.7557319223985891e-7);
    cosine = TERM(cosine, square, 2.4801587301587302e-5);
    cosine = TERM(cosine, square, -1.3888888888888889e-3);
    cosine = TERM(cosine, square, 4.1666666666666667e-2);
    cosine = TERM(cosine, square, -0.5);
    cosine = TERM(cosine, square, 1.0);
    uint64_t magnitude = quarter & 1 ? bits_of_f64(cosine) : bits_of_f64(sine);
    return (float)f64_of_bits(magnitude ^ (quarter >> 1 << 63));
}

/* Relative error 2^-11. */
static inline float approximate_tanh(float a)
{
    double x = a > -20.0f ? a : -20.0;
    x = x < 20.0 ? x : 20.0;
    double power = power_of_2(x * 2.8853900817779268); /* e^2x */
    double near_zero = x * (1.0 - x * x * (1.0 / 3.0));
    float result = (float)(__builtin_fabs(x) < 0x1p-12 ? near_zero : (power - 1.0) / (power + 1.0));
    return a != a ? a : a == 0.0f ? a : result;
}

/* The fast f64 forms work on the upper words alone: a NaN that has its payload in the lower one is an infinity. */
#define UPPER_WORD UINT64_C(0xffffffff00000000)
#define UPPER_NAN UINT64_C(0x7fffffff00000000)

static inline uint64_t flush_f64(uint64_t bits)
{
    return bits & UINT64_C(0x7ff0000000000000) ? bits : bits & UINT64_C(0x8000000000000000);
}

static inline uint64_t upper_result(double x)
{
    return x != x ? UPPER_NAN : flush_f64(bits_of_f64(x) & UPPER_WORD);
}

static inline uint64_t approximate_upper_rcp(uint64_t a)
{
    return upper_result(1.0 / f64_of_bits(flush_f64(a) & UPPER_WORD));
}

static inline uint64_t approximate_upper_rsqrt(uint64_t a)
{
    return upper_result(1.0 / __builtin_sqrt(f64_of_bits(flush_f64(a) & UPPER_WORD)));
}

#endif
