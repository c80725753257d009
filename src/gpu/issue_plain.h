/* SPDX-License-Identifier: MIT */
/*
 * The instructions that most are: they compute and write registers, in one pipeline, and their warp goes on behind them. Inline in the loop over
 * schedulers, with what other instructions share: operands, pipeline, counters.
 */
#ifndef CORUN_GPU_ISSUE_PLAIN_H
#define CORUN_GPU_ISSUE_PLAIN_H

#include "gpu/issue.h"
#include "gpu/warp_evaluation.h"

#include <stddef.h>

/*
 * Reserves the register banks for the reads; returns the cycle from which execution can start. A bank's time is counted in
 * reads, of which it serves 1 or 2 a cycle.
 */
static inline uint64_t collect_operands(struct sm *sm, struct scheduler *scheduler, const struct sm_warp *warp,
                                        const struct machine_op *op)
{
    uint32_t shift = sm->bank_shift;
    uint64_t first = (sm->now + 1) << shift, start = sm->now + sm->collect_cycles;
    if (op->flags & MACHINE_READ_AT_ONCE && scheduler->banks_free <= first) {
        scheduler->banks_free = first + (UINT64_C(1) << shift);
        scheduler->quick_first = first;
        scheduler->quick_op = op;
        scheduler->quick_offset = warp->bank_offset;
        return start;
    }
    return start + ((issue_take_banks(sm, scheduler, warp->bank_offset, op, first) - first) >> shift);
}

static inline uint64_t *free_pipe(struct sm *sm, const struct scheduler *scheduler, uint32_t pipe)
{
    if (sm->pipe_units[pipe] <= sm->scheduler_count)
        return &sm->pipe_free[pipe][scheduler->first_unit[pipe]];
    return issue_first_free_pipe(sm, scheduler, pipe);
}

/* The collector is free again when the last operand has been read. */
static inline void hold_collector(const struct sm *sm, struct scheduler *scheduler, uint64_t start)
{
    scheduler->collector_free[scheduler->collector] = start - sm->collect_cycles + 1;
}

/* The same as reserve_pipe where op is MACHINE_PLAIN. */
static inline uint64_t reserve_one_pipe(struct sm *sm, struct scheduler *scheduler, const struct machine_op *op,
                                        uint64_t start)
{
    uint64_t *free_at = free_pipe(sm, scheduler, op->pipe);
    start = *free_at > start ? *free_at : start;
    *free_at = start + op->interval;
    hold_collector(sm, scheduler, start);
    return start;
}

/* The counters of the units stand in statistics.def in the order of CORUN_UNITS. */
static inline void count_unit(struct corun_counters *counters, uint32_t unit, uint32_t lanes)
{
    ++*(&counters->int_instructions + unit);
    *(&counters->int_lanes + unit) += lanes;
}
_Static_assert(offsetof(struct corun_counters, control_instructions) -
                       offsetof(struct corun_counters, int_instructions) ==
                   CORUN_UNIT_CONTROL * sizeof(uint64_t),
               "unit counters and units have the same order");
_Static_assert(offsetof(struct corun_counters, control_lanes) - offsetof(struct corun_counters, int_lanes) ==
                   CORUN_UNIT_CONTROL * sizeof(uint64_t),
               "lane counters and units have the same order");

/* What is counted of every instruction; returns its active lanes. */
static inline uint32_t count_plain(struct sm *sm, uint32_t slot, struct sm_warp *warp, const struct machine_op *op)
{
    struct corun_counters *counters = warp->counters;
    uint32_t lanes = count_bits(sm->issue.active);
    warp->issued++;
    sm->warp_thread_instructions[slot] += lanes;
    counters->warp_instructions++;
    counters->thread_instructions += lanes;
    counters->ptx_thread_instructions += (uint64_t)((int64_t)lanes * (1 + op->merged));
    count_unit(counters, op->unit, lanes);
    counters->register_accesses += op->register_accesses;
    return lanes;
}

/* The scheduler issues the warp's next instruction, which has MACHINE_PLAIN; nobody traces or profiles. `warp`: the one in the slot. */
static inline __attribute__((always_inline)) void sm_issue_plain(struct sm *sm, struct scheduler *scheduler,
                                                                 uint32_t slot, struct sm_warp *warp)
{
    const struct machine_op *op = warp->op;
    uint64_t now = sm->now, bit = UINT64_C(1) << slot;

    scheduler->last = slot;
    scheduler->free_at = now + op->slots;
    uint64_t start = reserve_one_pipe(sm, scheduler, op, collect_operands(sm, scheduler, warp, op));
    warp_set_ready(warp, op, ready_entry(start + op->latency, false));
    warp->operations->issue(warp->source, &sm->issue);
    uint32_t lanes = count_plain(sm, slot, warp, op);
    if (sm->quota.on) {
        uint64_t complete = start + op->latency;
        if (!sm->quota.at_completion)
            quota_issued(sm, (uint32_t)(scheduler - sm->schedulers), warp->application);
        else if (!quota_complete_quick(&sm->quota, warp->application, lanes, now, complete))
            quota_complete(sm, warp->application, lanes, complete);
    }
    /* Not `jumped`: read with `outcome` in one piece, two stores of a byte each would have to reach the host's cache before. */
    if (sm->issue.outcome != CORUN_OUTCOME_NEXT || sm->issue.pc != warp->pc + 1 || !sm->fetch_perfect) {
        issue_go_on(sm, slot);
        return;
    }
    const struct machine_op *next = op + 1;
    warp->op = next;
    warp->pc = sm->issue.pc;
    sm->changed_warps |= bit;
    if (next->pipe != op->pipe) {
        sm->wants[op->pipe] &= ~bit;
        sm->wants[next->pipe] |= bit;
        warp->pipe = next->pipe;
    }
    uint64_t until;
    enum warp_state state = warp_judge_running(sm, slot, warp, &until);
    if (state == WARP_READY) /* as it was */
        return;
    sm->states[WARP_READY] &= ~bit;
    sm->states[state] |= bit;
    warp->state = (uint8_t)state;
    warp_wake_at(sm, slot, until);
}

#endif
