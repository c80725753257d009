/* SPDX-License-Identifier: MIT */
/* Which accesses of a warp count as coalesced: the rule, for whoever counts them. */
#ifndef CORUN_BASE_COALESCED_H
#define CORUN_BASE_COALESCED_H

#include "base/bits.h"

#include <stdbool.h>

/*
 * The most lines that so many lanes touch when each one's access follows the one of the lane before, however the first one is aligned
 * (accesses are aligned to their own size). `access_lanes`: lanes that are served together, 16 or 32.
 */
static inline uint32_t coalesced_lines(uint32_t lanes, uint32_t access_bytes, uint32_t line_bytes,
                                       uint32_t access_lanes)
{
    uint32_t lines = 0;
    for (uint32_t first = 0; first < 32; first += access_lanes) {
        uint32_t part = access_lanes >= 32 ? lanes : lanes & 0xffffu << first;
        if (part)
            lines += 1 + (line_bytes - access_bytes + count_bits(part) * access_bytes - 1) / line_bytes;
    }
    return lines;
}

/* An access that touches `lines` lines is uncoalesced if lanes in a row would touch fewer. */
static inline bool is_uncoalesced(uint32_t lines, uint32_t lanes, uint32_t access_bytes, uint32_t line_bytes,
                                  uint32_t access_lanes)
{
    return lines > coalesced_lines(lanes, access_bytes, line_bytes, access_lanes);
}

#endif
