/* SPDX-License-Identifier: MIT */
/*
 * Device addresses: what the bits of an address say.
 *
 * Bits 56.. of a generic address name its window. Window 0 is global memory: there bits 40..55 hold the application + 1 and
 * bits 0..39 an offset in that application's range, which is divided as below. The other windows hold what is private to
 * a thread block, a thread or a launch; an address within such a space (not generic) has no window bits.
 */
#ifndef CORUN_ISA_ADDRESS_H
#define CORUN_ISA_ADDRESS_H

#include "corun/source.h"

#define WINDOW_SHIFT 56u
#define WINDOW_GLOBAL UINT64_C(0)
#define WINDOW_SHARED UINT64_C(1)
#define WINDOW_LOCAL UINT64_C(2)
#define WINDOW_PARAMETER UINT64_C(3)
#define WINDOW_FUNCTION UINT64_C(4)
#define WINDOW_BASE(window) ((window) << WINDOW_SHIFT)

/* Offsets in the range of an application. */
#define ALLOCATIONS_FIRST UINT64_C(0x1000)
#define ALLOCATIONS_END (UINT64_C(1) << 38)
#define RESERVED_FIRST (UINT64_C(1) << 38) /* code and kernel parameters: only their addresses exist */
#define RESERVED_END (UINT64_C(1) << 39)
#define LOCAL_FIRST (UINT64_C(1) << 39) /* local memory as the caches see it */
#define LOCAL_SM_SHIFT 31u
#define LOCAL_SMS 256u

#define LINE_BYTES 128u

/* Functions have addresses so that they can be called indirectly. */
static inline uint64_t function_address(uint32_t function_index)
{
    return WINDOW_BASE(WINDOW_FUNCTION) | ((uint64_t)function_index + 1) << 4;
}

/* The index of the function at an address, UINT32_MAX if none can be there. */
static inline uint32_t function_index_at(uint64_t address)
{
    if (address >> WINDOW_SHIFT != WINDOW_FUNCTION || address & 15)
        return UINT32_MAX;
    uint64_t number = (address & ~WINDOW_BASE(UINT64_C(0xff))) >> 4;
    return number && number <= UINT32_MAX ? (uint32_t)(number - 1) : UINT32_MAX;
}

#endif
