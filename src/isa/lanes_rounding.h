/* SPDX-License-Identifier: MIT */
/*
 * Correct rounding in all four directions without touching the rounding mode of the host, so that the same expression serves the
 * vector units of every processor.
 *
 * f32: computed in double. Sums are rounded to odd there (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved
 * algorithms using rounding to odd", 2008), after which a second rounding to 24 bits in any direction is the right one. Products are
 * exact. Quotients and square roots of 24-bit numbers cannot come so close to a 24-bit number or to the middle of two that 53 bits
 * would not tell on which side they are.
 * f64: sums by an error-free transformation; the others, in directions that compilers hardly ever ask for, in integers.
 */
#ifndef CORUN_ISA_LANES_ROUNDING_H
#define CORUN_ISA_LANES_ROUNDING_H

#include "isa/lanes_body.h"

enum rounding { ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP };

/* `exact` has been rounded to odd (or not at all), and so lies on the right side of every float. */
static inline float narrow(double exact, enum rounding rounding)
{
    float nearest = (float)exact;
    if (rounding == ROUND_NEAREST)
        return nearest;
    double back = nearest;
    uint32_t bits = bits_of_f32(nearest), down = bits >> 31 ? 1 : 0u - 1u; /* to add for the next lower */
    if (rounding == ROUND_ZERO)
        bits -= __builtin_fabs(back) > __builtin_fabs(exact);
    else if (rounding == ROUND_DOWN)
        bits += back > exact ? down : 0;
    else
        bits -= back < exact ? down : 0;
    return f32_of_bits(bits);
}

/* x + y, rounded to odd: if inexact, to the neighbour whose last bit is 1. */
static inline double odd_sum(double x, double y)
{
    double sum = x + y;
    double y_part = sum - x;
    double error = (x - (sum - y_part)) + (y - y_part);
    uint64_t bits = bits_of_f64(sum);
    uint64_t away = (bits_of_f64(error) ^ bits) >> 63; /* the exact sum is nearer to zero */
    uint64_t step = __builtin_fabs(error) > 0.0 ? ~bits & 1 : 0;
    return f64_of_bits(bits + step - 2 * (step & away));
}

/* An exact zero of unlike signs is -0 when rounding down; the addition has made +0 of it. */
static inline float sum_f32(double x, double y, enum rounding rounding)
{
    double sum = odd_sum(x, y);
    float rounded = narrow(sum, rounding);
    if (rounding != ROUND_DOWN)
        return rounded;
    uint32_t sign = (uint32_t)((bits_of_f64(x) | bits_of_f64(y)) >> 32) & 0x80000000u;
    return f32_of_bits(bits_of_f32(rounded) | (sum == 0.0 ? sign : 0));
}

static inline float fma_f32(float a, float b, float c, enum rounding rounding)
{
#ifdef __FMA__
    if (rounding == ROUND_NEAREST)
        return __builtin_fmaf(a, b, c);
#endif
    return sum_f32((double)a * b, c, rounding);
}

static inline double sum_f64(double a, double b, enum rounding rounding)
{
    double sum = a + b;
    if (rounding == ROUND_NEAREST)
        return sum;
    bool swapped = __builtin_fabs(b) > __builtin_fabs(a);
    double large = swapped ? b : a, small = swapped ? a : b;
    double error = small - (sum - large); /* exact - sum; NaN if that is not finite */
    bool overflow = __builtin_isinf(sum) && !__builtin_isinf(large);
    error = overflow ? -sum : error;
    uint64_t bits = bits_of_f64(sum), sign = bits >> 63;
    uint64_t down = sign ? 1 : UINT64_MAX;
    if (rounding == ROUND_DOWN) {
        if (error < 0.0)
            bits += down;
        if (sum == 0.0)
            bits |= (bits_of_f64(a) | bits_of_f64(b)) & UINT64_C(0x8000000000000000);
    } else if (rounding == ROUND_UP) {
        if (error > 0.0)
            bits -= down;
    } else if (sign ? error > 0.0 : error < 0.0) {
        bits -= 1;
    }
    return f64_of_bits(bits);
}

/* A number as an integer: (negative ? -1 : 1) * significand * 2^exponent. */
typedef unsigned __int128 significand;
struct unpacked {
    bool negative;
    int32_t exponent;
    significand significand;
};

static inline uint32_t significand_top(significand x) /* x must not be 0 */
{
    uint64_t high = (uint64_t)(x >> 64);
    return high ? 127u - (uint32_t)__builtin_clzll(high) : 63u - (uint32_t)__builtin_clzll((uint64_t)x);
}

static inline struct unpacked unpack_f64(double x)
{
    uint64_t bits = bits_of_f64(x), fraction = bits & UINT64_C(0xfffffffffffff);
    int32_t biased = (int32_t)(bits >> 52 & 0x7ff);
    return (struct unpacked){.negative = bits >> 63,
                             .exponent = (biased ? biased : 1) - 1075,
                             .significand = biased ? fraction | UINT64_C(1) << 52 : fraction};
}

/* Shifts right; what falls out leaves its trace in the last bit. */
static inline significand shift_jam(significand x, uint32_t count)
{
    if (count == 0)
        return x;
    if (count > 127)
        return x != 0;
    return x >> count | ((x & (((significand)1 << count) - 1)) != 0);
}

/*
 * Rounds to a binary format: `precision` bits with the leading one, exponents from `lowest` (that of the smallest normal number's
 * leading bit) to -lowest + 1. Returns the encoding without its sign. The last bit of the significand may stand for a
 * non-zero tail if the significand has more than precision + 1 bits.
 */
static inline uint64_t round_pack(struct unpacked x, enum rounding rounding, uint32_t precision, int32_t lowest)
{
    if (x.significand == 0)
        return 0;
    uint32_t shift_up = 127 - significand_top(x.significand);
    significand normal = x.significand << shift_up;
    int32_t exponent = x.exponent - (int32_t)shift_up + 127; /* of the leading bit */
    uint32_t drop = 128 - precision;
    if (exponent < lowest) {
        uint32_t below = (uint32_t)(lowest - exponent);
        normal = shift_jam(normal, below < 128 ? below : 128);
        exponent = lowest;
    }
    uint64_t kept = (uint64_t)(normal >> drop);
    significand rest = normal << precision, half = (significand)1 << 127;
    bool away = rounding == ROUND_NEAREST ? rest > half || (rest == half && (kept & 1))
                                          : rest != 0 && rounding == (x.negative ? ROUND_DOWN : ROUND_UP);
    uint64_t bits = ((uint64_t)(exponent - lowest) << (precision - 1)) + kept + away;
    uint64_t infinity = (uint64_t)(2 - 2 * lowest + 1) << (precision - 1);
    if (bits < infinity)
        return bits;
    return rounding == ROUND_NEAREST || rounding == (x.negative ? ROUND_DOWN : ROUND_UP) ? infinity : infinity - 1;
}

static inline double pack_f64(struct unpacked x, enum rounding rounding)
{
    return f64_of_bits(round_pack(x, rounding, 53, -1022) | (uint64_t)x.negative << 63);
}

static inline bool is_ordinary_f64(double x) /* finite and not zero */
{
    return x != 0.0 && __builtin_fabs(x) < __builtin_inf();
}

static inline double multiply_f64(double a, double b, enum rounding rounding)
{
    if (rounding == ROUND_NEAREST || !is_ordinary_f64(a) || !is_ordinary_f64(b))
        return a * b;
    struct unpacked x = unpack_f64(a), y = unpack_f64(b);
    return pack_f64((struct unpacked){x.negative != y.negative, x.exponent + y.exponent, x.significand * y.significand},
                    rounding);
}

static inline double fma_f64(double a, double b, double c, enum rounding rounding)
{
    if (rounding == ROUND_NEAREST)
        return __builtin_fma(a, b, c);
    if (!is_ordinary_f64(a) || !is_ordinary_f64(b))
        return sum_f64(a * b, c, rounding); /* the product is exact */
    if (!(__builtin_fabs(c) < __builtin_inf()))
        return c;
    struct unpacked x = unpack_f64(a), y = unpack_f64(b), addend = unpack_f64(c);
    struct unpacked product = {x.negative != y.negative, x.exponent + y.exponent, x.significand * y.significand};
    if (c == 0.0)
        return pack_f64(product, rounding);
    /* The leading one of both goes to bit 125: room for a carry, and 20 bits or more below either to align without loss where they
       nearly cancel. */
    uint32_t up = 125 - significand_top(product.significand);
    product.significand <<= up;
    product.exponent -= (int32_t)up;
    up = 125 - significand_top(addend.significand);
    addend.significand <<= up;
    addend.exponent -= (int32_t)up;
    bool product_larger = product.exponent > addend.exponent ||
                          (product.exponent == addend.exponent && product.significand >= addend.significand);
    struct unpacked large = product_larger ? product : addend, small = product_larger ? addend : product;
    int64_t distance = (int64_t)large.exponent - small.exponent;
    small.significand = shift_jam(small.significand, distance < 128 ? (uint32_t)distance : 128);
    large.significand = large.negative == small.negative ? large.significand + small.significand
                                                         : large.significand - small.significand;
    if (large.significand == 0)
        return rounding == ROUND_DOWN ? -0.0 : 0.0;
    return pack_f64(large, rounding);
}

static inline double divide_f64(double a, double b, enum rounding rounding)
{
    if (rounding == ROUND_NEAREST || !is_ordinary_f64(a) || !is_ordinary_f64(b))
        return a / b;
    struct unpacked x = unpack_f64(a), y = unpack_f64(b);
    uint32_t up = 127 - significand_top(x.significand);
    x.significand <<= up;
    significand quotient = x.significand / y.significand; /* at least 75 bits */
    quotient |= x.significand % y.significand != 0;
    return pack_f64((struct unpacked){x.negative != y.negative, x.exponent - (int32_t)up - y.exponent, quotient},
                    rounding);
}

static inline double square_root_f64(double a, enum rounding rounding)
{
    double nearest = __builtin_sqrt(a);
    if (rounding == ROUND_NEAREST || !is_ordinary_f64(a) || a < 0.0)
        return nearest;
    /* root * 2^(root exponent) is the nearest double; its square is compared with a in integers. It is always normal. */
    struct unpacked root = unpack_f64(nearest), x = unpack_f64(a);
    significand square = root.significand * root.significand;
    int32_t shift = x.exponent - 2 * root.exponent; /* 0 <= shift <= 105: the square has 105 or 106 bits */
    significand scaled = x.significand << shift;
    uint64_t bits = bits_of_f64(nearest);
    if (square > scaled && rounding != ROUND_UP)
        bits--;
    else if (square < scaled && rounding == ROUND_UP)
        bits++;
    return f64_of_bits(bits);
}

/* The magnitude of an integer, with what does not fit into 53 bits gathered in its last bit. */
static inline double odd_f64_of_u64(uint64_t x)
{
    uint64_t rest = x & 0x7ff;
    return x >> 53 ? (double)((x & ~UINT64_C(0x7ff)) | (rest ? 0x800 : 0)) : (double)x;
}

static inline float f32_of_u64(uint64_t x, enum rounding rounding)
{
    return narrow(odd_f64_of_u64(x), rounding);
}

static inline float f32_of_s64(int64_t x, enum rounding rounding)
{
    double magnitude = odd_f64_of_u64(x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
    return narrow(x < 0 ? -magnitude : magnitude, rounding);
}

static inline double f64_of_u64(uint64_t x, enum rounding rounding)
{
    return pack_f64((struct unpacked){false, 0, x}, rounding);
}

static inline double f64_of_s64(int64_t x, enum rounding rounding)
{
    return pack_f64((struct unpacked){x < 0, 0, x < 0 ? 0 - (uint64_t)x : (uint64_t)x}, rounding);
}

/* To a whole number. 2^52 + 2^51 has a last bit of weight 1, so adding it rounds what is smaller; the rest is whole. */
static inline double round_to_whole(double x, enum rounding rounding)
{
    double magnitude = __builtin_fabs(x);
    double whole = (magnitude + 0x1p52) - 0x1p52;
    double up = whole < magnitude ? whole + 1.0 : whole, down = whole > magnitude ? whole - 1.0 : whole;
    if (rounding == ROUND_ZERO)
        whole = down;
    else if (rounding != ROUND_NEAREST)
        whole = (rounding == ROUND_DOWN) == (x < 0.0) ? up : down;
    whole = magnitude < 0x1p52 ? whole : magnitude;
    return __builtin_copysign(whole, x);
}

/*
 * x is whole or NaN, of which PTX makes 0, but half the unsigned range if the source is f64 or the destination has 64 bits. Out of
 * range: the nearest end of the range.
 */
static inline uint32_t word_of_f64(double x, double low, double high, uint32_t nan)
{
    double raised = x > low ? x : low, clamped = raised < high ? raised : high;
    uint64_t bits = bits_of_f64(clamped + 0x1.8p52); /* the last 32 bits are the number modulo 2^32 */
    return x == x ? (uint32_t)bits : nan;
}

static inline uint64_t u64_of_f64(double x)
{
    if (x != x)
        return UINT64_C(1) << 63;
    return x <= 0.0 ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}

static inline uint64_t s64_of_f64(double x)
{
    if (x != x || x <= -0x1p63)
        return UINT64_C(1) << 63;
    return x >= 0x1p63 ? (UINT64_C(1) << 63) - 1 : (uint64_t)(int64_t)x;
}

#endif
