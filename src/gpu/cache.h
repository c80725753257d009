/* SPDX-License-Identifier: MIT */
/*
 * Tags of a set-associative, optionally sectored cache with LRU replacement. No data and no time: used by the L1, the
 * constant, texture and instruction caches and the L2 slices, which keep their MSHRs themselves.
 *
 * Structure of arrays; a set is looked up with one compare loop over its tags that the compiler turns into SIMD.
 */
#ifndef CORUN_GPU_CACHE_H
#define CORUN_GPU_CACHE_H

#include "base/archive.h"
#include "gpu/retired_kernels.h"

#include <assert.h>

#define CACHE_NO_WAY UINT16_MAX

/* Nobody but cache.c and the short functions below looks into these. */
struct cache_line {
    uint64_t number; /* address / line_bytes; all ones: invalid */
    uint32_t valid, dirty, reserved;
    uint16_t newer, older; /* ways; the newest and the oldest of the set have CACHE_NO_WAY */
    uint16_t kernel;
    uint8_t application;
};

struct cache_set {
    uint16_t newest, oldest;
};

struct cache {
    uint32_t ways, ways_there; /* in use, and memory for them */
    uint32_t sets;
    uint32_t set_mask; /* sets - 1 if that is a power of two, else 0 */
    uint32_t set_bits;
    uint64_t set_parity; /* the bits of a line's number that the lowest bit of its set is the parity of */
    uint32_t line_shift;
    uint32_t all_sectors;
    bool hashed;
    uint32_t absent_set; /* the set of `absent`, the number that was last looked for and not found */
    uint64_t absent;
    uint16_t *folds;
    struct cache_line *lines;
    struct cache_set *order;
    /*
     * Where a line was found or put last, by a hash of its number: its index, below other bits of the hash. A hint, of caches with many
     * ways and no more lines than such an index can name; NULL: it has none.
     */
    uint16_t *places;
    uint32_t places_shift, index_bits;
};

/* bytes must be a multiple of ways * line_bytes; line and sector are powers of two; `hashed` spreads sets by xor of upper bits. */
struct cache *cache_create(uint32_t bytes, uint32_t ways, uint32_t line_bytes, uint32_t sector_bytes, bool hashed);
/* Leaves so many ways in use, of those that it was created with at most; everything becomes invalid, and lines have other indices. */
void cache_set_ways(struct cache *cache, uint32_t ways);
void cache_destroy(struct cache *cache);
void cache_flush(struct cache *cache); /* everything invalid; dirty data is forgotten */

#define CACHE_NO_LINE UINT32_MAX

static inline uint64_t cache_hash(uint64_t number)
{
    return number * UINT64_C(0x9e3779b97f4a7c15);
}

static inline uint16_t *cache_place(const struct cache *cache, uint64_t hash)
{
    return &cache->places[hash >> cache->places_shift];
}

static inline uint16_t cache_place_of(const struct cache *cache, uint64_t hash, uint32_t line)
{
    return (uint16_t)((uint32_t)(hash >> 16) << cache->index_bits | line);
}

/* Among the lines of its set. */
uint32_t cache_search(struct cache *cache, uint64_t number, uint64_t hash);

/* Line index of `address` (any byte in the line), CACHE_NO_LINE if its tag is absent. Touches nothing. */
static inline uint32_t cache_find(struct cache *cache, uint64_t address)
{
    uint64_t number = address >> cache->line_shift, hash = cache_hash(number);
    if (cache->places) {
        uint32_t place = *cache_place(cache, hash), line = place & ((1u << cache->index_bits) - 1);
        if (place == cache_place_of(cache, hash, line) && cache->lines[line].number == number)
            return line;
    }
    return cache_search(cache, number, hash);
}

/* Marks a line as most recently used. */
void cache_make_newest(struct cache *cache, uint32_t line); /* one that is not */
static inline void cache_touch(struct cache *cache, uint32_t line)
{
    if (cache->lines[line].newer != CACHE_NO_WAY)
        cache_make_newest(cache, line);
}

/*
 * Takes a line for `address`: an invalid one, else the least recently used one that is not reserved. The line gets the new tag, no
 * valid sectors, and is most recently used. What was evicted is returned in *victim (address and dirty sectors, dirty == 0: nothing to
 * write back). CACHE_NO_LINE if every line of the set is reserved.
 */
struct cache_victim {
    uint64_t address;
    uint32_t dirty;
    uint16_t kernel; /* as given by cache_set_owner */
    uint8_t application;
};
uint32_t cache_allocate(struct cache *cache, uint64_t address, struct cache_victim *victim);
/*
 * Where `most` lines or more of this line's set are dirty: the least recently used of those that are not reserved is clean from now on, and what is to be
 * written back is in *victim. false: there is none.
 */
bool cache_clean_oldest(struct cache *cache, uint32_t line, uint32_t most, struct cache_victim *victim);
/* Sector masks of a line: valid, dirty, and reserved (a fill is on its way; reserved lines are not evicted). */
static inline uint32_t cache_valid(const struct cache *cache, uint32_t line)
{
    return cache->lines[line].valid;
}

static inline uint32_t cache_dirty(const struct cache *cache, uint32_t line)
{
    return cache->lines[line].dirty;
}

static inline uint32_t cache_reserved(const struct cache *cache, uint32_t line)
{
    return cache->lines[line].reserved;
}

/* Or-ed in; clears reserved. */
static inline void cache_set_valid(struct cache *cache, uint32_t line, uint32_t sectors)
{
    assert(!(sectors & ~cache->all_sectors));
    cache->lines[line].valid |= sectors;
    cache->lines[line].reserved &= ~sectors;
}

/* Or-ed in; also valid. */
static inline void cache_set_dirty(struct cache *cache, uint32_t line, uint32_t sectors)
{
    assert(!(sectors & ~cache->all_sectors));
    cache->lines[line].valid |= sectors;
    cache->lines[line].dirty |= sectors;
}

static inline void cache_set_reserved(struct cache *cache, uint32_t line, uint32_t sectors) /* or-ed in */
{
    assert(!(sectors & ~cache->all_sectors));
    cache->lines[line].reserved |= sectors;
}

static inline void cache_set_owner(struct cache *cache, uint32_t line, uint16_t kernel, uint8_t application)
{
    cache->lines[line].kernel = kernel;
    cache->lines[line].application = application;
}

/* It is about to be written: its tag is to be in the host's cache by then. */
static inline void cache_prefetch_line(const struct cache *cache, uint32_t line)
{
    __builtin_prefetch(&cache->lines[line], 1);
}

static inline uint64_t cache_address(const struct cache *cache, uint32_t line)
{
    return cache->lines[line].number << cache->line_shift;
}

void cache_retire(struct cache *cache, const struct retired_kernels *retired); /* among owners */
void cache_invalidate(struct cache *cache, uint32_t line);
/* To a checkpoint or from it; made with the same numbers. */
void cache_archive(struct corun_archive *archive, struct cache *cache);

#endif
