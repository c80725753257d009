/* SPDX-License-Identifier: MIT */
/* A histogram whose buckets grow with their values. */
#include "agent/latencies.h"

#include <math.h>

/* Up to 2 * PARTS every value has a bucket of its own. */
static void bucket_of(uint64_t ns, uint32_t *row, uint32_t *part)
{
    uint32_t bits = ns < LATENCIES_PARTS ? 0 : 63 - (uint32_t)__builtin_clzll(ns) - 9;
    *row = bits;
    *part = bits ? (uint32_t)(ns >> (bits - 1)) - LATENCIES_PARTS : (uint32_t)ns;
}

/* The largest value of a bucket. */
static uint64_t end_of(uint32_t row, uint32_t part)
{
    return row ? (((uint64_t)LATENCIES_PARTS + part + 1) << (row - 1)) - 1 : part;
}

void latencies_add(struct latencies *latencies, uint64_t ns)
{
    uint32_t row, part;
    bucket_of(ns, &row, &part);
    latencies->buckets[row][part]++;
    latencies->count++;
    latencies->sum_ns += (double)ns;
    latencies->longest_ns = ns > latencies->longest_ns ? ns : latencies->longest_ns;
}

double latencies_percentile(const struct latencies *latencies, double percent)
{
    uint64_t rank = (uint64_t)ceil(percent / 100 * (double)latencies->count - 1e-9), seen = 0;
    for (uint32_t row = 0; row < 64 && latencies->count; row++)
        for (uint32_t part = 0; part < LATENCIES_PARTS; part++) {
            seen += latencies->buckets[row][part];
            if (seen && seen >= rank) {
                uint64_t end = end_of(row, part);
                return (double)(end < latencies->longest_ns ? end : latencies->longest_ns);
            }
        }
    return 0;
}
