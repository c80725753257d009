/* SPDX-License-Identifier: MIT */
/* Addresses of all lanes of a warp in one pass, and their shape: all equal, or one behind the other. */
#include "isa/executor.h"

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

static uint32_t shape_baseline(const void *base, bool narrow, uint64_t offset, uint64_t *address, uint32_t mask,
                               uint32_t stride_shift)
{
    return shape_any(base, narrow, offset, address, mask, stride_shift);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static uint32_t shape_avx2(const void *base, bool narrow, uint64_t offset,
                                                           uint64_t *address, uint32_t mask, uint32_t stride_shift)
{
    return shape_any(base, narrow, offset, address, mask, stride_shift);
}
#endif

shape_function access_shape_function(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return shape_avx2;
#endif
    return shape_baseline;
}
