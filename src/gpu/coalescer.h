/* SPDX-License-Identifier: MIT */
/* Addresses of the lanes of a warp → transactions of one line each. */
#ifndef CORUN_GPU_COALESCER_H
#define CORUN_GPU_COALESCER_H

#include "base/bits.h"
#include "corun/source.h"

#define PART_BYTES 32u /* of a line: what the coalescer keeps of a load; sectors are multiples of it */

struct transaction {
    uint64_t line; /* address, aligned to the line that was coalesced to */
    uint32_t lanes;
    uint32_t touched;  /* mask of its 32-byte parts */
    uint32_t repeats;  /* atomics: most lanes at one address */
    uint64_t bytes[4]; /* stores and atomics: mask of the bytes that lanes touch (lines of up to 256 bytes) */
};

/*
 * Lanes → transactions of one line each; returns their number. `writes`: the bytes are noted one by one, else
 * only the parts of the line.
 */
uint32_t coalesce(const struct corun_issue *issue, uint32_t lanes, uint32_t access_bytes, uint32_t line_bytes,
                  uint32_t access_lanes, bool writes, struct transaction *transactions);
/* Mask of the sectors in which every byte is written. */
uint32_t sectors_full(const struct transaction *transaction, uint32_t line_bytes, uint32_t sector_bytes);
/* Mask of the words of 4 bytes in which every byte is written. */
uint64_t words_full(const struct transaction *transaction);
/* Mask of the sectors in which any byte is touched. */
static inline uint32_t sectors_touched(const struct transaction *transaction, uint32_t sector_bytes)
{
    if (sector_bytes == PART_BYTES)
        return transaction->touched;
    uint32_t mask = 0;
    for (uint32_t rest = transaction->touched; rest; rest &= rest - 1)
        mask |= 1u << lowest_bit(rest) * PART_BYTES / sector_bytes;
    return mask;
}

#endif
