/* SPDX-License-Identifier: MIT */
/* Copies wait in order; that at the head makes its requests, then the next one does. Replies end copies in any order. */
#include "gpu/copy_engine.h"

#include "gpu/cluster_network.h"
#include "gpu/coalescer.h"
#include "gpu/sm.h"

#include <stdlib.h>
#include <string.h>

void copy_engine_destroy(struct copy_engine *engine)
{
    free(engine->copies);
    free(engine->parts);
}

bool copy_engine_grow(struct copy_engine *engine, uint32_t copies, uint32_t parts)
{
    if (copies > engine->copy_count) {
        struct copy_under_way *more = realloc(engine->copies, copies * sizeof *more);
        if (!more)
            return false;
        memset(more + engine->copy_count, 0, (copies - engine->copy_count) * sizeof *more);
        engine->copies = more;
        engine->copy_count = copies;
    }
    if (parts > engine->part_count) {
        struct copy_part *more = realloc(engine->parts, parts * sizeof *more);
        if (!more)
            return false;
        memset(more + engine->part_count, 0, (parts - engine->part_count) * sizeof *more);
        engine->parts = more;
        engine->part_count = parts;
    }
    return true;
}

/* Twice as many places, all of the new ones free. */
static bool more_copies(struct copy_engine *engine)
{
    uint32_t before = engine->copy_count;
    if (!copy_engine_grow(engine, before ? 2 * before : 8, 0))
        return false;
    for (uint32_t i = engine->copy_count; i-- > before;) {
        engine->copies[i].next = engine->free_copy;
        engine->free_copy = i + 1;
    }
    return true;
}

static bool more_parts(struct copy_engine *engine)
{
    uint32_t before = engine->part_count;
    if (!copy_engine_grow(engine, 0, before ? 2 * before : 64))
        return false;
    for (uint32_t i = engine->part_count; i-- > before;) {
        engine->parts[i].next = engine->free_part;
        engine->free_part = i + 1;
    }
    return true;
}

/* Behind the copies that have requests to make. */
static void enqueue(struct sm *sm, uint32_t number)
{
    struct copy_engine *engine = &sm->copy_engine;
    const struct copy_under_way *copy = &engine->copies[number - 1];
    if (engine->first)
        engine->copies[engine->last - 1].next = number;
    else
        engine->first = number;
    engine->last = number;
    if (engine->first == number && !engine->blocked)
        wake_by(&sm->wakes, WAKE_COPY, copy->ready > engine->next_send ? copy->ready : engine->next_send);
}

void copy_engine_accept(struct sm *sm, uint32_t slot, const struct machine_op *op, uint64_t start)
{
    struct copy_engine *engine = &sm->copy_engine;
    struct sm_warp *warp = &sm->warps[slot];
    if (!engine->free_copy && !more_copies(engine)) {
        sm->failed = true;
        return;
    }
    uint32_t number = engine->free_copy;
    struct copy_under_way *copy = &engine->copies[number - 1];
    engine->free_copy = copy->next;
    *copy = (struct copy_under_way){.grid = sm->tbs[warp->tb].launch->grid,
                                    .counters = warp->counters,
                                    .ready = start + sm->config->bulk_copy_latency,
                                    .copy = sm->issue.copy,
                                    .generation = warp->generation,
                                    .group = warp->copy_groups,
                                    .warp = (uint16_t)slot,
                                    .kernel = warp->kernel->slot,
                                    .application = warp->application,
                                    .grouped = op->flags & CORUN_STORE};
    warp->copies++;
    enqueue(sm, number);
}

/* Groups are done, or their sources have been read: who waits for that looks again. */
static void tell_warp(struct sm *sm, const struct copy_under_way *copy)
{
    const struct sm_warp *warp = &sm->warps[copy->warp];
    if (warp->generation == copy->generation && sm->states[WARP_FENCE] >> copy->warp & 1u)
        warp_evaluate(sm, copy->warp);
}

static void give_copy(struct copy_engine *engine, uint32_t number)
{
    engine->copies[number - 1] = (struct copy_under_way){.next = engine->free_copy};
    engine->free_copy = number;
}

/* Ends a copy once all its requests have been made and answered. */
static void settle(struct sm *sm, uint32_t number)
{
    struct copy_engine *engine = &sm->copy_engine;
    const struct copy_under_way copy = engine->copies[number - 1];
    if (!copy.sent || copy.answers)
        return;
    if (!copy.dropped && !copy.grid->operations->copy_done(copy.grid, sm->index, copy.copy)) {
        engine->copies[number - 1].sent = false;
        engine->copies[number - 1].ready = sm->now;
        enqueue(sm, number);
        return;
    }
    give_copy(engine, number);
    if (copy.dropped)
        return;
    sm->progress_cycle[copy.application] = sm->now;
    struct sm_warp *warp = &sm->warps[copy.warp];
    if (warp->generation != copy.generation)
        return;
    warp->copies--;
    if (sm->states[WARP_DRAIN] >> copy.warp & 1u && !warp->pending && !warp->copies)
        warp_end(sm, copy.warp);
    else
        tell_warp(sm, &copy);
}

static void pop(struct copy_engine *engine)
{
    struct copy_under_way *copy = &engine->copies[engine->first - 1];
    engine->first = copy->next;
    engine->last = engine->first ? engine->last : 0;
    copy->next = 0;
    copy->sent = true;
}

/* The bytes of a part, as a transaction of its line. */
static struct transaction transaction_of(const struct corun_copy_part *part, uint32_t line_bytes)
{
    struct transaction transaction = {.line = part->address - part->address % line_bytes, .lanes = part->lanes};
    uint32_t first = (uint32_t)(part->address % line_bytes);
    for (uint32_t i = first; i < first + part->bytes; i++)
        transaction.bytes[i / 64] |= UINT64_C(1) << i % 64;
    for (uint32_t i = first / PART_BYTES; i <= (first + part->bytes - 1) / PART_BYTES; i++)
        transaction.touched |= 1u << i;
    return transaction;
}

static uint32_t take_part(struct copy_engine *engine, uint32_t number, uint32_t ticket)
{
    uint32_t token = engine->free_part - 1;
    engine->free_part = engine->parts[token].next;
    engine->parts[token] = (struct copy_part){number - 1, ticket, 0};
    engine->copies[number - 1].answers++;
    return token;
}

/* Sectors of a part for another thread block, which the cluster network brings; it takes a turn of the banks there for each line. */
static void send_remote(struct sm *sm, uint32_t number, const struct corun_copy_part *part)
{
    const struct copy_under_way *copy = &sm->copy_engine.copies[number - 1];
    struct packet packet = {
        .cycle = sm->now,
        .cluster = {.target = part->sm,
                    .bank_cycles = 1,
                    .request_sectors = (uint8_t)((part->bytes + CLUSTER_SECTOR_BYTES - 1) / CLUSTER_SECTOR_BYTES)},
        .lanes = part->lanes,
        .ticket = part->ticket,
        .token = take_part(&sm->copy_engine, number, part->ticket),
        .kernel = copy->kernel,
        .sm = (uint16_t)sm->index,
        .kind = PACKET_CLUSTER,
        .application = copy->application,
        .client = CLIENT_COPY,
    };
    port_send(&sm->port, &packet);
}

/* There is room in the port. */
static void send(struct sm *sm, uint32_t number, const struct corun_copy_part *part)
{
    const struct corun_gpu_config *c = sm->config;
    const struct copy_under_way *copy = &sm->copy_engine.copies[number - 1];
    struct transaction transaction = transaction_of(part, c->l2_line_bytes);
    bool atomic = part->kind == CORUN_ATOMIC, reads = part->kind == CORUN_LOAD;
    uint32_t token = take_part(&sm->copy_engine, number, atomic ? part->ticket : NOTHING);
    struct packet packet = {
        .cycle = sm->now,
        .address = transaction.line,
        .token = token,
        .kernel = copy->kernel,
        .sm = (uint16_t)sm->index,
        .bytes = (uint16_t)(reads ? 0 : part->bytes),
        .kind = atomic  ? PACKET_ATOMIC
                : reads ? PACKET_READ
                        : PACKET_WRITE,
        .sectors = (uint8_t)sectors_touched(&transaction, c->l2_sector_bytes),
        .application = copy->application,
        .client = CLIENT_COPY,
        .repeats = atomic,
    };
    if (!reads)
        packet.full_sectors = (uint8_t)sectors_full(&transaction, c->l2_line_bytes, c->l2_sector_bytes);
    if (atomic) {
        packet.lanes = part->lanes;
        packet.ticket = part->ticket;
    } else if (!reads && packet.sectors != packet.full_sectors) {
        packet.words = words_full(&transaction);
    }
    port_send(&sm->port, &packet);
    copy->counters->global_sectors += count_bits(packet.sectors);
}

/* The next request of the copy at the head; false: it has made them all. */
static bool make_request(struct sm *sm)
{
    struct copy_engine *engine = &sm->copy_engine;
    uint32_t number = engine->first;
    const struct copy_under_way *copy = &engine->copies[number - 1];
    struct corun_copy_part part;
    if (!copy->dropped &&
        copy->grid->operations->copy_next(copy->grid, sm->index, copy->copy, sm->config->l2_line_bytes, &part)) {
        (part.space == CORUN_SPACE_CLUSTER ? send_remote : send)(sm, number, &part);
        return true;
    }
    pop(engine);
    if (!copy->dropped)
        tell_warp(sm, copy);
    settle(sm, number);
    return false;
}

void copy_engine_attend(struct sm *sm)
{
    struct copy_engine *engine = &sm->copy_engine;
    wake_not_before(&sm->wakes, WAKE_COPY, NEVER);
    while (engine->first) {
        const struct copy_under_way *copy = &engine->copies[engine->first - 1];
        uint64_t cycle = copy->ready > engine->next_send ? copy->ready : engine->next_send;
        if (cycle > sm->now && !copy->dropped) {
            wake_by(&sm->wakes, WAKE_COPY, cycle);
            return;
        }
        engine->blocked = !port_has_room(&sm->port);
        if (engine->blocked)
            return;
        if (!engine->free_part && !more_parts(engine)) {
            sm->failed = true;
            return;
        }
        if (make_request(sm))
            engine->next_send = sm->now + sm->config->bulk_copy_interval;
    }
}

void copy_engine_answered(struct sm *sm, uint32_t token)
{
    struct copy_engine *engine = &sm->copy_engine;
    struct copy_part *part = &engine->parts[token];
    uint32_t number = part->copy + 1;
    struct copy_under_way *copy = &engine->copies[part->copy];
    if (part->ticket != NOTHING && !copy->dropped)
        copy->grid->operations->complete(copy->grid, sm->index, part->ticket);
    *part = (struct copy_part){0, NOTHING, engine->free_part};
    engine->free_part = token + 1;
    copy->answers--;
    settle(sm, number);
}

void copy_engine_retry(struct sm *sm)
{
    if (!sm->copy_engine.blocked)
        return;
    sm->copy_engine.blocked = false;
    wake_by(&sm->wakes, WAKE_COPY, sm->now);
}

bool copy_engine_holds(const struct sm *sm, uint32_t slot, const struct machine_op *op)
{
    const struct copy_engine *engine = &sm->copy_engine;
    const struct sm_warp *warp = &sm->warps[slot];
    if (!warp->copies || warp->copy_groups <= op->access_bytes)
        return false;
    uint32_t end = warp->copy_groups - op->access_bytes;
    for (uint32_t i = 0; i < engine->copy_count; i++) {
        const struct copy_under_way *copy = &engine->copies[i];
        if (copy->grid && copy->grouped && copy->warp == slot && copy->generation == warp->generation &&
            copy->group < end && !(copy->sent && op->flags & CORUN_COPY_SOURCE))
            return true;
    }
    return false;
}

void copy_engine_remove_application(struct sm *sm, uint32_t application)
{
    struct copy_engine *engine = &sm->copy_engine;
    for (uint32_t i = 0; i < engine->copy_count; i++) {
        struct copy_under_way *copy = &engine->copies[i];
        if (!copy->grid || copy->application != application)
            continue;
        copy->dropped = true;
        copy->grid = NULL;
        copy->counters = NULL;
    }
    if (engine->first)
        wake_by(&sm->wakes, WAKE_COPY, sm->now);
}
