/* SPDX-License-Identifier: MIT */
/*
 * Which cores and which ways: policies speak of numbers, a host needs names. Owner 0 is nobody: what it has is common. A pure function of what was and
 * what is wanted, so that threads move as little as can be.
 */
#ifndef CORUN_AGENT_PLACING_H
#define CORUN_AGENT_PLACING_H

#include "corun/host.h"

#define PLACING_CORES 1024u
#define PLACING_WAYS 64u
#define PLACING_OWNERS 512u
#define PLACING_COMMON 0u

struct placing {
    uint32_t core_count, way_count;
    uint16_t core_owner[PLACING_CORES];
    /* An owner's ways follow one another, as masks of processors must. */
    struct placing_ways {
        uint8_t first, count;
    } ways[PLACING_OWNERS];
    uint16_t order[PLACING_OWNERS]; /* of those with ways, from way 0 on; common ones lie behind */
    uint32_t ordered;
};

/* All is common. At most PLACING_CORES and PLACING_WAYS. */
void placing_begin(struct placing *placing, uint32_t core_count, uint32_t way_count);

/*
 * `wanted` is [owner_count], [0] is not read. Together at most what there is. An owner keeps the cores that it has; one that grows takes the
 * free ones of the lowest numbers, one that shrinks gives those of the highest. Ways lie in the order in which owners came, without holes, so that those
 * behind one that changes move with it.
 */
void placing_update(struct placing *placing, const struct corun_host_share *wanted, uint32_t owner_count);

/* The mask of an owner's ways. 0: it has none; never 0 for the common ones: where all ways are given away, they share the last one. */
uint64_t placing_way_mask(const struct placing *placing, uint32_t owner);

#endif
