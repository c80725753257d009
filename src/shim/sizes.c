/* SPDX-License-Identifier: MIT */
#include "shim/sizes.h"

_Alignas(64) struct sizes_line sizes_lines[SIZES_LINES];

uint64_t sizes_take_gone(bool (*is_gone)(uint64_t address))
{
    uint64_t sum = 0;
    for (uint32_t n = 0; n < SIZES_LINES; n++)
        for (uint32_t i = 0; i < SIZES_PLACES; i++) {
            uint64_t address = atomic_load(&sizes_lines[n].places[i].address);
            if (address && is_gone(address))
                sum += sizes_take_from(&sizes_lines[n], i, address);
        }
    return sum;
}
