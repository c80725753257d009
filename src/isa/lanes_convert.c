/* SPDX-License-Identifier: MIT */
/* Conversions; the list is lanes_convert.def. */
#include "isa/lanes_rounding.h"

static inline double f64_of_u32(uint32_t x)
{
    return f64_of_bits(UINT64_C(0x4330000000000000) | x) - 0x1p52;
}

static inline float f32_of_u32(uint32_t x, enum rounding rounding)
{
    return narrow(f64_of_u32(x), rounding);
}

static inline float f32_of_s32(int32_t x, enum rounding rounding)
{
    return narrow(x, rounding);
}

/* .rna, which is older, cuts NaN off. */
static inline uint32_t tf32_away(uint32_t bits)
{
    return (bits + ((bits & 0x7f800000u) == 0x7f800000u ? 0 : 0x1000u)) & ~0x1fffu;
}

static inline uint32_t tf32_of(uint32_t bits, uint32_t half)
{
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fffe000u;
    return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + half) & ~0x1fffu;
}

/* What `bits` are rounded to, with .satfinite: the largest finite number in place of infinity; every NaN is the one of .rn. */
static inline uint32_t tf32_finite(uint32_t bits, uint32_t rounded)
{
    if (is_nan_f32(bits))
        return 0x7fffe000u;
    return (rounded & 0x7fffffffu) == 0x7f800000u ? rounded - 0x2000u : rounded;
}

/* Between f32 and f64 NaN keep their sign and what fits of their payload, and become quiet. */
static inline uint64_t widen_f32(uint32_t bits)
{
    if (!is_nan_f32(bits))
        return bits_of_f64((double)f32_of_bits(bits));
    return (uint64_t)(bits & 0x80000000u) << 32 | UINT64_C(0x7ff8000000000000) | (uint64_t)(bits & 0x3fffffu) << 29;
}

static inline uint32_t narrow_nan(double a, float narrowed)
{
    uint64_t bits = bits_of_f64(a);
    uint32_t nan = (uint32_t)(bits >> 32) & 0x80000000u;
    nan |= 0x7fc00000u | (uint32_t)(bits >> 29 & 0x3fffffu);
    return a != a ? nan : bits_of_f32(narrowed);
}

static inline double whole_f64(double a, enum rounding rounding)
{
    return a != a ? f64_of_bits(bits_of_f64(a) | UINT64_C(1) << 51) : round_to_whole(a, rounding);
}

/* .relu: NaN stays. */
static inline uint32_t above_zero(uint32_t bits)
{
    return bits <= 0x80000000u || bits > 0xff800000u ? bits & 0x7fffffffu : 0;
}

#include "isa/lanes_convert.def"

/* Source values as int64_t; what does not fit becomes the largest, which is out of range for every destination that asks. */
static void widen(const struct operation *op, const struct lanes *lanes, int64_t *wide)
{
    const lane32 *words = lanes_source(lanes, op->source[0]);
    const lane64 *longs = lanes_source(lanes, op->source[0]);
    for (uint32_t i = 0; i < CORUN_WARP_LANES; i++) {
        switch (op->variant) {
        case PTX_TYPE_U8:
            wide[i] = load_u8(words[i]);
            break;
        case PTX_TYPE_S8:
            wide[i] = load_s8(words[i]);
            break;
        case PTX_TYPE_U16:
            wide[i] = load_u16(words[i]);
            break;
        case PTX_TYPE_S16:
            wide[i] = load_s16(words[i]);
            break;
        case PTX_TYPE_U32:
            wide[i] = words[i];
            break;
        case PTX_TYPE_S32:
            wide[i] = load_s32(words[i]);
            break;
        case PTX_TYPE_U64:
            wide[i] = longs[i] > INT64_MAX ? INT64_MAX : (int64_t)longs[i];
            break;
        default:
            wide[i] = (int64_t)longs[i];
            break;
        }
    }
}

#define SATURATE(name, D, low, high) \
    LANES_FUNCTION(name) \
    { \
        int64_t wide[CORUN_WARP_LANES]; \
        unsigned_##D results[CORUN_WARP_LANES] __attribute__((aligned(64))); \
        widen(op, lanes, wide); \
        for (uint32_t i = 0; i < CORUN_WARP_LANES; i++) { \
            int64_t clamped = wide[i] < (low) ? (low) : wide[i] > (high) ? (high) : wide[i]; \
            results[i] = store_##D((unsigned_##D)clamped); \
        } \
        LANES_WRITE((lane_##D *)lanes_destination(lanes, op->destination), results, mask); \
    }
SATURATE(cvt_sat_u8, u8, 0, UINT8_MAX)
SATURATE(cvt_sat_s8, s8, INT8_MIN, INT8_MAX)
SATURATE(cvt_sat_u16, u16, 0, UINT16_MAX)
SATURATE(cvt_sat_s16, s16, INT16_MIN, INT16_MAX)
SATURATE(cvt_sat_u32, u32, 0, UINT32_MAX)
SATURATE(cvt_sat_s32, s32, INT32_MIN, INT32_MAX)
SATURATE(cvt_sat_u64, u64, 0, INT64_MAX) /* u64 from u64 is not converted here */
SATURATE(cvt_sat_s64, s64, INT64_MIN, INT64_MAX)
