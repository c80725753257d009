/* SPDX-License-Identifier: MIT */
/* Which of its ready warps a scheduler issues: inline, for it is asked before every instruction. Ages are unique, so every choice is determined. */
#ifndef CORUN_GPU_WARP_CHOICE_H
#define CORUN_GPU_WARP_CHOICE_H

#include "gpu/sm.h"

/* From any candidate to an older one until there is none: a few steps, however many there are. */
static inline uint32_t warp_scheduler_oldest(const struct sm *sm, uint64_t candidates)
{
    uint32_t best = lowest_bit(candidates);
    for (uint64_t older; (older = sm->older_warps[best] & candidates) != 0;)
        best = lowest_bit(older);
    return best;
}

static __attribute__((noinline, unused)) uint32_t warp_scheduler_in_turn(uint64_t candidates, uint32_t last)
{
    uint64_t after = last == NOTHING || last == 63 ? 0 : candidates & ~UINT64_C(0) << (last + 1);
    return lowest_bit(after ? after : candidates);
}

/* Which of the candidates issues; `candidates` is not 0. */
static inline uint32_t warp_scheduler_pick(const struct sm *sm, const struct scheduler *scheduler, uint64_t candidates)
{
    if (__builtin_expect(!sm->greedy, 0))
        return warp_scheduler_in_turn(candidates, scheduler->last);
    if (scheduler->last != NOTHING && candidates >> scheduler->last & 1u)
        return scheduler->last;
    return warp_scheduler_oldest(sm, candidates);
}

#endif
