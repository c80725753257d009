/* SPDX-License-Identifier: MIT */
/*
 * The load/store unit: memory instructions wait in order; the one at the head is served one transaction per cycle (or
 * takes the shared memory for as many cycles as its bank conflicts cost). A transaction that finds no MSHR, no line or
 * no place in the network stops the unit until a reply arrives.
 */
#include "gpu/load_store.h"

#include "base/coalesced.h"
#include "gpu/cluster_network.h"
#include "gpu/shared_memory.h"
#include "gpu/sm.h"

#include <stdlib.h>
#include <string.h>

#define REMOTE_LINE (UINT64_C(1) << 63) /* of a transaction with another SM, which the other bits name */
#define TOKEN_SLOT_BITS 6u              /* a store's token: warp slot and the low bits of its generation */

bool load_store_create(struct sm *sm)
{
    const struct corun_gpu_config *c = sm->config;
    uint32_t queue = 1;
    while (queue < c->memory_queue)
        queue *= 2;
    sm->load_store.entries = calloc(queue, sizeof *sm->load_store.entries);
    sm->load_store.mask = queue - 1;
    sm->load_store.capacity = c->memory_queue;
    /* one record per waiter of the misses, per atomic packet under way and per entry of the queue */
    uint32_t records = (c->l1_mshrs + 64) * c->l1_mshr_merge + c->icnt_buffer + queue + MAX_WARPS;
    sm->load_store.records = calloc(records, sizeof *sm->load_store.records);
    sm->load_store.free_records = malloc(records * sizeof *sm->load_store.free_records);
    if (!sm->load_store.entries || !sm->load_store.records || !sm->load_store.free_records)
        return false;
    for (uint32_t i = 0; i < records; i++)
        sm->load_store.free_records[i] = records - 1 - i;
    sm->load_store.free_record_count = sm->load_store.record_count = records;
    return true;
}

void load_store_destroy(struct sm *sm)
{
    free(sm->load_store.entries);
    free(sm->load_store.records);
    free(sm->load_store.free_records);
}

static bool goes_to_cluster(const struct corun_issue *issue)
{
    bool any = false;
    if (issue->space != CORUN_SPACE_GENERIC)
        return false;
    for (uint32_t rest = issue->active; rest; rest &= rest - 1)
        any |= issue->lane_space[lowest_bit(rest)] == CORUN_SPACE_CLUSTER;
    return any;
}

static uint32_t open_record(struct sm *sm, uint32_t slot, const struct machine_op *op, const struct corun_grid *grid)
{
    struct sm_warp *warp = &sm->warps[slot];
    uint32_t index = sm->load_store.free_records[--sm->load_store.free_record_count];
    bool remote = goes_to_cluster(&sm->issue);
    bool atomic = remote || (op->flags & CORUN_ATOMIC && sm->issue.space != CORUN_SPACE_SHARED);
    bool reduction =
        atomic && !remote && op->written_count == 0; /* a warp does not end before other SMs have answered */
    sm->load_store.records[index] = (struct load_record){.op = op,
                                                         .ticket = sm->issue.ticket,
                                                         .generation = warp->generation,
                                                         .warp = (uint16_t)slot,
                                                         .open = true,
                                                         .atomic = atomic,
                                                         .reduction = reduction,
                                                         .application = warp->application,
                                                         .lanes = (uint8_t)count_bits(sm->issue.active),
                                                         .grid = grid};
    if (reduction) {
        warp->writes++;
    } else {
        warp->pending++;
        warp_set_ready(warp, op, UNKNOWN);
    }
    return index;
}

static void after_write(struct sm *sm, uint32_t slot)
{
    struct sm_warp *warp = &sm->warps[slot];
    warp->writes--;
    if (sm->states[WARP_FENCE] >> slot & 1u)
        warp_evaluate(sm, slot);
}

/* Ends a record once all its transactions have been started and answered. */
static void settle(struct sm *sm, uint32_t index)
{
    struct load_record *record = &sm->load_store.records[index];
    if (record->open || record->outstanding)
        return;
    struct sm_warp *warp = &sm->warps[record->warp];
    bool here = warp->generation == record->generation;
    bool removed = sm->removed >> record->application & 1u;
    if (record->atomic && !removed)
        record->grid->operations->complete(record->grid, sm->index, record->ticket);
    sm->load_store.free_records[sm->load_store.free_record_count++] = index;
    if (!here || removed)
        return;
    uint64_t complete = record->reduction ? sm->now : record->done;
    if (sm->quota.at_completion &&
        !quota_complete_quick(&sm->quota, record->application, record->lanes, sm->now, complete))
        quota_complete(sm, record->application, record->lanes, complete);
    if (record->reduction) {
        after_write(sm, record->warp);
        return;
    }
    uint64_t done = record->done > sm->now ? record->done : sm->now;
    warp_set_ready(warp, record->op, ready_entry(done, true));
    warp->pending--;
    uint64_t bit = UINT64_C(1) << record->warp;
    if (sm->states[WARP_DRAIN] & bit) {
        if (warp->pending == 0)
            warp_end(sm, record->warp);
    } else if ((sm->states[WARP_LOAD] | sm->states[WARP_FENCE]) & bit) {
        warp_evaluate(sm, record->warp);
    }
}

/* Which cache a load goes through, and whether it is looked up there at all. */
static enum client client_of(const struct sm *sm, uint32_t space, uint32_t flags, bool *bypass)
{
    const struct corun_gpu_config *c = sm->config;
    *bypass = false;
    if (space == CORUN_SPACE_CONSTANT)
        return CLIENT_CONSTANT;
    if (space == CORUN_SPACE_TEXTURE && c->texture_bytes)
        return CLIENT_TEXTURE;
    bool cached = space == CORUN_SPACE_LOCAL ? c->local_cached : c->l1_caches_global;
    *bypass = !cached || flags & CORUN_BYPASS_L1 || c->l1_bytes == 0;
    return CLIENT_L1;
}

static uint32_t lanes_in(const struct corun_issue *issue, uint32_t space)
{
    uint32_t lanes = 0;
    for (uint32_t rest = issue->active; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        if (issue->lane_space[lane] == space)
            lanes |= 1u << lane;
    }
    return lanes;
}

/* Most lanes of a transaction that go to one address. An atomic is at least a 4-byte word, in a line of up to 256 bytes. */
static uint32_t most_at_one_address(const struct corun_issue *issue, const struct transaction *transaction)
{
    uint8_t lanes_at[64] = {0};
    uint32_t most = 1;
    for (uint32_t rest = transaction->lanes; rest; rest &= rest - 1) {
        uint32_t word = (uint32_t)(issue->address[lowest_bit(rest)] - transaction->line) / 4;
        if (++lanes_at[word] > most)
            most = lanes_at[word];
    }
    return most;
}

/* Lanes of an atomic that the assembler has put together: one operation, whose result they share. */
static bool is_gathered(const struct machine_op *op, const struct corun_issue *issue, uint32_t lanes)
{
    uint64_t address = issue->address[lowest_bit(lanes)];
    if (!op->gathered || count_bits(lanes) < op->gathered)
        return false;
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
        if (issue->address[lowest_bit(rest)] != address)
            return false;
    return true;
}

/* The constant cache gives one address to all lanes of an access that want it, and takes a cycle for each other one. */
static uint32_t distinct_addresses(const struct corun_issue *issue, uint32_t lanes, uint32_t access_lanes)
{
    uint32_t count = 0;
    if (issue->shape & CORUN_SHAPE_UNIFORM && access_lanes >= CORUN_WARP_LANES)
        return lanes != 0;
    for (uint32_t first = 0; first < CORUN_WARP_LANES; first += access_lanes) {
        uint32_t rest = access_lanes >= CORUN_WARP_LANES ? lanes : lanes & 0xffffu << first;
        for (; rest; count++) {
            uint64_t address = issue->address[lowest_bit(rest)];
            uint32_t others = 0;
            for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
                others |= (uint32_t)(issue->address[lane] != address) << lane;
            rest &= others;
        }
    }
    return count;
}

/* What bank conflicts cost a load of several lines beyond its lookups. */
static uint32_t l1_bank_cycles(const struct sm *sm, uint32_t lanes, uint32_t access_bytes, uint32_t lines)
{
    uint32_t cycles = shared_access_cycles(sm->config, &sm->issue, lanes, access_bytes);
    uint32_t lookups = (uint32_t)divide_up(lines, sm->config->l1_lines_per_cycle);
    return cycles > lookups ? cycles - lookups : 0;
}

/* An atomic that is a loop: banks for all its turns, and the latency of each beside its two accesses. Returns its turns. */
static uint32_t add_loop(struct sm *sm, struct memory_entry *entry, uint32_t lanes, uint32_t access_bytes)
{
    const struct corun_gpu_config *c = sm->config;
    uint32_t cycles, turns = shared_loop_turns(c, sm->issue.address, lanes, access_bytes, &cycles);
    uint32_t accesses = 2 * turns, beside = accesses + c->collect_cycles, all = turns * c->shared_loop_cycles;
    entry->counters->shared_accesses += accesses;
    entry->counters->shared_conflict_cycles += cycles - accesses;
    entry->bank_cycles = (uint16_t)cycles;
    all = all > beside ? all + 1 - beside : 1;
    entry->bank_latency = (uint16_t)(all < UINT16_MAX ? all : UINT16_MAX);
    return turns;
}

static void add_shared_lanes(struct sm *sm, struct memory_entry *entry, const struct machine_op *op, uint32_t lanes)
{
    const struct corun_gpu_config *c = sm->config;
    bool atomic = op->flags & CORUN_ATOMIC;
    uint32_t cycles = 0;
    for (uint32_t first = 0; first < CORUN_WARP_LANES; first += c->access_lanes) {
        uint32_t part = c->access_lanes >= 32 ? lanes : lanes & 0xffffu << first;
        if (part)
            cycles += atomic ? shared_atomic_cycles(c, sm->issue.address, part, op->access_bytes)
                             : shared_access_cycles(c, &sm->issue, part, op->access_bytes);
    }
    entry->counters->shared_accesses++;
    entry->counters->shared_conflict_cycles += cycles - 1;
    entry->bank_cycles = (uint16_t)cycles;
    entry->bank_latency = (uint16_t)(c->shared_latency + (atomic ? c->shared_atomic_latency : 0));
}

/* Fills the entry with what the lanes of one space ask for. Returns the turns of the loop that an atomic is, or 0. */
static uint32_t add_lanes(struct sm *sm, struct memory_entry *entry, const struct machine_op *op, uint32_t space,
                          uint32_t lanes)
{
    const struct corun_gpu_config *c = sm->config;
    struct corun_counters *counters = entry->counters;
    bool store = op->flags & CORUN_STORE, atomic = op->flags & CORUN_ATOMIC;
    if (!lanes)
        return 0;
    bool gathered = atomic && is_gathered(op, &sm->issue, lanes);
    if (space == CORUN_SPACE_SHARED) {
        lanes = gathered ? lanes & -lanes : lanes;
        if (op->loop)
            return add_loop(sm, entry, lanes, op->access_bytes);
        add_shared_lanes(sm, entry, op, lanes);
        return 0;
    }
    bool bypass;
    enum client client = client_of(sm, space, op->flags, &bypass);
    uint32_t constant_cycles = client == CLIENT_CONSTANT ? distinct_addresses(&sm->issue, lanes, c->access_lanes) : 0;
    bool first = sm->caches.constant_first.tags; /* perfect: its lines do not matter */
    if (client == CLIENT_CONSTANT && (!sm->caches.by_client[client].tags || (first && op->flags & CORUN_PARAMETER))) {
        counters->constant_accesses += constant_cycles;
        entry->bank_cycles = (uint16_t)constant_cycles;
        entry->bank_latency = (uint16_t)(first ? c->constant_first_latency : c->constant_latency);
        return 0;
    }
    uint32_t line_bytes = c->l2_line_bytes;
    if (!store && !atomic && !bypass)
        line_bytes = sm->caches.by_client[client].line_bytes;
    if (client == CLIENT_CONSTANT && first)
        line_bytes = sm->caches.constant_first.line_bytes;
    uint32_t count = coalesce(&sm->issue, lanes, op->access_bytes, line_bytes, c->access_lanes, store || atomic,
                              entry->transactions + entry->count);
    if (client != CLIENT_CONSTANT)
        counters->global_transactions += count;
    if (client == CLIENT_CONSTANT)
        entry->bank_cycles = (uint16_t)(constant_cycles - count); /* beyond a lookup for each line */
    else if (c->l1_lines_per_cycle > 1 && count > 1 && !store && !atomic && !bypass)
        entry->bank_cycles = (uint16_t)(entry->bank_cycles + l1_bank_cycles(sm, lanes, op->access_bytes, count));
    if (client != CLIENT_CONSTANT && is_uncoalesced(count, lanes, op->access_bytes, line_bytes, c->access_lanes))
        entry->uncoalesced = true;
    if (atomic)
        for (uint32_t i = 0; i < count; i++)
            entry->transactions[entry->count + i].repeats =
                gathered ? 1 : most_at_one_address(&sm->issue, &entry->transactions[entry->count + i]);
    entry->count = (uint16_t)(entry->count + count);
    entry->client = (uint8_t)client;
    entry->bypass = bypass;
    return 0;
}

/* Sectors that lanes touch in the shared memory of one SM. */
static uint32_t sectors_there(const struct corun_issue *issue, uint32_t lanes, uint32_t access_bytes)
{
    uint32_t sectors[2 * CORUN_WARP_LANES], count = 0;
    for (; lanes; lanes &= lanes - 1) {
        uint64_t address = issue->address[lowest_bit(lanes)];
        for (uint64_t at = address / CLUSTER_SECTOR_BYTES; at <= (address + access_bytes - 1) / CLUSTER_SECTOR_BYTES;
             at++) {
            uint32_t known = 0;
            while (known < count && sectors[known] != at)
                known++;
            if (known == count && count < sizeof sectors / sizeof *sectors)
                sectors[count++] = (uint32_t)at;
        }
    }
    return count;
}

/* A transaction for each SM whose shared memory is accessed: its place is the SM, with a mark that no address of memory has. */
static void add_remote_lanes(struct sm *sm, struct memory_entry *entry, const struct machine_op *op, uint32_t lanes)
{
    while (lanes) {
        struct transaction *transaction = &entry->transactions[entry->count++];
        uint32_t target = sm->issue.lane_sm[lowest_bit(lanes)], there = 0;
        for (uint32_t rest = lanes; rest; rest &= rest - 1)
            there |= sm->issue.lane_sm[lowest_bit(rest)] == target ? rest & -rest : 0;
        *transaction = (struct transaction){.line = REMOTE_LINE | target, .lanes = there};
        transaction->touched = sectors_there(&sm->issue, there, op->access_bytes);
        transaction->repeats = (op->flags & CORUN_ATOMIC ? shared_atomic_cycles : shared_memory_cycles)(
            sm->config, sm->issue.address, there, op->access_bytes);
        entry->counters->shared_accesses++;
        entry->counters->shared_conflict_cycles += transaction->repeats - 1;
        lanes &= ~there;
    }
}

uint32_t load_store_accept(struct sm *sm, uint32_t slot, const struct machine_op *op, uint64_t start)
{
    struct load_store *unit = &sm->load_store;
    struct sm_warp *warp = &sm->warps[slot];
    struct memory_entry *entry = &unit->entries[(unit->head + unit->count++) & unit->mask];
    const struct corun_grid *grid = sm->tbs[warp->tb].launch->grid;
    uint32_t turns = 0;
    entry->ready = start;
    entry->generation = warp->generation;
    entry->ticket = sm->issue.ticket;
    entry->warp = (uint16_t)slot;
    entry->kernel = warp->kernel->slot;
    entry->bank_cycles = entry->bank_latency = 0;
    entry->application = warp->application;
    entry->flags = (uint8_t)op->flags;
    entry->next = entry->count = entry->missed = 0;
    entry->uncoalesced = entry->bypass = false;
    entry->client = entry->lanes = 0;
    entry->counters = warp->counters;
    entry->grid = grid;
    if (sm->issue.space != CORUN_SPACE_GENERIC) {
        turns = add_lanes(sm, entry, op, sm->issue.space, sm->issue.active);
    } else {
        static const uint8_t spaces[] = {CORUN_SPACE_SHARED, CORUN_SPACE_GLOBAL, CORUN_SPACE_LOCAL,
                                         CORUN_SPACE_CONSTANT};
        for (uint32_t i = 0; i < sizeof spaces; i++)
            turns += add_lanes(sm, entry, op, spaces[i], lanes_in(&sm->issue, spaces[i]));
    }
    uint32_t remote = sm->issue.space == CORUN_SPACE_GENERIC ? lanes_in(&sm->issue, CORUN_SPACE_CLUSTER) : 0;
    if (!(op->flags & (CORUN_LOAD | CORUN_ATOMIC)))
        warp->writes += entry->count;
    if (remote)
        add_remote_lanes(sm, entry, op, remote);
    if (remote || op->flags & (CORUN_LOAD | CORUN_ATOMIC)) {
        entry->record = open_record(sm, slot, op, grid);
    } else {
        entry->record = NOTHING;
        entry->lanes = (uint8_t)count_bits(sm->issue.active);
    }
    if (op->flags & CORUN_STORE)
        sm->progress_cycle[warp->application] = sm->now;
    return turns;
}

static void note_hit(struct sm *sm, uint32_t index, uint64_t done)
{
    struct load_record *record = &sm->load_store.records[index];
    if (done > record->done)
        record->done = done;
}

static enum lookup serve_constant(struct sm *sm, struct memory_entry *entry, const struct transaction *transaction)
{
    uint64_t done;
    enum lookup result = constant_read(sm, transaction, entry->record, entry->kernel, entry->application, &done);
    if (result == LOOKUP_FULL)
        return result;
    entry->counters->constant_accesses++;
    entry->counters->constant_misses += result == LOOKUP_MISS;
    if (result == LOOKUP_HIT)
        note_hit(sm, entry->record, done);
    return result;
}

static enum lookup serve_load(struct sm *sm, struct memory_entry *entry, const struct transaction *transaction)
{
    if (entry->client == CLIENT_CONSTANT)
        return serve_constant(sm, entry, transaction);
    enum lookup result =
        cache_read(sm, entry->client, transaction, entry->bypass, entry->record, 0, entry->kernel, entry->application);
    if (result == LOOKUP_FULL)
        return result;
    struct corun_counters *counters = entry->counters;
    counters->global_sectors += count_bits(sectors_touched(transaction, sm->config->l2_sector_bytes));
    if (entry->client == CLIENT_TEXTURE) {
        counters->texture_accesses++;
        counters->texture_misses += result == LOOKUP_MISS;
    } else if (!entry->bypass) {
        counters->l1_accesses++;
        counters->l1_hits += result == LOOKUP_HIT;
        counters->l1_misses += result == LOOKUP_MISS;
    }
    if (result == LOOKUP_HIT)
        note_hit(sm, entry->record, sm->now + sm->caches.by_client[entry->client].latency);
    return result;
}

static enum lookup serve_write(struct sm *sm, struct memory_entry *entry, const struct transaction *transaction)
{
    const struct corun_gpu_config *c = sm->config;
    bool atomic = entry->flags & CORUN_ATOMIC;
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < 4; i++)
        bytes += count_bits(transaction->bytes[i]);
    struct packet packet = {
        .cycle = sm->now,
        .address = transaction->line,
        .token = atomic ? entry->record : entry->generation << TOKEN_SLOT_BITS | entry->warp,
        .kernel = entry->kernel,
        .sm = (uint16_t)sm->index,
        .bytes = (uint16_t)bytes,
        .kind = atomic ? PACKET_ATOMIC : PACKET_WRITE,
        .sectors = (uint8_t)sectors_touched(transaction, c->l2_sector_bytes),
        .full_sectors = (uint8_t)sectors_full(transaction, c->l2_line_bytes, c->l2_sector_bytes),
        .application = entry->application,
        .client = atomic ? CLIENT_ATOMIC : CLIENT_STORE,
        .repeats = atomic ? (uint8_t)transaction->repeats : 0,
    };
    if (atomic) {
        packet.lanes = transaction->lanes;
        packet.ticket = entry->ticket;
    } else if (packet.sectors != packet.full_sectors) {
        packet.words = words_full(transaction);
    }
    if (!port_send(&sm->port, &packet))
        return LOOKUP_FULL;
    entry->counters->global_sectors += count_bits(packet.sectors);
    if (atomic)
        sm->load_store.records[entry->record].outstanding++;
    else if (c->l1_write_allocate && !entry->bypass)
        cache_write(sm, transaction);
    return LOOKUP_MISS;
}

static enum lookup serve_remote(struct sm *sm, const struct memory_entry *entry, const struct transaction *transaction)
{
    bool brings = entry->flags & (CORUN_STORE | CORUN_ATOMIC), fetches = entry->flags & (CORUN_LOAD | CORUN_ATOMIC);
    struct packet packet = {
        .cycle = sm->now,
        .cluster = {.target = (uint16_t)(transaction->line & ~REMOTE_LINE),
                    .bank_cycles = (uint8_t)(transaction->repeats < UINT8_MAX ? transaction->repeats : UINT8_MAX),
                    .request_sectors = brings ? (uint8_t)transaction->touched : 0,
                    .reply_sectors = fetches ? (uint8_t)transaction->touched : 0},
        .lanes = transaction->lanes,
        .ticket = entry->ticket,
        .token = entry->record,
        .kernel = entry->kernel,
        .sm = (uint16_t)sm->index,
        .kind = PACKET_CLUSTER,
        .application = entry->application,
        .client = CLIENT_CLUSTER,
    };
    if (!port_send(&sm->port, &packet))
        return LOOKUP_FULL;
    sm->load_store.records[entry->record].outstanding++;
    return LOOKUP_MISS;
}

/* A load that was not answered within the SM: its warp waits for memory. */
static void count_miss(const struct memory_entry *entry)
{
    struct corun_counters *counters = entry->counters;
    counters->missing_loads++;
    counters->missing_load_lines += entry->missed;
    counters->uncoalesced_loads += entry->uncoalesced;
    counters->uncoalesced_load_lines += entry->uncoalesced ? entry->missed : 0;
}

static void pop(struct sm *sm)
{
    struct load_store *unit = &sm->load_store;
    const struct memory_entry *entry = &unit->entries[unit->head];
    uint32_t record = entry->record;
    if (sm->quota.at_completion && record == NOTHING) /* a store has been accepted */
        quota_complete(sm, entry->application, entry->lanes, sm->now);
    unit->head = (unit->head + 1) & unit->mask;
    unit->count--;
    if (record != NOTHING) {
        if (entry->missed && entry->client != CLIENT_CONSTANT && !sm->load_store.records[record].reduction)
            count_miss(entry);
        sm->load_store.records[record].open = false;
        settle(sm, record);
    }
}

void load_store_tick(struct sm *sm)
{
    struct load_store *unit = &sm->load_store;
    struct memory_entry *entry = &unit->entries[unit->head];
    if (unit->stalled || entry->ready > sm->now || unit->busy_until > sm->now)
        return;
    if (entry->bank_cycles) {
        unit->busy_until = sm->now + entry->bank_cycles;
        if (entry->record != NOTHING)
            sm->load_store.records[entry->record].done = unit->busy_until - 1 + entry->bank_latency;
        entry->bank_cycles = 0;
    } else if (entry->next < entry->count) {
        enum lookup result;
        uint32_t lines = sm->config->l1_lines_per_cycle; /* as long as they hit */
        do {
            const struct transaction *transaction = &entry->transactions[entry->next];
            result = transaction->line & REMOTE_LINE               ? serve_remote(sm, entry, transaction)
                     : entry->flags & (CORUN_STORE | CORUN_ATOMIC) ? serve_write(sm, entry, transaction)
                                                                   : serve_load(sm, entry, transaction);
            if (result == LOOKUP_FULL) {
                unit->stalled = true;
                unit->stalled_since = sm->now;
                return;
            }
            entry->next++;
            entry->missed = (uint16_t)(entry->missed + (result == LOOKUP_MISS));
        } while (result == LOOKUP_HIT && --lines && entry->next < entry->count);
    }
    if (entry->next == entry->count)
        pop(sm);
}

uint64_t load_store_next(const struct sm *sm)
{
    const struct load_store *unit = &sm->load_store;
    if (unit->count == 0 || unit->stalled)
        return NEVER;
    uint64_t ready = unit->entries[unit->head].ready;
    return ready > unit->busy_until ? ready : unit->busy_until;
}

void load_store_retry(struct sm *sm)
{
    struct load_store *unit = &sm->load_store;
    if (!unit->stalled)
        return;
    unit->stalled = false;
    unit->entries[unit->head].counters->l1_reservation_failures += sm->now - unit->stalled_since;
}

void load_store_stored(struct sm *sm, uint32_t token)
{
    uint32_t slot = token & ((1u << TOKEN_SLOT_BITS) - 1);
    if (sm->warps[slot].generation << TOKEN_SLOT_BITS == (token & ~((1u << TOKEN_SLOT_BITS) - 1)))
        after_write(sm, slot);
}

void load_store_answered(struct sm *sm, uint32_t index, uint32_t latency)
{
    struct load_record *record = &sm->load_store.records[index];
    record->outstanding--;
    if (record->done < sm->now + latency)
        record->done = sm->now + latency;
    settle(sm, index);
}

void load_store_remove_application(struct sm *sm, uint32_t application)
{
    struct load_store *unit = &sm->load_store;
    for (uint32_t i = 0; i < unit->count; i++) {
        struct memory_entry *entry = &unit->entries[(unit->head + i) & unit->mask];
        if (entry->application == application) {
            entry->count = entry->next;
            entry->bank_cycles = 0;
        }
    }
    unit->stalled = false;
}

void load_store_forget_application(struct sm *sm, uint32_t application)
{
    struct load_store *unit = &sm->load_store;
    for (uint32_t i = 0; i < unit->count; i++) {
        struct memory_entry *entry = &unit->entries[(unit->head + i) & unit->mask];
        if (entry->application == application)
            entry->lanes = 0;
    }
    for (uint32_t i = 0; i < unit->record_count; i++)
        if (sm->load_store.records[i].application == application) {
            sm->load_store.records[i].atomic = false;
            sm->load_store.records[i].grid = NULL;
        }
}
