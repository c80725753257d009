/* SPDX-License-Identifier: MIT */
/*
 * Warps arrive at the barriers of their thread block, and go through together; a barrier that nobody can meet is a
 * deadlock.
 */
#include "gpu/barrier.h"

#include "base/kernel_name.h"
#include "gpu/sm.h"

#include <stdio.h>
#include <string.h>

static void post_deadlock(struct sm *sm, uint32_t index)
{
    struct sm_tb *tb = &sm->tbs[index];
    const struct sm_warp *warp = &sm->warps[lowest_bit(tb->waiting)];
    const struct corun_grid *grid = tb->launch->grid;
    char text[256];
    uint32_t number = 0;
    while (number + 1 < MAX_BARRIERS && !(tb->barriers[number].waiting & tb->waiting))
        number++;
    const struct barrier *barrier = &tb->barriers[number];
    snprintf(text, sizeof text,
             "kernel %s, thread block %u: barrier %u can never be met: %u of %u threads have arrived and all that "
             "remain are waiting",
             KERNEL_NAME(grid->name), tb->index, number, barrier->arrived * CORUN_WARP_LANES,
             barrier->threads ? barrier->threads : count_bits(tb->warps) * CORUN_WARP_LANES);
    struct corun_place place = {grid->file, warp->pc > 0 ? grid->code[warp->pc - 1].line : 0, 0};
    const char *message = grid->operations->deadlock ? grid->operations->deadlock(tb->source, &place) : text;
    sm_post(sm, (struct news){.cycle = sm->now,
                              .launch = tb->launch,
                              .tb_index = tb->index,
                              .kind = NEWS_DEADLOCK,
                              .application = warp->application,
                              .message = strdup(message),
                              .place = place});
}

/* Warps come to barriers one after the other, whichever thread block they are of. */
static void take_turn(struct sm *sm)
{
    if (sm->barrier_free < sm->now)
        sm->barrier_free = sm->now;
    sm->barrier_free += sm->config->barrier_warp_cycles;
}

/* From when on those that wait may issue: the last one has had its turn. */
static uint64_t opening(const struct sm *sm)
{
    uint32_t each = sm->config->barrier_warp_cycles;
    return (sm->barrier_free > sm->now + each ? sm->barrier_free - each : sm->now) + sm->config->barrier_cycles;
}

static void release(struct sm *sm, struct sm_tb *tb, struct barrier *barrier)
{
    uint64_t warps = barrier->waiting;
    uint32_t number = (uint32_t)(barrier - tb->barriers);
    const struct corun_source_operations *source = tb->launch->grid->operations;
    if (source->barrier_met)
        source->barrier_met(tb->source, number);
    tb->waiting &= ~warps;
    *barrier = (struct barrier){0, 0, 0};
    for (; warps; warps &= warps - 1) {
        uint32_t slot = lowest_bit(warps);
        sm->warps[slot].not_before = number < CORUN_BARRIERS ? opening(sm) : sm->now + 1;
        warp_set_state(sm, slot, WARP_CONTROL);
        warp_evaluate(sm, slot);
    }
}

static bool met(const struct sm_tb *tb, const struct barrier *barrier)
{
    return barrier->threads ? barrier->arrived * CORUN_WARP_LANES >= barrier->threads
                            : barrier->arrived >= count_bits(tb->warps);
}

void sm_barrier_arrive(struct sm *sm, uint32_t slot)
{
    struct sm_warp *warp = &sm->warps[slot];
    struct sm_tb *tb = &sm->tbs[warp->tb];
    struct barrier *barrier = &tb->barriers[sm->issue.barrier % MAX_BARRIERS];
    warp->counters->barriers += sm->issue.barrier < CORUN_BARRIERS;
    if (sm->issue.barrier < CORUN_BARRIERS)
        take_turn(sm);
    barrier->arrived++;
    barrier->threads = sm->issue.barrier_threads;
    if (sm->issue.barrier_waits) {
        barrier->waiting |= UINT64_C(1) << slot;
        tb->waiting |= UINT64_C(1) << slot;
        warp_set_state(sm, slot, WARP_BARRIER);
    }
    if (met(tb, barrier))
        release(sm, tb, barrier);
    else if (tb->waiting == tb->warps)
        post_deadlock(sm, warp->tb);
    if (!sm->issue.barrier_waits)
        warp_evaluate(sm, slot);
}

void sm_barrier_warp_ended(struct sm *sm, uint32_t index)
{
    struct sm_tb *tb = &sm->tbs[index];
    if (!tb->waiting)
        return;
    for (uint32_t i = 0; i < MAX_BARRIERS; i++)
        if (tb->barriers[i].waiting && met(tb, &tb->barriers[i]))
            release(sm, tb, &tb->barriers[i]);
    if (tb->waiting && tb->waiting == tb->warps)
        post_deadlock(sm, index);
}
