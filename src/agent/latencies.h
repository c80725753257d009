/* SPDX-License-Identifier: MIT */
/*
 * Times of queries, however many: counts in buckets that are a thousandth of their value wide, so that percentiles of the whole run need no
 * more room than those of a second.
 */
#ifndef CORUN_AGENT_LATENCIES_H
#define CORUN_AGENT_LATENCIES_H

#include <stdint.h>

#define LATENCIES_PARTS 1024u /* buckets from one power of two to the next */

struct latencies {
    uint64_t buckets[64][LATENCIES_PARTS];
    uint64_t count, longest_ns;
    double sum_ns;
};

void latencies_add(struct latencies *latencies, uint64_t ns);
/* At least so many percent are not above it: the upper end of a bucket, never above the longest. 0 without any. */
double latencies_percentile(const struct latencies *latencies, double percent);

#endif
