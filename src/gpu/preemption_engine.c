/* SPDX-License-Identifier: MIT */
/*
 * One order at a time becomes: warps stand still → instructions in flight complete → its state is written,
 * packet by packet → the last packet is acknowledged: the place is free. Coming back is the same in reverse. Other
 * thread blocks run on meanwhile, unless the whole SM is switched.
 */
#include "gpu/preemption_engine.h"

#include "gpu/sm.h"

#include <stdlib.h>
#include <string.h>

#define TOKEN_TB_BITS 6u

_Static_assert(1u << TOKEN_TB_BITS >= MAX_TBS && MAX_WARPS >= MAX_TBS, "slots of thread blocks");

static struct corun_counters *counters_of(struct sm *sm, const struct sm_tb *tb)
{
    return sm->counters[tb->launch->kernel->slot];
}

static void wake_at(struct sm *sm, uint64_t cycle)
{
    wake_by(&sm->wakes, WAKE_PREEMPTION, cycle);
}

bool preemption_engine_order(struct sm *sm, const struct leave_order *order)
{
    struct preemption_engine *engine = &sm->preemption;
    if (engine->orders_taken == engine->orders.count)
        engine->orders_taken = engine->orders.count = 0;
    wake_at(sm, order->cycle);
    return vector_push(&engine->orders, *order);
}

bool preemption_engine_cancel(struct sm *sm, const struct launch *launch, uint32_t tb_index)
{
    struct preemption_engine *engine = &sm->preemption;
    for (size_t i = engine->orders_taken; i < engine->orders.count; i++) {
        struct leave_order *order = &engine->orders.data[i];
        if (order->launch != launch || order->tb_index != tb_index)
            continue;
        memmove(order, order + 1, (--engine->orders.count - i) * sizeof *order);
        return true;
    }
    return false;
}

/* ---- standing still and resuming ---- */

static void stand_still(struct sm *sm, struct sm_tb *tb)
{
    if (tb->still)
        return;
    uint32_t application = tb->launch->kernel->application;
    sm_account(sm);
    tb->still = true;
    for (uint64_t rest = tb->warps; rest; rest &= rest - 1)
        warp_set_state(sm, lowest_bit(rest), WARP_STILL);
    sm->application_warps[application] &= ~tb->warps;
    sm->still_warps[application] |= tb->warps;
    quota_warps_changed(sm);
}

static void resume_warps(struct sm *sm, struct sm_tb *tb)
{
    if (!tb->still)
        return;
    uint32_t application = tb->launch->kernel->application;
    sm_account(sm);
    tb->still = false;
    sm->still_warps[application] &= ~tb->warps;
    sm->application_warps[application] |= tb->warps;
    for (uint64_t rest = tb->warps; rest; rest &= rest - 1) {
        uint32_t slot = lowest_bit(rest);
        quota_warp_begin(sm, slot);
        if (tb->waiting & (rest & -rest))
            warp_set_state(sm, slot, WARP_BARRIER);
        else
            warp_evaluate(sm, slot);
    }
    quota_warps_changed(sm);
}

void preemption_engine_hold(struct sm *sm, uint32_t tb)
{
    if (sm->preemption.stalled)
        stand_still(sm, &sm->tbs[tb]);
}

static void stall(struct sm *sm, const struct sm_tb *tb)
{
    if (sm->preemption.stalled)
        return;
    sm->preemption.stalled = true;
    counters_of(sm, tb)->sm_switches++;
    for (uint32_t i = 0; i < MAX_TBS; i++)
        if (sm->tbs[i].source && sm->tbs[i].phase != TB_LOADING)
            stand_still(sm, &sm->tbs[i]);
}

void preemption_engine_settle(struct sm *sm)
{
    if (!sm->preemption.stalled || sm->preemption.switching)
        return;
    sm->preemption.stalled = false;
    for (uint32_t i = 0; i < MAX_TBS; i++)
        if (sm->tbs[i].source && sm->tbs[i].phase == TB_RUNNING)
            resume_warps(sm, &sm->tbs[i]);
}

/* ---- leaving ---- */

static void post(struct sm *sm, const struct sm_tb *tb, enum news_kind kind)
{
    sm_post(sm, (struct news){.cycle = sm->now,
                              .since = tb->stopped_cycle,
                              .launch = tb->launch,
                              .saved = tb->saved,
                              .needs = tb->needs,
                              .tb_index = tb->index,
                              .kind = (uint8_t)kind,
                              .application = tb->launch->kernel->application});
}

/* The place is free. */
static void vacate(struct sm *sm, struct sm_tb *tb, enum news_kind kind)
{
    counters_of(sm, tb)->preemption_cycles += sm->now - tb->stopped_cycle;
    post(sm, tb, kind);
    if (tb->preemption == PREEMPTION_SWITCH)
        sm->preemption.switching--;
    sm_tb_remove(sm, tb);
    preemption_engine_settle(sm);
}

static void drop(struct sm *sm, struct sm_tb *tb)
{
    struct corun_counters *counters = counters_of(sm, tb);
    counters->tbs_dropped++;
    counters->thread_instructions_dropped += tb->thread_instructions;
    for (uint64_t rest = tb->warps; rest; rest &= rest - 1)
        counters->thread_instructions_dropped += sm->warp_thread_instructions[lowest_bit(rest)];
    tb->launch->grid->operations->tb_end(tb->source);
    vacate(sm, tb, NEWS_TB_DROPPED);
}

/* Everything is in memory. */
static void saved(struct sm *sm, struct sm_tb *tb)
{
    struct saved_tb *saved = tb->saved;
    saved->source = tb->source;
    saved->needs = tb->needs;
    saved->thread_instructions = tb->thread_instructions;
    saved->warp_count = 0;
    saved->waiting = 0;
    for (uint32_t i = 0; i < MAX_BARRIERS; i++)
        saved->barriers[i] = (struct barrier){0, tb->barriers[i].arrived, tb->barriers[i].threads};
    for (uint64_t rest = tb->warps; rest; rest &= rest - 1) {
        const struct sm_warp *warp = &sm->warps[lowest_bit(rest)];
        uint64_t bit = rest & -rest, mark = UINT64_C(1) << saved->warp_count;
        saved->warps[saved->warp_count++] = warp->source;
        saved->thread_instructions += sm->warp_thread_instructions[lowest_bit(rest)];
        saved->waiting |= tb->waiting & bit ? mark : 0;
        for (uint32_t i = 0; i < MAX_BARRIERS; i++)
            saved->barriers[i].waiting |= tb->barriers[i].waiting & bit ? mark : 0;
    }
    counters_of(sm, tb)->tbs_swapped_out++;
    vacate(sm, tb, NEWS_TB_SAVED);
}

/*
 * Latest cycle at which a register is written; NEVER while that is not known, or something of the thread block is
 * under way.
 */
static uint64_t quiet_cycle(const struct sm *sm, const struct sm_tb *tb)
{
    if (tb->resident != tb->warps) /* a warp that has ended waits for its loads */
        return NEVER;
    for (uint64_t rest = tb->warps; rest; rest &= rest - 1) {
        const struct sm_warp *warp = &sm->warps[lowest_bit(rest)];
        if (warp->pending || warp->writes || warp->copies)
            return NEVER;
    }
    const struct load_store *unit = &sm->load_store;
    for (uint32_t i = 0; i < unit->count; i++) {
        const struct memory_entry *entry = &unit->entries[(unit->head + i) & unit->mask];
        if (tb->warps >> entry->warp & 1u && sm->warps[entry->warp].generation == entry->generation)
            return NEVER;
    }
    uint64_t latest = 0;
    for (uint64_t rest = tb->warps; rest; rest &= rest - 1) {
        const struct sm_warp *warp = &sm->warps[lowest_bit(rest)];
        for (uint32_t i = 0; i < warp->kernel->hazard_entries; i++)
            latest = warp->ready[i] > latest ? warp->ready[i] : latest;
    }
    return latest >> 1;
}

static uint32_t bytes_to_save(const struct sm *sm, const struct sm_tb *tb)
{
    const struct corun_gpu_config *c = sm->config;
    uint32_t warp_bytes = tb->needs.registers / tb->needs.warps * 4 + c->saved_warp_bytes;
    return count_bits(tb->warps) * warp_bytes + tb->needs.shared_bytes + c->saved_tb_bytes;
}

static void enqueue(struct sm *sm, struct sm_tb *tb, enum tb_phase phase)
{
    struct preemption_engine *engine = &sm->preemption;
    uint32_t slot = (uint32_t)(tb - sm->tbs);
    tb->phase = (uint8_t)phase;
    tb->moved_bytes = tb->moving_packets = 0;
    tb->token = engine->tokens++ << TOKEN_TB_BITS | slot;
    engine->queue[engine->queued++] = (uint8_t)slot;
}

static void begin_save(struct sm *sm, struct sm_tb *tb)
{
    sm->preemption.stopping--;
    tb->saved->bytes = tb->free_transfer ? 0 : bytes_to_save(sm, tb);
    if (!tb->saved->bytes)
        saved(sm, tb);
    else
        enqueue(sm, tb, TB_SAVING);
}

static void follow(struct sm *sm, const struct leave_order *order)
{
    struct sm_tb *tb = NULL;
    for (uint32_t i = 0; i < MAX_TBS; i++)
        if (sm->tbs[i].source && sm->tbs[i].launch == order->launch && sm->tbs[i].index == order->tb_index)
            tb = &sm->tbs[i];
    if (tb && tb->phase == TB_LOADING) { /* it comes first, to go at once */
        tb->order = *order;
        tb->ordered = true;
        return;
    }
    if (!tb || !tb->warps) /* complete, or about to be */
        return;
    tb->stopped_cycle = sm->now;
    tb->preemption = order->preemption;
    tb->saved = order->saved;
    tb->free_transfer = order->free;
    post(sm, tb, NEWS_TB_STOPPED);
    if (order->preemption == PREEMPTION_DROP) {
        drop(sm, tb);
        return;
    }
    stand_still(sm, tb);
    tb->phase = TB_STOPPING;
    tb->quiet_cycle = NEVER;
    sm->preemption.stopping++;
    if (order->preemption == PREEMPTION_SWITCH) {
        sm->preemption.switching++;
        stall(sm, tb);
    }
}

/* ---- coming back ---- */

/* Its state is there: it resumes where it stood, as the youngest of its SM. */
static void resume(struct sm *sm, struct sm_tb *tb)
{
    struct saved_tb *saved = tb->saved;
    uint32_t slots[MAX_WARPS];
    struct leave_order order = tb->order;
    bool ordered = tb->ordered;
    tb->phase = TB_RUNNING;
    tb->ordered = false;
    tb->thread_instructions = saved->thread_instructions;
    tb->launch->grid->operations->tb_move(tb->source, sm->index);
    if (!sm_tb_seat(sm, tb, saved->warps, saved->warp_count, slots))
        return;
    for (uint32_t i = 0; i < MAX_BARRIERS; i++)
        tb->barriers[i] = (struct barrier){0, saved->barriers[i].arrived, saved->barriers[i].threads};
    for (uint32_t w = 0; w < saved->warp_count; w++) {
        uint64_t bit = UINT64_C(1) << slots[w];
        tb->waiting |= saved->waiting >> w & 1u ? bit : 0;
        for (uint32_t i = 0; i < MAX_BARRIERS; i++)
            tb->barriers[i].waiting |= saved->barriers[i].waiting >> w & 1u ? bit : 0;
        if (tb->waiting & bit)
            warp_set_state(sm, slots[w], WARP_BARRIER);
        else
            warp_evaluate(sm, slots[w]);
    }
    counters_of(sm, tb)->tbs_swapped_in++;
    post(sm, tb, NEWS_TB_RESUMED);
    tb->saved = NULL;
    preemption_engine_hold(sm, (uint32_t)(tb - sm->tbs));
    if (ordered)
        follow(sm, &order);
}

void preemption_engine_load(struct sm *sm, const struct incoming_tb *incoming)
{
    struct saved_tb *saved = incoming->saved;
    struct sm_tb *tb = sm_tb_slot(sm);
    *tb = (struct sm_tb){.launch = incoming->launch,
                         .index = incoming->tb_index,
                         .needs = saved->needs,
                         .source = saved->source,
                         .saved = saved,
                         .free_transfer = incoming->free_transfer,
                         .age = sm->next_age++};
    saved->source = NULL;
    if (!sm_counters(sm, incoming->launch->kernel->slot)) {
        sm->failed = true;
        return;
    }
    if (tb->free_transfer || !saved->bytes) {
        resume(sm, tb);
    } else {
        enqueue(sm, tb, TB_LOADING);
        wake_at(sm, sm->now);
    }
}

/* ---- packets ---- */

static bool send(struct sm *sm, struct sm_tb *tb)
{
    const struct corun_gpu_config *c = sm->config;
    uint32_t left = tb->saved->bytes - tb->moved_bytes;
    uint32_t bytes = left < c->l2_line_bytes ? left : c->l2_line_bytes;
    uint8_t sectors = (uint8_t)((1u << divide_up(bytes, c->l2_sector_bytes)) - 1);
    bool out = tb->phase == TB_SAVING;
    struct packet packet = {
        .cycle = sm->now,
        .address = tb->saved->address + tb->moved_bytes,
        .token = tb->token,
        .kernel = tb->launch->kernel->slot,
        .sm = (uint16_t)sm->index,
        .bytes = (uint16_t)(out ? bytes : 0),
        .kind = out ? PACKET_WRITE : PACKET_READ,
        .sectors = sectors,
        .full_sectors = out ? sectors : 0,
        .application = tb->launch->kernel->application,
        .client = CLIENT_SAVED_TB,
    };
    if (!port_send(&sm->port, &packet))
        return false;
    *(out ? &counters_of(sm, tb)->saved_bytes : &counters_of(sm, tb)->restored_bytes) += bytes;
    tb->moved_bytes += bytes;
    tb->moving_packets++;
    sm->preemption.under_way++;
    return true;
}

/* The next packet of the first in line. Returns when to try again, NEVER: after a reply. */
static uint64_t send_next(struct sm *sm)
{
    struct preemption_engine *engine = &sm->preemption;
    if (!engine->queued || engine->under_way >= sm->config->save_packets)
        return NEVER;
    if (engine->next_send > sm->now)
        return engine->next_send;
    struct sm_tb *tb = &sm->tbs[engine->queue[0]];
    if (!send(sm, tb))
        return sm->now + 1;
    engine->next_send = sm->now + sm->config->save_interval;
    if (tb->moved_bytes == tb->saved->bytes)
        memmove(engine->queue, engine->queue + 1, --engine->queued);
    return engine->queued ? engine->next_send : NEVER;
}

void preemption_engine_reply(struct sm *sm, const struct reply *reply)
{
    struct sm_tb *tb = &sm->tbs[reply->token & ((1u << TOKEN_TB_BITS) - 1)];
    sm->preemption.under_way--;
    wake_at(sm, sm->now);
    if (!tb->source || tb->token != reply->token || (tb->phase != TB_SAVING && tb->phase != TB_LOADING))
        return; /* its application was stopped */
    if (--tb->moving_packets || tb->moved_bytes < tb->saved->bytes)
        return;
    if (tb->phase == TB_SAVING)
        saved(sm, tb);
    else
        resume(sm, tb);
}

/* ---- the engine ---- */

void preemption_engine_attend(struct sm *sm)
{
    struct preemption_engine *engine = &sm->preemption;
    uint64_t next = NEVER;
    wake_not_before(&sm->wakes, WAKE_PREEMPTION, NEVER);
    while (engine->orders_taken < engine->orders.count && engine->orders.data[engine->orders_taken].cycle <= sm->now) {
        struct leave_order order = engine->orders.data[engine->orders_taken++];
        follow(sm, &order);
    }
    if (engine->orders_taken < engine->orders.count)
        next = engine->orders.data[engine->orders_taken].cycle;
    for (uint32_t i = 0; engine->stopping && i < MAX_TBS; i++) {
        struct sm_tb *tb = &sm->tbs[i];
        if (!tb->source || tb->phase != TB_STOPPING)
            continue;
        if (tb->quiet_cycle == NEVER)
            tb->quiet_cycle = quiet_cycle(sm, tb);
        uint64_t look = tb->quiet_cycle == NEVER ? sm->now + 1 : tb->quiet_cycle;
        if (look <= sm->now)
            begin_save(sm, tb);
        else if (look < next)
            next = look;
    }
    uint64_t packet = send_next(sm);
    next = packet < next ? packet : next;
    wake_at(sm, next);
}

void preemption_engine_remove_application(struct sm *sm, uint32_t application)
{
    struct preemption_engine *engine = &sm->preemption;
    size_t kept = engine->orders_taken;
    for (size_t i = kept; i < engine->orders.count; i++)
        if (engine->orders.data[i].launch->kernel->application != application)
            engine->orders.data[kept++] = engine->orders.data[i];
    engine->orders.count = kept;
    uint32_t queued = 0;
    for (uint32_t i = 0; i < engine->queued; i++)
        if (sm->tbs[engine->queue[i]].launch->kernel->application != application)
            engine->queue[queued++] = engine->queue[i];
    engine->queued = queued;
    for (uint32_t i = 0; i < MAX_TBS; i++) {
        const struct sm_tb *tb = &sm->tbs[i];
        if (!tb->source || tb->launch->kernel->application != application)
            continue;
        engine->stopping -= tb->phase == TB_STOPPING;
        engine->switching -=
            (tb->phase == TB_STOPPING || tb->phase == TB_SAVING) && tb->preemption == PREEMPTION_SWITCH;
    }
    wake_at(sm, sm->now);
}

void preemption_engine_destroy(struct sm *sm)
{
    vector_free(&sm->preemption.orders);
}
