/* SPDX-License-Identifier: MIT */
/* A warp begins, waits for one thing after another, and ends. */
#include "gpu/warp.h"

#include "gpu/residency.h"
#include "gpu/warp_evaluation.h"

#include <stdlib.h>
#include <string.h>

uint64_t warp_latest_further(const struct sm_warp *warp, const struct machine_op *op, uint64_t latest)
{
    for (uint32_t i = FEW_HAZARDS; i < op->hazard_count; i++) {
        uint64_t entry = warp->ready[machine_op_hazards(op)[i]];
        latest = entry > latest ? entry : latest;
    }
    return latest;
}

bool warp_begin(struct sm *sm, uint32_t slot, uint32_t tb_slot, struct corun_warp *source)
{
    struct sm_warp *warp = &sm->warps[slot];
    struct launch *launch = sm->tbs[tb_slot].launch;
    struct machine_kernel *kernel = launch->kernel;
    if (warp->ready_capacity < kernel->hazard_entries) {
        uint64_t *ready = realloc(warp->ready, kernel->hazard_entries * sizeof *ready);
        if (!ready)
            return false;
        warp->ready = ready;
        warp->ready_capacity = kernel->hazard_entries;
    }
    memset(warp->ready, 0, kernel->hazard_entries * sizeof *warp->ready);
    warp->source = source;
    warp->operations = launch->grid->operations;
    warp->kernel = kernel;
    warp->counters = sm->counters[kernel->slot];
    warp->pc = launch->grid->operations->warp_pc(source);
    warp_set_next(sm, slot);
    for (uint32_t i = 0; i < MAX_WARPS; i++)
        sm->older_warps[i] &= ~(UINT64_C(1) << slot);
    sm->older_warps[slot] = ~(UINT64_C(1) << slot);
    warp->ready_at = NEVER;
    warp->not_before = sm->now;
    warp->fetched_line = NEVER;
    warp->since = sm->now;
    warp->pending = warp->writes = 0;
    warp->copies = warp->copy_groups = 0;
    warp->cluster_arrivals = 0;
    warp->issued = 0;
    sm->warp_thread_instructions[slot] = 0;
    warp->generation++;
    warp->tb = (uint8_t)tb_slot;
    warp->application = kernel->application;
    launch->grid->operations->warp_place(source, slot, sm->config->sms, &sm->now);
    sm->application_warps[kernel->application] |= UINT64_C(1) << slot;
    sm->resident_warps++;
    quota_warp_begin(sm, slot);
    return true;
}

void warp_profile(struct sm *sm, uint32_t slot)
{
    struct sm_warp *warp = &sm->warps[slot];
    uint64_t cycles = sm->now - warp->since;
    warp->since = sm->now;
    if (!warp->kernel->profile)
        return;
    struct corun_profile_row *row = &warp->kernel->profile[warp->pc];
    switch (warp_state(sm, slot)) {
    case WARP_READY:
        *(warp->op->pipe == PIPE_MEMORY ? &row->stall_memory : &row->stall_pipeline) += cycles;
        break;
    case WARP_DATA:
        row->stall_data += cycles;
        break;
    case WARP_LOAD:
        row->stall_memory_data += cycles;
        break;
    case WARP_BARRIER:
        row->stall_barrier += cycles;
        break;
    default:
        row->stall_other += cycles;
    }
}

enum warp_state warp_state(const struct sm *sm, uint32_t slot)
{
    return sm->states[WARP_READY] >> slot & 1u ? WARP_READY : (enum warp_state)sm->warps[slot].state;
}

void warp_set_state(struct sm *sm, uint32_t slot, enum warp_state state)
{
    wheel_doubt(&sm->wheel, sm->now, sm->warps[slot].ready_at, slot);
    warp_change_state(sm, slot, state);
}

void warp_set_next(struct sm *sm, uint32_t slot)
{
    warp_look_at_next(sm, slot);
}

void warps_become_ready(struct sm *sm, uint64_t warps)
{
    for (uint64_t rest = sm->profiling ? warps : 0; rest; rest &= rest - 1)
        warp_profile(sm, lowest_bit(rest));
    sm->states[WARP_DATA] &= ~warps;
    sm->states[WARP_LOAD] &= ~warps;
    sm->states[WARP_READY] |= warps;
    sm->changed_warps |= warps;
}

/*
 * A fetch that finds no MSHR, line or place in the network leaves everything as it was, and nothing but a reply can
 * help it: it is tried again when one has come. Between two replies of one cycle, it has to wait for the next cycle.
 */
__attribute__((noinline)) bool warp_fetched(struct sm *sm, uint32_t slot, uint64_t *until)
{
    uint64_t bit = UINT64_C(1) << slot;
    enum lookup result = instruction_fetch(sm, slot);
    sm->fetch_refused &= ~bit;
    if (result == LOOKUP_FULL && wake_due(&sm->wakes, WAKE_REPLY, sm->now))
        *until = sm->now + 1;
    else if (result == LOOKUP_FULL)
        sm->fetch_refused |= bit;
    return result == LOOKUP_HIT;
}

void warp_evaluate(struct sm *sm, uint32_t slot)
{
    wheel_doubt(&sm->wheel, sm->now, sm->warps[slot].ready_at, slot);
    warp_judge_next(sm, slot);
}

void warp_end(struct sm *sm, uint32_t slot)
{
    struct sm_warp *warp = &sm->warps[slot];
    struct sm_tb *tb = &sm->tbs[warp->tb];
    uint64_t bit = UINT64_C(1) << slot;
    residency_account(sm);
    sm->changed_warps = ~UINT64_C(0);
    if (tb->warps & bit) { /* not when a drained warp comes by again */
        tb->warps &= ~bit;
        tb->thread_instructions += sm->warp_thread_instructions[slot];
        if (warp->issued > tb->longest_warp)
            tb->longest_warp = warp->issued;
        sm->application_warps[warp->application] &= ~bit;
        quota_warps_changed(sm);
        sm->progress_cycle[warp->application] = sm->now;
        sm_barrier_warp_ended(sm, warp->tb);
        sm_cluster_warp_ended(sm, tb);
    }
    if (warp->pending || warp->copies) {
        warp_set_state(sm, slot, WARP_DRAIN);
        return;
    }
    warp_leave_state(sm, slot);
    sm->resident_warps--;
    tb->resident &= ~bit;
    if (!tb->resident)
        sm_tb_complete(sm, tb);
}
