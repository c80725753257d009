/* SPDX-License-Identifier: MIT */
/*
 * The applications on an SM, listed in the order in which they came, and the cycles of their warps and thread blocks
 * there.
 */
#include "gpu/residency.h"

#include "gpu/sm.h"
#include "gpu/stall.h"

#include <string.h>

void residency_account(struct sm *sm)
{
    uint64_t cycles = sm->now - sm->resident_since;
    sm->resident_since = sm->now;
    if (!cycles)
        return;
    if (!sm->resident_warps) {
        sm->idle_scheduler_cycles += cycles * sm->scheduler_count;
        return;
    }
    sm->busy_cycles += cycles;
    for (uint32_t i = 0; i < sm->present_count; i++) {
        uint32_t application = sm->present[i];
        struct corun_counters *counters = sm->application_counters[application];
        counters->warp_cycles += cycles * count_bits(sm->application_warps[application] | sm->still_warps[application]);
        counters->tb_cycles += cycles * sm->application_tbs[application];
    }
}

void residency_begin(struct sm *sm, uint32_t application)
{
    for (uint32_t i = 0; i < sm->present_count; i++)
        if (sm->present[i] == application)
            return;
    if (sm->present_count == 1)
        stall_one_ends(sm);
    sm->present[sm->present_count++] = application;
    if (sm->present_count == 1)
        stall_one_begins(sm);
}

void residency_end(struct sm *sm, uint32_t application)
{
    for (uint32_t i = 0; i < sm->present_count; i++) {
        if (sm->present[i] != application)
            continue;
        if (sm->present_count == 1)
            stall_one_ends(sm);
        sm->present_count--;
        memmove(&sm->present[i], &sm->present[i + 1], (sm->present_count - i) * sizeof *sm->present);
        if (sm->present_count == 1)
            stall_one_begins(sm);
        return;
    }
}
