/* SPDX-License-Identifier: MIT */
/*
 * Shared memory banks. Lanes that touch the same word are served together (full broadcast); different words of one bank
 * one after the other: an access takes as many cycles as the fullest bank has different words. That holds for wide
 * accesses too: 32 lanes x 16 bytes in a row are 4 words per bank, 32 lanes at one address are one. Lanes of an atomic at
 * one word come one after the other, since each needs the result of the one before.
 */
#include "gpu/shared_memory.h"

#include "base/bits.h"

#define MOST_BANKS 64u
#define MOST_WORDS (CORUN_WARP_LANES * 4u) /* of one bank: every lane, every word of a 16-byte access */

/* Full warps at one address or in a row, which are most: true and *cycles. */
static bool regular_cycles(const struct corun_gpu_config *config, const uint64_t *addresses, uint32_t access_bytes,
                           uint32_t *cycles)
{
    uint64_t first = addresses[0], stride = addresses[1] - first, irregular = 0;
    uint32_t bytes = stride ? CORUN_WARP_LANES * access_bytes : access_bytes;
    if (stride && (stride != access_bytes || access_bytes < config->shared_bank_bytes))
        return false;
    if (!stride)
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
            irregular |= addresses[lane] ^ first;
    else
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
            irregular |= addresses[lane] ^ (first + (uint64_t)lane * access_bytes);
    if (irregular)
        return false;
    *cycles = (uint32_t)divide_up(bytes, config->shared_banks * config->shared_bank_bytes);
    return true;
}

uint32_t shared_memory_cycles(const struct corun_gpu_config *config, const uint64_t *addresses, uint32_t lanes,
                              uint32_t access_bytes)
{
    uint32_t most = 1;
    if (lanes == CORUN_FULL_MASK && regular_cycles(config, addresses, access_bytes, &most))
        return most;
    uint32_t words_per_lane = (uint32_t)divide_up(access_bytes, config->shared_bank_bytes);
    uint8_t count[MOST_BANKS] = {0};
    uint32_t words[MOST_BANKS][MOST_WORDS]; /* the different ones of each bank */
    for (; lanes; lanes &= lanes - 1) {
        uint64_t first = addresses[lowest_bit(lanes)] / config->shared_bank_bytes;
        for (uint32_t i = 0; i < words_per_lane; i++) {
            uint32_t word = (uint32_t)(first + i), bank = word % config->shared_banks, known = 0;
            while (known < count[bank] && words[bank][known] != word)
                known++;
            if (known < count[bank])
                continue;
            words[bank][count[bank]] = word;
            if (++count[bank] > most)
                most = count[bank];
        }
    }
    return most;
}

uint32_t shared_access_cycles(const struct corun_gpu_config *config, const struct corun_issue *issue, uint32_t lanes,
                              uint32_t access_bytes)
{
    uint32_t unit = config->shared_bank_bytes, row = config->shared_banks * unit;
    if (issue->shape & CORUN_SHAPE_UNIFORM && access_bytes <= row)
        return 1;
    if (issue->shape & CORUN_SHAPE_UNIT) {
        uint32_t first = lowest_bit(lanes), span = (log2_floor(lanes) - first + 1) * access_bytes;
        bool whole = access_bytes >= unit; /* words */
        if (span + (whole ? 0 : unit) <= row)
            return 1;
        if (whole && !(lanes & (lanes + (1u << first))))
            return (uint32_t)divide_up(span, row);
    }
    return shared_memory_cycles(config, issue->address, lanes, access_bytes);
}

uint32_t shared_atomic_cycles(const struct corun_gpu_config *config, const uint64_t *addresses, uint32_t lanes,
                              uint32_t access_bytes)
{
    uint32_t words_per_lane = (uint32_t)divide_up(access_bytes, config->shared_bank_bytes), most = 1;
    uint32_t cycles[MOST_BANKS] = {0}, before = 0; /* lanes that were looked at */
    for (; lanes; lanes &= lanes - 1) {
        uint32_t lane = lowest_bit(lanes), again = 0;
        for (uint32_t rest = before; rest && !again; rest &= rest - 1)
            again = addresses[lowest_bit(rest)] == addresses[lane];
        before |= 1u << lane;
        for (uint32_t i = 0; i < words_per_lane; i++) {
            uint32_t bank = (uint32_t)(addresses[lane] / config->shared_bank_bytes + i) % config->shared_banks;
            cycles[bank] += again ? config->shared_atomic_interval : 1;
            if (cycles[bank] > most)
                most = cycles[bank];
        }
    }
    return most;
}

uint32_t shared_loop_turns(const struct corun_gpu_config *config, const uint64_t *addresses, uint32_t lanes,
                           uint32_t access_bytes, uint32_t *cycles)
{
    uint32_t turns = 0;
    for (*cycles = 0; lanes; turns++) {
        uint32_t winners = 0;
        /* who did not get the lock does not store; who comes too late compares all the same */
        *cycles += shared_memory_cycles(config, addresses, lanes, access_bytes) +
                   (config->shared_locks ? shared_memory_cycles : shared_atomic_cycles)(config, addresses, lanes,
                                                                                        access_bytes);
        for (uint32_t rest = lanes; rest;) {
            uint32_t first = lowest_bit(rest), same = 0;
            for (uint32_t lane = first; lane < CORUN_WARP_LANES; lane++)
                same |= (uint32_t)(addresses[lane] == addresses[first]) << lane;
            winners |= 1u << first;
            rest &= ~same;
        }
        lanes &= ~winners;
    }
    return turns;
}
