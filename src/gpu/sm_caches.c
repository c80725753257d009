/* SPDX-License-Identifier: MIT */
/*
 * The caches of an SM and what happens when they miss: one pool of MSHRs serves the L1, texture, constant and
 * instruction caches. An MSHR stands for one request under way; requests for sectors that are on their way already wait
 * with it. Uncached reads take an MSHR without a line.
 */
#include "gpu/sm_caches.h"

#include "gpu/occupancy.h"
#include "gpu/sm.h"

#include <stdlib.h>
#include <string.h>

#define EXTRA_MSHRS 64u /* beyond l1_mshrs, for constants and instructions, which have their own in hardware */

static uint32_t pool_size(const struct sm *sm)
{
    return sm->config->l1_mshrs + EXTRA_MSHRS;
}

static bool cache_open(struct sm_cache *cache, uint32_t bytes, uint32_t ways, uint32_t line_bytes,
                       uint32_t sector_bytes, uint32_t latency)
{
    uint32_t lines = bytes / line_bytes;
    *cache = (struct sm_cache){NULL, NULL, lines, line_bytes, sector_bytes, bytes ? latency : 0};
    if (bytes == 0)
        return true;
    cache->tags = cache_create(bytes, ways, line_bytes, sector_bytes, true);
    cache->line_mshr = malloc(lines * sizeof *cache->line_mshr);
    if (!cache->tags || !cache->line_mshr)
        return false;
    for (uint32_t i = 0; i < lines; i++)
        cache->line_mshr[i] = NOTHING;
    return true;
}

static bool constant_first_open(struct constant_first *first, const struct corun_gpu_config *c)
{
    uint32_t bytes = c->constant_perfect ? 0 : c->constant_first_bytes;
    *first = (struct constant_first){.lines = bytes / c->constant_first_line_bytes,
                                     .line_bytes = c->constant_first_line_bytes,
                                     .latency = c->constant_first_latency};
    if (bytes == 0)
        return true;
    first->tags = cache_create(bytes, c->constant_first_ways, first->line_bytes, first->line_bytes, true);
    first->ready = calloc(first->lines, sizeof *first->ready);
    return first->tags && first->ready;
}

/* Sets stay what they are. */
static uint32_t l1_ways(const struct corun_gpu_config *config, uint32_t setting)
{
    return config->l1_bytes ? corun_gpu_l1_bytes(config, setting) / (config->l1_bytes / config->l1_ways) : 0;
}

bool sm_caches_create(struct sm *sm)
{
    const struct corun_gpu_config *c = sm->config;
    uint32_t mshrs = pool_size(sm), waiters = mshrs * c->l1_mshr_merge;
    uint32_t setting = sm->caches.shared_setting = shared_setting_for(c, 0);
    bool fine = cache_open(&sm->caches.by_client[CLIENT_L1], corun_gpu_l1_bytes(c, setting), l1_ways(c, setting),
                           c->l1_line_bytes, c->l1_sector_bytes, c->l1_latency) &&
                cache_open(&sm->caches.by_client[CLIENT_TEXTURE], c->texture_bytes, c->texture_ways,
                           c->texture_line_bytes, c->texture_line_bytes, c->texture_latency) &&
                cache_open(&sm->caches.by_client[CLIENT_CONSTANT], c->constant_perfect ? 0 : c->constant_bytes,
                           c->constant_ways, c->constant_line_bytes,
                           c->constant_line_bytes < c->l2_line_bytes ? c->constant_line_bytes : c->l2_line_bytes,
                           c->constant_latency) &&
                cache_open(&sm->caches.by_client[CLIENT_INSTRUCTION], c->icache_perfect ? 0 : c->icache_bytes,
                           c->icache_ways, c->icache_line_bytes, c->icache_line_bytes, c->icache_latency_cycles) &&
                constant_first_open(&sm->caches.constant_first, c);
    sm->caches.mshrs = calloc(mshrs, sizeof *sm->caches.mshrs);
    sm->caches.waiters = calloc(waiters, sizeof *sm->caches.waiters);
    if (!fine || !sm->caches.mshrs || !sm->caches.waiters)
        return false;
    for (uint32_t i = 0; i < mshrs; i++)
        sm->caches.mshrs[i].next = i + 1 < mshrs ? i + 1 : NOTHING;
    for (uint32_t i = 0; i < waiters; i++)
        sm->caches.waiters[i].next = i + 1 < waiters ? i + 1 : NOTHING;
    sm->caches.free_mshr = sm->caches.free_waiter = 0;
    return true;
}

void sm_caches_destroy(struct sm *sm)
{
    for (uint32_t i = 0; i < CLIENT_CACHES; i++) {
        cache_destroy(sm->caches.by_client[i].tags);
        free(sm->caches.by_client[i].line_mshr);
    }
    cache_destroy(sm->caches.constant_first.tags);
    free(sm->caches.constant_first.ready);
    free(sm->caches.mshrs);
    free(sm->caches.waiters);
}

/* Lets a record (or, for instructions, a warp) wait for an MSHR. The pool has a waiter for every merge that is allowed. */
static inline void wait_for(struct sm *sm, uint32_t index, uint32_t record, uint32_t generation)
{
    struct mshr *mshr = &sm->caches.mshrs[index];
    uint32_t waiter = sm->caches.free_waiter;
    sm->caches.free_waiter = sm->caches.waiters[waiter].next;
    sm->caches.waiters[waiter] = (struct waiter){mshr->waiter, record, generation};
    mshr->waiter = waiter;
    mshr->merged++;
    if (mshr->client != CLIENT_INSTRUCTION)
        sm->load_store.records[record].outstanding++;
}

/* The sectors of a cache's line, all of one L2 line, as sectors of that one. */
static inline uint8_t sectors_at_l2(const struct sm *sm, const struct sm_cache *cache, uint64_t line, uint32_t sectors)
{
    uint32_t unit = sm->config->l2_sector_bytes;
    uint32_t base = (uint32_t)(line & (sm->config->l2_line_bytes - 1));
    uint32_t result = 0;
    if (cache->sector_bytes == unit)
        return (uint8_t)(sectors << (base >> lowest_bit(unit)));
    for (; sectors; sectors &= sectors - 1) {
        uint32_t first = base + lowest_bit(sectors) * cache->sector_bytes;
        for (uint32_t sector = first / unit; sector <= (first + cache->sector_bytes - 1) / unit; sector++)
            result |= 1u << (sector & (sm->config->l2_line_bytes / unit - 1));
    }
    return (uint8_t)result;
}

/* Of a line that is several of the L2, the one with the first of these sectors. */
static uint64_t part_address(const struct sm *sm, const struct sm_cache *cache, uint64_t line, uint32_t sectors)
{
    return cache->line_bytes <= sm->config->l2_line_bytes ? line : line + lowest_bit(sectors) * cache->sector_bytes;
}

static inline void request(struct sm *sm, const struct sm_cache *cache, uint32_t index, uint64_t line, uint16_t kernel,
                           uint8_t application)
{
    const struct mshr *mshr = &sm->caches.mshrs[index];
    *port_next(&sm->port) = (struct packet){
        .cycle = sm->now,
        .address = line & ~(uint64_t)(sm->config->l2_line_bytes - 1),
        .token = index,
        .kernel = kernel,
        .sm = (uint16_t)sm->index,
        .kind = PACKET_READ,
        .sectors = cache ? sectors_at_l2(sm, cache, line, mshr->sectors) : (uint8_t)mshr->sectors,
        .application = application,
        .client = mshr->client,
    };
}

static inline uint32_t take_mshr(struct sm *sm, enum client client, uint32_t line, uint32_t sectors)
{
    uint32_t index = sm->caches.free_mshr;
    struct mshr *mshr = &sm->caches.mshrs[index];
    sm->caches.free_mshr = mshr->next;
    sm->caches.mshrs_used++;
    *mshr = (struct mshr){NOTHING, line, sectors, NOTHING, 0, (uint8_t)client};
    return index;
}

static inline bool can_request(const struct sm *sm, enum client client)
{
    uint32_t limit = client == CLIENT_L1 || client == CLIENT_TEXTURE ? sm->config->l1_mshrs : pool_size(sm);
    return sm->caches.mshrs_used < limit && port_has_room(&sm->port);
}

enum lookup cache_read(struct sm *sm, enum client client, const struct transaction *transaction, bool bypass,
                       uint32_t record, uint32_t generation, uint16_t kernel, uint8_t application)
{
    struct sm_cache *cache = &sm->caches.by_client[client];
    if (bypass || !cache->tags) {
        if (!can_request(sm, client))
            return LOOKUP_FULL;
        uint32_t sectors = sectors_touched(transaction, sm->config->l2_sector_bytes);
        uint32_t index = take_mshr(sm, client, CACHE_NO_LINE, sectors);
        request(sm, NULL, index, transaction->line, kernel, application);
        wait_for(sm, index, record, generation);
        return LOOKUP_MISS;
    }
    uint32_t missing = sectors_touched(transaction, cache->sector_bytes);
    uint32_t line = cache_find(cache->tags, transaction->line);
    uint32_t on_the_way = 0;
    if (line != CACHE_NO_LINE) {
        missing &= ~cache_valid(cache->tags, line);
        if (!missing) {
            cache_touch(cache->tags, line);
            return LOOKUP_HIT;
        }
        for (uint32_t m = cache->line_mshr[line]; m != NOTHING; m = sm->caches.mshrs[m].next) {
            if (sm->caches.mshrs[m].sectors & missing && sm->caches.mshrs[m].merged >= sm->config->l1_mshr_merge)
                return LOOKUP_FULL;
            on_the_way |= sm->caches.mshrs[m].sectors;
        }
    }
    uint32_t fetch = missing & ~on_the_way;
    if (fetch && !can_request(sm, client))
        return LOOKUP_FULL;
    if (line == CACHE_NO_LINE) {
        struct cache_victim victim;
        line = cache_allocate(cache->tags, transaction->line, &victim);
        if (line == CACHE_NO_LINE)
            return LOOKUP_FULL;
    } else {
        cache_touch(cache->tags, line);
    }
    for (uint32_t m = cache->line_mshr[line]; m != NOTHING; m = sm->caches.mshrs[m].next)
        if (sm->caches.mshrs[m].sectors & missing)
            wait_for(sm, m, record, generation);
    if (fetch) {
        uint32_t index = take_mshr(sm, client, line, fetch);
        sm->caches.mshrs[index].next = cache->line_mshr[line];
        cache->line_mshr[line] = index;
        cache_set_reserved(cache->tags, line, fetch);
        request(sm, cache, index, part_address(sm, cache, transaction->line, fetch), kernel, application);
        wait_for(sm, index, record, generation);
    }
    return LOOKUP_MISS;
}

/* What is missing of a line that is larger than those of the L2 comes with the first part; nobody waits for it. */
__attribute__((cold, noinline)) static void fetch_rest(struct sm *sm, struct sm_cache *cache, uint64_t address,
                                                       uint16_t kernel, uint8_t application)
{
    uint32_t parts = cache->line_bytes / cache->sector_bytes, line = cache_find(cache->tags, address);
    if (parts == 1)
        return;
    uint32_t missing = ((1u << parts) - 1) & ~cache_valid(cache->tags, line) & ~cache_reserved(cache->tags, line);
    for (; missing && can_request(sm, CLIENT_CONSTANT); missing &= missing - 1) {
        uint32_t index = take_mshr(sm, CLIENT_CONSTANT, line, missing & -missing);
        sm->caches.mshrs[index].next = cache->line_mshr[line];
        cache->line_mshr[line] = index;
        cache_set_reserved(cache->tags, line, missing & -missing);
        request(sm, cache, index, part_address(sm, cache, address, missing), kernel, application);
    }
}

enum lookup constant_read(struct sm *sm, const struct transaction *transaction, uint32_t record, uint16_t kernel,
                          uint8_t application, uint64_t *done)
{
    struct constant_first *first = &sm->caches.constant_first;
    struct sm_cache *cache = &sm->caches.by_client[CLIENT_CONSTANT];
    uint32_t line = first->tags ? cache_find(first->tags, transaction->line) : CACHE_NO_LINE;
    if (line != CACHE_NO_LINE && first->ready[line] != NEVER) {
        cache_touch(first->tags, line);
        *done = sm->now + first->latency;
        if (*done < first->ready[line])
            *done = first->ready[line];
        return LOOKUP_HIT;
    }
    uint64_t offset = transaction->line & (cache->line_bytes - 1);
    struct transaction whole = {.line = transaction->line - offset,
                                .touched = transaction->touched << offset / PART_BYTES};
    enum lookup result = cache_read(sm, CLIENT_CONSTANT, &whole, false, record, 0, kernel, application);
    if (result == LOOKUP_MISS)
        fetch_rest(sm, cache, whole.line, kernel, application);
    *done = sm->now + cache->latency;
    if (!first->tags || result == LOOKUP_FULL)
        return result;
    struct cache_victim victim;
    if (line == CACHE_NO_LINE)
        line = cache_allocate(first->tags, transaction->line, &victim);
    cache_set_valid(first->tags, line, 1);
    first->ready[line] = result == LOOKUP_HIT ? *done : NEVER;
    return result;
}

/* A sector of the constant cache has come. */
static void constant_first_fill(struct sm *sm, const struct mshr *mshr)
{
    struct constant_first *first = &sm->caches.constant_first;
    const struct sm_cache *cache = &sm->caches.by_client[CLIENT_CONSTANT];
    uint64_t address = cache_address(cache->tags, mshr->line) + lowest_bit(mshr->sectors) * cache->sector_bytes;
    for (uint64_t end = address + cache->sector_bytes; address < end; address += first->line_bytes) {
        uint32_t line = cache_find(first->tags, address);
        if (line != CACHE_NO_LINE && first->ready[line] == NEVER)
            first->ready[line] = sm->now + cache->latency;
    }
}

/* Sectors that are on their way stay so: whoever waits for them gets them when they come. */
void cache_write(struct sm *sm, const struct transaction *transaction)
{
    struct sm_cache *cache = &sm->caches.by_client[CLIENT_L1];
    if (!cache->tags)
        return;
    uint32_t line = cache_find(cache->tags, transaction->line);
    if (line == CACHE_NO_LINE) {
        struct cache_victim victim;
        line = cache_allocate(cache->tags, transaction->line, &victim);
        if (line == CACHE_NO_LINE)
            return;
    }
    cache_touch(cache->tags, line);
    uint32_t full = sectors_full(transaction, cache->line_bytes, cache->sector_bytes);
    cache_set_valid(cache->tags, line, full & ~cache_reserved(cache->tags, line));
}

static void unlink_mshr(struct sm *sm, struct sm_cache *cache, uint32_t index)
{
    uint32_t *link = &cache->line_mshr[sm->caches.mshrs[index].line];
    while (*link != index)
        link = &sm->caches.mshrs[*link].next;
    *link = sm->caches.mshrs[index].next;
}

static void wake_fetching(struct sm *sm, uint32_t slot, uint32_t generation)
{
    struct sm_warp *warp = &sm->warps[slot];
    if (warp->generation != generation || !(sm->states[WARP_FETCH] >> slot & 1u))
        return;
    uint32_t line_bytes = sm->caches.by_client[CLIENT_INSTRUCTION].line_bytes;
    warp->fetched_line = (uint64_t)warp->pc * sm->config->instruction_bytes / line_bytes;
    warp_evaluate(sm, slot);
}

void sm_caches_expect(const struct sm *sm, uint32_t index, uint32_t stage)
{
    const struct sm_caches *caches = &sm->caches;
    const struct mshr *mshr = &caches->mshrs[index];
    if (stage == 0) {
        __builtin_prefetch(mshr, 1);
    } else if (stage == 1) {
        const struct sm_cache *cache = &caches->by_client[mshr->client];
        if (mshr->line != CACHE_NO_LINE) {
            cache_prefetch_line(cache->tags, mshr->line);
            __builtin_prefetch(&cache->line_mshr[mshr->line], 1);
        }
        if (mshr->waiter != NOTHING)
            __builtin_prefetch(&caches->waiters[mshr->waiter], 1);
    } else if (mshr->waiter != NOTHING && mshr->client != CLIENT_INSTRUCTION) {
        __builtin_prefetch(&sm->load_store.records[caches->waiters[mshr->waiter].record], 1);
    }
}

void sm_caches_reply(struct sm *sm, uint32_t index)
{
    struct mshr *mshr = &sm->caches.mshrs[index];
    struct sm_cache *cache = &sm->caches.by_client[mshr->client];
    if (mshr->line != CACHE_NO_LINE) {
        unlink_mshr(sm, cache, index);
        cache_set_valid(cache->tags, mshr->line, mshr->sectors);
        if (mshr->client == CLIENT_CONSTANT && sm->caches.constant_first.tags)
            constant_first_fill(sm, mshr);
    }
    uint32_t waiter = mshr->waiter;
    enum client client = mshr->client;
    mshr->next = sm->caches.free_mshr;
    sm->caches.free_mshr = index;
    sm->caches.mshrs_used--;
    while (waiter != NOTHING) {
        struct waiter *w = &sm->caches.waiters[waiter];
        uint32_t next = w->next;
        if (client == CLIENT_INSTRUCTION) {
            wake_fetching(sm, w->record, w->generation);
        } else {
            load_store_answered(sm, w->record, cache->latency);
        }
        w->next = sm->caches.free_waiter;
        sm->caches.free_waiter = waiter;
        waiter = next;
    }
}

/* What is on its way still reaches those who wait for it, but no line. */
static void detach_mshrs(struct sm *sm, struct sm_cache *cache)
{
    for (uint32_t line = 0; line < cache->lines; line++) {
        for (uint32_t m = cache->line_mshr[line]; m != NOTHING; m = sm->caches.mshrs[m].next)
            sm->caches.mshrs[m].line = CACHE_NO_LINE;
        cache->line_mshr[line] = NOTHING;
    }
}

void sm_caches_flush(struct sm *sm)
{
    for (enum client client = CLIENT_L1; client <= CLIENT_TEXTURE; client++) {
        struct sm_cache *cache = &sm->caches.by_client[client];
        if (!cache->tags)
            continue;
        detach_mshrs(sm, cache);
        cache_flush(cache->tags);
    }
}

/*
 * Hardware changes the split of an SM only while the SM is empty, and the driver keeps kernels apart that want different ones, or lets one run
 * with the other's. Here an SM that is empty gets the newcomer's setting; one that is not keeps its own, unless that is too small.
 */
void sm_caches_split(struct sm *sm, const struct corun_grid *grid, uint32_t shared_bytes, bool alone)
{
    struct sm_cache *cache = &sm->caches.by_client[CLIENT_L1];
    if (sm->config->l1_split == CORUN_L1_SPLIT_FIXED || !cache->tags)
        return;
    if (!alone && shared_bytes <= sm->caches.shared_setting)
        return;
    uint32_t setting = corun_gpu_shared_setting(sm->config, grid), least = shared_setting_for(sm->config, shared_bytes);
    if (setting < least)
        setting = least;
    if (setting == sm->caches.shared_setting)
        return;
    sm->caches.shared_setting = setting;
    detach_mshrs(sm, cache);
    cache_set_ways(cache->tags, l1_ways(sm->config, setting));
}

void sm_caches_clear(struct sm *sm)
{
    for (enum client client = 0; client < CLIENT_CACHES; client++)
        if (sm->caches.by_client[client].tags)
            cache_flush(sm->caches.by_client[client].tags);
    if (sm->caches.constant_first.tags)
        cache_flush(sm->caches.constant_first.tags);
}

enum lookup instruction_fetch(struct sm *sm, uint32_t slot)
{
    struct sm_warp *warp = &sm->warps[slot];
    struct sm_cache *cache = &sm->caches.by_client[CLIENT_INSTRUCTION];
    uint64_t line = (uint64_t)warp->pc * sm->config->instruction_bytes / cache->line_bytes;
    if (warp->fetched_line == line)
        return LOOKUP_HIT;
    const struct sm_tb *tb = &sm->tbs[warp->tb];
    uint64_t address = tb->launch->grid->code_address + line * cache->line_bytes;
    struct transaction transaction = {.line = address & ~(uint64_t)(cache->line_bytes - 1), .touched = 1};
    enum lookup result = cache_read(sm, CLIENT_INSTRUCTION, &transaction, false, slot, warp->generation,
                                    warp->kernel->slot, warp->application);
    if (result != LOOKUP_FULL) {
        warp->counters->icache_accesses++;
        warp->counters->icache_misses += result == LOOKUP_MISS;
    }
    if (result == LOOKUP_HIT)
        warp->fetched_line = line;
    return result;
}

void sm_caches_archive(struct corun_archive *archive, struct sm *sm)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct sm_caches, by_client), ARCHIVE_HOLE(struct sm_caches, constant_first),
        ARCHIVE_HOLE(struct sm_caches, mshrs), ARCHIVE_HOLE(struct sm_caches, waiters)};
    uint32_t mshrs = pool_size(sm), waiters = mshrs * sm->config->l1_mshr_merge;
    struct sm_caches *caches = &sm->caches;
    archive_same(archive, waiters, "loads that wait for MSHRs");
    ARCHIVE_LARGE_RECORD(archive, caches, holes); /* it has a gap behind an array: see ARCHIVE_CLEAR_PADDING */
    archive_bytes(archive, caches->mshrs, mshrs * sizeof *caches->mshrs);
    archive_bytes(archive, caches->waiters, waiters * sizeof *caches->waiters);
    for (uint32_t i = 0; i < CLIENT_CACHES && archive_fine(archive); i++) {
        struct sm_cache *cache = &caches->by_client[i];
        archive_same(archive, cache->tags != NULL, "a cache");
        if (!cache->tags)
            continue;
        archive_same(archive, cache->lines, "lines of a cache");
        archive_bytes(archive, cache->line_mshr, cache->lines * sizeof *cache->line_mshr);
        cache_archive(archive, cache->tags);
    }
    struct constant_first *first = &caches->constant_first;
    if (first->tags && archive_fine(archive)) {
        archive_bytes(archive, first->ready, first->lines * sizeof *first->ready);
        cache_archive(archive, first->tags);
    }
}
