/* SPDX-License-Identifier: MIT */
/*
 * The coalescer: the addresses of a warp's lanes → one transaction per line that they touch, in order of the first lane.
 * Where `access_lanes` is 16, half warps are coalesced separately, as on GPUs that serve them one after the other.
 */
#include "gpu/coalescer.h"

#include <string.h>

/* A hash from lines to transactions: a slot holds the transaction's number plus one. */
#define HASH_SLOTS 64u

static inline uint32_t coalesce_group(const uint64_t *addresses, uint32_t lanes, uint32_t access_bytes,
                                      uint32_t line_bytes, bool writes, struct transaction *transactions)
{
    uint32_t shift = log2_floor(line_bytes), count = 0, last = 0;
    uint64_t last_line = ~UINT64_C(0), bytes = (UINT64_C(1) << access_bytes) - 1;
    uint8_t hash[HASH_SLOTS];
    memset(hash, 0, sizeof hash);
    for (; lanes; lanes &= lanes - 1) {
        uint32_t lane = lowest_bit(lanes);
        uint64_t line = addresses[lane] >> shift;
        uint32_t offset = (uint32_t)addresses[lane] & (line_bytes - 1);
        if (line != last_line) {
            uint32_t slot = (uint32_t)(line * UINT64_C(0x9E3779B97F4A7C15) >> 58);
            while (hash[slot] && transactions[hash[slot] - 1].line != line << shift)
                slot = (slot + 1) % HASH_SLOTS;
            if (!hash[slot]) {
                transactions[count].line = line << shift;
                transactions[count].lanes = transactions[count].touched = 0;
                if (writes)
                    memset(transactions[count].bytes, 0, sizeof transactions[count].bytes);
                hash[slot] = (uint8_t)++count;
            }
            last = hash[slot] - 1u;
            last_line = line;
        }
        transactions[last].lanes |= 1u << lane;
        transactions[last].touched |= 1u << offset / PART_BYTES;
        /* an access is aligned to its size and at most 16 bytes: it never crosses a part or a word of the mask */
        if (writes)
            transactions[last].bytes[offset / 64] |= bytes << (offset % 64);
    }
    return count;
}

/* The lanes have no gap, and each one's access follows that of the lane before. */
static bool in_a_row(const struct corun_issue *issue, uint32_t lanes, uint32_t access_bytes)
{
    const uint64_t *addresses = issue->address;
    uint32_t first = lowest_bit(lanes), count = count_bits(lanes);
    uint64_t out_of_row = 0, expected = addresses[first];
    if (lanes & (lanes + (1u << first)))
        return false;
    if (issue->shape & CORUN_SHAPE_UNIT)
        return true;
    if (addresses[first + count - 1] != expected + (uint64_t)(count - 1) * access_bytes)
        return false;
    for (uint32_t lane = first; lane < first + count; lane++) { /* without a multiplication or an exit: SIMD */
        out_of_row |= addresses[lane] ^ expected;
        expected += access_bytes;
    }
    return out_of_row == 0;
}

/* All lanes go to one address. */
static uint32_t coalesce_one(const uint64_t *addresses, uint32_t lanes, uint32_t access_bytes, uint32_t line_bytes,
                             bool writes, struct transaction *transaction)
{
    uint64_t address = addresses[lowest_bit(lanes)], bytes = (UINT64_C(1) << access_bytes) - 1;
    uint32_t offset = (uint32_t)address & (line_bytes - 1);
    transaction->line = address - offset;
    transaction->lanes = lanes;
    transaction->touched = 1u << offset / PART_BYTES;
    for (uint32_t word = 0; writes && word < 4; word++)
        transaction->bytes[word] = word == offset / 64 ? bytes << (offset % 64) : 0;
    return 1;
}

/* Bits first..last of a 64-bit mask. */
static uint64_t bit_range(uint32_t first, uint32_t last)
{
    return ~UINT64_C(0) >> (63 - (last - first)) << first;
}

/* Lanes in a row: the same transactions as lane by lane, from the two ends alone. */
static uint32_t coalesce_row(const uint64_t *addresses, uint32_t lanes, uint32_t access_bytes, uint32_t line_bytes,
                             bool writes, struct transaction *transactions)
{
    uint32_t first_lane = lowest_bit(lanes);
    uint64_t first = addresses[first_lane], last = first + (uint64_t)count_bits(lanes) * access_bytes - 1;
    uint32_t count = 0;
    for (uint64_t line = first & ~(uint64_t)(line_bytes - 1); line <= last; line += line_bytes) {
        struct transaction *transaction = &transactions[count++];
        uint32_t from = first > line ? (uint32_t)(first - line) : 0;
        uint32_t to = last - line < line_bytes ? (uint32_t)(last - line) : line_bytes - 1;
        uint32_t lane = first_lane + (uint32_t)(line + from - first) / access_bytes;
        transaction->line = line;
        transaction->lanes = (uint32_t)bit_range(lane, lane + (to - from) / access_bytes);
        transaction->touched = (uint32_t)bit_range(from / PART_BYTES, to / PART_BYTES);
        for (uint32_t word = 0; writes && word < 4; word++) {
            uint32_t low = from > word * 64 ? from - word * 64 : 0, high = to < word * 64 ? 0 : to - word * 64;
            transaction->bytes[word] = low < 64 && to >= word * 64 ? bit_range(low, high < 64 ? high : 63) : 0;
        }
    }
    return count;
}

uint32_t coalesce(const struct corun_issue *issue, uint32_t lanes, uint32_t access_bytes, uint32_t line_bytes,
                  uint32_t access_lanes, bool writes, struct transaction *transactions)
{
    const uint64_t *addresses = issue->address;
    if (access_lanes >= CORUN_WARP_LANES) {
        if (issue->shape & CORUN_SHAPE_UNIFORM)
            return coalesce_one(addresses, lanes, access_bytes, line_bytes, writes, transactions);
        if (in_a_row(issue, lanes, access_bytes))
            return coalesce_row(addresses, lanes, access_bytes, line_bytes, writes, transactions);
        return writes ? coalesce_group(addresses, lanes, access_bytes, line_bytes, true, transactions)
                      : coalesce_group(addresses, lanes, access_bytes, line_bytes, false, transactions);
    }
    uint32_t low = lanes & 0xffffu, high = lanes & 0xffff0000u;
    uint32_t count = coalesce_group(addresses, low, access_bytes, line_bytes, writes, transactions);
    return count + coalesce_group(addresses, high, access_bytes, line_bytes, writes, transactions + count);
}

uint32_t sectors_full(const struct transaction *transaction, uint32_t line_bytes, uint32_t sector_bytes)
{
    uint32_t mask = 0;
    for (uint32_t sector = 0; sector < line_bytes / sector_bytes; sector++) {
        bool all = true;
        for (uint32_t byte = sector * sector_bytes; byte < (sector + 1) * sector_bytes; byte += PART_BYTES)
            all = all && (uint32_t)(transaction->bytes[byte / 64] >> (byte % 64)) == UINT32_MAX;
        mask |= all ? 1u << sector : 0;
    }
    return mask;
}

uint64_t words_full(const struct transaction *transaction)
{
    uint64_t mask = 0;
    for (uint32_t part = 0; part < 4; part++) {
        uint64_t bytes = transaction->bytes[part];
        bytes &= bytes >> 1;
        bytes &= bytes >> 2 & UINT64_C(0x1111111111111111);
        for (; bytes; bytes &= bytes - 1)
            mask |= UINT64_C(1) << (part * 16 + (uint32_t)__builtin_ctzll(bytes) / 4);
    }
    return mask;
}
