/* SPDX-License-Identifier: MIT */
/* One SM to a checkpoint and back: its warps, thread blocks, load/store unit, caches, port, quotas, orders, counters. */
#include "gpu/archive.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ORDERS ((size_t)1 << 20)
#define MOST_COPIES ((size_t)1 << 20)
#define MOST_LATE ((size_t)1 << 28)

/* ---- counters ---- */

static void archive_counters(struct corun_archive *archive, struct sm *sm)
{
    uint32_t capacity = sm->counters_capacity;
    ARCHIVE(archive, capacity);
    if (capacity > KERNEL_SLOTS + 8) {
        archive_fail(archive, CORUN_SYNTAX, "%u kernels on an SM", capacity);
        return;
    }
    for (uint32_t slot = 0; slot < capacity && archive_fine(archive); slot++) {
        bool there = !archive->reads && sm->counters[slot];
        ARCHIVE(archive, there);
        if (archive->reads && there && !sm_counters(sm, slot))
            archive_fail(archive, CORUN_MEMORY, "out of memory");
        if (there && archive_fine(archive))
            archive_bytes(archive, sm->counters[slot], sizeof *sm->counters[slot]);
    }
    /* the arrays are as long as they were, so that what grows grows at the same time */
    if (archive->reads && archive_fine(archive) && sm->counters_capacity < capacity) {
        struct kernel_writes *writes = realloc(sm->port.writes, capacity * sizeof *writes);
        struct corun_counters **counters = writes ? realloc(sm->counters, capacity * sizeof *counters) : NULL;
        sm->port.writes = writes ? writes : sm->port.writes;
        if (!counters) {
            archive_fail(archive, CORUN_MEMORY, "out of memory");
            return;
        }
        memset(counters + sm->counters_capacity, 0, (capacity - sm->counters_capacity) * sizeof *counters);
        sm->counters = counters;
        sm->counters_capacity = capacity;
    }
    if (archive_fine(archive) && capacity)
        archive_bytes(archive, sm->port.writes, capacity * sizeof *sm->port.writes);
}

/* Which kernel's on the SM; NULL: none. */
static void archive_counters_of(struct corun_archive *archive, const struct sm *sm, struct corun_counters **counters)
{
    uint32_t number = 0;
    for (uint32_t slot = 0; !archive->reads && *counters && slot < sm->counters_capacity && !number; slot++)
        number = sm->counters[slot] == *counters ? slot + 1 : 0;
    ARCHIVE(archive, number);
    if (!archive->reads)
        return;
    *counters = number && number <= sm->counters_capacity ? sm->counters[number - 1] : NULL;
    if (number && !*counters)
        archive_fail(archive, CORUN_SYNTAX, "there are no counters %u", number);
}

/* A counter of a kernel, or of all applications together: where it lies in that structure. */
static void archive_counter(struct corun_archive *archive, struct sm *sm, uint64_t **counter)
{
    struct {
        uint32_t owner, index; /* owner 0: together */
    } place = {0, 0};
    const uintptr_t bytes = sizeof(struct corun_counters);
    for (uint32_t slot = 0; !archive->reads && slot < sm->counters_capacity; slot++)
        if (sm->counters[slot] && (uintptr_t)*counter - (uintptr_t)sm->counters[slot] < bytes)
            place.owner = slot + 1;
    if (!archive->reads) {
        const void *base = place.owner ? (const void *)sm->counters[place.owner - 1] : (const void *)&sm->together;
        place.index = (uint32_t)(((uintptr_t)*counter - (uintptr_t)base) / sizeof **counter);
    }
    ARCHIVE(archive, place);
    bool good = place.owner <= sm->counters_capacity && place.index < bytes / sizeof **counter &&
                (!place.owner || sm->counters[place.owner - 1]);
    if (!good)
        archive_fail(archive, CORUN_SYNTAX, "a counter that does not exist");
    if (archive->reads && archive_fine(archive))
        *counter = (uint64_t *)(void *)(place.owner ? sm->counters[place.owner - 1] : &sm->together) + place.index;
}

static void archive_causes(struct corun_archive *archive, struct sm *sm)
{
    for (uint32_t s = 0; s < MAX_SCHEDULERS; s++) {
        struct stall_causes *causes = &sm->causes[s];
        ARCHIVE(archive, causes->since);
        ARCHIVE(archive, causes->count);
        if (causes->count > CORUN_MAX_APPLICATIONS + 1)
            archive_fail(archive, CORUN_SYNTAX, "%u causes", causes->count);
        for (uint32_t i = 0; i < causes->count && archive_fine(archive); i++)
            archive_counter(archive, sm, &causes->counters[i]);
    }
}

/* ---- thread blocks and warps ---- */

static void archive_order(struct corun_archive *archive, const struct corun_gpu *gpu, struct leave_order *order)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct leave_order, launch),
                                                ARCHIVE_HOLE(struct leave_order, saved)};
    ARCHIVE_RECORD(archive, order, holes);
    archive_launch(archive, gpu, &order->launch);
    archive_saved(archive, gpu, &order->saved);
}

static void archive_tb(struct corun_archive *archive, const struct corun_gpu *gpu, struct sm_tb *tb)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct sm_tb, source), ARCHIVE_HOLE(struct sm_tb, launch),
                                                ARCHIVE_HOLE(struct sm_tb, order), ARCHIVE_HOLE(struct sm_tb, saved)};
    bool there = !archive->reads && tb->source;
    ARCHIVE(archive, there);
    ARCHIVE_RECORD(archive, tb, holes);
    if (!there)
        return;
    archive_launch(archive, gpu, &tb->launch);
    if (archive_fine(archive) && !tb->launch)
        archive_fail(archive, CORUN_SYNTAX, "a thread block of no launch");
    if (!archive_fine(archive))
        return;
    archive_source(archive, tb->launch, &tb->source);
    archive_saved(archive, gpu, &tb->saved);
    if (tb->ordered)
        archive_order(archive, gpu, &tb->order);
}

/* An instruction of a kernel that has a warp or a load here. */
static void archive_op(struct corun_archive *archive, const struct corun_gpu *gpu, const struct machine_op **op)
{
    struct {
        uint32_t kernel, index; /* kernel 0: none */
    } place = {0, 0};
    for (uint32_t slot = 0; !archive->reads && *op && slot < gpu->kernels.used.count && !place.kernel; slot++) {
        const struct machine_kernel *kernel = gpu->kernels.used.data[slot];
        if (!kernel || *op < kernel->ops || *op > kernel->ops + kernel->code_length)
            continue;
        place.kernel = slot + 1;
        place.index = (uint32_t)(*op - kernel->ops);
    }
    ARCHIVE(archive, place);
    if (!archive->reads)
        return;
    const struct machine_kernel *kernel =
        place.kernel && place.kernel <= gpu->kernels.used.count ? gpu->kernels.used.data[place.kernel - 1] : NULL;
    *op = kernel && place.index <= kernel->code_length ? &kernel->ops[place.index] : NULL;
    if (place.kernel && !*op)
        archive_fail(archive, CORUN_SYNTAX, "an instruction that does not exist");
}

static uint64_t live_warps(const struct sm *sm)
{
    uint64_t live = 0;
    for (uint32_t state = 0; state < WARP_STATES; state++)
        live |= sm->states[state];
    return live;
}

static void archive_ready(struct corun_archive *archive, struct sm_warp *warp)
{
    uint32_t entries = warp->kernel->hazard_entries;
    if (archive->reads && warp->ready_capacity < entries) {
        uint64_t *ready = realloc(warp->ready, entries * sizeof *ready);
        if (!ready) {
            archive_fail(archive, CORUN_MEMORY, "out of memory");
            return;
        }
        warp->ready = ready;
        warp->ready_capacity = entries;
    }
    archive_bytes(archive, warp->ready, entries * sizeof *warp->ready);
}

/* `live`: it is in a state. What else stands in a free slot are numbers. */
static void archive_sm_warp(struct corun_archive *archive, const struct corun_gpu *gpu, struct sm *sm, uint32_t slot,
                            bool live)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct sm_warp, source),    ARCHIVE_HOLE(struct sm_warp, op),
        ARCHIVE_HOLE(struct sm_warp, counters),  ARCHIVE_HOLE(struct sm_warp, ready),
        ARCHIVE_HOLE(struct sm_warp, kernel),    ARCHIVE_HOLE(struct sm_warp, ready_capacity),
        ARCHIVE_HOLE(struct sm_warp, operations)};
    struct sm_warp *warp = &sm->warps[slot];
    ARCHIVE_RECORD(archive, warp, holes);
    if (!live || !archive_fine(archive))
        return;
    const struct sm_tb *tb = &sm->tbs[warp->tb % MAX_TBS];
    archive_kernel(archive, gpu, &warp->kernel);
    if (archive_fine(archive) && (warp->tb >= MAX_TBS || !tb->source || !warp->kernel))
        archive_fail(archive, CORUN_SYNTAX, "a warp of no thread block");
    if (!archive_fine(archive))
        return;
    archive_warp(archive, tb->launch, &warp->source);
    warp->operations = tb->launch->grid->operations;
    archive_op(archive, gpu, &warp->op);
    archive_counters_of(archive, sm, &warp->counters);
    archive_ready(archive, warp);
    if (archive->reads && archive_fine(archive))
        tb->launch->grid->operations->warp_place(warp->source, slot, gpu->config.sms, &sm->now);
}

static void archive_residents(struct corun_archive *archive, struct corun_gpu *gpu, struct sm *sm)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct incoming_tb, launch),
                                                ARCHIVE_HOLE(struct incoming_tb, saved)};
    for (uint32_t i = 0; i < MAX_TBS && archive_fine(archive); i++)
        archive_tb(archive, gpu, &sm->tbs[i]);
    uint64_t live = live_warps(sm);
    for (uint32_t i = 0; i < MAX_WARPS && archive_fine(archive); i++)
        archive_sm_warp(archive, gpu, sm, i, live >> i & 1u);
    size_t count = sm->incoming.count - sm->incoming_taken;
    archive_count(archive, &count, MOST_ORDERS);
    if (archive->reads)
        sm->incoming_taken = sm->incoming.count = 0;
    for (size_t i = 0; i < count && archive_fine(archive); i++) {
        struct incoming_tb none = {0}, *incoming = archive->reads ? &none : &sm->incoming.data[sm->incoming_taken + i];
        ARCHIVE_RECORD(archive, incoming, holes);
        archive_launch(archive, gpu, &incoming->launch);
        archive_saved(archive, gpu, &incoming->saved);
        if (archive->reads && !vector_push(&sm->incoming, none))
            archive_fail(archive, CORUN_MEMORY, "out of memory");
    }
}

/* ---- memory instructions ---- */

/* What the coalescer has not written for a load is of whoever had the place before. */
static void archive_transaction(struct corun_archive *archive, struct transaction *transaction, uint32_t flags)
{
    ARCHIVE(archive, transaction->line);
    ARCHIVE(archive, transaction->lanes);
    ARCHIVE(archive, transaction->touched);
    if (flags & CORUN_ATOMIC)
        ARCHIVE(archive, transaction->repeats);
    if (flags & (CORUN_STORE | CORUN_ATOMIC))
        ARCHIVE(archive, transaction->bytes);
}

static void archive_entry(struct corun_archive *archive, const struct corun_gpu *gpu, const struct sm *sm,
                          struct memory_entry *entry)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct memory_entry, counters),
                                                ARCHIVE_HOLE(struct memory_entry, grid),
                                                ARCHIVE_HOLE(struct memory_entry, transactions)};
    ARCHIVE_RECORD(archive, entry, holes);
    archive_counters_of(archive, sm, &entry->counters);
    archive_grid(archive, gpu, entry->application, &entry->grid);
    if (entry->count > CORUN_WARP_LANES)
        archive_fail(archive, CORUN_SYNTAX, "%u transactions of a warp", entry->count);
    for (uint32_t i = 0; i < entry->count && archive_fine(archive); i++)
        archive_transaction(archive, &entry->transactions[i], entry->flags);
}

static void archive_records(struct corun_archive *archive, const struct corun_gpu *gpu, struct load_store *unit)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct load_record, op),
                                                ARCHIVE_HOLE(struct load_record, grid)};
    archive_bytes(archive, unit->free_records, unit->free_record_count * sizeof *unit->free_records);
    bool *free_ones = calloc(unit->record_count, sizeof *free_ones);
    if (!free_ones) {
        archive_fail(archive, CORUN_MEMORY, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < unit->free_record_count && archive_fine(archive); i++) {
        if (unit->free_records[i] < unit->record_count)
            free_ones[unit->free_records[i]] = true;
        else
            archive_fail(archive, CORUN_SYNTAX, "load %u", unit->free_records[i]);
    }
    for (uint32_t i = 0; i < unit->record_count && archive_fine(archive); i++) {
        struct load_record *record = &unit->records[i];
        if (free_ones[i])
            continue;
        ARCHIVE_RECORD(archive, record, holes);
        archive_op(archive, gpu, &record->op);
        archive_grid(archive, gpu, record->application, &record->grid);
    }
    free(free_ones);
}

static void archive_load_store(struct corun_archive *archive, const struct corun_gpu *gpu, struct sm *sm)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct load_store, entries),
                                                ARCHIVE_HOLE(struct load_store, records),
                                                ARCHIVE_HOLE(struct load_store, free_records)};
    struct load_store *unit = &sm->load_store;
    archive_same(archive, unit->record_count, "loads of an SM");
    archive_same(archive, unit->mask, "entries of a load/store unit");
    ARCHIVE_RECORD(archive, unit, holes);
    if (unit->count > unit->mask + 1 || unit->free_record_count > unit->record_count)
        archive_fail(archive, CORUN_SYNTAX, "%u memory instructions of an SM", unit->count);
    for (uint32_t i = 0; i < unit->count && archive_fine(archive); i++)
        archive_entry(archive, gpu, sm, &unit->entries[(unit->head + i) & unit->mask]);
    if (archive_fine(archive))
        archive_records(archive, gpu, unit);
}

/* ---- copies ---- */

static void archive_copies(struct corun_archive *archive, const struct corun_gpu *gpu, struct sm *sm)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct copy_engine, copies), ARCHIVE_HOLE(struct copy_engine, parts),
        ARCHIVE_HOLE(struct copy_engine, copy_count), ARCHIVE_HOLE(struct copy_engine, part_count)};
    static const struct archive_hole pointers[] = {ARCHIVE_HOLE(struct copy_under_way, grid),
                                                   ARCHIVE_HOLE(struct copy_under_way, counters)};
    struct copy_engine *engine = &sm->copy_engine;
    size_t copies = engine->copy_count, parts = engine->part_count;
    ARCHIVE_RECORD(archive, engine, holes);
    archive_count(archive, &copies, MOST_COPIES);
    archive_count(archive, &parts, MOST_COPIES);
    if (archive->reads && archive_fine(archive) && !copy_engine_grow(engine, (uint32_t)copies, (uint32_t)parts))
        archive_fail(archive, CORUN_MEMORY, "out of memory");
    for (size_t i = 0; i < copies && archive_fine(archive); i++) {
        struct copy_under_way *copy = &engine->copies[i];
        ARCHIVE_RECORD(archive, copy, pointers);
        archive_counters_of(archive, sm, &copy->counters);
        archive_grid(archive, gpu, copy->application, &copy->grid);
        if (copy->next > copies || copy->warp >= MAX_WARPS)
            archive_fail(archive, CORUN_SYNTAX, "a copy that does not exist");
    }
    if (archive_fine(archive) && parts)
        archive_bytes(archive, engine->parts, parts * sizeof *engine->parts);
    for (size_t i = 0; i < parts && archive_fine(archive); i++)
        if (engine->parts[i].next > parts || engine->parts[i].copy >= copies)
            archive_fail(archive, CORUN_SYNTAX, "a part of a copy that does not exist");
    if (engine->first > copies || engine->last > copies || engine->free_copy > copies || engine->free_part > parts)
        archive_fail(archive, CORUN_SYNTAX, "a copy that does not exist");
}

/* ---- quotas, orders ---- */

static void archive_completions(struct corun_archive *archive, struct completions *completions)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct completions, slots),
                                                ARCHIVE_HOLE(struct completions, late)};
    archive_same(archive, completions->application_count, "applications with quotas");
    ARCHIVE_RECORD(archive, completions, holes);
    archive_bytes(archive, completions->slots, completions->application_count * sizeof *completions->slots);
    if (ARCHIVE_VECTOR(archive, &completions->late, MOST_LATE))
        archive_bytes(archive, completions->late.data, completions->late.count * sizeof *completions->late.data);
}

static void archive_quotas(struct corun_archive *archive, const struct corun_gpu *gpu, struct sm *sm)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct quotas, orders),
                                                ARCHIVE_HOLE(struct quotas, orders_taken),
                                                ARCHIVE_HOLE(struct quotas, completions)};
    struct quotas *quota = &sm->quota;
    ARCHIVE_RECORD(archive, quota, holes);
    size_t count = quota->orders.count - quota->orders_taken;
    archive_count(archive, &count, MOST_ORDERS);
    if (archive->reads)
        quota->orders_taken = quota->orders.count = 0;
    for (size_t i = 0; i < count && archive_fine(archive); i++) {
        struct quota_order order = {0};
        if (!archive->reads)
            order = quota->orders.data[quota->orders_taken + i];
        ARCHIVE_PLAIN(archive, &order);
        if (archive->reads && !vector_push(&quota->orders, order))
            archive_fail(archive, CORUN_MEMORY, "out of memory");
    }
    bool there = quota->completions != NULL;
    ARCHIVE(archive, there);
    if (archive->reads && there && !quota->completions && archive_fine(archive) &&
        !(quota->completions = completions_create(gpu->application_count)))
        archive_fail(archive, CORUN_MEMORY, "out of memory");
    if (quota->completions && archive_fine(archive))
        archive_completions(archive, quota->completions);
}

static void archive_preemption(struct corun_archive *archive, const struct corun_gpu *gpu,
                               struct preemption_engine *engine)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct preemption_engine, orders),
                                                ARCHIVE_HOLE(struct preemption_engine, orders_taken)};
    ARCHIVE_RECORD(archive, engine, holes);
    size_t count = engine->orders.count - engine->orders_taken;
    archive_count(archive, &count, MOST_ORDERS);
    if (archive->reads)
        engine->orders_taken = engine->orders.count = 0;
    for (size_t i = 0; i < count && archive_fine(archive); i++) {
        struct leave_order none = {0}, *order = archive->reads ? &none : &engine->orders.data[engine->orders_taken + i];
        archive_order(archive, gpu, order);
        if (archive->reads && !vector_push(&engine->orders, none))
            archive_fail(archive, CORUN_MEMORY, "out of memory");
    }
}

/* ---- the SM ---- */

static void archive_plain(struct corun_archive *archive, struct sm *sm)
{
    /* quick_op is nothing between two steps */
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct sm, schedulers[0].quick_op),
                                                ARCHIVE_HOLE(struct sm, schedulers[1].quick_op),
                                                ARCHIVE_HOLE(struct sm, schedulers[2].quick_op),
                                                ARCHIVE_HOLE(struct sm, schedulers[3].quick_op),
                                                ARCHIVE_HOLE(struct sm, schedulers[4].quick_op),
                                                ARCHIVE_HOLE(struct sm, schedulers[5].quick_op),
                                                ARCHIVE_HOLE(struct sm, schedulers[6].quick_op),
                                                ARCHIVE_HOLE(struct sm, schedulers[7].quick_op),
                                                ARCHIVE_HOLE(struct sm, causes),
                                                ARCHIVE_HOLE(struct sm, warps),
                                                ARCHIVE_HOLE(struct sm, load_store),
                                                ARCHIVE_HOLE(struct sm, caches),
                                                ARCHIVE_HOLE(struct sm, port),
                                                ARCHIVE_HOLE(struct sm, quota),
                                                ARCHIVE_HOLE(struct sm, copy_engine),
                                                ARCHIVE_HOLE(struct sm, preemption),
                                                ARCHIVE_HOLE(struct sm, tbs),
                                                ARCHIVE_HOLE(struct sm, incoming),
                                                ARCHIVE_HOLE(struct sm, incoming_taken),
                                                ARCHIVE_HOLE(struct sm, news),
                                                ARCHIVE_HOLE(struct sm, cluster_releases),
                                                ARCHIVE_HOLE(struct sm, application_counters),
                                                ARCHIVE_HOLE(struct sm, counters),
                                                ARCHIVE_HOLE(struct sm, counters_capacity),
                                                ARCHIVE_HOLE(struct sm, trace),
                                                ARCHIVE_HOLE(struct sm, config)};
    ARCHIVE_LARGE_RECORD(archive, sm, holes);
    for (uint32_t a = 0; a < sm->present_count && a < CORUN_MAX_APPLICATIONS; a++)
        if (sm->present[a] >= CORUN_MAX_APPLICATIONS)
            archive_fail(archive, CORUN_SYNTAX, "application %u", sm->present[a]);
}

void archive_sm(struct corun_archive *archive, struct corun_gpu *gpu, struct sm *sm)
{
    if (!archive->reads && (sm->news.count || sm->trace.count || sm->port.out_count))
        archive_fail(archive, CORUN_UNSUPPORTED, "an SM in the midst of a step");
    archive_plain(archive, sm);
    archive_counters(archive, sm);
    for (uint32_t a = 0; a < CORUN_MAX_APPLICATIONS; a++)
        archive_counters_of(archive, sm, &sm->application_counters[a]);
    archive_causes(archive, sm);
    if (archive_fine(archive))
        archive_residents(archive, gpu, sm);
    if (archive_fine(archive))
        sm_caches_archive(archive, sm);
    ARCHIVE(archive, sm->port.under_way);
    if (archive_fine(archive))
        archive_load_store(archive, gpu, sm);
    if (archive_fine(archive))
        archive_copies(archive, gpu, sm);
    if (archive_fine(archive))
        archive_quotas(archive, gpu, sm);
    if (archive_fine(archive))
        archive_preemption(archive, gpu, &sm->preemption);
}
