/* SPDX-License-Identifier: MIT */
/*
 * Numbers of 16 bits: IEEE half precision (f16: 11 bits of significand, exponents from -14) and bfloat16 (8 bits, from -126). Every one of
 * them is a double, so that operations compute in double and round once (isa/lanes_half.c).
 */
#ifndef CORUN_ISA_HALF_H
#define CORUN_ISA_HALF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct half_format {
    uint32_t precision; /* bits of the significand, the leading one included */
    int32_t lowest;     /* exponent of the smallest normal number */
};
#define HALF_F16 ((struct half_format){11, -14})
#define HALF_BF16 ((struct half_format){8, -126})
#define HALF_NAN 0x7fffu
/* Of what is outside of a tensor. PTX gives no bits; 0x7ff7 is published as what GPUs have, and is no NaN that their arithmetic makes. */
#define HALF_OOB 0x7ff7u

static inline uint32_t half_infinity(struct half_format format)
{
    return (uint32_t)(3 - 2 * format.lowest) << (format.precision - 1);
}

/* What becomes the smallest normal number when its digits are rounded, if exponents have no end: .ftz leaves nothing of less. */
static inline double half_lowest_kept(struct half_format format)
{
    uint64_t bits = (uint64_t)(format.lowest + 1023) << 52;
    double value;
    bits -= UINT64_C(1) << (52 - format.precision);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline bool half_is_subnormal(uint32_t bits, struct half_format format)
{
    return (bits & half_infinity(format)) == 0;
}

static inline double half_value(uint32_t bits, struct half_format format)
{
    uint32_t fraction_bits = format.precision - 1, magnitude = bits & 0x7fffu, infinity = half_infinity(format);
    int32_t biased = (int32_t)(magnitude >> fraction_bits);
    uint64_t fraction = magnitude & ((1u << fraction_bits) - 1), sign = (uint64_t)(bits >> 15 & 1u) << 63;
    uint64_t wide;
    double value;
    if (magnitude >= infinity) {
        wide = UINT64_C(0x7ff) << 52 | (fraction ? UINT64_C(1) << 51 : 0) | fraction << (52 - fraction_bits);
    } else if (biased) {
        wide = (uint64_t)(biased + format.lowest - 1 + 1023) << 52 | fraction << (52 - fraction_bits);
    } else { /* fraction * 2^(lowest - fraction_bits), exact */
        uint64_t unit = (uint64_t)(format.lowest - (int32_t)fraction_bits + 1023) << 52;
        memcpy(&value, &unit, sizeof value);
        value *= (double)fraction;
        memcpy(&wide, &value, sizeof wide);
    }
    wide |= sign;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* `exact` may have been rounded to odd. The modes are those of enum rounding: to nearest even, to zero, down, up. */
static inline uint32_t half_round(double exact, struct half_format format, uint32_t mode)
{
    uint64_t bits;
    memcpy(&bits, &exact, sizeof bits);
    uint32_t sign = (uint32_t)(bits >> 63) << 15, infinity = half_infinity(format);
    uint64_t magnitude = bits & (UINT64_MAX >> 1);
    if (magnitude > UINT64_C(0x7ff) << 52)
        return HALF_NAN;
    if (magnitude == UINT64_C(0x7ff) << 52)
        return sign | infinity;
    int32_t exponent = (int32_t)(magnitude >> 52) - 1023;
    if (exponent < -1022) { /* a subnormal double is far below every half */
        exponent = -1022;
        magnitude += (UINT64_C(1) << 52) * (magnitude != 0); /* only that it is not zero matters */
    }
    uint64_t digits = magnitude ? (magnitude & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52 : 0;
    int32_t below = exponent < format.lowest ? format.lowest - exponent : 0;
    uint32_t drop = 53 - format.precision + (below > 60 ? 60u : (uint32_t)below);
    drop = drop > 62 ? 62 : drop;
    uint64_t kept = digits >> drop, rest = digits & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
    bool outwards = mode == (sign ? 2u : 3u);
    bool away = mode == 0 ? rest > half || (rest == half && (kept & 1)) : rest != 0 && outwards;
    int32_t raised = exponent < format.lowest ? 0 : exponent - format.lowest;
    uint64_t result = ((uint64_t)raised << (format.precision - 1)) + kept + away;
    if (result >= infinity)
        result = mode == 0 || outwards ? infinity : infinity - 1;
    return sign | (uint32_t)result;
}

/* 8-bit floats: e4m3 has no infinity and one NaN of each sign, e5m2 is the upper byte of a half. */
static inline double eighth_value(uint32_t bits, bool e4m3)
{
    if (!e4m3)
        return half_value(bits << 8, HALF_F16);
    uint32_t magnitude = bits & 0x7fu, biased = magnitude >> 3, fraction = magnitude & 7u;
    if (magnitude == 0x7f)
        return half_value(HALF_NAN, HALF_F16);
    double value = (double)(biased ? 8 + fraction : fraction) * (double)(1u << (biased ? biased : 1)) / 1024.0;
    return bits & 0x80u ? -value : value;
}

/* To nearest even; what is too large becomes the largest finite number, NaN the one without a sign. */
static inline uint32_t eighth_round(double exact, bool e4m3)
{
    if (exact != exact)
        return 0x7fu;
    uint32_t largest = e4m3 ? 0x7eu : 0x7bu, low = 0, high = largest, sign = __builtin_signbit(exact) ? 0x80u : 0;
    double magnitude = sign ? -exact : exact;
    while (low < high) { /* the largest that is not above it */
        uint32_t middle = (low + high + 1) / 2;
        if (eighth_value(middle, e4m3) <= magnitude)
            low = middle;
        else
            high = middle - 1;
    }
    if (low == largest)
        return sign | largest;
    double below = magnitude - eighth_value(low, e4m3), above = eighth_value(low + 1, e4m3) - magnitude;
    return sign | (low + (below > above || (below == above && (low & 1u))));
}

#endif
