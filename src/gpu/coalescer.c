/*
 * The coalescer: the addresses of a warp's lanes → one transaction per line that they touch, in order of the first lane.
 * Where `access_lanes` is 16, half warps are coalesced separately, as on GPUs that serve them one after the other.
 */
#include "gpu/sm.h"

#include <string.h>

static inline void touch(struct transaction *transaction, uint32_t offset, uint32_t bytes)
{
    /* an access is aligned to its size and at most 16 bytes: it never crosses a 64-bit word of the mask */
    transaction->bytes[offset / 64] |= ((UINT64_C(1) << bytes) - 1) << (offset % 64);
}

/* A hash from lines to transactions: a slot holds the transaction's number plus one. */
#define HASH_SLOTS 64u

static uint32_t coalesce_group(const uint64_t *addresses, uint32_t lanes, uint32_t access_bytes, uint32_t line_bytes,
                               struct transaction *transactions)
{
    uint32_t shift = log2_floor(line_bytes), count = 0;
    uint64_t last_line = ~UINT64_C(0);
    uint32_t last = 0;
    uint8_t hash[HASH_SLOTS];
    for (; lanes; lanes &= lanes - 1) {
        uint32_t lane = lowest_bit(lanes);
        uint64_t address = addresses[lane];
        uint64_t line = address >> shift;
        if (line != last_line) {
            if (count == 0)
                memset(hash, 0, sizeof hash); /* only when there is more than nothing to find */
            uint32_t slot = (uint32_t)(line * UINT64_C(0x9E3779B97F4A7C15) >> 58);
            while (hash[slot] && transactions[hash[slot] - 1].line != line << shift)
                slot = (slot + 1) % HASH_SLOTS;
            if (!hash[slot]) {
                transactions[count] = (struct transaction){.line = line << shift};
                hash[slot] = (uint8_t)++count;
            }
            last = hash[slot] - 1u;
            last_line = line;
        }
        transactions[last].lanes |= 1u << lane;
        touch(&transactions[last], (uint32_t)address & (line_bytes - 1), access_bytes);
    }
    return count;
}

uint32_t coalesce(const struct corun_issue *issue, uint32_t lanes, uint32_t access_bytes, uint32_t line_bytes,
                  uint32_t access_lanes, struct transaction *transactions)
{
    if (access_lanes >= CORUN_WARP_LANES)
        return coalesce_group(issue->address, lanes, access_bytes, line_bytes, transactions);
    uint32_t count = coalesce_group(issue->address, lanes & 0xffffu, access_bytes, line_bytes, transactions);
    return count + coalesce_group(issue->address, lanes & 0xffff0000u, access_bytes, line_bytes, transactions + count);
}

static uint32_t sectors_where(const struct transaction *transaction, uint32_t line_bytes, uint32_t sector_bytes,
                              bool full)
{
    uint32_t mask = 0, count = line_bytes / sector_bytes;
    for (uint32_t sector = 0; sector < count; sector++) {
        uint64_t any = 0, all = ~UINT64_C(0);
        uint32_t first = sector * sector_bytes;
        if (sector_bytes < 64) {
            uint64_t field = (UINT64_C(1) << sector_bytes) - 1;
            any = transaction->bytes[first / 64] >> (first % 64) & field;
            all = any == field ? all : 0;
        } else {
            for (uint32_t word = first / 64; word < (first + sector_bytes) / 64; word++) {
                any |= transaction->bytes[word];
                all &= transaction->bytes[word];
            }
        }
        if (full ? all == ~UINT64_C(0) : any != 0)
            mask |= 1u << sector;
    }
    return mask;
}

uint32_t sectors_touched(const struct transaction *transaction, uint32_t line_bytes, uint32_t sector_bytes)
{
    return sectors_where(transaction, line_bytes, sector_bytes, false);
}

uint32_t sectors_full(const struct transaction *transaction, uint32_t line_bytes, uint32_t sector_bytes)
{
    return sectors_where(transaction, line_bytes, sector_bytes, true);
}
