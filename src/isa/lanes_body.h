/* SPDX-License-Identifier: MIT */
/*
 * How a row of the lanes_*.def tables becomes a function over 32 lanes. Private to src/isa/lanes_*.c.
 *
 * Rows: ONE(name, D, A, body) to FOUR(name, D, A, B, C, E, body). The body is an expression of a, b, c, e; D, A, … are value types:
 * u8 … s64, f32 and f64, f32z (subnormals are zero), f32s (clamped to [0,1]), f32zs (both). *_SLOW rows have no
 * loop of their own for full masks, to keep the code small.
 *
 * These files are compiled once per level (enum lanes_level), with LANES_SUFFIX telling the functions apart.
 */
#ifndef CORUN_ISA_LANES_BODY_H
#define CORUN_ISA_LANES_BODY_H

#include <stdbool.h>
#include <string.h>

#include "isa/lanes.h"

#ifndef LANES_SUFFIX
#define LANES_SUFFIX baseline
#endif
#define LANES_PASTE2(name, suffix) lane_##name##_##suffix
#define LANES_PASTE(name, suffix) LANES_PASTE2(name, suffix)
#define LANE(name) LANES_PASTE(name, LANES_SUFFIX)

/* Lanes are independent of one another, which the compiler cannot know of two pointers. */
#ifdef __clang__
#define LANES_INDEPENDENT _Pragma("clang loop vectorize(assume_safety) interleave(enable)")
#else
#define LANES_INDEPENDENT _Pragma("GCC ivdep")
#endif
#define EACH_LANE LANES_INDEPENDENT for (uint32_t i = 0; i < CORUN_WARP_LANES; i++)

/* The register file holds whatever was last written, so every access goes through a type that may alias. */
typedef uint32_t lane32 __attribute__((may_alias));
typedef uint64_t lane64 __attribute__((may_alias));

#define LANES_TYPE(T, value, unsigned_type, lane) \
    typedef value value_##T; \
    typedef unsigned_type unsigned_##T; \
    typedef lane lane_##T;
LANES_TYPE(u8, uint32_t, uint32_t, lane32)
LANES_TYPE(s8, int32_t, uint32_t, lane32)
LANES_TYPE(u16, uint32_t, uint32_t, lane32)
LANES_TYPE(s16, int32_t, uint32_t, lane32)
LANES_TYPE(u32, uint32_t, uint32_t, lane32)
LANES_TYPE(s32, int32_t, uint32_t, lane32)
LANES_TYPE(u64, uint64_t, uint64_t, lane64)
LANES_TYPE(s64, int64_t, uint64_t, lane64)
LANES_TYPE(f32, float, uint32_t, lane32)
LANES_TYPE(f32z, float, uint32_t, lane32)
LANES_TYPE(f32s, float, uint32_t, lane32)
LANES_TYPE(f32zs, float, uint32_t, lane32)
LANES_TYPE(f64, double, uint64_t, lane64)
LANES_TYPE(f64s, double, uint64_t, lane64)
#undef LANES_TYPE

static inline uint32_t bits_of_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float f32_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t bits_of_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double f64_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define F32_NAN_BITS UINT32_C(0x7fffffff)
#define F64_NAN_BITS UINT64_C(0xfff8000000000000)

static inline bool is_nan_f32(uint32_t bits)
{
    return (bits & 0x7fffffffu) > 0x7f800000u;
}

static inline bool is_nan_f64(uint64_t bits)
{
    return (bits & UINT64_C(0x7fffffffffffffff)) > UINT64_C(0x7ff0000000000000);
}

static inline uint32_t flush_f32(uint32_t bits)
{
    return bits & 0x7f800000u ? bits : bits & 0x80000000u;
}

static inline uint32_t load_u8(uint32_t x)
{
    return x & 0xffu;
}

static inline int32_t load_s8(uint32_t x)
{
    return (int8_t)x;
}

static inline uint32_t load_u16(uint32_t x)
{
    return x & 0xffffu;
}

static inline int32_t load_s16(uint32_t x)
{
    return (int16_t)x;
}

static inline uint32_t load_u32(uint32_t x)
{
    return x;
}

static inline int32_t load_s32(uint32_t x)
{
    return (int32_t)x;
}

static inline uint64_t load_u64(uint64_t x)
{
    return x;
}

static inline int64_t load_s64(uint64_t x)
{
    return (int64_t)x;
}

static inline float load_f32(uint32_t x)
{
    return f32_of_bits(x);
}

static inline float load_f32z(uint32_t x)
{
    return f32_of_bits(flush_f32(x));
}

static inline double load_f64(uint64_t x)
{
    return f64_of_bits(x);
}

/* Results: what is wider than the type has been computed modulo its width. */
static inline uint32_t store_u8(uint32_t x)
{
    return x & 0xffu;
}

static inline uint32_t store_s8(uint32_t x)
{
    return (uint32_t)(int32_t)(int8_t)x;
}

static inline uint32_t store_u16(uint32_t x)
{
    return x & 0xffffu;
}

static inline uint32_t store_s16(uint32_t x)
{
    return (uint32_t)(int32_t)(int16_t)x;
}

static inline uint32_t store_u32(uint32_t x)
{
    return x;
}

static inline uint32_t store_s32(uint32_t x)
{
    return x;
}

static inline uint64_t store_u64(uint64_t x)
{
    return x;
}

static inline uint64_t store_s64(uint64_t x)
{
    return x;
}

static inline uint32_t store_f32(float x)
{
    return x != x ? F32_NAN_BITS : bits_of_f32(x);
}

static inline uint32_t store_f32z(float x)
{
    return x != x ? F32_NAN_BITS : flush_f32(bits_of_f32(x));
}

/* NaN and -0 give +0. */
static inline uint32_t store_f32s(float x)
{
    float positive = x > 0.0f ? x : 0.0f;
    return bits_of_f32(positive < 1.0f ? positive : 1.0f);
}

static inline uint32_t store_f32zs(float x)
{
    return flush_f32(store_f32s(x));
}

/* NaN of f64 keep their payload: what an operation does with them is in its body. */
static inline uint64_t store_f64(double x)
{
    return bits_of_f64(x);
}

static inline uint64_t store_f64s(double x)
{
    double positive = x > 0.0 ? x : 0.0;
    return bits_of_f64(positive < 1.0 ? positive : 1.0);
}

static const uint32_t lane_bit32[CORUN_WARP_LANES] __attribute__((aligned(64))) = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,  1u << 8,  1u << 9,  1u << 10,
    1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15, 1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21,
    1u << 22, 1u << 23, 1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

#define LANES_ALIGNED(pointer) __builtin_assume_aligned((pointer), 64)

static inline void lanes_write32(lane32 *destination, const uint32_t *results, uint32_t mask)
{
    EACH_LANE
    {
        uint32_t keep = mask & lane_bit32[i] ? 0 : 0xffffffffu;
        destination[i] = (destination[i] & keep) | (results[i] & ~keep);
    }
}

static inline void lanes_write64(lane64 *destination, const uint64_t *results, uint32_t mask)
{
    EACH_LANE
    {
        uint32_t keep32 = mask & lane_bit32[i] ? 0 : 0xffffffffu;
        uint64_t keep = (uint64_t)(int64_t)(int32_t)keep32;
        destination[i] = (destination[i] & keep) | (results[i] & ~keep);
    }
}

/* Results that were computed apart from the register file: for partial masks, and where widths differ. */
#define LANES_WRITE(destination, results, mask) \
    _Generic((results), uint32_t * : lanes_write32, uint64_t * : lanes_write64)(destination, results, mask)

static inline uint32_t predicate_read(const struct lanes *lanes, uint32_t number)
{
    return number == PREDICATE_TRUE ? 0xffffffffu : number == PREDICATE_FALSE ? 0 : lanes->predicates[number];
}

static inline uint32_t predicate_in(const struct operation *op, const struct lanes *lanes)
{
    uint32_t value = predicate_read(lanes, op->predicate_in);
    return op->predicate_in_negated ? ~value : value;
}

static inline void predicate_write(const struct lanes *lanes, uint32_t number, uint32_t value, uint32_t mask)
{
    if (number != NO_PREDICATE)
        lanes->predicates[number] = (lanes->predicates[number] & ~mask) | (value & mask);
}

#define LANES_FUNCTION(name) \
    void LANE(name)(const struct operation *op, const struct lanes *lanes, uint32_t mask); \
    void LANE(name)(const struct operation *op, const struct lanes *lanes, uint32_t mask)

#define LANES_SAME1(D, A) (sizeof(lane_##D) == sizeof(lane_##A))
#define LANES_SOURCE(T, pointer, number) \
    const lane_##T *pointer = LANES_ALIGNED(lanes_source(lanes, op->source[number]))

/*
 * The loop: straight into the register file if all lanes run and all operands have one width (then a lane of the destination can
 * only overlap the same lane of a source), else by way of `results`. `direct` is a constant.
 */
#define LANES_COMPUTE(D, direct, loads, ...) \
    typedef unsigned_##D U __attribute__((unused)); \
    lane_##D *d = LANES_ALIGNED(lanes_destination(lanes, op->destination)); \
    if ((direct) && mask == CORUN_FULL_MASK) { \
        EACH_LANE \
        { \
            loads d[i] = store_##D(__VA_ARGS__); \
        } \
    } else { \
        unsigned_##D results[CORUN_WARP_LANES] __attribute__((aligned(64))); \
        EACH_LANE \
        { \
            loads results[i] = store_##D(__VA_ARGS__); \
        } \
        LANES_WRITE(d, results, mask); \
    }

#define LANES_ONE(direct, name, D, A, ...) \
    LANES_FUNCTION(name) \
    { \
        LANES_SOURCE(A, pa, 0); \
        LANES_COMPUTE(D, (direct) && LANES_SAME1(D, A), const value_##A a = load_##A(pa[i]);, __VA_ARGS__) \
    }
#define LANES_TWO(direct, name, D, A, B, ...) \
    LANES_FUNCTION(name) \
    { \
        LANES_SOURCE(A, pa, 0); \
        LANES_SOURCE(B, pb, 1); \
        LANES_COMPUTE(D, (direct) && LANES_SAME1(D, A) && LANES_SAME1(D, B), const value_##A a = load_##A(pa[i]); \
                      const value_##B b = load_##B(pb[i]);, __VA_ARGS__) \
    }
#define LANES_THREE(direct, name, D, A, B, C, ...) \
    LANES_FUNCTION(name) \
    { \
        LANES_SOURCE(A, pa, 0); \
        LANES_SOURCE(B, pb, 1); \
        LANES_SOURCE(C, pc, 2); \
        LANES_COMPUTE(D, (direct) && LANES_SAME1(D, A) && LANES_SAME1(D, B) && LANES_SAME1(D, C), \
                      const value_##A a = load_##A(pa[i]); \
                      const value_##B b = load_##B(pb[i]); const value_##C c = load_##C(pc[i]);, __VA_ARGS__) \
    }
#define LANES_FOUR(direct, name, D, A, B, C, E, ...) \
    LANES_FUNCTION(name) \
    { \
        LANES_SOURCE(A, pa, 0); \
        LANES_SOURCE(B, pb, 1); \
        LANES_SOURCE(C, pc, 2); \
        LANES_SOURCE(E, pe, 3); \
        LANES_COMPUTE(D, (direct) && LANES_SAME1(D, A) && LANES_SAME1(D, B) && LANES_SAME1(D, C) && LANES_SAME1(D, E), \
                      const value_##A a = load_##A(pa[i]); \
                      const value_##B b = load_##B(pb[i]); const value_##C c = load_##C(pc[i]); \
                      const value_##E e = load_##E(pe[i]);, __VA_ARGS__) \
    }

#define ONE(...) LANES_ONE(1, __VA_ARGS__)
#define TWO(...) LANES_TWO(1, __VA_ARGS__)
#define THREE(...) LANES_THREE(1, __VA_ARGS__)
#define FOUR(...) LANES_FOUR(1, __VA_ARGS__)
#define ONE_SLOW(...) LANES_ONE(0, __VA_ARGS__)
#define TWO_SLOW(...) LANES_TWO(0, __VA_ARGS__)
#define THREE_SLOW(...) LANES_THREE(0, __VA_ARGS__)
#define FOUR_SLOW(...) LANES_FOUR(0, __VA_ARGS__)

/* Functions that are written out in the file itself. */
#define OTHER(name)

#endif
