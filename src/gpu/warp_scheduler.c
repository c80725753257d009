/* SPDX-License-Identifier: MIT */
/* Which of its ready warps a scheduler issues. Ages are unique, so every choice is determined. */
#include "gpu/warp_scheduler.h"

#include "gpu/sm.h"

/* From any candidate to an older one until there is none: a few steps, however many there are. */
static uint32_t oldest(const struct sm *sm, uint64_t candidates)
{
    uint32_t best = lowest_bit(candidates);
    for (uint64_t older; (older = sm->older_warps[best] & candidates) != 0;)
        best = lowest_bit(older);
    return best;
}

static uint32_t next_in_turn(uint64_t candidates, uint32_t last)
{
    uint64_t after = last == NOTHING || last == 63 ? 0 : candidates & ~UINT64_C(0) << (last + 1);
    return lowest_bit(after ? after : candidates);
}

uint64_t warp_scheduler_active(struct sm *sm, uint32_t index, uint64_t candidates)
{
    struct scheduler *scheduler = &sm->schedulers[index];
    uint64_t long_wait = sm->states[WARP_LOAD] | sm->states[WARP_BARRIER] | sm->states[WARP_FENCE];
    uint64_t short_wait =
        sm->states[WARP_READY] | sm->states[WARP_DATA] | sm->states[WARP_CONTROL] | sm->states[WARP_FETCH];
    scheduler->active &= short_wait & scheduler->warps & ~sm->quota_spent; /* else those keep the others out */
    uint64_t pending = candidates & ~scheduler->active & ~long_wait;
    while (pending && count_bits(scheduler->active) < sm->config->two_level_active_warps) {
        uint64_t bit = UINT64_C(1) << oldest(sm, pending);
        scheduler->active |= bit;
        pending &= ~bit;
    }
    return candidates & scheduler->active;
}

uint32_t warp_scheduler_pick(struct sm *sm, uint32_t index, uint64_t candidates)
{
    struct scheduler *scheduler = &sm->schedulers[index];
    if (sm->config->scheduler != CORUN_SCHEDULER_GTO)
        return next_in_turn(candidates, scheduler->last);
    if (scheduler->last != NOTHING && candidates >> scheduler->last & 1u)
        return scheduler->last;
    return oldest(sm, candidates);
}
