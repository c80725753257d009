/* SPDX-License-Identifier: MIT */
/* Addresses of all lanes of a warp in one pass, and their shape: all equal, or one behind the other, in rows or not. */
#include "isa/executor.h"
#include "isa/lanes.h"

#include "base/bits.h"

/*
 * Addresses of all lanes (those of lanes that do not take part mean nothing), and their shape: bits of enum shape. `stride_shift`:
 * log2 of the bytes per lane.
 */
#define SHAPE_BODY(base, lane_address) \
    uint64_t uniform = 0, unit = 0; \
    if (mask == CORUN_FULL_MASK) { \
        uint64_t first = lane_address((base), 0); \
        for (uint32_t i = 0; i < CORUN_WARP_LANES; i++) { \
            uint64_t here = lane_address((base), i); \
            address[i] = here; \
            uniform |= here ^ first; \
            unit |= here ^ (first + ((uint64_t)i << stride_shift)); \
        } \
    } else { \
        uint32_t lane = lowest_bit(mask); \
        uint64_t first = lane_address((base), lane) - ((uint64_t)lane << stride_shift); \
        uint64_t value = lane_address((base), lane); \
        for (uint32_t i = 0; i < CORUN_WARP_LANES; i++) { \
            uint64_t here = lane_address((base), i), counts = -(uint64_t)(mask >> i & 1); \
            address[i] = here; \
            uniform |= (here ^ value) & counts; \
            unit |= (here ^ (first + ((uint64_t)i << stride_shift))) & counts; \
        } \
    } \
    return (uniform ? 0 : SHAPE_UNIFORM) | (unit ? 0 : SHAPE_UNIT)
#define WIDE_ADDRESS(base, i) ((base)[i] + offset)
#define NARROW_ADDRESS(base, i) ((uint64_t)(uint32_t)((base)[i] + (uint32_t)offset))

static inline __attribute__((always_inline)) uint32_t
shape_wide(const uint64_t *base, uint64_t offset, uint64_t *address, uint32_t mask, uint32_t stride_shift)
{
    SHAPE_BODY(base, WIDE_ADDRESS);
}

static inline __attribute__((always_inline)) uint32_t
shape_narrow(const uint32_t *base, uint64_t offset, uint64_t *address, uint32_t mask, uint32_t stride_shift)
{
    SHAPE_BODY(base, NARROW_ADDRESS);
}

static inline __attribute__((always_inline)) uint32_t shape_any(const void *base, bool narrow, uint64_t offset,
                                                                uint64_t *address, uint32_t mask, uint32_t stride_shift)
{
    return narrow ? shape_narrow(base, offset, address, mask, stride_shift)
                  : shape_wide(base, offset, address, mask, stride_shift);
}

/* Rows of so many lanes, in each of which they lie one behind the other. */
static inline __attribute__((always_inline)) bool are_rows(const uint64_t *address, uint32_t stride_shift,
                                                           uint32_t width)
{
    uint64_t other = 0;
    for (uint32_t row = 0; row < CORUN_WARP_LANES; row += width)
        for (uint32_t i = 1; i < width; i++)
            other |= address[row + i] ^ (address[row] + ((uint64_t)i << stride_shift));
    return !other;
}

static inline __attribute__((always_inline)) uint32_t rows_any(const uint64_t *address, uint32_t stride_shift)
{
    /* Most that are no rows are found out by one lane. */
    if (address[7] - address[0] != UINT64_C(7) << stride_shift)
        return 0;
    if (address[15] - address[0] == UINT64_C(15) << stride_shift && are_rows(address, stride_shift, 16))
        return 16;
    return are_rows(address, stride_shift, 8) ? 8 : 0;
}

static inline __attribute__((always_inline)) bool reach_any(const uint64_t *address, uint32_t mask,
                                                            const struct span *span)
{
    const uint64_t first = span->first, most = span->bytes - span->each, low = span->each - 1;
    uint64_t outside = span->bytes < span->each;
    for (uint32_t i = 0; i < CORUN_WARP_LANES; i++) {
        uint64_t counts = -(uint64_t)(mask >> i & 1);
        outside |= ((uint64_t)(address[i] - first > most) | (address[i] & low)) & counts;
    }
    return !outside;
}

#define SHAPE_FUNCTIONS(level, attributes) \
    attributes static uint32_t shape_##level(const void *base, bool narrow, uint64_t offset, uint64_t *address, \
                                             uint32_t mask, uint32_t stride_shift) \
    { \
        return shape_any(base, narrow, offset, address, mask, stride_shift); \
    } \
    attributes static uint32_t rows_##level(const uint64_t *address, uint32_t stride_shift) \
    { \
        return rows_any(address, stride_shift); \
    } \
    attributes static bool reach_##level(const uint64_t *address, uint32_t mask, const struct span *span) \
    { \
        return reach_any(address, mask, span); \
    } \
    static const struct shapes shapes_##level = {shape_##level, rows_##level, reach_##level};

SHAPE_FUNCTIONS(baseline, )
#ifdef __x86_64__
SHAPE_FUNCTIONS(avx2, __attribute__((target("avx2"))))
#ifdef __clang__ /* knows no preference here */
#define AVX512 "avx512f,avx512bw,avx512dq,avx512vl"
#else
#define AVX512 "avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"
#endif
SHAPE_FUNCTIONS(avx512, __attribute__((target(AVX512))))
#endif

const struct shapes *shapes_find(void)
{
#ifdef __x86_64__
    if (lanes_level_best() == LANES_V4)
        return &shapes_avx512;
    if (__builtin_cpu_supports("avx2"))
        return &shapes_avx2;
#endif
    return &shapes_baseline;
}
