/* SPDX-License-Identifier: MIT */
/* Half precision and bfloat16, alone and in pairs: each computed in double and rounded once; the list is lanes_half.def. */
#include "isa/lanes_rounding.h"

#include "isa/half.h"
#include "isa/lanes_approximate.h"
#include "isa/lanes_half.h"

static struct half_format format_of(const struct operation *op)
{
    return op->variant & HALF_BRAIN ? HALF_BF16 : HALF_F16;
}

static uint32_t flush_half(uint32_t bits, struct half_format format)
{
    return half_is_subnormal(bits, format) ? bits & 0x8000u : bits;
}

static double half_load(const struct operation *op, uint32_t bits)
{
    struct half_format format = format_of(op);
    return half_value(op->variant & HALF_FLUSH ? flush_half(bits & 0xffffu, format) : bits & 0xffffu, format);
}

static uint32_t half_pack(const struct operation *op, double exact, uint32_t mode)
{
    if (op->variant & HALF_CLAMP)
        exact = exact > 0.0 ? exact < 1.0 ? exact : 1.0 : 0.0;
    if (op->variant & HALF_RELU && exact <= 0.0)
        exact = 0.0;
    uint32_t bits = half_round(exact, format_of(op), mode);
    bool infinite = (bits & 0x7fffu) == half_infinity(format_of(op));
    return op->variant & HALF_FINITE && infinite ? bits - 1 : bits;
}

static uint32_t half_finish(const struct operation *op, double exact)
{
    if (op->variant & HALF_FLUSH && __builtin_fabs(exact) < half_lowest_kept(format_of(op)))
        exact *= 0.0;
    uint32_t bits = half_pack(op, exact, ROUND_NEAREST);
    return op->variant & HALF_FLUSH ? flush_half(bits, format_of(op)) : bits;
}

/* -0 is below +0; a single NaN loses unless it is asked for. */
static double extreme(const struct operation *op, double a, double b, bool largest)
{
    if (a != a || b != b) {
        bool both = a != a && b != b;
        return both || op->variant & HALF_NANS ? a + b : a != a ? b : a;
    }
    if (a == b)
        return __builtin_signbit(a) == largest ? b : a;
    return (a < b) == largest ? b : a;
}

static uint32_t smallest_or_largest(const struct operation *op, uint32_t x, uint32_t y, bool largest)
{
    double a = half_load(op, x), b = half_load(op, y);
    if (!(op->variant & HALF_XORSIGN))
        return half_finish(op, extreme(op, a, b, largest));
    uint32_t bits = half_finish(op, extreme(op, __builtin_fabs(a), __builtin_fabs(b), largest));
    return bits == HALF_NAN ? bits : bits | ((x ^ y) & 0x8000u);
}

static uint32_t compute(const struct operation *op, uint32_t x, uint32_t y, uint32_t z)
{
    double a = half_load(op, x), b = half_load(op, y);
    switch ((enum half_operation)op->extra[3]) {
    case HALF_ADD:
        return half_finish(op, odd_sum(a, b));
    case HALF_SUB:
        return half_finish(op, odd_sum(a, -b));
    case HALF_MUL:
        return half_finish(op, a * b);
    case HALF_FMA_OOB:
        if ((x & 0x7fffu) == HALF_OOB || (y & 0x7fffu) == HALF_OOB || (z & 0x7fffu) == HALF_OOB)
            return 0;
        /* fallthrough */
    case HALF_FMA:
        return half_finish(op, odd_sum(a * b, half_load(op, z)));
    case HALF_NEG:
        return a != a ? HALF_NAN : (op->variant & HALF_FLUSH ? flush_half(x, format_of(op)) : x) ^ 0x8000u;
    case HALF_ABS:
        return a != a ? HALF_NAN : (op->variant & HALF_FLUSH ? flush_half(x, format_of(op)) : x) & 0x7fffu;
    case HALF_MIN:
        return smallest_or_largest(op, x, y, false);
    case HALF_MAX:
        return smallest_or_largest(op, x, y, true);
    case HALF_EX2:
        return half_finish(op, approximate_ex2((float)a));
    default:
        return half_finish(op, approximate_tanh((float)a));
    }
}

LANES_FUNCTION(half_arithmetic)
{
    LANES_SOURCE(u32, pa, 0);
    LANES_SOURCE(u32, pb, 1);
    LANES_SOURCE(u32, pc, 2);
    uint32_t results[CORUN_WARP_LANES] __attribute__((aligned(64)));
    for (uint32_t i = 0; i < CORUN_WARP_LANES; i++) {
        results[i] = compute(op, pa[i] & 0xffffu, pb[i] & 0xffffu, pc[i] & 0xffffu);
        if (op->variant & HALF_PAIR)
            results[i] |= compute(op, pa[i] >> 16, pb[i] >> 16, pc[i] >> 16) << 16;
    }
    lanes_write32(lanes_destination(lanes, op->destination), results, mask);
}

static bool compare(const struct operation *op, uint32_t x, uint32_t y)
{
    double a = half_load(op, x), b = half_load(op, y);
    bool unordered = a != a || b != b;
    switch (op->extra[3] & 0xffu) {
    case PTX_COMPARISON_EQ:
        return a == b;
    case PTX_COMPARISON_NE:
        return !unordered && a != b;
    case PTX_COMPARISON_LT:
        return a < b;
    case PTX_COMPARISON_LE:
        return a <= b;
    case PTX_COMPARISON_GT:
        return a > b;
    case PTX_COMPARISON_GE:
        return a >= b;
    case PTX_COMPARISON_EQU:
        return unordered || a == b;
    case PTX_COMPARISON_NEU:
        return unordered || a != b;
    case PTX_COMPARISON_LTU:
        return unordered || a < b;
    case PTX_COMPARISON_LEU:
        return unordered || a <= b;
    case PTX_COMPARISON_GTU:
        return unordered || a > b;
    case PTX_COMPARISON_GEU:
        return unordered || a >= b;
    case PTX_COMPARISON_NUM:
        return !unordered;
    default:
        return unordered;
    }
}

static uint32_t combined(const struct operation *op, const struct lanes *lanes, uint32_t compared)
{
    if (op->predicate_in == NO_PREDICATE)
        return compared;
    uint32_t other = predicate_in(op, lanes);
    switch (op->extra[3] >> 8) {
    case PTX_BOOLEAN_AND:
        return compared & other;
    case PTX_BOOLEAN_OR:
        return compared | other;
    default:
        return compared ^ other;
    }
}

/* Both halves of all lanes, as masks over lanes. */
static void compare_halves(const struct operation *op, const struct lanes *lanes, uint32_t *low, uint32_t *high)
{
    LANES_SOURCE(u32, pa, 0);
    LANES_SOURCE(u32, pb, 1);
    *low = *high = 0;
    for (uint32_t i = 0; i < CORUN_WARP_LANES; i++) {
        *low |= compare(op, pa[i] & 0xffffu, pb[i] & 0xffffu) ? lane_bit32[i] : 0;
        *high |= compare(op, pa[i] >> 16, pb[i] >> 16) ? lane_bit32[i] : 0;
    }
}

/* p and q: of a pair, its halves; else the comparison and its opposite. */
LANES_FUNCTION(half_setp)
{
    uint32_t low, high;
    compare_halves(op, lanes, &low, &high);
    uint32_t second = combined(op, lanes, op->variant & HALF_PAIR ? high : ~low); /* before p is written */
    predicate_write(lanes, op->predicate_out[0], combined(op, lanes, low), mask);
    predicate_write(lanes, op->predicate_out[1], second, mask);
}

/* extra[2]: what stands for true, in 32 bits; of a pair its halves are told apart */
LANES_FUNCTION(half_set)
{
    uint32_t low, high, results[CORUN_WARP_LANES] __attribute__((aligned(64)));
    compare_halves(op, lanes, &low, &high);
    low = combined(op, lanes, low);
    high = combined(op, lanes, high);
    bool pair = op->variant & HALF_PAIR;
    for (uint32_t i = 0; i < CORUN_WARP_LANES; i++) {
        uint32_t truth = op->extra[2] == 0xffffu && !pair ? 0xffffffffu : op->extra[2];
        if (op->extra[1]) /* a float of 32 bits */
            truth = 0x3f800000u;
        results[i] = low & lane_bit32[i] ? truth : 0;
        if (pair)
            results[i] |= high & lane_bit32[i] ? truth << 16 : 0;
        if (op->extra[0]) /* a destination of 16 bits */
            results[i] &= 0xffffu;
    }
    lanes_write32(lanes_destination(lanes, op->destination), results, mask);
}

static uint32_t mode_of(const struct operation *op)
{
    return op->extra[3] & 3u;
}

LANES_FUNCTION(half_to_half)
{
    LANES_SOURCE(u32, pa, 0);
    uint32_t results[CORUN_WARP_LANES] __attribute__((aligned(64)));
    for (uint32_t i = 0; i < CORUN_WARP_LANES; i++) {
        double a = half_load(op, pa[i]);
        if (op->extra[3] & HALF_TO_WHOLE)
            a = round_to_whole(a, (enum rounding)mode_of(op));
        results[i] = half_pack(op, a, ROUND_NEAREST);
    }
    lanes_write32(lanes_destination(lanes, op->destination), results, mask);
}

/* cvt.f16x2.f32 d, a, b: a becomes the high half */
LANES_FUNCTION(half_from_pair)
{
    LANES_SOURCE(f32, pa, 0);
    LANES_SOURCE(f32, pb, 1);
    uint32_t results[CORUN_WARP_LANES] __attribute__((aligned(64)));
    for (uint32_t i = 0; i < CORUN_WARP_LANES; i++)
        results[i] = half_pack(op, (double)load_f32(pa[i]), mode_of(op)) << 16 |
                     half_pack(op, (double)load_f32(pb[i]), mode_of(op));
    lanes_write32(lanes_destination(lanes, op->destination), results, mask);
}

static uint32_t eighth_pack(const struct operation *op, double exact)
{
    if (op->variant & HALF_RELU && exact <= 0.0)
        exact = 0.0;
    return eighth_round(exact, op->extra[3]);
}

/* cvt.e4m3x2.f32 d, a, b: a becomes the high byte */
LANES_FUNCTION(eighths_from_pair)
{
    LANES_SOURCE(f32, pa, 0);
    LANES_SOURCE(f32, pb, 1);
    uint32_t results[CORUN_WARP_LANES] __attribute__((aligned(64)));
    for (uint32_t i = 0; i < CORUN_WARP_LANES; i++)
        results[i] = eighth_pack(op, (double)load_f32(pa[i])) << 8 | eighth_pack(op, (double)load_f32(pb[i]));
    lanes_write32(lanes_destination(lanes, op->destination), results, mask);
}

LANES_FUNCTION(eighths_from_halves)
{
    LANES_SOURCE(u32, pa, 0);
    uint32_t results[CORUN_WARP_LANES] __attribute__((aligned(64)));
    for (uint32_t i = 0; i < CORUN_WARP_LANES; i++)
        results[i] = eighth_pack(op, half_value(pa[i] >> 16, HALF_F16)) << 8 |
                     eighth_pack(op, half_value(pa[i] & 0xffffu, HALF_F16));
    lanes_write32(lanes_destination(lanes, op->destination), results, mask);
}

LANES_FUNCTION(halves_from_eighths)
{
    LANES_SOURCE(u32, pa, 0);
    uint32_t results[CORUN_WARP_LANES] __attribute__((aligned(64)));
    for (uint32_t i = 0; i < CORUN_WARP_LANES; i++)
        results[i] = half_pack(op, eighth_value(pa[i] >> 8 & 0xffu, op->extra[3]), ROUND_NEAREST) << 16 |
                     half_pack(op, eighth_value(pa[i] & 0xffu, op->extra[3]), ROUND_NEAREST);
    lanes_write32(lanes_destination(lanes, op->destination), results, mask);
}

static double number(const struct operation *op, const void *source, uint32_t lane)
{
    const lane32 *words = source;
    const lane64 *longs = source;
    uint64_t magnitude;
    switch (op->extra[3] >> 8) {
    case PTX_TYPE_F32:
        return (double)load_f32(words[lane]); /* .ftz is heeded by none: a subnormal number is rounded as such */
    case PTX_TYPE_F64:
        return load_f64(longs[lane]);
    case PTX_TYPE_F16:
        return half_value(words[lane] & 0xffffu, HALF_F16);
    case PTX_TYPE_BF16:
        return half_value(words[lane] & 0xffffu, HALF_BF16);
    case PTX_TYPE_U8:
        return load_u8(words[lane]);
    case PTX_TYPE_S8:
        return load_s8(words[lane]);
    case PTX_TYPE_U16:
        return load_u16(words[lane]);
    case PTX_TYPE_S16:
        return load_s16(words[lane]);
    case PTX_TYPE_U32:
        return words[lane];
    case PTX_TYPE_S32:
        return load_s32(words[lane]);
    case PTX_TYPE_U64:
        return odd_f64_of_u64(longs[lane]);
    default:
        magnitude = longs[lane] >> 63 ? 0 - longs[lane] : longs[lane];
        return longs[lane] >> 63 ? -odd_f64_of_u64(magnitude) : odd_f64_of_u64(magnitude);
    }
}

/* NaN of f64 keep their sign and what fits of their payload. */
static uint32_t half_from_nan(const struct operation *op, uint64_t bits)
{
    uint32_t fraction_bits = format_of(op).precision - 1, fraction = (1u << fraction_bits) - 1;
    uint32_t payload = (uint32_t)(bits >> (52 - fraction_bits)) & fraction;
    return (uint32_t)(bits >> 63) << 15 | half_infinity(format_of(op)) | 1u << (fraction_bits - 1) | payload;
}

LANES_FUNCTION(half_from_number)
{
    const void *source = lanes_source(lanes, op->source[0]);
    const lane64 *longs = source;
    bool keeps = op->extra[3] >> 8 == PTX_TYPE_F64 && !(op->variant & (HALF_CLAMP | HALF_RELU));
    uint32_t results[CORUN_WARP_LANES] __attribute__((aligned(64)));
    for (uint32_t i = 0; i < CORUN_WARP_LANES; i++)
        results[i] = keeps && is_nan_f64(longs[i]) ? half_from_nan(op, longs[i])
                                                   : half_pack(op, number(op, source, i), mode_of(op));
    lanes_write32(lanes_destination(lanes, op->destination), results, mask);
}

static uint64_t as_number(const struct operation *op, uint32_t bits, double a)
{
    switch (op->extra[3] >> 8) {
    case PTX_TYPE_F32:
        if (op->variant & HALF_BRAIN && !(op->variant & (HALF_CLAMP | HALF_FLUSH)))
            return bits << 16; /* NaN stay as they are */
        a = op->variant & HALF_CLAMP ? (a > 0.0 ? a < 1.0 ? a : 1.0 : 0.0) : a;
        return op->variant & HALF_FLUSH ? store_f32z((float)a) : store_f32((float)a);
    case PTX_TYPE_F64:
        a = op->variant & HALF_CLAMP ? (a > 0.0 ? a < 1.0 ? a : 1.0 : 0.0) : a;
        return store_f64(a);
    case PTX_TYPE_U8:
        return word_of_f64(a, 0.0, 0xff, 0);
    case PTX_TYPE_S8:
        return word_of_f64(a, -0x80, 0x7f, 0);
    case PTX_TYPE_U16:
        return word_of_f64(a, 0.0, 0xffff, 0) & 0xffffu;
    case PTX_TYPE_S16:
        return word_of_f64(a, -0x8000, 0x7fff, 0);
    case PTX_TYPE_U32:
        return word_of_f64(a, 0.0, 0xffffffff, 0);
    case PTX_TYPE_S32:
        return word_of_f64(a, -0x80000000LL, 0x7fffffff, 0);
    case PTX_TYPE_U64:
        return u64_of_f64(a);
    default:
        return s64_of_f64(a);
    }
}

LANES_FUNCTION(half_to_number)
{
    LANES_SOURCE(u32, pa, 0);
    uint64_t wide[CORUN_WARP_LANES] __attribute__((aligned(64)));
    uint32_t narrow_results[CORUN_WARP_LANES] __attribute__((aligned(64)));
    for (uint32_t i = 0; i < CORUN_WARP_LANES; i++) {
        struct half_format format = format_of(op);
        double a = half_value(pa[i] & 0xffffu, format); /* .ftz is of the other side, where f16 is never subnormal */
        if (op->extra[3] & HALF_TO_WHOLE)
            a = round_to_whole(a, (enum rounding)mode_of(op));
        wide[i] = as_number(op, pa[i], a);
        narrow_results[i] = (uint32_t)wide[i];
    }
    if (ptx_types[op->extra[3] >> 8].bits == 64)
        lanes_write64(lanes_destination(lanes, op->destination), wide, mask);
    else
        lanes_write32(lanes_destination(lanes, op->destination), narrow_results, mask);
}
