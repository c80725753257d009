/* SPDX-License-Identifier: MIT */
/*
 * The executor to a checkpoint and back. A thread block is named by the SM that made it and the number that it has there; the reader makes as many.
 * Device memory is moved last, after everything that may point there.
 */
#include "isa/archive.h"

#include "base/bits.h"
#include "isa/executor.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SMS ((size_t)1 << 16)
#define MOST_TBS_MADE ((size_t)1 << 24)
#define MOST_ATOMICS ((size_t)1 << 28)

/* ---- thread blocks ---- */

static void archive_operation(struct corun_archive *archive, const struct corun_kernel *kernel,
                              const struct operation **op)
{
    uint32_t number = archive->reads || !*op ? 0 : (uint32_t)(*op - kernel->code) + 1;
    ARCHIVE(archive, number);
    if (number > kernel->code_length)
        archive_fail(archive, CORUN_SYNTAX, "operation %u of %u", number, kernel->code_length);
    else if (archive->reads)
        *op = number ? &kernel->code[number - 1] : NULL;
}

static void archive_reductions(struct corun_archive *archive, struct corun_warp *warp)
{
    const uint32_t operations = warp->tb->launch->kernel->code_length;
    if (warp->reductions > CORUN_WARP_LANES)
        archive_fail(archive, CORUN_SYNTAX, "a warp of %u parts", warp->reductions);
    for (uint32_t i = 0; i < warp->reductions && archive_fine(archive); i++) {
        ARCHIVE(archive, warp->reduction_pc[i]);
        ARCHIVE(archive, warp->reduction_lanes[i]);
        if (warp->reduction_pc[i] >= operations)
            archive_fail(archive, CORUN_SYNTAX, "operation %u of %u", warp->reduction_pc[i], operations);
    }
}

/* Registers of the callers of recursive functions. */
static void archive_stacked(struct corun_archive *archive, struct corun_warp *warp)
{
    size_t bytes = warp->saved_bytes;
    archive_count(archive, &bytes, UINT32_MAX / 2);
    if (archive->reads && bytes > warp->saved_capacity) {
        uint8_t *saved = realloc(warp->saved, bytes);
        if (!saved) {
            archive_fail(archive, CORUN_MEMORY, "out of memory");
            return;
        }
        warp->saved = saved;
        warp->saved_capacity = (uint32_t)bytes;
    }
    archive_bytes(archive, warp->saved, bytes);
}

static void archive_warp(struct corun_archive *archive, struct corun_warp *warp)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct corun_warp, lanes),        ARCHIVE_HOLE(struct corun_warp, stack.entries),
        ARCHIVE_HOLE(struct corun_warp, code),         ARCHIVE_HOLE(struct corun_warp, tb),
        ARCHIVE_HOLE(struct corun_warp, local),        ARCHIVE_HOLE(struct corun_warp, cycle),
        ARCHIVE_HOLE(struct corun_warp, saved),        ARCHIVE_HOLE(struct corun_warp, saved_capacity),
        ARCHIVE_HOLE(struct corun_warp, reduction_pc), ARCHIVE_HOLE(struct corun_warp, reduction_lanes)};
    const struct corun_kernel *kernel = warp->tb->launch->kernel;
    ARCHIVE_RECORD(archive, warp, holes);
    archive_reductions(archive, warp);
    archive_stacked(archive, warp);
    if (archive->reads)
        warp->cycle = NULL; /* the machine gives it a place */
    if (warp->stack.depth >= SIMT_ENTRIES(warp->tb->launch->call_depth) || warp->function >= kernel->function_count)
        archive_fail(archive, CORUN_SYNTAX, "a warp of kernel %s is nowhere in it", kernel->info.name);
}

static void archive_storage(struct corun_archive *archive, struct corun_tb *tb)
{
    bool used;
    if (archive->reads && !tb_storage_take(tb, tb->sm, &used)) {
        archive_fail(archive, CORUN_MEMORY, "out of memory");
        return;
    }
    archive_same(archive, tb->storage_bytes, "bytes of a thread block");
    archive_sparse(archive, tb->warps[0].lanes.registers, tb->storage_bytes);
}

static void archive_tb(struct corun_archive *archive, struct corun_tb *tb)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct corun_tb, launch),
        ARCHIVE_HOLE(struct corun_tb, sm),
        ARCHIVE_HOLE(struct corun_tb, next_free),
        ARCHIVE_HOLE(struct corun_tb, next_made),
        ARCHIVE_HOLE(struct corun_tb, shared),
        ARCHIVE_HOLE(struct corun_tb, storage),
        ARCHIVE_HOLE(struct corun_tb, storage_bytes),
        ARCHIVE_HOLE(struct corun_tb, cluster)}; /* those that are in flight are refused */
    const struct corun_module_instance *instance = tb->launch->instance;
    uint32_t sm = archive->reads ? 0 : tb->sm->index;
    bool there = tb->storage != NULL; /* it has not ended */
    ARCHIVE(archive, sm);
    ARCHIVE(archive, there);
    ARCHIVE_LARGE_RECORD(archive, tb, holes);
    if (sm >= instance->sm_count)
        archive_fail(archive, CORUN_SYNTAX, "SM %u of %u", sm, instance->sm_count);
    if (!archive_fine(archive))
        return;
    tb->sm = instance->sms[sm];
    for (uint32_t i = 0; i < tb->launch->grid.tb_warps && archive_fine(archive); i++)
        archive_warp(archive, &tb->warps[i]);
    if (there && archive_fine(archive))
        archive_storage(archive, tb);
}

static void archive_free_tbs(struct corun_archive *archive, const struct launch *launch, struct launch_sm *list)
{
    struct corun_tb **link = &list->free;
    for (struct corun_tb *tb = list->free;; tb = tb->next_free) {
        uint64_t number = archive->reads || !tb ? 0 : executor_tb_number(tb);
        ARCHIVE(archive, number);
        if (archive->reads) {
            tb = number ? executor_tb_find(launch, number) : NULL;
            if (number && !tb)
                archive_fail(archive, CORUN_SYNTAX, "there is no thread block to be used again");
            *link = tb;
        }
        if (!tb || !archive_fine(archive))
            return;
        link = &tb->next_free;
    }
}

/* How many each SM made, then what is in them: thread blocks move between SMs. */
static void archive_launch(struct corun_archive *archive, struct launch *launch)
{
    size_t sm_count = launch->sm_count;
    if (launch->clusters)
        archive_fail(archive, CORUN_UNSUPPORTED,
                     "kernel %s has clusters of thread blocks in flight: they cannot be saved", launch->grid.name);
    archive_same(archive, launch->grid.tb_warps, "warps of a thread block");
    archive_count(archive, &sm_count, MOST_SMS);
    ARCHIVE(archive, launch->clock_khz);
    if (archive->reads && sm_count && !executor_attach(launch, (uint32_t)sm_count, launch->clock_khz))
        archive_fail(archive, CORUN_MEMORY, "out of memory");
    for (uint32_t s = 0; s < sm_count && archive_fine(archive); s++) {
        size_t made = launch->sms[s].made;
        archive_count(archive, &made, MOST_TBS_MADE);
        while (archive->reads && archive_fine(archive) && launch->sms[s].made < made)
            if (!executor_tb_add(launch, s))
                archive_fail(archive, CORUN_MEMORY, "out of memory");
    }
    for (uint32_t s = 0; s < sm_count && archive_fine(archive); s++)
        for (struct corun_tb *tb = launch->sms[s].all; tb && archive_fine(archive); tb = tb->next_made)
            archive_tb(archive, tb);
    for (uint32_t s = 0; s < sm_count && archive_fine(archive); s++)
        archive_free_tbs(archive, launch, &launch->sms[s]);
}

/* ---- atomics under way ---- */

struct place {
    struct corun_module_instance *instance;
    struct corun_grid *const *grids;
    uint32_t grid_count;
};

/* A lane's memory is found again; what the GPU maps by pages lies behind an allocation. */
static void find_host(struct corun_archive *archive, const struct place *place, struct atomic_ticket *ticket,
                      uint32_t lane)
{
    struct memory_cache cache = {0};
    const struct corun_memory *memory = place->instance->memory;
    uint64_t address = ticket->address[lane];
    uint32_t bytes = ticket->op->width_bytes;
    ticket->host[lane] = memory_find(memory, &cache, address, bytes);
    if (!ticket->host[lane])
        ticket->host[lane] = memory_find_outside(memory, address, bytes, true);
    if (!ticket->host[lane])
        archive_fail(archive, CORUN_SYNTAX, "an atomic outside of memory");
}

static void archive_lanes(struct corun_archive *archive, const struct place *place, struct atomic_ticket *ticket)
{
    for (uint32_t rest = ticket->lanes; rest && archive_fine(archive); rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        ARCHIVE(archive, ticket->address[lane]);
        ARCHIVE(archive, ticket->b[lane]);
        ARCHIVE(archive, ticket->c[lane]);
        ARCHIVE(archive, ticket->old[lane]);
        if (ticket->op->width_bytes > 8)
            archive_bytes(archive, &ticket->high[lane], sizeof ticket->high[lane]);
        if (archive->reads && archive_fine(archive))
            find_host(archive, place, ticket, lane);
    }
}

/* An atomic of the kernel's, or of a bulk reduction. */
static void archive_change(struct corun_archive *archive, const struct corun_kernel *kernel,
                           const struct operation **op)
{
    uint32_t reduction = archive->reads || !*op ? BULK_REDUCTIONS : bulk_reduction_number(*op);
    ARCHIVE(archive, reduction);
    if (reduction >= BULK_REDUCTIONS)
        archive_operation(archive, kernel, op);
    else if (archive->reads && !(*op = bulk_reduction(reduction)))
        archive_fail(archive, CORUN_SYNTAX, "there is no bulk reduction %u", reduction);
}

/* The number of a grid, plus 1; 0: of none. */
static uint32_t number_of_grid(const struct place *place, const struct corun_warp *warp)
{
    uint32_t grid = 0;
    while (grid < place->grid_count && place->grids[grid] != &warp->tb->launch->grid)
        grid++;
    return grid + 1;
}

static void archive_ticket(struct corun_archive *archive, const struct place *place, struct atomic_ticket *ticket)
{
    uint32_t grid = 0; /* number + 1; 0: the ticket is free */
    uint64_t warp = 0;
    if (!archive->reads && ticket->warp) {
        grid = number_of_grid(place, ticket->warp);
        warp = executor_warp_number(ticket->warp);
    }
    ARCHIVE(archive, grid);
    if (grid > place->grid_count)
        archive_fail(archive, CORUN_SYNTAX, "an atomic of grid %u of %u", grid, place->grid_count);
    if (!archive_fine(archive))
        return;
    if (!grid) {
        ARCHIVE(archive, ticket->next_free);
        return;
    }
    const struct launch *launch = (const struct launch *)place->grids[grid - 1];
    ARCHIVE(archive, warp);
    if (archive->reads && !(ticket->warp = executor_warp_find(launch, warp)))
        archive_fail(archive, CORUN_SYNTAX, "an atomic of no warp");
    archive_change(archive, launch->kernel, &ticket->op);
    if (archive_fine(archive) && !ticket->op)
        archive_fail(archive, CORUN_SYNTAX, "an atomic of no operation");
    ARCHIVE(archive, ticket->lanes);
    ARCHIVE(archive, ticket->performed);
    ARCHIVE(archive, ticket->barriers_met);
    if (archive_fine(archive))
        archive_lanes(archive, place, ticket);
}

static void archive_tickets(struct corun_archive *archive, const struct place *place, struct atomic_pool *pool)
{
    size_t count = pool->count;
    archive_count(archive, &count, MOST_ATOMICS);
    ARCHIVE(archive, pool->free);
    ARCHIVE(archive, pool->used);
    if (archive->reads && archive_fine(archive)) {
        free(pool->tickets);
        pool->tickets = count ? calloc(count, sizeof *pool->tickets) : NULL;
        pool->count = pool->capacity = pool->tickets ? (uint32_t)count : 0;
        if (count && !pool->tickets)
            archive_fail(archive, CORUN_MEMORY, "out of memory");
    }
    for (uint32_t i = 0; i < pool->count && archive_fine(archive); i++)
        archive_ticket(archive, place, &pool->tickets[i]);
}

static void archive_entry(struct corun_archive *archive, struct pending_entry *entry)
{
    ARCHIVE(archive, entry->address);
    ARCHIVE(archive, entry->ticket);
    ARCHIVE(archive, entry->next);
    ARCHIVE(archive, entry->lane);
    ARCHIVE(archive, entry->bytes);
}

static void archive_pending(struct corun_archive *archive, struct pending *pending)
{
    bool there = pending->buckets != NULL;
    size_t made = pending->made;
    ARCHIVE(archive, there);
    if (!there || !archive_fine(archive))
        return;
    archive_count(archive, &made, MOST_ATOMICS);
    if (archive->reads && archive_fine(archive)) {
        pending_free(pending);
        pending->buckets = calloc(PENDING_BUCKETS, sizeof *pending->buckets);
        pending->entries = calloc(made ? made : 1, sizeof *pending->entries);
        pending->made = pending->capacity = pending->entries ? (uint32_t)made : 0;
        if (!pending->buckets || !pending->entries) {
            archive_fail(archive, CORUN_MEMORY, "out of memory");
            return;
        }
    }
    ARCHIVE(archive, pending->count);
    ARCHIVE(archive, pending->free);
    archive_bytes(archive, pending->buckets, PENDING_BUCKETS * sizeof *pending->buckets);
    for (uint32_t i = 0; i < pending->made && archive_fine(archive); i++)
        archive_entry(archive, &pending->entries[i]);
}

/* ---- bulk copies under way ---- */

static void archive_bulk_copy(struct corun_archive *archive, const struct place *place, struct bulk_copy *copy)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct bulk_copy, work),
                                                ARCHIVE_HOLE(struct bulk_copy, warp),
                                                /* of clusters, which are refused while they are in flight */
                                                ARCHIVE_HOLE(struct bulk_copy, elsewhere)};
    uint32_t grid = !archive->reads && copy->warp ? number_of_grid(place, copy->warp) : 0, work = 0;
    uint64_t warp = grid ? executor_warp_number(copy->warp) : 0;
    ARCHIVE(archive, grid);
    if (grid > place->grid_count)
        archive_fail(archive, CORUN_SYNTAX, "a bulk copy of grid %u of %u", grid, place->grid_count);
    ARCHIVE_RECORD(archive, copy, holes);
    if (!archive_fine(archive) || !grid)
        return;
    const struct launch *launch = (const struct launch *)place->grids[grid - 1];
    if (!archive->reads)
        work = (uint32_t)(copy->work - launch->kernel->bulks);
    ARCHIVE(archive, work);
    ARCHIVE(archive, warp);
    if (work >= launch->kernel->bulk_count)
        archive_fail(archive, CORUN_SYNTAX, "bulk copy %u of %u", work, launch->kernel->bulk_count);
    if (archive->reads && !(copy->warp = executor_warp_find(launch, warp)))
        archive_fail(archive, CORUN_SYNTAX, "a bulk copy of no warp");
    if (!archive_fine(archive))
        return;
    copy->work = &launch->kernel->bulks[work];
    if (!bulk_copy_is_good(copy))
        archive_fail(archive, CORUN_SYNTAX, "a bulk copy that no thread can have asked for");
}

static void archive_bulk(struct corun_archive *archive, const struct place *place, struct bulk_pool *pool)
{
    size_t count = pool->count;
    archive_count(archive, &count, MOST_ATOMICS);
    ARCHIVE(archive, pool->free);
    ARCHIVE(archive, pool->used);
    if (archive->reads && archive_fine(archive)) {
        free(pool->copies);
        pool->copies = count ? calloc(count, sizeof *pool->copies) : NULL;
        pool->count = pool->capacity = pool->copies ? (uint32_t)count : 0;
        if (count && !pool->copies)
            archive_fail(archive, CORUN_MEMORY, "out of memory");
    }
    for (uint32_t i = 0; i < pool->count && archive_fine(archive); i++) {
        archive_bulk_copy(archive, place, &pool->copies[i]);
        if (pool->copies[i].next > pool->count)
            archive_fail(archive, CORUN_SYNTAX, "bulk copy %u of %u", pool->copies[i].next, pool->count);
    }
    if (pool->free > pool->count)
        archive_fail(archive, CORUN_SYNTAX, "bulk copy %u of %u", pool->free, pool->count);
}

/* ---- SMs ---- */

static void archive_freed(struct corun_archive *archive, struct freed_list *list)
{
    ARCHIVE(archive, list->count);
    if (ARCHIVE_VECTOR(archive, &list->entries, MOST_FREED))
        archive_bytes(archive, list->entries.data, list->entries.count * sizeof *list->entries.data);
}

static void archive_notes(struct corun_archive *archive, struct executor_sm *sm)
{
    for (uint32_t i = 0; i < NOTES; i++) {
        struct note *note = &sm->notes[i];
        ARCHIVE(archive, note->text);
        ARCHIVE(archive, note->place.line);
        ARCHIVE(archive, note->place.column);
        note->text[FAULT_BYTES - 1] = 0;
        if (archive->reads && note->text[0])
            note->place.file = sm->instance->module->ptx->file;
    }
}

static void archive_executor_sm(struct corun_archive *archive, const struct place *place, struct executor_sm *sm)
{
    if (!archive->reads && sm->stores.count)
        archive_fail(archive, CORUN_UNSUPPORTED, "stores that nobody sees yet");
    archive_tickets(archive, place, &sm->atomics);
    archive_pending(archive, &sm->pending);
    archive_bulk(archive, place, &sm->bulk);
    archive_notes(archive, sm);
    archive_freed(archive, &sm->freed_blocks);
    if (!archive->reads)
        return;
    memset(sm->caches, 0, sizeof sm->caches);
    sm->generation = memory_generation(sm->memory);
    sm->printed_taken = true;
}

void module_instance_archive(struct corun_archive *archive, struct corun_module_instance *instance,
                             struct corun_grid *const *grids, uint32_t grid_count)
{
    const struct place place = {instance, grids, grid_count};
    archive_section(archive, "code", 3);
    archive_same(archive, grid_count, "grids of a workload");
    archive_same(archive, instance->launches, "grids that were made");
    archive_same(archive, instance->checks, "checks");
    ARCHIVE(archive, instance->told);
    for (uint32_t i = 0; i < grid_count && archive_fine(archive); i++)
        archive_launch(archive, (struct launch *)grids[i]);
    size_t sms = instance->sm_count;
    archive_count(archive, &sms, MOST_SMS);
    if (archive->reads && !executor_have_sms(instance, (uint32_t)sms)) /* none of its grids need be there */
        archive_fail(archive, CORUN_MEMORY, "out of memory");
    if (archive_fine(archive) && sms != instance->sm_count)
        archive_fail(archive, CORUN_SYNTAX, "%zu SMs, not %u", sms, instance->sm_count);
    for (uint32_t i = 0; i < instance->sm_count && archive_fine(archive); i++)
        archive_executor_sm(archive, &place, instance->sms[i]);
    archive_freed(archive, &instance->freed_blocks);
}
