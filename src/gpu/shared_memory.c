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
#define FEW_WORDS 4u                       /* of one bank, that are compared without a branch */

/* The word that each lane accesses first. Lanes that do not take part do what one does that does; so they count for nothing. */
static void find_words(const struct corun_gpu_config *config, const uint64_t *addresses, uint32_t lanes,
                       uint32_t *words)
{
    uint32_t shift = log2_floor(config->shared_bank_bytes);
    uint32_t some = (uint32_t)(addresses[lowest_bit(lanes)] >> shift);
    for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
        words[lane] = (uint32_t)(addresses[lane] >> shift);
    if (lanes != CORUN_FULL_MASK)
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
            words[lane] = lanes >> lane & 1u ? words[lane] : some;
}

/* No two different words can be in one bank, so near are they to each other. */
static bool are_near(const uint32_t *words, uint32_t words_per_lane, uint32_t banks)
{
    uint32_t first = words[0], last = words[0];
    for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++) {
        first = words[lane] < first ? words[lane] : first;
        last = words[lane] > last ? words[lane] : last;
    }
    return (uint64_t)last - first + words_per_lane <= banks;
}

uint32_t shared_memory_cycles(const struct corun_gpu_config *config, const uint64_t *addresses, uint32_t lanes,
                              uint32_t access_bytes)
{
    uint32_t words[CORUN_WARP_LANES], banks = config->shared_banks, most = 1; /* banks and their bytes: powers of two */
    uint32_t words_per_lane = access_bytes > config->shared_bank_bytes ? access_bytes / config->shared_bank_bytes : 1;
    find_words(config, addresses, lanes, words);
    if (are_near(words, words_per_lane, banks))
        return 1;
    /* The different words of each bank; behind them, among the first few, one that it cannot have, unless it is the only one, or has. */
    uint32_t different[MOST_WORDS][MOST_BANKS];
    uint8_t count[MOST_BANKS] = {0};
    for (uint32_t known = 0; known < FEW_WORDS; known++)
        for (uint32_t bank = 0; bank < banks; bank++)
            different[known][bank] = bank + 1;
    for (uint32_t i = 0; i < words_per_lane; i++)
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++) {
            uint32_t word = words[lane] + i, bank = word & (banks - 1);
            bool there = false;
            for (uint32_t known = 0; known < FEW_WORDS; known++)
                there |= different[known][bank] == word;
            there &= banks > 1;
            for (uint32_t known = banks > 1 ? FEW_WORDS : 0; known < count[bank] && !there; known++)
                there = different[known][bank] == word;
            different[count[bank]][bank] = word;
            count[bank] = (uint8_t)(count[bank] + !there);
            most = count[bank] > most ? count[bank] : most;
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
    uint32_t shift = log2_floor(config->shared_bank_bytes);
    uint32_t cycles[MOST_BANKS] = {0}, before = 0; /* lanes that were looked at */
    for (; lanes; lanes &= lanes - 1) {
        uint32_t lane = lowest_bit(lanes), again = 0;
        for (uint32_t rest = before; rest && !again; rest &= rest - 1)
            again = addresses[lowest_bit(rest)] == addresses[lane];
        before |= 1u << lane;
        for (uint32_t i = 0; i < words_per_lane; i++) {
            uint32_t bank = ((uint32_t)(addresses[lane] >> shift) + i) & (config->shared_banks - 1);
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
