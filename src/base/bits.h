/* SPDX-License-Identifier: MIT */
/* Bit sets as arrays of 64-bit words, and the few bit operations that hot code wants inline. */
#ifndef CORUN_BASE_BITS_H
#define CORUN_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BIT_WORDS(count) (((size_t)(count) + 63u) / 64u)

static inline bool bits_test(const uint64_t *set, size_t index)
{
    return set[index / 64] >> (index % 64) & 1u;
}

static inline void bits_set(uint64_t *set, size_t index)
{
    set[index / 64] |= UINT64_C(1) << (index % 64);
}

static inline void bits_clear(uint64_t *set, size_t index)
{
    set[index / 64] &= ~(UINT64_C(1) << (index % 64));
}

static inline uint32_t lowest_bit(uint64_t mask) /* mask must not be 0 */
{
    return (uint32_t)__builtin_ctzll(mask);
}

static inline uint32_t count_bits(uint64_t mask)
{
    return (uint32_t)__builtin_popcountll(mask);
}

static inline bool is_power_of_two(uint64_t value)
{
    return value && !(value & (value - 1));
}

static inline uint32_t log2_floor(uint64_t value) /* value must not be 0 */
{
    return 63u - (uint32_t)__builtin_clzll(value);
}

static inline uint64_t divide_up(uint64_t value, uint64_t divisor)
{
    return (value + divisor - 1) / divisor;
}

#endif
