/* SPDX-License-Identifier: MIT */
/* Integer and logic operations; the list is lanes_integer.def. */
#include "isa/lanes_body.h"

static inline uint32_t clamp_s32(int64_t x)
{
    return (uint32_t)(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x);
}

static inline uint64_t low24_u32(uint32_t x)
{
    return x & 0xffffffu;
}

static inline int64_t low24_s32(int32_t x)
{
    return (int32_t)((uint32_t)x << 8) >> 8;
}

/*
 * A quotient of 32-bit integers is either whole or at least 1/b, a relative 2^-32, away from the next whole number, so the double
 * nearest to it truncates to the right one; and vector units divide doubles.
 */
static inline uint32_t divide_u32(uint32_t a, uint32_t b)
{
    uint32_t divisor = b < 2 ? 2 : b; /* keeps the quotient below 2^31, which is what converts fast */
    double dividend = f64_of_bits(UINT64_C(0x4330000000000000) | a) - 0x1p52;
    uint32_t quotient = (uint32_t)(int32_t)(dividend / (f64_of_bits(UINT64_C(0x4330000000000000) | divisor) - 0x1p52));
    return b > 1 ? quotient : b ? a : 0xffffffffu;
}

static inline uint32_t remainder_u32(uint32_t a, uint32_t b)
{
    return (a - divide_u32(a, b) * b) | (0u - (b == 0));
}

static inline uint32_t magnitude_s32(int32_t x)
{
    return x < 0 ? 0 - (uint32_t)x : (uint32_t)x;
}

static inline uint32_t divide_s32(int32_t a, int32_t b)
{
    uint32_t quotient = divide_u32(magnitude_s32(a), magnitude_s32(b));
    return ((a ^ b) < 0 ? 0 - quotient : quotient) | (0u - (b == 0));
}

static inline uint32_t remainder_s32(int32_t a, int32_t b)
{
    uint32_t rest = remainder_u32(magnitude_s32(a), magnitude_s32(b));
    return (a < 0 ? 0 - rest : rest) | (0u - (b == 0));
}

static inline uint64_t divide_u64(uint64_t a, uint64_t b)
{
    return b ? a / b : UINT64_MAX;
}

static inline uint64_t remainder_u64(uint64_t a, uint64_t b)
{
    return b ? a % b : UINT64_MAX;
}

/* INT64_MIN / -1 traps on some hosts, so that -1 is apart. */
static inline uint64_t divide_s64(int64_t a, int64_t b)
{
    return b == 0 ? UINT64_MAX : b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b);
}

static inline uint64_t remainder_s64(int64_t a, int64_t b)
{
    return b == 0 ? UINT64_MAX : b == -1 ? 0 : (uint64_t)(a % b);
}

static inline uint64_t join(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

/* Any number of ones from bit 0 upwards. */
static inline uint64_t ones(uint32_t count)
{
    return count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
}

static inline uint64_t extract_bits(uint64_t value, bool is_signed, uint32_t position, uint32_t length, uint32_t width)
{
    uint32_t available = position < width ? width - position : 0;
    uint32_t taken = length < available ? length : available;
    uint64_t field = available ? value >> position & ones(taken) : 0;
    if (is_signed && length) {
        uint32_t last = position + length - 1;
        if (value >> (last < width ? last : width - 1) & 1)
            field |= ~ones(taken);
    }
    return field;
}

static inline uint64_t insert_bits(uint64_t value, uint64_t base, uint32_t position, uint32_t length, uint32_t width)
{
    uint64_t field = position < width ? ones(length) << position : 0;
    return (base & ~field) | (field ? value << position & field : 0);
}

static inline uint32_t highest_bit(uint64_t x)
{
    return x ? 63u - (uint32_t)__builtin_clzll(x) : 0xffffffffu;
}

static inline uint32_t shift_amount(uint32_t bit, uint32_t top)
{
    return bit == 0xffffffffu ? bit : top - bit;
}

static inline uint32_t sign_extend(uint32_t x, uint32_t bits)
{
    return bits ? (uint32_t)((int32_t)(x << (32 - bits)) >> (32 - bits)) : 0;
}

static inline uint32_t reverse_bits_u32(uint32_t x)
{
    x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
    x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
    x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
    x = (x & 0x00ff00ffu) << 8 | (x >> 8 & 0x00ff00ffu);
    return x << 16 | x >> 16;
}

static inline uint32_t count_ones_u32(uint32_t x)
{
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
    x += x >> 8;
    return (x + (x >> 16)) & 0x3fu;
}

/* Bit k of `table` is the result where a, b and c have the bits of k, a the highest. */
static inline uint32_t logic3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
#define MINTERM(k, x) ((0u - (table >> (k)&1u)) & (x))
    return MINTERM(0, ~a & ~b & ~c) | MINTERM(1, ~a & ~b & c) | MINTERM(2, ~a & b & ~c) | MINTERM(3, ~a & b & c) |
           MINTERM(4, a & ~b & ~c) | MINTERM(5, a & ~b & c) | MINTERM(6, a & b & ~c) | MINTERM(7, a & b & c);
#undef MINTERM
}

/* One byte of eight: bits 0 to 2 of the nibble choose, bit 3 asks for its sign instead. */
static inline uint32_t chosen_byte(uint64_t bytes, uint32_t nibble)
{
    uint32_t byte = (uint32_t)(bytes >> (nibble & 7) * 8) & 0xffu;
    return nibble & 8 ? (byte >> 7) * 0xffu : byte;
}

static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t bytes = join(a, b);
    return chosen_byte(bytes, selector) | chosen_byte(bytes, selector >> 4) << 8 |
           chosen_byte(bytes, selector >> 8) << 16 | chosen_byte(bytes, selector >> 12) << 24;
}

static inline uint32_t b4e_selector(uint32_t n)
{
    return (uint32_t)(UINT64_C(0x0123701267015670) >> n * 16) & 0xffffu;
}

static inline uint32_t ecl_selector(uint32_t n)
{
    return (uint32_t)(UINT64_C(0x3333322232113210) >> n * 16) & 0xffffu;
}

static inline uint32_t ecr_selector(uint32_t n)
{
    return (uint32_t)(UINT64_C(0x3210221011100000) >> n * 16) & 0xffffu;
}

static inline uint32_t above_zero_s32(int32_t x)
{
    return x > 0 ? (uint32_t)x : 0;
}

/* Two halves of a register. */
static inline uint32_t pair_of(uint32_t low, uint32_t high)
{
    return (low & 0xffffu) | high << 16;
}

static inline uint32_t pair_of_signed(int32_t low, int32_t high)
{
    return pair_of((uint32_t)low, (uint32_t)high);
}

static inline uint32_t pair_above_zero(int32_t low, int32_t high)
{
    return pair_of(above_zero_s32(low), above_zero_s32(high));
}

static inline uint32_t smaller(uint32_t x, uint32_t y)
{
    return x < y ? x : y;
}

static inline uint32_t larger(uint32_t x, uint32_t y)
{
    return x > y ? x : y;
}

static inline int32_t lesser(int32_t x, int32_t y)
{
    return x < y ? x : y;
}

static inline int32_t greater(int32_t x, int32_t y)
{
    return x > y ? x : y;
}

/* a above b, each clamped to a part; c is moved up by two parts, and is 0 where two parts fill the register. */
static inline uint32_t clamped_pair(int32_t a, int32_t b, uint32_t c, uint32_t variant)
{
    uint32_t bits = variant & PACK_BITS, all = (1u << bits) - 1;
    int32_t highest = (int32_t)(variant & PACK_SIGNED ? all >> 1 : all),
            lowest = variant & PACK_SIGNED ? -highest - 1 : 0;
    uint32_t high = (uint32_t)greater(lowest, lesser(a, highest)) & all;
    uint32_t low = (uint32_t)greater(lowest, lesser(b, highest)) & all;
    return (bits < 16 ? c << 2 * bits : 0) | high << bits | low;
}

/* One of the parts of a and b; the result before it is cut to the part's width. */
static inline int32_t video_part(uint32_t kind, int32_t x, int32_t y)
{
    switch (kind) {
    case VIDEO_ADD:
        return x + y;
    case VIDEO_SUB:
        return x - y;
    case VIDEO_MEAN:
        return (x + y + (x + y >= 0)) >> 1;
    case VIDEO_DIFFERENCE:
        return x < y ? y - x : x - y;
    case VIDEO_MIN:
        return x < y ? x : y;
    default:
        return x > y ? x : y;
    }
}

/* Two halves or four bytes at once (PTX ISA, "SIMD Video Instructions"). */
static inline uint32_t video(uint32_t a, uint32_t b, uint32_t c, uint32_t variant, uint32_t parts)
{
    uint32_t bits = 32 / parts, ones_of_part = 0xffffffffu >> (32 - bits), result = 0, sum = c;
    int32_t highest = (int32_t)(variant & VIDEO_SIGNED ? ones_of_part >> 1 : ones_of_part);
    int32_t lowest = variant & VIDEO_SIGNED ? -highest - 1 : 0;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t part_a = a >> i * bits & ones_of_part, part_b = b >> i * bits & ones_of_part;
        int32_t x = (int32_t)(variant & VIDEO_A_SIGNED ? sign_extend(part_a, bits) : part_a);
        int32_t y = (int32_t)(variant & VIDEO_B_SIGNED ? sign_extend(part_b, bits) : part_b);
        int32_t value = video_part(variant & VIDEO_KIND, x, y);
        if (variant & VIDEO_SATURATE)
            value = value < lowest ? lowest : value > highest ? highest : value;
        sum += (uint32_t)value;
        result |= ((uint32_t)value & ones_of_part) << i * bits;
    }
    return variant & VIDEO_SUM ? sum : result;
}

#define PRODUCT(x, y) ((uint32_t)(x) * (uint32_t)(y))
#define DOT4(load_a, load_b) \
    (PRODUCT(load_a(a), load_b(b)) + PRODUCT(load_a(a >> 8), load_b(b >> 8)) + \
     PRODUCT(load_a(a >> 16), load_b(b >> 16)) + PRODUCT(load_a(a >> 24), load_b(b >> 24)))
#define DOT2(load_a, load_b, shift) \
    (PRODUCT(load_a(a), load_b(b >> (shift))) + PRODUCT(load_a(a >> 16), load_b(b >> ((shift) + 8))))

#include "isa/lanes_integer.def"

#define SELECT(name, T) \
    LANES_FUNCTION(name) \
    { \
        const uint32_t chosen = predicate_in(op, lanes); \
        LANES_SOURCE(T, pa, 0); \
        LANES_SOURCE(T, pb, 1); \
        LANES_COMPUTE(T, 1, , chosen &lane_bit32[i] ? pa[i] : pb[i]) \
    }
SELECT(selp_32, u32)
SELECT(selp_64, u64)

/*
 * `sum` is a value of type `wide`, whose bit above the result is the carry. A difference is a + ~b + 1: without a borrow the flag is set,
 * which only a chain of both sums and differences can tell. The 128-bit division of NVIDIA's compiler is such a chain.
 */
#define CARRY(name, T, wide, without, sources, ...) \
    LANES_FUNCTION(name) \
    { \
        const uint32_t carries = op->predicate_in == NO_PREDICATE ? (without) : predicate_in(op, lanes); \
        const lane_##T *pa = lanes_source(lanes, op->source[0]), *pb = lanes_source(lanes, op->source[1]); \
        unsigned_##T results[CORUN_WARP_LANES] __attribute__((aligned(64))); \
        uint32_t out = 0; \
        sources for (uint32_t i = 0; i < CORUN_WARP_LANES; i++) \
        { \
            const unsigned_##T a = pa[i], b = pb[i], carry = carries >> i & 1; \
            const wide sum = __VA_ARGS__; \
            results[i] = (unsigned_##T)sum; \
            out |= (uint32_t)(sum >> sizeof(unsigned_##T) * 8 & 1) << i; \
        } \
        LANES_WRITE((lane_##T *)lanes_destination(lanes, op->destination), results, mask); \
        predicate_write(lanes, op->predicate_out[0], out, mask); \
    }
#define CARRY_C(T) const lane_##T *pc = lanes_source(lanes, op->source[2]);
typedef unsigned __int128 uint128;
CARRY(carry_add_32, u32, uint64_t, 0, , (uint64_t)a + b + carry)
CARRY(carry_add_64, u64, uint128, 0, , (uint128)a + b + carry)
CARRY(carry_sub_32, u32, uint64_t, UINT32_MAX, , (uint64_t)a + ~b + carry)
CARRY(carry_sub_64, u64, uint128, UINT32_MAX, , (uint128)a + ~b + carry)
CARRY(carry_mad_lo_32, u32, uint64_t, 0, CARRY_C(u32), (uint64_t)(a *b) + pc[i] + carry)
CARRY(carry_mad_lo_64, u64, uint128, 0, CARRY_C(u64), (uint128)(a *b) + pc[i] + carry)
CARRY(carry_mad_hi_u32, u32, uint64_t, 0, CARRY_C(u32), ((uint64_t)a * b >> 32) + pc[i] + carry)
CARRY(carry_mad_hi_u64, u64, uint128, 0, CARRY_C(u64), ((uint128)a * b >> 64) + pc[i] + carry)
CARRY(carry_mad_hi_s32, u32, uint64_t, 0, CARRY_C(u32),
      (uint64_t)(uint32_t)((int64_t)(int32_t)a *(int32_t)b >> 32) + pc[i] + carry)
CARRY(carry_mad_hi_s64, u64, uint128, 0, CARRY_C(u64),
      (uint128)(uint64_t)((__int128)(int64_t)a *(int64_t)b >> 64) + pc[i] + carry)

/* Vector operands of mov: element 0 is the lowest. */
#define PACK(name, whole, element, count, bits) \
    LANES_FUNCTION(name) \
    { \
        unsigned_##whole results[CORUN_WARP_LANES] __attribute__((aligned(64))) = {0}; \
        for (uint32_t part = 0; part < (count); part++) { \
            const lane_##element *source = LANES_ALIGNED(lanes_source(lanes, op->source[part])); \
            EACH_LANE \
            { \
                results[i] |= (unsigned_##whole)load_##element(source[i]) << part * (bits); \
            } \
        } \
        LANES_WRITE((lane_##whole *)lanes_destination(lanes, op->destination), results, mask); \
    }
PACK(pack_2x8, u16, u8, 2, 8)
PACK(pack_4x8, u32, u8, 4, 8)
PACK(pack_2x16, u32, u16, 2, 16)
PACK(pack_4x16, u64, u16, 4, 16)
PACK(pack_2x32, u64, u32, 2, 32)

#define UNPACK(name, whole, element, count, bits) \
    LANES_FUNCTION(name) \
    { \
        unsigned_##whole source[CORUN_WARP_LANES] __attribute__((aligned(64))); \
        memcpy(source, lanes_source(lanes, op->source[0]), sizeof source); \
        for (uint32_t part = 0; part < (count); part++) { \
            uint16_t slot = part ? op->extra[part - 1] : op->destination; \
            if (slot == LANES_DISCARD) \
                continue; \
            uint32_t results[CORUN_WARP_LANES] __attribute__((aligned(64))); \
            EACH_LANE \
            { \
                results[i] = store_##element((uint32_t)(source[i] >> part * (bits))); \
            } \
            lanes_write32(lanes_destination(lanes, slot), results, mask); \
        } \
    }
UNPACK(unpack_2x8, u16, u8, 2, 8)
UNPACK(unpack_4x8, u32, u8, 4, 8)
UNPACK(unpack_2x16, u32, u16, 2, 16)
UNPACK(unpack_4x16, u64, u16, 4, 16)
UNPACK(unpack_2x32, u64, u32, 2, 32)
