/* SPDX-License-Identifier: MIT */
/*
 * The private caches of a core: what is left for the last-level cache. First level 32 KB, second level 256 KB, eight ways each, lines of 64
 * bytes, least recently used, written back (Xeon E5-2650 v4, the host of Wang's thesis, table 5-2).
 */
#ifndef CORUN_TRACE_FILTER_H
#define CORUN_TRACE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

enum { FILTER_WAYS = 8, FILTER_L1_SETS = 64, FILTER_L2_SETS = 512 };

/* Zeroed is empty. A way is (line + 1) * 2 + dirty, most recently used first; 0: empty. */
struct filter {
    uint64_t l1[FILTER_L1_SETS][FILTER_WAYS], l2[FILTER_L2_SETS][FILTER_WAYS];
};

struct filter_outcome {
    bool miss;              /* the line comes from the last-level cache */
    uint32_t written_count; /* 0 to 2 lines go there */
    uint64_t written[2];
};

struct filter_outcome filter_access(struct filter *filter, uint64_t line, bool store);

#endif
