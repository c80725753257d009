/* SPDX-License-Identifier: MIT */
/* Which of its warps a two-level scheduler looks at. */
#include "gpu/warp_scheduler.h"

#include "gpu/warp_choice.h"

uint64_t warp_scheduler_active(struct sm *sm, uint32_t index, uint64_t candidates)
{
    struct scheduler *scheduler = &sm->schedulers[index];
    uint64_t long_wait = sm->states[WARP_LOAD] | sm->states[WARP_BARRIER] | sm->states[WARP_FENCE];
    uint64_t short_wait =
        sm->states[WARP_READY] | sm->states[WARP_DATA] | sm->states[WARP_CONTROL] | sm->states[WARP_FETCH];
    scheduler->active &= short_wait & scheduler->warps & ~sm->quota_spent; /* else those keep the others out */
    uint64_t pending = candidates & ~scheduler->active & ~long_wait;
    while (pending && count_bits(scheduler->active) < sm->config->two_level_active_warps) {
        uint64_t bit = UINT64_C(1) << warp_scheduler_oldest(sm, pending);
        scheduler->active |= bit;
        pending &= ~bit;
    }
    return candidates & scheduler->active;
}
