/* SPDX-License-Identifier: MIT */
/* The caches of an SM (L1, texture, constant, instruction) with the MSHRs that they share. */
#ifndef CORUN_GPU_SM_CACHES_H
#define CORUN_GPU_SM_CACHES_H

#include "gpu/cache.h"
#include "gpu/coalescer.h"
#include "gpu/port.h"

struct sm;

struct sm_cache {
    struct cache *tags;  /* NULL: no such cache, every access goes out */
    uint32_t *line_mshr; /* per line: first MSHR that fetches part of it */
    uint32_t lines;      /* of line_mshr */
    uint32_t line_bytes, sector_bytes, latency;
};

struct mshr {
    uint32_t next;    /* of the same line, or in the free list */
    uint32_t line;    /* index in its cache, CACHE_NO_LINE: none (uncached or flushed) */
    uint32_t sectors; /* of its cache */
    uint32_t waiter;  /* first */
    uint32_t merged;
    uint8_t client;
};

struct waiter {
    uint32_t next;
    uint32_t record;     /* load record; for the instruction cache: warp slot */
    uint32_t generation; /* instruction cache only */
};

/* In front of the constant cache: what came from there is here, too, until other lines need its place. */
struct constant_first {
    struct cache *tags; /* NULL: none */
    uint64_t *ready;    /* per line: when its data can be used, NEVER as long as the constant cache waits for it */
    uint32_t lines, line_bytes, latency;
};

struct sm_caches {
    struct sm_cache by_client[CLIENT_CACHES];
    struct constant_first constant_first;
    struct mshr *mshrs;
    struct waiter *waiters;
    uint32_t free_mshr, free_waiter, mshrs_used;
    uint32_t shared_setting; /* bytes of shared memory that the L1 leaves room for */
};

bool sm_caches_create(struct sm *sm);
void sm_caches_destroy(struct sm *sm);
/* To a checkpoint or from it. */
void sm_caches_archive(struct corun_archive *archive, struct sm *sm);
enum lookup { LOOKUP_HIT, LOOKUP_MISS, LOOKUP_FULL };
/*
 * Reads the bytes of `transaction` through a cache: HIT: data after the cache's latency; MISS: the record's outstanding
 * count has been raised by what it waits for; FULL: nothing was changed, try again after the next reply.
 */
enum lookup cache_read(struct sm *sm, enum client client, const struct transaction *transaction, bool bypass,
                       uint32_t record, uint32_t generation, uint16_t kernel, uint8_t application);
/* The same for constants, through both levels; HIT: *done is when the data can be used. */
enum lookup constant_read(struct sm *sm, const struct transaction *transaction, uint32_t record, uint16_t kernel,
                          uint8_t application, uint64_t *done);
/* Leaves what a store writes in the L1, where that allocates lines for stores. */
void cache_write(struct sm *sm, const struct transaction *transaction);
/*
 * The reply will come soon: what it leads to, link by link of the chain (stage 0, 1, 2), is fetched into the host's cache. Changes
 * nothing. Many replies of one stage at a time wait for the host's memory together.
 */
#define EXPECT_STAGES 3u
void sm_caches_expect(const struct sm *sm, uint32_t index, uint32_t stage);
/* Takes the reply to a read of one of them, which waits in this MSHR. */
void sm_caches_reply(struct sm *sm, uint32_t index);
void sm_caches_flush(struct sm *sm); /* L1 and texture cache: a kernel starts */
/* A thread block of `grid` has come, and with it the SM's thread blocks have `shared_bytes`: the L1 gets what they leave. */
void sm_caches_split(struct sm *sm, const struct corun_grid *grid, uint32_t shared_bytes, bool alone);
void sm_caches_clear(struct sm *sm); /* all of them; nothing is under way */
/*
 * Whether the warp's next instruction can be used now; MISS: the warp is woken when it can; FULL: try again after the
 * next reply.
 */
enum lookup instruction_fetch(struct sm *sm, uint32_t warp);

#endif
