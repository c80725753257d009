/* SPDX-License-Identifier: MIT */
/*
 * One warp instruction is issued: operands are collected through the register banks, a pipeline is reserved, the source
 * runs the instruction, the scoreboard learns when its results can be read.
 *
 * Everything later than the issue is a reservation (a "free at" cycle per bank, collector and pipeline): an instruction
 * costs the host a fixed number of steps, whatever its latency.
 */
#include "gpu/issue_plain.h"

#include "base/later.h"

#include <stdio.h>
#include <string.h>

static inline uint32_t bank_of(uint32_t position, uint32_t banks)
{
    return (banks & (banks - 1)) == 0 ? position & (banks - 1) : position % banks;
}

/* Reads of an instruction of a warp with that bank offset, from `first` on; returns when the last one is served. */
static uint64_t take_banks(struct scheduler *scheduler, uint32_t banks, uint32_t offset, const struct machine_op *op,
                           uint64_t first)
{
    const uint16_t *reads = machine_op_reads(op);
    uint64_t last = first;
    for (uint32_t i = 0; i < op->read_count; i++) {
        uint64_t *bank = &scheduler->bank_free[bank_of(reads[i] + offset, banks)];
        uint64_t at = *bank > first ? *bank : first;
        *bank = at + 1;
        if (at > last)
            last = at;
    }
    return last;
}

/* The same where something may be late. The instruction before, at this very cycle, may not have noted which banks it takes. */
uint64_t issue_take_banks(struct sm *sm, struct scheduler *scheduler, uint32_t offset, const struct machine_op *op,
                          uint64_t first)
{
    if (scheduler->quick_op && scheduler->quick_first == first)
        take_banks(scheduler, sm->banks, scheduler->quick_offset, scheduler->quick_op, first);
    scheduler->quick_op = NULL;
    uint64_t last = take_banks(scheduler, sm->banks, offset, op, first);
    if (scheduler->banks_free <= last)
        scheduler->banks_free = last + 1;
    return last;
}

/* Of several that the scheduler may use: the first one to be free. Apart, for the host's instruction cache. */
uint64_t *issue_first_free_pipe(struct sm *sm, const struct scheduler *scheduler, uint32_t pipe)
{
    uint32_t best = scheduler->first_unit[pipe];
    for (uint32_t unit = best + sm->scheduler_count; unit < sm->pipe_units[pipe]; unit += sm->scheduler_count)
        if (sm->pipe_free[pipe][unit] < sm->pipe_free[pipe][best])
            best = unit;
    return &sm->pipe_free[pipe][best];
}

/* Parts of one instruction that several pipelines run: it is issued part after part, so the last one may be free as much later. */
static __attribute__((noinline)) uint64_t reserve_pieces(struct sm *sm, struct scheduler *scheduler,
                                                         const struct machine_op *op, uint64_t start)
{
    uint64_t *logic = free_pipe(sm, scheduler, PIPE_INT), *products = free_pipe(sm, scheduler, PIPE_FP32);
    bool of_logic = op->pipe == PIPE_INT;
    uint64_t of_pipe[2] = {of_logic ? op->interval : 0, of_logic ? op->beside_interval : op->interval};
    if (op->either_interval)
        of_pipe[later(*logic, start) + of_pipe[0] > later(*products, start) + of_pipe[1]] += op->either_interval;
    uint64_t slack = op->slots - 1u;
    if (of_pipe[0] && *logic > start + (of_pipe[1] ? slack : 0))
        start = *logic - (of_pipe[1] ? slack : 0);
    if (of_pipe[1] && *products > start + (of_pipe[0] ? slack : 0))
        start = *products - (of_pipe[0] ? slack : 0);
    if (of_pipe[0])
        *logic = later(*logic, start) + of_pipe[0];
    if (of_pipe[1])
        *products = later(*products, start) + of_pipe[1];
    hold_collector(sm, scheduler, start);
    return start;
}

/* Reserves a collector until `start` and a pipeline from then on; returns the start, later if the pipeline is taken. */
static uint64_t reserve_pipe(struct sm *sm, struct scheduler *scheduler, const struct machine_op *op, uint64_t start)
{
    if (op->flags & CORUN_PIECES && sm->config->mixed_pipes && op->pipe != PIPE_SFU)
        return reserve_pieces(sm, scheduler, op, start);
    if (op->pipe != PIPE_MEMORY) {
        uint64_t *free_at = free_pipe(sm, scheduler, op->pipe), interval = op->interval;
        if (op->either_interval && *free_at > start) {
            uint64_t *other = free_pipe(sm, scheduler, PIPE_FP32);
            if (*other < *free_at) {
                free_at = other;
                interval = op->either_interval;
            }
        }
        if (*free_at > start)
            start = *free_at;
        if (op->beside_interval) {
            uint64_t *special = free_pipe(sm, scheduler, PIPE_SFU);
            if (*special > start)
                start = *special;
            *special = start + op->beside_interval;
        }
        /* A tensor pipeline reads the many operands of one product while it computes another. */
        uint64_t first = op->pipe == PIPE_TENSOR ? sm->now + sm->collect_cycles : start;
        *free_at = (*free_at > first ? *free_at : first) + interval;
    }
    hold_collector(sm, scheduler, start);
    return start;
}

static void count_issue(struct sm *sm, uint32_t slot, const struct machine_op *op)
{
    struct sm_warp *warp = &sm->warps[slot];
    struct corun_counters *counters = warp->counters;
    uint32_t lanes = count_plain(sm, slot, warp, op);
    if (op->multiply_adds && lanes)
        counters->tensor_multiply_adds += (uint64_t)op->multiply_adds * CORUN_WARP_LANES;
    if (op->flags & (CORUN_LOAD | CORUN_STORE | CORUN_ATOMIC)) {
        counters->loads += (op->flags & CORUN_LOAD) != 0;
        counters->stores += (op->flags & CORUN_STORE) != 0;
        counters->atomics += (op->flags & CORUN_ATOMIC) != 0;
    }
    if (op->flags & CORUN_BRANCH) {
        counters->branches++;
        counters->divergent_branches += sm->issue.diverged;
    }
    if (sm->profiling && warp->kernel->profile) {
        warp->kernel->profile[warp->pc].warp_instructions++;
        warp->kernel->profile[warp->pc].thread_instructions += lanes;
    }
}

__attribute__((cold, noinline)) static void trace_issue(struct sm *sm, uint32_t scheduler, uint32_t slot)
{
    const struct sm_warp *warp = &sm->warps[slot];
    const struct sm_tb *tb = &sm->tbs[warp->tb];
    struct corun_trace_event event = {sm->now,          sm->index, scheduler,       slot, warp->application, tb->index,
                                      tb->launch->grid, warp->pc,  sm->issue.active};
    if (sm->now >= sm->trace_first && sm->now <= sm->trace_last && !vector_push(&sm->trace, event))
        sm->failed = true;
}

__attribute__((cold, noinline)) static void post_fault(struct sm *sm, uint32_t slot)
{
    struct sm_warp *warp = &sm->warps[slot];
    const struct sm_tb *tb = &sm->tbs[warp->tb];
    struct corun_place place = CORUN_NOWHERE;
    const char *text = tb->launch->grid->operations->fault(warp->source, &place);
    warp_leave_state(sm, slot); /* stays where it is until its application is removed */
    sm_post(sm, (struct news){.cycle = sm->now,
                              .launch = tb->launch,
                              .tb_index = tb->index,
                              .kind = NEWS_FAULT,
                              .application = warp->application,
                              .message = strdup(text ? text : "fault"),
                              .place = place});
}

/* A product that reads matrices there takes its bandwidth from loads and stores. */
static void take_shared_memory(struct sm *sm, struct corun_counters *counters, uint32_t bytes)
{
    struct load_store *unit = &sm->load_store;
    uint32_t width = sm->config->shared_banks * sm->config->shared_bank_bytes, owed = unit->product_bytes + bytes;
    unit->product_bytes = owed % width;
    unit->busy_until = (unit->busy_until > sm->now ? unit->busy_until : sm->now) + owed / width;
    counters->shared_accesses += owed / width;
}

/* Copies that go on by themselves and their groups, products of warpgroups and theirs. */
#define RARE_FLAGS (CORUN_COPY | CORUN_COPY_GROUP | CORUN_WARPGROUP | CORUN_COMMIT)

static __attribute__((noinline)) void issue_rare(struct sm *sm, uint32_t slot, const struct machine_op *op,
                                                 uint64_t start)
{
    struct sm_warp *warp = &sm->warps[slot];
    bool active = sm->issue.active != 0;
    if (op->flags & CORUN_COPY) {
        if (active && sm->issue.outcome != CORUN_OUTCOME_FAULT)
            copy_engine_accept(sm, slot, op, start);
    } else if (op->flags & CORUN_COMMIT) {
        const uint16_t *written = machine_op_written(op);
        for (uint32_t i = op->written_count; i-- > 1;)
            warp->ready[written[i]] = warp->ready[written[i - 1]];
    } else {
        warp_set_ready(warp, op, ready_entry(start + op->latency, false));
    }
    if (op->shared_bytes && active)
        take_shared_memory(sm, warp->counters, op->shared_bytes);
    if (op->flags & CORUN_COPY_GROUP && active)
        warp->copy_groups++;
}

/* An instruction that ends at `cycle`, unless the load/store unit tells when it completes. */
static inline void spend_quota(struct sm *sm, const struct scheduler *scheduler, uint32_t application,
                               const struct machine_op *op, uint64_t cycle)
{
    struct quotas *quota = &sm->quota;
    if (!quota->at_completion) {
        quota_issued(sm, (uint32_t)(scheduler - sm->schedulers), application);
        return;
    }
    if (op->pipe == PIPE_MEMORY && op->flags & (CORUN_LOAD | CORUN_STORE | CORUN_ATOMIC) && !(op->flags & CORUN_COPY))
        return;
    uint32_t lanes = count_bits(sm->issue.active);
    if (!quota_complete_quick(quota, application, lanes, sm->now, cycle))
        quota_complete(sm, application, lanes, cycle);
}

/* An atomic that is a loop: its warp goes on behind the last turn, and each turn has instructions of its own. */
static inline void take_turns(struct sm *sm, struct scheduler *scheduler, uint32_t slot, const struct machine_op *op,
                              uint32_t turns)
{
    if (!turns)
        return;
    scheduler->free_at += (uint64_t)turns * op->loop * sm->config->warp_issue_cycles;
    sm->warps[slot].not_before = sm->now + (uint64_t)turns * sm->config->shared_loop_cycles;
}

/* The instruction has been issued: what becomes of the warp. */
void issue_go_on(struct sm *sm, uint32_t slot)
{
    struct sm_warp *warp = &sm->warps[slot];
    switch (sm->issue.outcome) {
    case CORUN_OUTCOME_EXIT:
        warp_end(sm, slot);
        return;
    case CORUN_OUTCOME_FAULT:
        post_fault(sm, slot);
        return;
    default:
        break;
    }
    warp->pc = sm->issue.pc;
    if (sm->issue.jumped) {
        warp->not_before = sm->now + sm->config->branch_cycles;
        if (!sm->config->icache_perfect)
            warp->not_before += sm->config->icache_latency_cycles - 1;
    }
    if (sm->issue.outcome == CORUN_OUTCOME_BARRIER) {
        warp_set_next(sm, slot);
        sm_barrier_arrive(sm, slot);
    } else if (sm->issue.outcome == CORUN_OUTCOME_CLUSTER) {
        warp_set_next(sm, slot);
        sm_cluster_come(sm, slot);
    } else {
        warp_look_at_next(sm, slot);
        warp_judge_next(sm, slot);
    }
}

void sm_issue_any(struct sm *sm, struct scheduler *scheduler, uint32_t slot)
{
    struct sm_warp *warp = &sm->warps[slot];
    const struct machine_op *op = warp->op;

    uint64_t start = reserve_pipe(sm, scheduler, op, collect_operands(sm, scheduler, warp, op));
    if (sm->profiling)
        warp_profile(sm, slot);
    sm->issue.shape = 0;
    warp->operations->issue(warp->source, &sm->issue);
    count_issue(sm, slot, op);
    if (sm->tracing)
        trace_issue(sm, (uint32_t)(scheduler - sm->schedulers), slot);
    scheduler->last = slot;
    scheduler->free_at = sm->now + op->slots;

    if (op->flags & RARE_FLAGS)
        issue_rare(sm, slot, op, start);
    else if (op->pipe == PIPE_MEMORY && sm->issue.active && sm->issue.outcome != CORUN_OUTCOME_FAULT &&
             op->flags & (CORUN_LOAD | CORUN_STORE | CORUN_ATOMIC))
        take_turns(sm, scheduler, slot, op, load_store_accept(sm, slot, op, start));
    else
        warp_set_ready(warp, op, ready_entry(start + op->latency, false));
    if (sm->quota.on)
        spend_quota(sm, scheduler, warp->application, op, start + op->latency);
    issue_go_on(sm, slot);
}
