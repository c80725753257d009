/* SPDX-License-Identifier: MIT */
/* L2 slices serve requests: lookups, misses and their fills, write-back, atomics, replies. */
#include "gpu/l2.h"

#include "base/bits.h"
#include "base/later.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NO_MSHR UINT32_MAX

/* ---- creation ---- */

static bool slice_create(struct l2_slice *slice, const struct corun_gpu_config *config, uint32_t number, uint32_t sub)
{
    slice->next = slice->late_ready = NEVER;
    slice->head = NO_REQUEST;
    slice->number = number;
    slice->sub = (uint8_t)sub;
    slice->port_replies.first = slice->atomic_replies.first = NO_REQUEST;
    uint32_t slices = config->memory_controllers * config->slices_per_controller;
    slice->half = (uint8_t)(number * 2 / slices);
    slice->served = calloc(config->l2_queue, sizeof *slice->served);
    if (!slice->served)
        return false;
    uint32_t bytes = config->l2_bytes / slices;
    if (!bytes)
        return true;
    uint32_t lines = bytes / config->l2_line_bytes;
    slice->tags = cache_create(bytes, config->l2_ways, config->l2_line_bytes, config->l2_sector_bytes, config->l2_hash);
    slice->mshrs = calloc(config->l2_mshrs, sizeof *slice->mshrs);
    slice->line_mshr = malloc(lines * sizeof *slice->line_mshr);
    slice->partial = calloc(lines, sizeof *slice->partial);
    slice->words = calloc(lines, sizeof *slice->words);
    if (config->l2_far_latency)
        slice->arrivals = calloc(lines, sizeof *slice->arrivals);
    if (!slice->tags || !slice->mshrs || !slice->line_mshr || !slice->partial || !slice->words ||
        (config->l2_far_latency && !slice->arrivals))
        return false;
    for (uint32_t i = 0; i < config->l2_mshrs; i++)
        slice->mshrs[i].next_free = i + 1 < config->l2_mshrs ? i + 1 : NO_MSHR;
    memset(slice->line_mshr, 0xff, lines * sizeof *slice->line_mshr);
    return true;
}

bool memory_channel_create(struct memory_channel *channel, struct memory_shared *shared, uint32_t controller)
{
    const struct corun_gpu_config *config = &shared->config;
    *channel = (struct memory_channel){
        .shared = shared,
        .slice_count = config->slices_per_controller,
        .dram_cycle = NEVER,
        .fill_cycle = NEVER,
    };
    assert(channel->slice_count <= sizeof channel->lines[0].waiters);
    channel->dram = dram_create(config);
    channel->slices = calloc(channel->slice_count, sizeof *channel->slices);
    if (!channel->dram || !channel->slices)
        return false;
    for (uint32_t i = 0; i < channel->slice_count; i++)
        if (!slice_create(&channel->slices[i], config, controller * channel->slice_count + i, i))
            return false;
    return true;
}

void memory_channel_free(struct memory_channel *channel)
{
    for (uint32_t i = 0; channel->slices && i < channel->slice_count; i++) {
        struct l2_slice *slice = &channel->slices[i];
        cache_destroy(slice->tags);
        free(slice->mshrs);
        free(slice->line_mshr);
        free(slice->partial);
        free(slice->words);
        free(slice->arrivals);
        free(slice->served);
        request_queue_free(&slice->late_replies);
    }
    free(channel->slices);
    free(channel->counters);
    free(channel->atomics);
    free(channel->departures);
    dram_destroy(channel->dram);
    *channel = (struct memory_channel){0};
}

/* ---- replies ---- */

static inline uint64_t list_ready(const struct request_list *list, const struct request_pool *pool)
{
    return list->first == NO_REQUEST ? NEVER : pool->slots[list->first].ready;
}

uint64_t l2_slice_reply_ready(const struct l2_slice *slice, const struct request_pool *pool)
{
    uint64_t ready = list_ready(&slice->port_replies, pool), atomic = list_ready(&slice->atomic_replies, pool);
    ready = atomic < ready ? atomic : ready;
    return slice->late_ready < ready ? slice->late_ready : ready;
}

uint32_t l2_slice_take_reply(struct l2_slice *slice, struct request_pool *pool, uint64_t limit)
{
    uint64_t port = list_ready(&slice->port_replies, pool), atomic = list_ready(&slice->atomic_replies, pool);
    if (port >= limit && atomic >= limit && slice->late_ready >= limit)
        return NO_REQUEST;
    if (slice->late_ready < port && slice->late_ready < atomic) {
        uint32_t request = request_queue_pop(&slice->late_replies).request;
        slice->late_ready = request_queue_time(&slice->late_replies);
        return request;
    }
    return request_list_pop(pool, port <= atomic ? &slice->port_replies : &slice->atomic_replies);
}

/* Whole sectors, one reply right after the other: what one leaves of a cycle is the next one's. Returns its end. */
static inline uint64_t take_port(const struct memory_shared *shared, struct l2_slice *slice, uint32_t bytes,
                                 uint64_t cycle)
{
    uint32_t sector = shared->config.l2_sector_bytes, each = shared->config.l2_bytes_per_cycle;
    uint32_t whole = ((bytes ? bytes : 1) + sector - 1) & ~(sector - 1); /* sectors are powers of two */
    if (cycle > slice->port_free) {
        slice->port_free = cycle;
        slice->port_taken = 0;
    }
    uint32_t end = slice->port_taken + whole, cycles = end / each;
    slice->port_free += cycles;
    slice->port_taken = end - cycles * each;
    return slice->port_free + (slice->port_taken != 0);
}

static inline void reply_through_port(struct memory_shared *shared, struct l2_slice *slice, uint32_t request,
                                      uint32_t bytes, uint64_t cycle)
{
    shared->pool.slots[request].ready = take_port(shared, slice, bytes, cycle);
    request_list_append(&shared->pool, &slice->port_replies, request);
}

static bool note_atomic(struct memory_channel *channel, uint32_t request, uint64_t cycle)
{
    if (channel->atomic_count == channel->atomic_capacity) {
        uint32_t capacity = channel->atomic_capacity ? channel->atomic_capacity * 2 : 64;
        struct served_atomic *atomics = capacity ? realloc(channel->atomics, capacity * sizeof *atomics) : NULL;
        if (!atomics)
            return false;
        channel->atomics = atomics;
        channel->atomic_capacity = capacity;
    }
    channel->atomics[channel->atomic_count++] = (struct served_atomic){cycle, request};
    return true;
}

static void serve_atomic(struct memory_channel *channel, struct l2_slice *slice, uint32_t request, uint64_t cycle)
{
    struct memory_shared *shared = channel->shared;
    struct request *r = &shared->pool.slots[request];
    uint32_t sectors = count_sectors(r->packet.sectors);
    if (!note_atomic(channel, request, cycle))
        channel->failed = true;
    /* A sector at a time; lanes at one address need each other's result and go one after the other. */
    uint32_t rounds = sectors > r->packet.repeats ? sectors : r->packet.repeats;
    slice->atomic_free = later(cycle, slice->atomic_free) + (uint64_t)rounds * shared->config.atomic_interval;
    r->ready = slice->atomic_free + shared->config.atomic_latency;
    channel->counters[r->packet.kernel].l2_atomics += sectors;
    request_list_append(&shared->pool, &slice->atomic_replies, request);
}

/* ---- DRAM ---- */

static void note_dram_next(struct memory_channel *channel)
{
    uint64_t next = dram_next(channel->dram);
    channel->dram_cycle = next == NEVER ? NEVER : clock_floor(&channel->shared->dram_to_l2, next);
}

static void note_fill_next(struct memory_channel *channel)
{
    const struct dram_fill *fill = dram_first_fill(channel->dram);
    const struct memory_shared *shared = channel->shared;
    channel->fill_cycle = fill ? clock_ceil(&shared->dram_to_l2, fill->cycle) + shared->dram_extra : NEVER;
}

static void push(struct memory_channel *channel, const struct l2_slice *slice, uint64_t cycle, uint64_t local,
                 uint32_t sectors, bool write, uint16_t kernel, uint32_t token)
{
    struct memory_shared *shared = channel->shared;
    struct dram_access access = {
        .token = token,
        .kernel = kernel,
        .slice = slice->sub,
        .sectors = (uint8_t)sectors,
        .write = write,
    };
    access.bank = (uint16_t)address_map_bank(&shared->map, slice->sub, local, &access.row);
    if (!dram_push(channel->dram, clock_ceil(&shared->l2_to_dram, cycle), &access))
        channel->failed = true;
    note_dram_next(channel);
}

/* A place for this slice: none while others that came earlier wait for one. */
static bool has_place(const struct memory_channel *channel, const struct l2_slice *slice, bool write)
{
    const struct place_line *line = &channel->lines[write];
    if (line->count && line->waiters[line->head] != slice->sub)
        return false;
    return dram_places(channel->dram, write) != 0;
}

/* Lets the first slice in line try, in the next cycle at the earliest. */
static void offer_place(struct memory_channel *channel, bool write, uint64_t cycle)
{
    const struct place_line *line = &channel->lines[write];
    if (!line->count || !dram_places(channel->dram, write))
        return;
    struct l2_slice *slice = &channel->slices[line->waiters[line->head]];
    if (slice->next == NEVER)
        slice->next = later(cycle, slice->tag_free);
}

static bool stop(struct memory_channel *channel, struct l2_slice *slice, enum slice_state state)
{
    uint32_t kernel = channel->shared->pool.slots[slice->head].packet.kernel;
    channel->counters[kernel].l2_reservation_failures += !slice->stopped_once;
    slice->stopped_once = true;
    slice->next = NEVER;
    if (state != SLICE_WAITS_FILL && slice->state != state) {
        struct place_line *line = &channel->lines[state == SLICE_WAITS_WRITE];
        line->waiters[(line->head + line->count++) % sizeof line->waiters] = slice->sub;
    }
    slice->state = (uint8_t)state;
    return false;
}

/* The slice got past what it waited for in DRAM, or waits for something else now. */
static void leave_place_line(struct memory_channel *channel, struct l2_slice *slice, uint64_t cycle)
{
    if (slice->state != SLICE_WAITS_READ && slice->state != SLICE_WAITS_WRITE)
        return;
    bool write = slice->state == SLICE_WAITS_WRITE;
    struct place_line *line = &channel->lines[write];
    assert(line->waiters[line->head] == slice->sub);
    line->head = (uint8_t)((line->head + 1) % sizeof line->waiters);
    line->count--;
    slice->state = SLICE_READY;
    offer_place(channel, write, cycle + 1);
}

static void write_back(struct memory_channel *channel, struct l2_slice *slice, const struct cache_victim *victim,
                       uint64_t cycle)
{
    channel->counters[victim->kernel].l2_writebacks += count_sectors(victim->dirty);
    push(channel, slice, cycle, victim->address, victim->dirty, true, victim->kernel, 0);
}

/* `coming`: sectors that had been asked for before. */
static void count_lookup(struct memory_channel *channel, const struct packet *packet, uint32_t present, uint32_t coming)
{
    struct channel_counters *counters = &channel->counters[packet->kernel];
    uint32_t absent = packet->sectors & ~present;
    counters->l2_accesses += count_sectors(packet->sectors);
    counters->l2_hits += count_sectors(packet->sectors & present);
    if (packet->kind == PACKET_WRITE) {
        counters->l2_write_misses += count_sectors(absent);
        return;
    }
    counters->l2_merges += count_sectors(absent & coming);
    counters->l2_misses += count_sectors(absent & ~coming);
}

/* ---- halves ---- */

/* The copy that the other half of the L2 has of a line is a line of the same slice, with this bit in its address. */
#define COPY (UINT64_C(1) << 62)

/* It comes from an SM that is nearer to the other half. */
static bool is_far(const struct memory_shared *shared, const struct l2_slice *slice, const struct packet *packet)
{
    return shared->config.l2_far_latency && slice->tags && (packet->sm / 2u) % 2 != slice->half;
}

static void reply_late(struct memory_channel *channel, struct l2_slice *slice, uint32_t request, uint64_t ready)
{
    channel->shared->pool.slots[request].ready = ready;
    uint32_t order = slice->late_count++ & ((1u << REQUEST_SOURCE_BITS) - 1);
    if (!request_queue_push(&slice->late_replies, ready, order, request))
        channel->failed = true;
    slice->late_ready = request_queue_time(&slice->late_replies);
}

/* Replies to a read whose sectors the nearer half has. False: it has not all of them. */
static bool serve_copy(struct memory_channel *channel, struct l2_slice *slice, uint64_t cycle)
{
    struct memory_shared *shared = channel->shared;
    const struct request *r = &shared->pool.slots[slice->head];
    uint32_t line = cache_find(slice->tags, r->local | COPY), sectors = r->packet.sectors;
    if (line == CACHE_NO_LINE || sectors & ~cache_valid(slice->tags, line))
        return false;
    count_lookup(channel, &r->packet, sectors, 0);
    cache_touch(slice->tags, line);
    uint32_t bytes = count_sectors(sectors) * shared->config.l2_sector_bytes;
    if (slice->arrivals[line] <= cycle)
        reply_through_port(shared, slice, slice->head, bytes, cycle);
    else
        reply_late(channel, slice, slice->head, later(take_port(shared, slice, bytes, cycle), slice->arrivals[line]));
    return true;
}

/* The nearer half keeps what is on its way from `line` to the SM. */
static void keep_copy(struct memory_channel *channel, struct l2_slice *slice, const struct request *r, uint32_t line,
                      uint64_t cycle, uint64_t arrival)
{
    struct cache_victim victim;
    uint32_t copy = cache_find(slice->tags, r->local | COPY);
    if (copy == CACHE_NO_LINE) {
        cache_touch(slice->tags, line); /* others may wait for it: it is not what makes room */
        copy = cache_allocate(slice->tags, r->local | COPY, &victim);
        if (copy == CACHE_NO_LINE)
            return;
        slice->partial[copy] = 0;
        cache_set_owner(slice->tags, copy, r->packet.kernel, r->packet.application);
        if (victim.dirty)
            write_back(channel, slice, &victim, cycle);
    }
    cache_touch(slice->tags, copy);
    cache_set_valid(slice->tags, copy, r->packet.sectors);
    slice->arrivals[copy] = arrival;
}

/* The line is about to be changed. */
static void forget_copy(const struct memory_shared *shared, struct l2_slice *slice, const struct request *r)
{
    uint32_t copy = shared->config.l2_far_latency ? cache_find(slice->tags, r->local | COPY) : CACHE_NO_LINE;
    if (copy != CACHE_NO_LINE)
        cache_invalidate(slice->tags, copy);
}

/* All sectors of a read or atomic are there. */
static void complete(struct memory_channel *channel, struct l2_slice *slice, uint32_t request, uint32_t line,
                     uint64_t cycle)
{
    struct memory_shared *shared = channel->shared;
    const struct packet *packet = &shared->pool.slots[request].packet;
    if (packet->kind == PACKET_READ) {
        uint32_t bytes = count_sectors(packet->sectors) * shared->config.l2_sector_bytes;
        if (!is_far(shared, slice, packet)) {
            reply_through_port(shared, slice, request, bytes, cycle);
            return;
        }
        uint64_t ready = take_port(shared, slice, bytes, cycle) + shared->config.l2_far_latency;
        keep_copy(channel, slice, &shared->pool.slots[request], line, cycle, ready);
        reply_late(channel, slice, request, ready);
        return;
    }
    if (slice->tags) {
        cache_set_dirty(slice->tags, line, packet->sectors);
        cache_set_owner(slice->tags, line, packet->kernel, packet->application);
    }
    serve_atomic(channel, slice, request, cycle);
}

/* ---- service ---- */

static void write_victim(struct memory_channel *channel, struct l2_slice *slice, uint64_t cycle)
{
    write_back(channel, slice, &slice->victim, cycle);
    slice->victim_waits = false;
}

/* A line for the head, its victim written back. CACHE_NO_LINE: the slice has stopped. */
static uint32_t obtain_line(struct memory_channel *channel, struct l2_slice *slice, const struct request *r,
                            uint64_t cycle)
{
    if (slice->victim_waits && !has_place(channel, slice, true)) {
        stop(channel, slice, SLICE_WAITS_WRITE);
        return CACHE_NO_LINE;
    }
    if (slice->victim_waits) {
        write_victim(channel, slice, cycle);
        leave_place_line(channel, slice, cycle);
    }
    uint32_t line = cache_find(slice->tags, r->local);
    if (line != CACHE_NO_LINE)
        return line;
    if (r->packet.kind == PACKET_WRITE || slice->first_free_mshr != NO_MSHR)
        line = cache_allocate(slice->tags, r->local, &slice->victim);
    if (line == CACHE_NO_LINE) {
        leave_place_line(channel, slice, cycle);
        stop(channel, slice, SLICE_WAITS_FILL);
        return CACHE_NO_LINE;
    }
    cache_set_owner(slice->tags, line, r->packet.kernel, r->packet.application);
    slice->partial[line] = 0;
    if (!slice->victim.dirty)
        return line;
    if (!has_place(channel, slice, true)) {
        slice->victim_waits = true; /* the line has been taken and will be found the next time */
        stop(channel, slice, SLICE_WAITS_WRITE);
        return CACHE_NO_LINE;
    }
    write_victim(channel, slice, cycle);
    return line;
}

/* Of these sectors of a line, which had been written in part, those that the words of one more write make whole. */
static uint32_t complete_sectors(const struct corun_gpu_config *config, struct l2_slice *slice, uint32_t line,
                                 uint32_t sectors, uint64_t words)
{
    uint32_t count = config->l2_sector_bytes / 4, whole = 0;
    uint64_t all = ~UINT64_C(0) >> (64 - count);
    for (uint32_t rest = sectors; rest; rest &= rest - 1) {
        uint32_t sector = lowest_bit(rest);
        uint64_t mask = all << sector * count;
        if (!(slice->partial[line] >> sector & 1u)) /* what an earlier line or a fill has left there */
            slice->words[line] &= ~mask;
        slice->words[line] |= words & mask;
        if ((slice->words[line] & mask) == mask)
            whole |= 1u << sector;
    }
    return whole;
}

/* A line that is about to be dirty has a place among those of its set that may be. false: the slice has stopped. */
static bool clean_for(struct memory_channel *channel, struct l2_slice *slice, uint32_t line, uint64_t cycle)
{
    uint32_t most = channel->shared->config.l2_dirty_ways;
    if (!most || cache_dirty(slice->tags, line) || !cache_clean_oldest(slice->tags, line, most, &slice->victim))
        return true;
    if (!has_place(channel, slice, true)) {
        slice->victim_waits = true;
        return stop(channel, slice, SLICE_WAITS_WRITE);
    }
    write_victim(channel, slice, cycle);
    return true;
}

static bool serve_write(struct memory_channel *channel, struct l2_slice *slice, uint32_t line, uint64_t cycle)
{
    struct memory_shared *shared = channel->shared;
    const struct packet *packet = &shared->pool.slots[slice->head].packet;
    if (!clean_for(channel, slice, line, cycle))
        return false;
    uint32_t present = cache_valid(slice->tags, line) & ~(uint32_t)slice->partial[line];
    uint32_t full = packet->sectors & packet->full_sectors;
    uint32_t parts = packet->sectors & ~present & ~full;
    if (parts)
        full |= complete_sectors(&shared->config, slice, line, parts, packet->words);
    count_lookup(channel, packet, present, 0);
    cache_set_dirty(slice->tags, line, packet->sectors);
    slice->partial[line] = (uint8_t)((slice->partial[line] | (packet->sectors & ~present)) & ~full);
    cache_set_owner(slice->tags, line, packet->kernel, packet->application);
    cache_touch(slice->tags, line);
    reply_through_port(shared, slice, slice->head, packet->bytes, cycle);
    return true;
}

/* Joins the line's MSHR, or takes one, and fetches what nobody has asked for yet. */
static bool miss(struct memory_channel *channel, struct l2_slice *slice, uint32_t line, uint32_t missing,
                 uint64_t cycle)
{
    struct memory_shared *shared = channel->shared;
    struct request *r = &shared->pool.slots[slice->head];
    uint32_t index = slice->line_mshr[line];
    uint32_t wanted = missing & ~cache_reserved(slice->tags, line);
    bool full = index == NO_MSHR ? slice->first_free_mshr == NO_MSHR
                                 : slice->mshrs[index].waiter_count >= shared->config.l2_mshr_merge;
    if (full) {
        leave_place_line(channel, slice, cycle);
        return stop(channel, slice, SLICE_WAITS_FILL);
    }
    if (wanted && !has_place(channel, slice, false))
        return stop(channel, slice, SLICE_WAITS_READ);
    if (index == NO_MSHR) {
        index = slice->first_free_mshr;
        struct l2_mshr *taken = &slice->mshrs[index];
        slice->first_free_mshr = taken->next_free;
        *taken = (struct l2_mshr){.waiters = {NO_REQUEST, NO_REQUEST}, .line = line};
        slice->line_mshr[line] = index;
    }
    struct l2_mshr *mshr = &slice->mshrs[index];
    mshr->waiter_count++;
    mshr->pending |= (uint8_t)wanted;
    r->need = (uint8_t)missing;
    request_list_append(&shared->pool, &mshr->waiters, slice->head);
    if (wanted) {
        cache_set_reserved(slice->tags, line, wanted);
        push(channel, slice, cycle, r->local, wanted, false, r->packet.kernel, index);
    }
    return true;
}

static bool serve_cached(struct memory_channel *channel, struct l2_slice *slice, uint64_t cycle)
{
    struct memory_shared *shared = channel->shared;
    struct request *r = &shared->pool.slots[slice->head];
    if (r->packet.kind != PACKET_READ)
        forget_copy(shared, slice, r);
    else if (!slice->stopped_once && is_far(shared, slice, &r->packet) && serve_copy(channel, slice, cycle))
        return true;
    uint32_t line = obtain_line(channel, slice, r, cycle);
    if (line == CACHE_NO_LINE)
        return false;
    if (r->packet.kind == PACKET_WRITE)
        return serve_write(channel, slice, line, cycle);
    uint32_t present = cache_valid(slice->tags, line) & ~(uint32_t)slice->partial[line];
    uint32_t missing = r->packet.sectors & ~present;
    uint32_t coming = missing ? cache_reserved(slice->tags, line) : 0;
    if (missing && !miss(channel, slice, line, missing, cycle))
        return false;
    count_lookup(channel, &r->packet, present, coming);
    cache_touch(slice->tags, line);
    if (!missing)
        complete(channel, slice, slice->head, line, cycle);
    return true;
}

static bool serve_uncached(struct memory_channel *channel, struct l2_slice *slice, uint64_t cycle)
{
    struct memory_shared *shared = channel->shared;
    const struct request *r = &shared->pool.slots[slice->head];
    bool write = r->packet.kind == PACKET_WRITE;
    if (!has_place(channel, slice, write))
        return stop(channel, slice, write ? SLICE_WAITS_WRITE : SLICE_WAITS_READ);
    push(channel, slice, cycle, r->local, r->packet.sectors, write, r->packet.kernel, slice->head);
    if (write)
        reply_through_port(shared, slice, slice->head, r->packet.bytes, cycle);
    return true;
}

/* Takes the next request from the network and notes when its turn at the tags comes. */
static void take_head(struct memory_channel *channel, struct l2_slice *slice, uint64_t icnt_limit)
{
    struct memory_shared *shared = channel->shared;
    uint64_t delivery;
    uint64_t latency = shared->config.l2_latency;
    uint64_t ready = slice->tag_free > latency ? clock_floor(&shared->l2_to_icnt, slice->tag_free - latency) : 0;
    slice->head = network_eject_in_turn(&shared->requests, &shared->pool, slice->number, icnt_limit, ready, &delivery);
    slice->next = NEVER;
    if (slice->head == NO_REQUEST)
        return;
    const struct request *r = &shared->pool.slots[slice->head];
    uint64_t turn = clock_ceil(&shared->icnt_to_l2, delivery) + shared->config.l2_latency;
    slice->next = later(turn, slice->tag_free);
    slice->stopped_once = false;
    struct channel_counters *counters = &channel->counters[r->packet.kernel];
    counters->icnt_requests++;
    counters->icnt_request_flits += r->flits;
    counters->icnt_request_latency += clock_ceil(&shared->icnt_to_core, delivery) - r->packet.cycle;
    /* With a full queue at the slice it waited in the network for the place of the l2_queue-th request before it. */
    uint64_t place = slice->served[slice->served_next];
    if (place > turn)
        counters->icnt_request_latency +=
            clock_ceil(&shared->icnt_to_core, clock_ceil(&shared->l2_to_icnt, place - turn));
}

/* Cycles that the head keeps the slice busy: check bits stand for whole sectors, so that one written in part is read before. */
static uint32_t busy_cycles(const struct memory_shared *shared, const struct l2_slice *slice)
{
    const struct packet *packet = &shared->pool.slots[slice->head].packet;
    uint32_t each = shared->config.l2_part_write_cycles;
    if (!each || packet->kind != PACKET_WRITE)
        return 1;
    uint32_t parts = count_sectors(packet->sectors & ~(uint32_t)packet->full_sectors);
    return parts ? parts * each : 1;
}

static void serve(struct memory_channel *channel, struct l2_slice *slice, uint64_t icnt_limit)
{
    uint64_t cycle = slice->next;
    uint32_t busy = busy_cycles(channel->shared, slice);
    bool done = slice->tags ? serve_cached(channel, slice, cycle) : serve_uncached(channel, slice, cycle);
    if (!done)
        return;
    leave_place_line(channel, slice, cycle);
    slice->state = SLICE_READY;
    slice->tag_free = cycle + busy;
    slice->served[slice->served_next] = cycle;
    slice->served_next = slice->served_next + 1 < channel->shared->config.l2_queue ? slice->served_next + 1 : 0;
    take_head(channel, slice, icnt_limit);
}

/* ---- fills ---- */

/* Completes those waiters that have everything now, in order. */
static void fill_line(struct memory_channel *channel, struct l2_slice *slice, uint32_t index, uint32_t sectors,
                      uint64_t cycle)
{
    struct memory_shared *shared = channel->shared;
    struct l2_mshr *mshr = &slice->mshrs[index];
    uint32_t line = mshr->line;
    cache_set_valid(slice->tags, line, sectors);
    slice->partial[line] &= (uint8_t)~sectors;
    mshr->pending &= (uint8_t)~sectors;
    struct request_list left = {NO_REQUEST, NO_REQUEST};
    for (uint32_t at = mshr->waiters.first, next; at != NO_REQUEST; at = next) {
        struct request *r = &shared->pool.slots[at];
        next = r->next;
        if (r->need & mshr->pending) {
            request_list_append(&shared->pool, &left, at);
        } else {
            mshr->waiter_count--;
            complete(channel, slice, at, line, cycle);
        }
    }
    mshr->waiters = left;
    if (mshr->pending)
        return;
    assert(left.first == NO_REQUEST);
    slice->line_mshr[line] = NO_MSHR;
    mshr->next_free = slice->first_free_mshr;
    slice->first_free_mshr = index;
}

static void fill(struct memory_channel *channel)
{
    struct memory_shared *shared = channel->shared;
    struct dram_fill arrived = *dram_first_fill(channel->dram);
    uint64_t cycle = channel->fill_cycle;
    dram_drop_fill(channel->dram);
    struct l2_slice *slice = &channel->slices[arrived.slice];
    if (slice->tags) {
        fill_line(channel, slice, arrived.token, arrived.sectors, cycle);
        if (slice->state == SLICE_WAITS_FILL)
            slice->next = later(cycle, slice->tag_free);
    } else {
        const struct request *r = &shared->pool.slots[arrived.token];
        if (r->packet.kind == PACKET_ATOMIC)
            push(channel, slice, cycle, r->local, r->packet.sectors, true, r->packet.kernel, 0);
        complete(channel, slice, arrived.token, CACHE_NO_LINE, cycle);
    }
    note_fill_next(channel);
}

/* ---- outside of time ---- */

void l2_slice_touch(struct l2_slice *slice, const struct corun_gpu_config *config, uint64_t local, uint32_t sectors,
                    uint64_t words, bool store, uint16_t kernel, uint8_t application)
{
    struct cache_victim victim; /* what it had changed was written back in the time that is not simulated */
    uint32_t line = cache_find(slice->tags, local);
    if (line == CACHE_NO_LINE) {
        line = cache_allocate(slice->tags, local, &victim);
        if (line == CACHE_NO_LINE)
            return;
        slice->partial[line] = 0;
        cache_set_owner(slice->tags, line, kernel, application);
    }
    cache_touch(slice->tags, line);
    sectors &= ~cache_reserved(slice->tags, line); /* these come by themselves */
    if (!store) {
        cache_set_valid(slice->tags, line, sectors);
        slice->partial[line] &= (uint8_t)~sectors;
        return;
    }
    uint32_t parts = sectors & (~cache_valid(slice->tags, line) | slice->partial[line]);
    uint32_t full = complete_sectors(config, slice, line, parts, words);
    if (config->l2_dirty_ways && !cache_dirty(slice->tags, line))
        (void)cache_clean_oldest(slice->tags, line, config->l2_dirty_ways, &victim);
    cache_set_dirty(slice->tags, line, sectors);
    slice->partial[line] = (uint8_t)((slice->partial[line] | parts) & ~full);
}

/* ---- the channel ---- */

static void issue(struct memory_channel *channel)
{
    struct memory_shared *shared = channel->shared;
    struct dram_event event;
    uint64_t cycle = channel->dram_cycle;
    if (!dram_issue(channel->dram, &event))
        channel->failed = true;
    note_dram_next(channel);
    if (event.command != DRAM_COLUMN)
        return;
    struct channel_counters *counters = &channel->counters[event.kernel];
    *(event.write ? &counters->dram_write_bytes : &counters->dram_read_bytes) += shared->config.dram_burst_bytes;
    ++*(event.row_hit ? &counters->dram_row_hits : &counters->dram_row_misses);
    if (!event.left)
        return;
    if (channel->fill_cycle == NEVER)
        note_fill_next(channel);
    offer_place(channel, event.write, cycle + 1);
}

void memory_channel_advance(struct memory_channel *channel, uint64_t icnt_limit, uint64_t limit)
{
    for (uint32_t i = 0; i < channel->slice_count; i++)
        if (channel->slices[i].head == NO_REQUEST)
            take_head(channel, &channel->slices[i], icnt_limit);
    while (!channel->failed) {
        struct l2_slice *first = &channel->slices[0];
        for (uint32_t i = 1; i < channel->slice_count; i++)
            if (channel->slices[i].next < first->next)
                first = &channel->slices[i];
        uint64_t others = first->next < channel->dram_cycle ? first->next : channel->dram_cycle;
        if (channel->fill_cycle <= others) {
            if (channel->fill_cycle >= limit)
                return;
            fill(channel);
        } else if (others >= limit) {
            return;
        } else if (first->next <= channel->dram_cycle) {
            serve(channel, first, icnt_limit);
        } else {
            issue(channel);
        }
    }
}

uint64_t memory_channel_next(const struct memory_channel *channel)
{
    const struct memory_shared *shared = channel->shared;
    uint64_t next = channel->fill_cycle;
    for (uint32_t i = 0; i < channel->slice_count; i++)
        next = channel->slices[i].next < next ? channel->slices[i].next : next;
    if (channel->dram_cycle == NEVER)
        return next;
    /* A command makes room for a slice that waits for a place; otherwise nobody hears of it before its data has come back. */
    uint64_t heard = channel->dram_cycle + 1;
    if (!channel->lines[0].count && !channel->lines[1].count)
        heard = clock_floor(&shared->dram_to_l2, dram_next(channel->dram) + dram_read_cycles(channel->dram)) +
                shared->dram_extra;
    return heard < next ? heard : next;
}

/* ---- checkpoints ---- */

static void archive_slice(struct corun_archive *archive, struct l2_slice *slice, const struct corun_gpu_config *config)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct l2_slice, tags),      ARCHIVE_HOLE(struct l2_slice, mshrs),
        ARCHIVE_HOLE(struct l2_slice, line_mshr), ARCHIVE_HOLE(struct l2_slice, partial),
        ARCHIVE_HOLE(struct l2_slice, words),     ARCHIVE_HOLE(struct l2_slice, served),
        ARCHIVE_HOLE(struct l2_slice, arrivals),  ARCHIVE_HOLE(struct l2_slice, late_replies)};
    ARCHIVE_RECORD(archive, slice, holes);
    request_queue_archive(archive, &slice->late_replies);
    archive_bytes(archive, slice->served, config->l2_queue * sizeof *slice->served);
    if (!slice->tags || !archive_fine(archive))
        return;
    size_t lines =
        config->l2_bytes / (config->memory_controllers * config->slices_per_controller) / config->l2_line_bytes;
    cache_archive(archive, slice->tags);
    archive_bytes(archive, slice->mshrs, config->l2_mshrs * sizeof *slice->mshrs);
    archive_bytes(archive, slice->line_mshr, lines * sizeof *slice->line_mshr);
    archive_bytes(archive, slice->partial, lines * sizeof *slice->partial);
    archive_bytes(archive, slice->words, lines * sizeof *slice->words);
    if (slice->arrivals)
        archive_bytes(archive, slice->arrivals, lines * sizeof *slice->arrivals);
}

void memory_channel_archive(struct corun_archive *archive, struct memory_channel *channel)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct memory_channel, shared),     ARCHIVE_HOLE(struct memory_channel, counters),
        ARCHIVE_HOLE(struct memory_channel, atomics),    ARCHIVE_HOLE(struct memory_channel, atomic_capacity),
        ARCHIVE_HOLE(struct memory_channel, departures), ARCHIVE_HOLE(struct memory_channel, departure_capacity),
        ARCHIVE_HOLE(struct memory_channel, dram),       ARCHIVE_HOLE(struct memory_channel, slices)};
    archive_same(archive, channel->slice_count, "slices of a memory controller");
    ARCHIVE_RECORD(archive, channel, holes);
    dram_archive(archive, channel->dram);
    for (uint32_t i = 0; i < channel->slice_count && archive_fine(archive); i++)
        archive_slice(archive, &channel->slices[i], &channel->shared->config);
}
