/* SPDX-License-Identifier: MIT */
/* Thread blocks of an SM: announced, started where there is room, complete or removed. */
#include "gpu/thread_block.h"

#include "gpu/residency.h"
#include "gpu/sm.h"
#include "gpu/stall.h"

bool sm_announce(struct sm *sm, const struct incoming_tb *incoming)
{
    if (sm->incoming_taken == sm->incoming.count)
        sm->incoming_taken = sm->incoming.count = 0;
    wake_by(&sm->wakes, WAKE_INCOMING, incoming->cycle);
    return vector_push(&sm->incoming, *incoming);
}

struct sm_tb *sm_tb_slot(struct sm *sm)
{
    struct sm_tb *tb = sm->tbs;
    while (tb->source) /* the dispatcher only sends what has a place */
        tb++;
    return tb;
}

/* The lowest free slot; where warps rotate, of the wanted scheduler, or of the next one that has any. */
static uint32_t slot_for_warp(const struct sm *sm, uint64_t free, uint64_t wanted)
{
    for (uint32_t i = 0; sm->config->rotate_warps && i < sm->scheduler_count; i++) {
        uint64_t here = free & sm->schedulers[(wanted + i) % sm->scheduler_count].warps;
        if (here)
            return lowest_bit(here);
    }
    return lowest_bit(free);
}

bool sm_tb_seat(struct sm *sm, struct sm_tb *tb, struct corun_warp *const *warps, uint32_t count, uint32_t *slots)
{
    struct launch *launch = tb->launch;
    uint32_t application = launch->kernel->application;
    struct corun_counters *counters = sm_counters(sm, launch->kernel->slot);
    if (!counters) {
        sm->failed = true;
        return false;
    }
    sm_account(sm);
    if (launch->number > sm->newest_launch) {
        sm->newest_launch = launch->number;
        if (sm->config->l1_flush_at_kernel)
            sm_caches_flush(sm);
    }
    uint64_t taken = 0;
    uint32_t shared_bytes = 0;
    for (uint32_t i = 0; i < MAX_TBS; i++) {
        taken |= sm->tbs[i].resident;
        shared_bytes += sm->tbs[i].source ? sm->tbs[i].needs.shared_bytes : 0;
    }
    sm_caches_split(sm, launch->grid, shared_bytes, taken == 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = slot_for_warp(sm, ~taken, tb->age + i);
        taken |= UINT64_C(1) << slot;
        tb->resident |= UINT64_C(1) << slot;
        slots[i] = slot;
        if (!warp_begin(sm, slot, (uint32_t)(tb - sm->tbs), warps[i])) {
            sm->failed = true;
            return false;
        }
    }
    tb->warps = tb->resident;
    sm->resident_tbs++;
    sm->application_tbs[application]++;
    bool other_kernel =
        sm->present_count == 1 && sm->present[0] == application && sm->application_counters[application] != counters;
    if (other_kernel)
        stall_one_ends(sm);
    sm->application_counters[application] = counters;
    if (other_kernel)
        stall_one_begins(sm);
    residency_begin(sm, application);
    return true;
}

void sm_tb_remove(struct sm *sm, struct sm_tb *tb)
{
    uint32_t application = tb->launch->kernel->application;
    sm_account(sm);
    for (uint64_t rest = tb->resident; rest; rest &= rest - 1) {
        uint64_t bit = rest & -rest;
        for (uint32_t state = 0; state < WARP_STATES; state++)
            sm->states[state] &= ~bit;
        wheel_doubt(&sm->wheel, sm->now, sm->warps[lowest_bit(rest)].ready_at, lowest_bit(rest));
        sm->warps[lowest_bit(rest)].generation++; /* whatever is under way for it is nobody's now */
        sm->resident_warps--;
    }
    sm->application_warps[application] &= ~tb->resident;
    sm->still_warps[application] &= ~tb->resident;
    quota_warps_changed(sm);
    if (tb->phase != TB_LOADING) {
        sm->resident_tbs--;
        if (--sm->application_tbs[application] == 0)
            residency_end(sm, application);
    }
    *tb = (struct sm_tb){0};
}

static void tb_begin(struct sm *sm, const struct incoming_tb *incoming)
{
    const struct corun_grid *grid = incoming->launch->grid;
    struct sm_tb *tb = sm_tb_slot(sm);
    struct corun_warp *warps[MAX_WARPS];
    uint32_t slots[MAX_WARPS];
    *tb = (struct sm_tb){.launch = incoming->launch, .index = incoming->tb_index, .age = sm->next_age++};
    tb->cluster.there = grid->cluster_tbs > 1;
    tb_needs_compute(sm->config, grid, &tb->needs);
    tb->source = grid->operations->tb_begin(grid, incoming->tb_index, sm->index, warps);
    if (!tb->source) {
        sm->failed = true;
        return;
    }
    if (!sm_tb_seat(sm, tb, warps, grid->tb_warps, slots))
        return;
    for (uint64_t rest = tb->warps; rest; rest &= rest - 1)
        warp_evaluate(sm, lowest_bit(rest));
    preemption_engine_hold(sm, (uint32_t)(tb - sm->tbs));
}

/* The first that is still on its way; NULL: none. */
static const struct incoming_tb *first_incoming(const struct sm *sm)
{
    return sm->incoming_taken < sm->incoming.count ? &sm->incoming.data[sm->incoming_taken] : NULL;
}

void sm_tb_receive(struct sm *sm)
{
    const struct incoming_tb *first;
    while ((first = first_incoming(sm)) && first->cycle <= sm->now) {
        struct incoming_tb incoming = *first;
        sm->incoming_taken++;
        if (incoming.saved)
            preemption_engine_load(sm, &incoming);
        else
            tb_begin(sm, &incoming);
    }
    wake_not_before(&sm->wakes, WAKE_INCOMING, first ? first->cycle : NEVER);
}

void sm_tb_complete(struct sm *sm, struct sm_tb *tb)
{
    uint32_t application = tb->launch->kernel->application;
    sm_counters(sm, tb->launch->kernel->slot)->tbs_completed++;
    tb->launch->grid->operations->tb_end(tb->source);
    tb->source = NULL;
    sm->resident_tbs--;
    if (--sm->application_tbs[application] == 0)
        residency_end(sm, application);
    sm_post(sm, (struct news){.cycle = sm->now,
                              .launch = tb->launch,
                              .needs = tb->needs,
                              .tb_index = tb->index,
                              .longest_warp = tb->longest_warp,
                              .kind = NEWS_TB_COMPLETE,
                              .application = (uint8_t)application});
}
