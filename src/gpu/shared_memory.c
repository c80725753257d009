/*
 * Shared memory banks. Lanes that read the same word are served together; different words of one bank one after the
 * other. Accesses wider than a bank word are split into groups of lanes that together fill one row of banks, as the
 * hardware does. An atomic is served lane by lane within a bank, since each needs the result of the one before.
 */
#include "gpu/sm.h"

#include <string.h>

static uint32_t group_cycles(const struct corun_gpu_config *config, const uint64_t *addresses, uint32_t lanes,
                             uint32_t words_per_lane, bool atomic)
{
    enum { MOST_BANKS = 64 };
    uint8_t degree[MOST_BANKS] = {0};
    uint32_t words[MOST_BANKS][8]; /* distinct words seen per bank; beyond 8 repetitions are not recognised any more */
    uint32_t most = 1;
    for (; lanes; lanes &= lanes - 1) {
        uint64_t first = addresses[lowest_bit(lanes)] / config->shared_bank_bytes;
        for (uint32_t i = 0; i < words_per_lane; i++) {
            uint32_t word = (uint32_t)(first + i);
            /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): the configuration was checked */
            uint32_t bank = word % config->shared_banks, known = 0;
            uint32_t seen = degree[bank] < 8 ? degree[bank] : 8;
            if (!atomic)
                while (known < seen && words[bank][known] != word)
                    known++;
            if (!atomic && known < seen)
                continue;
            if (degree[bank] < 8)
                words[bank][degree[bank]] = word;
            if (++degree[bank] > most)
                most = degree[bank];
        }
    }
    return most;
}

uint32_t shared_memory_cycles(const struct corun_gpu_config *config, const uint64_t *addresses, uint32_t lanes,
                              uint32_t access_bytes, bool atomic)
{
    uint32_t words = access_bytes > config->shared_bank_bytes ? access_bytes / config->shared_bank_bytes : 1;
    uint32_t group = config->shared_banks / words; /* lanes that fill one row of banks */
    if (group > CORUN_WARP_LANES)
        group = CORUN_WARP_LANES;
    if (group == 0)
        group = 1;
    uint32_t cycles = 0;
    for (uint32_t first = 0; first < CORUN_WARP_LANES; first += group) {
        uint32_t mask = group == 32 ? CORUN_FULL_MASK : ((1u << group) - 1u) << first;
        if (lanes & mask)
            cycles += group_cycles(config, addresses, lanes & mask, words, atomic);
    }
    return cycles ? cycles : 1;
}
