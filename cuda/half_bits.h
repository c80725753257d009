/* SPDX-License-Identifier: MIT */
/* Single precision and floats of 16 bits on the host; roundings of PTX as CUDA's functions name them. */
#ifndef CORUN_HALF_BITS_H
#define CORUN_HALF_BITS_H

#include <string.h>

#define CORUN_ROUND_rn "rn"
#define CORUN_ROUND_rz "rz"
#define CORUN_ROUND_rd "rm"
#define CORUN_ROUND_ru "rp"

/* `value` without its last `bits` bits, to nearest even. */
static inline unsigned corun_rounded(unsigned value, unsigned bits)
{
    unsigned kept = value >> bits, rest = value & ((1u << bits) - 1), half = 1u << (bits - 1);
    return kept + (rest > half || (rest == half && kept & 1));
}

static inline unsigned short corun_f16_of(float x)
{
    unsigned bits, magnitude, sign;
    memcpy(&bits, &x, sizeof bits);
    magnitude = bits & 0x7fffffff;
    sign = bits >> 16 & 0x8000;
    if (magnitude > 0x7f800000)
        return 0x7fff;
    if (magnitude >= 0x47800000) /* 65536 */
        return (unsigned short)(sign | 0x7c00);
    if (magnitude >= 0x38800000) /* 2^-14 */
        return (unsigned short)(sign | corun_rounded(magnitude - 0x38000000, 13));
    unsigned places = 126 - (magnitude >> 23);
    return (unsigned short)(places > 24 ? sign : sign | corun_rounded((magnitude & 0x7fffff) | 0x800000, places));
}

static inline float corun_of_f16(unsigned short half)
{
    unsigned magnitude = half & 0x7fff, bits = (unsigned)(half & 0x8000) << 16;
    float x;
    if (magnitude < 0x400) {
        x = (float)magnitude * 0x1p-24f;
        return bits ? -x : x;
    }
    bits |= magnitude > 0x7c00 ? 0x7fffffff : magnitude == 0x7c00 ? 0x7f800000 : (magnitude << 13) + 0x38000000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline unsigned short corun_bf16_of(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return (unsigned short)((bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : corun_rounded(bits, 16));
}

static inline float corun_of_bf16(unsigned short half)
{
    unsigned bits = (unsigned)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
