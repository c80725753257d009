/* SPDX-License-Identifier: MIT */
/* Two levels of private cache. */
#include "trace/filter.h"

/*
 * The line comes to the front of its set, and those before it move on by one; *victim is what has fallen out if it was not there. Whether it
 * was. (Written so that no compiler makes a call for it: a traced program's calls are traced.)
 */
static bool use(uint64_t *ways, uint64_t line, uint64_t dirty, uint64_t *victim)
{
    uint64_t moved = ways[0];
    *victim = 0;
    if (moved / 2 == line + 1) {
        ways[0] = moved | dirty;
        return true;
    }
    for (uint32_t w = 1; w < FILTER_WAYS; w++) {
        uint64_t here = ways[w];
        ways[w] = moved;
        if (here / 2 == line + 1) {
            ways[0] = here | dirty;
            return true;
        }
        moved = here;
    }
    ways[0] = (line + 1) * 2 | dirty;
    *victim = moved;
    return false;
}

/* A dirty line that falls out of the first level is dirty in the second, or goes further where it is no longer there. */
static void demote(struct filter *filter, uint64_t victim, struct filter_outcome *outcome)
{
    uint64_t line = victim / 2 - 1, *ways = filter->l2[line % FILTER_L2_SETS];
    for (uint32_t w = 0; w < FILTER_WAYS; w++)
        if (ways[w] / 2 == line + 1) {
            ways[w] |= 1;
            return;
        }
    outcome->written[outcome->written_count++] = line;
}

struct filter_outcome filter_access(struct filter *filter, uint64_t line, bool store)
{
    struct filter_outcome outcome;
    uint64_t first, second;
    outcome.miss = false;
    outcome.written_count = 0;
    if (use(filter->l1[line % FILTER_L1_SETS], line, store, &first))
        return outcome;
    outcome.miss = !use(filter->l2[line % FILTER_L2_SETS], line, 0, &second);
    if (second & 1)
        outcome.written[outcome.written_count++] = second / 2 - 1;
    if (first & 1)
        demote(filter, first, &outcome);
    return outcome;
}
