/* SPDX-License-Identifier: MIT */
/*
 * Tags of a set-associative, optionally sectored cache with LRU replacement. No data and no time: used by the L1, the
 * constant, texture and instruction caches and the L2 slices, which keep their MSHRs themselves.
 *
 * Structure of arrays; a set is looked up with one compare loop over its tags that the compiler turns into SIMD.
 */
#ifndef CORUN_GPU_CACHE_H
#define CORUN_GPU_CACHE_H

#include "gpu/retired_kernels.h"

struct cache;

/* bytes must be a multiple of ways * line_bytes; line and sector are powers of two; `hashed` spreads sets by xor of upper bits. */
struct cache *cache_create(uint32_t bytes, uint32_t ways, uint32_t line_bytes, uint32_t sector_bytes, bool hashed);
/* Leaves so many ways in use, of those that it was created with at most; everything becomes invalid, and lines have other indices. */
void cache_set_ways(struct cache *cache, uint32_t ways);
void cache_destroy(struct cache *cache);
void cache_flush(struct cache *cache); /* everything invalid; dirty data is forgotten */

#define CACHE_NO_LINE UINT32_MAX

/* Line index of `address` (any byte in the line), CACHE_NO_LINE if its tag is absent. Touches nothing. */
uint32_t cache_find(const struct cache *cache, uint64_t address);
/* Marks a line as most recently used. */
void cache_touch(struct cache *cache, uint32_t line);
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
/* Sector masks of a line: valid, dirty, and reserved (a fill is on its way; reserved lines are not evicted). */
uint32_t cache_valid(const struct cache *cache, uint32_t line);
uint32_t cache_dirty(const struct cache *cache, uint32_t line);
uint32_t cache_reserved(const struct cache *cache, uint32_t line);
void cache_set_valid(struct cache *cache, uint32_t line, uint32_t sectors);    /* or-ed in; clears reserved */
void cache_set_dirty(struct cache *cache, uint32_t line, uint32_t sectors);    /* or-ed in; also valid */
void cache_set_reserved(struct cache *cache, uint32_t line, uint32_t sectors); /* or-ed in */
void cache_set_owner(struct cache *cache, uint32_t line, uint16_t kernel, uint8_t application);
void cache_retire(struct cache *cache, const struct retired_kernels *retired); /* among owners */
void cache_invalidate(struct cache *cache, uint32_t line);

#endif
