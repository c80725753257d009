/* SPDX-License-Identifier: MIT */
/* What a warp's next instruction waits for: inline, for it is asked after every instruction that issues. */
#ifndef CORUN_GPU_WARP_EVALUATION_H
#define CORUN_GPU_WARP_EVALUATION_H

#include "gpu/sm.h"

static inline void warp_leave_state(struct sm *sm, uint32_t slot)
{
    uint64_t bit = UINT64_C(1) << slot;
    sm->states[WARP_READY] &= ~bit;
    sm->states[sm->warps[slot].state] &= ~bit;
}

static inline __attribute__((always_inline)) void warp_change_state(struct sm *sm, uint32_t slot, enum warp_state state)
{
    struct sm_warp *warp = &sm->warps[slot];
    uint64_t bit = UINT64_C(1) << slot;
    if (sm->profiling)
        warp_profile(sm, slot);
    warp_leave_state(sm, slot);
    sm->states[state] |= bit;
    sm->changed_warps |= bit;
    warp->state = (uint8_t)state;
}

static inline __attribute__((always_inline)) void warp_look_at_next(struct sm *sm, uint32_t slot)
{
    struct sm_warp *warp = &sm->warps[slot];
    uint64_t bit = UINT64_C(1) << slot;
    warp->op = &warp->kernel->ops[warp->pc];
    sm->wants[warp->pipe] &= ~bit;
    warp->pipe = warp->op->pipe;
    sm->wants[warp->pipe] |= bit;
}

/* What a warp waits for that no branch holds up and that has its next instruction, and until when (NEVER: until something else wakes it). */
static inline __attribute__((always_inline)) enum warp_state warp_judge_running(struct sm *sm, uint32_t slot,
                                                                                struct sm_warp *warp, uint64_t *until)
{
    const struct machine_op *op = warp->op;
    uint64_t latest = warp_latest_entry(warp, op);
    if (latest != UNKNOWN && latest >> 1 > sm->now) {
        *until = latest >> 1;
        warp->ready_at = op->flags & (CORUN_FENCE | CORUN_COPY_WAIT) ? NEVER : latest >> 1;
        return latest & 1 ? WARP_LOAD : WARP_DATA;
    }
    *until = warp->ready_at = NEVER;
    if (latest == UNKNOWN)
        return WARP_LOAD;
    if (op->flags & CORUN_FENCE && (warp->writes || warp->pending))
        return WARP_FENCE;
    if (op->flags & CORUN_COPY_WAIT && copy_engine_holds(sm, slot, op))
        return WARP_FENCE;
    return WARP_READY;
}

/* The same of any warp. */
static inline __attribute__((always_inline)) enum warp_state warp_judge(struct sm *sm, uint32_t slot, uint64_t *until)
{
    struct sm_warp *warp = &sm->warps[slot];
    *until = warp->ready_at = NEVER;
    if (warp->not_before > sm->now) {
        *until = warp->not_before;
        return WARP_CONTROL;
    }
    if (!sm->config->icache_perfect && !warp_fetched(sm, slot, until))
        return WARP_FETCH;
    return warp_judge_running(sm, slot, warp, until);
}

/* The warp waits until that cycle, or until it has to be looked at then. */
static inline void warp_wake_at(struct sm *sm, uint32_t slot, uint64_t until)
{
    if (until == NEVER)
        return;
    if (until - sm->now < WHEEL_READY_SLOTS && sm->warps[slot].ready_at == until)
        wheel_set_ready(&sm->wheel, until, slot);
    else
        wheel_set(&sm->wheel, sm->now, until, slot);
}

static inline __attribute__((always_inline)) void warp_judge_next(struct sm *sm, uint32_t slot)
{
    uint64_t until;
    enum warp_state state = warp_judge(sm, slot, &until);
    warp_change_state(sm, slot, state);
    warp_wake_at(sm, slot, until);
}

#endif
