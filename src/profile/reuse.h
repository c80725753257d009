/* SPDX-License-Identifier: MIT */
/*
 * Reuse distances of a sequence of accesses to lines (Mattson et al.: Evaluation Techniques for Storage Hierarchies, 1970; in n log n steps
 * after Olken, 1981), and from them what a cache of any size with least recently used replacement misses. Of a spatially sampled sequence, each
 * distance counts as many lines as a kept line stands for (SHARDS, FAST 2015, section 3).
 */
#ifndef CORUN_PROFILE_REUSE_H
#define CORUN_PROFILE_REUSE_H

#include "corun/status.h"

struct profile_access {
    uint64_t line;
    bool written; /* the line is written back here by a private cache: it is no miss and moves nothing */
    bool counts;  /* else it only warms the cache */
};

/* Misses of caches of those sizes. */
struct profile_misses {
    const uint64_t *lines; /* [size_count]: sizes, rising */
    uint32_t size_count;
    uint64_t *misses;  /* [size_count] */
    uint64_t accesses; /* that count and are no writes */
    uint64_t written; /* of the misses of the smallest cache, such that pushed a line to memory that had been written */
};

/* One line in `rate` was kept. MEMORY. */
enum corun_status profile_reuse(const struct profile_access *accesses, size_t count, double rate,
                                struct profile_misses *misses);

#endif
