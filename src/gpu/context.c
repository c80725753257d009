/* SPDX-License-Identifier: MIT */
/*
 * One order at a time becomes: warps stand still → instructions in flight complete → the context is written,
 * packet by packet → the last packet is acknowledged: the place is free. Coming back is the same in reverse. Other
 * thread blocks run on meanwhile, unless the whole SM is switched.
 */
#include "gpu/context.h"

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
    wake_by(&sm->wakes, WAKE_CONTEXT, cycle);
}

bool context_order(struct sm *sm, const struct context_order *order)
{
    struct context_engine *engine = &sm->context;
    if (engine->orders_taken == engine->orders.count)
        engine->orders_taken = engine->orders.count = 0;
    wake_at(sm, order->cycle);
    return vector_push(&engine->orders, *order);
}

bool context_cancel(struct sm *sm, const struct launch *launch, uint32_t tb_index)
{
    struct context_engine *engine = &sm->context;
    for (size_t i = engine->orders_taken; i < engine->orders.count; i++) {
        struct context_order *order = &engine->orders.data[i];
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

void context_hold(struct sm *sm, uint32_t tb)
{
    if (sm->context.stalled)
        stand_still(sm, &sm->tbs[tb]);
}

static void stall(struct sm *sm, const struct sm_tb *tb)
{
    if (sm->context.stalled)
        return;
    sm->context.stalled = true;
    counters_of(sm, tb)->sm_switches++;
    for (uint32_t i = 0; i < MAX_TBS; i++)
        if (sm->tbs[i].source && sm->tbs[i].phase != TB_LOADING)
            stand_still(sm, &sm->tbs[i]);
}

void context_settle(struct sm *sm)
{
    if (!sm->context.stalled || sm->context.switching)
        return;
    sm->context.stalled = false;
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
                              .context = tb->context,
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
    if (tb->departure == DEPARTURE_SWITCH)
        sm->context.switching--;
    sm_tb_remove(sm, tb);
    context_settle(sm);
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
    struct context *context = tb->context;
    context->source = tb->source;
    context->needs = tb->needs;
    context->thread_instructions = tb->thread_instructions;
    context->warp_count = 0;
    context->waiting = 0;
    for (uint32_t i = 0; i < MAX_BARRIERS; i++)
        context->barriers[i] = (struct barrier){0, tb->barriers[i].arrived, tb->barriers[i].threads};
    for (uint64_t rest = tb->warps; rest; rest &= rest - 1) {
        const struct sm_warp *warp = &sm->warps[lowest_bit(rest)];
        uint64_t bit = rest & -rest, mark = UINT64_C(1) << context->warp_count;
        context->warps[context->warp_count++] = warp->source;
        context->thread_instructions += sm->warp_thread_instructions[lowest_bit(rest)];
        context->waiting |= tb->waiting & bit ? mark : 0;
        for (uint32_t i = 0; i < MAX_BARRIERS; i++)
            context->barriers[i].waiting |= tb->barriers[i].waiting & bit ? mark : 0;
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
        if (warp->pending || warp->writes)
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

static uint32_t context_bytes(const struct sm *sm, const struct sm_tb *tb)
{
    const struct corun_gpu_config *c = sm->config;
    uint32_t warp_bytes = tb->needs.registers / tb->needs.warps * 4 + c->context_warp_bytes;
    return count_bits(tb->warps) * warp_bytes + tb->needs.shared_bytes + c->context_tb_bytes;
}

static void enqueue(struct sm *sm, struct sm_tb *tb, enum tb_phase phase)
{
    struct context_engine *engine = &sm->context;
    uint32_t slot = (uint32_t)(tb - sm->tbs);
    tb->phase = (uint8_t)phase;
    tb->context_moved = tb->context_packets = 0;
    tb->token = engine->tokens++ << TOKEN_TB_BITS | slot;
    engine->queue[engine->queued++] = (uint8_t)slot;
}

static void begin_save(struct sm *sm, struct sm_tb *tb)
{
    sm->context.stopping--;
    tb->context->bytes = tb->free_transfer ? 0 : context_bytes(sm, tb);
    if (!tb->context->bytes)
        saved(sm, tb);
    else
        enqueue(sm, tb, TB_SAVING);
}

static void follow(struct sm *sm, const struct context_order *order)
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
    tb->departure = order->departure;
    tb->context = order->context;
    tb->free_transfer = order->free;
    post(sm, tb, NEWS_TB_STOPPED);
    if (order->departure == DEPARTURE_DROP) {
        drop(sm, tb);
        return;
    }
    stand_still(sm, tb);
    tb->phase = TB_STOPPING;
    tb->quiet_cycle = NEVER;
    sm->context.stopping++;
    if (order->departure == DEPARTURE_SWITCH) {
        sm->context.switching++;
        stall(sm, tb);
    }
}

/* ---- coming back ---- */

/* Its context is there: it resumes where it stood, as the youngest of its SM. */
static void resume(struct sm *sm, struct sm_tb *tb)
{
    struct context *context = tb->context;
    uint32_t slots[MAX_WARPS];
    struct context_order order = tb->order;
    bool ordered = tb->ordered;
    tb->phase = TB_RUNNING;
    tb->ordered = false;
    tb->thread_instructions = context->thread_instructions;
    tb->launch->grid->operations->tb_move(tb->source, sm->index);
    if (!sm_tb_seat(sm, tb, context->warps, context->warp_count, slots))
        return;
    for (uint32_t i = 0; i < MAX_BARRIERS; i++)
        tb->barriers[i] = (struct barrier){0, context->barriers[i].arrived, context->barriers[i].threads};
    for (uint32_t w = 0; w < context->warp_count; w++) {
        uint64_t bit = UINT64_C(1) << slots[w];
        tb->waiting |= context->waiting >> w & 1u ? bit : 0;
        for (uint32_t i = 0; i < MAX_BARRIERS; i++)
            tb->barriers[i].waiting |= context->barriers[i].waiting >> w & 1u ? bit : 0;
        if (tb->waiting & bit)
            warp_set_state(sm, slots[w], WARP_BARRIER);
        else
            warp_evaluate(sm, slots[w]);
    }
    counters_of(sm, tb)->tbs_swapped_in++;
    post(sm, tb, NEWS_TB_RESUMED);
    tb->context = NULL;
    context_hold(sm, (uint32_t)(tb - sm->tbs));
    if (ordered)
        follow(sm, &order);
}

void context_load(struct sm *sm, const struct incoming_tb *incoming)
{
    struct context *context = incoming->context;
    struct sm_tb *tb = sm_tb_slot(sm);
    *tb = (struct sm_tb){.launch = incoming->launch,
                         .index = incoming->tb_index,
                         .needs = context->needs,
                         .source = context->source,
                         .context = context,
                         .free_transfer = incoming->free_transfer,
                         .age = sm->next_age++};
    context->source = NULL;
    if (!sm_counters(sm, incoming->launch->kernel->slot)) {
        sm->failed = true;
        return;
    }
    if (tb->free_transfer || !context->bytes) {
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
    uint32_t left = tb->context->bytes - tb->context_moved;
    uint32_t bytes = left < c->l2_line_bytes ? left : c->l2_line_bytes;
    uint8_t sectors = (uint8_t)((1u << divide_up(bytes, c->l2_sector_bytes)) - 1);
    bool out = tb->phase == TB_SAVING;
    struct packet packet = {
        .cycle = sm->now,
        .address = tb->context->address + tb->context_moved,
        .token = tb->token,
        .kernel = tb->launch->kernel->slot,
        .sm = (uint16_t)sm->index,
        .bytes = (uint16_t)(out ? bytes : 0),
        .kind = out ? PACKET_WRITE : PACKET_READ,
        .sectors = sectors,
        .full_sectors = out ? sectors : 0,
        .application = tb->launch->kernel->application,
        .client = CLIENT_CONTEXT,
    };
    if (!port_send(&sm->port, &packet))
        return false;
    *(out ? &counters_of(sm, tb)->context_bytes_out : &counters_of(sm, tb)->context_bytes_in) += bytes;
    tb->context_moved += bytes;
    tb->context_packets++;
    sm->context.under_way++;
    return true;
}

/* The next packet of the first in line. Returns when to try again, NEVER: after a reply. */
static uint64_t send_next(struct sm *sm)
{
    struct context_engine *engine = &sm->context;
    if (!engine->queued || engine->under_way >= sm->config->context_packets)
        return NEVER;
    if (engine->next_send > sm->now)
        return engine->next_send;
    struct sm_tb *tb = &sm->tbs[engine->queue[0]];
    if (!send(sm, tb))
        return sm->now + 1;
    engine->next_send = sm->now + sm->config->context_interval;
    if (tb->context_moved == tb->context->bytes)
        memmove(engine->queue, engine->queue + 1, --engine->queued);
    return engine->queued ? engine->next_send : NEVER;
}

void context_reply(struct sm *sm, const struct packet *packet)
{
    struct sm_tb *tb = &sm->tbs[packet->token & ((1u << TOKEN_TB_BITS) - 1)];
    sm->context.under_way--;
    wake_at(sm, sm->now);
    if (!tb->source || tb->token != packet->token || (tb->phase != TB_SAVING && tb->phase != TB_LOADING))
        return; /* its application was stopped */
    if (--tb->context_packets || tb->context_moved < tb->context->bytes)
        return;
    if (tb->phase == TB_SAVING)
        saved(sm, tb);
    else
        resume(sm, tb);
}

/* ---- the engine ---- */

void context_attend(struct sm *sm)
{
    struct context_engine *engine = &sm->context;
    uint64_t next = NEVER;
    sm->wakes.cycle[WAKE_CONTEXT] = NEVER;
    while (engine->orders_taken < engine->orders.count && engine->orders.data[engine->orders_taken].cycle <= sm->now) {
        struct context_order order = engine->orders.data[engine->orders_taken++];
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

void context_remove_application(struct sm *sm, uint32_t application)
{
    struct context_engine *engine = &sm->context;
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
        engine->switching -= (tb->phase == TB_STOPPING || tb->phase == TB_SAVING) && tb->departure == DEPARTURE_SWITCH;
    }
    wake_at(sm, sm->now);
}

void context_destroy(struct sm *sm)
{
    vector_free(&sm->context.orders);
}
