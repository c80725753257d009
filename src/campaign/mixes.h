/* SPDX-License-Identifier: MIT */
/* Which applications meet: selections of n things out of many, in a fixed order, or a sample of them. */
#ifndef CORUN_CAMPAIGN_MIXES_H
#define CORUN_CAMPAIGN_MIXES_H

#include <stdbool.h>
#include <stdint.h>

#define MIX_MAX 8u

struct mix_rule {
    uint32_t things; /* to choose from */
    uint32_t size;   /* how many at a time, up to MIX_MAX */
    bool ordered;    /* (a, b) and (b, a) are two */
    bool repeated;   /* (a, a) is one, too */
};

/* UINT64_MAX if there are that many or more. */
uint64_t mixes_count(const struct mix_rule *rule);
/* The mix of that number, 0 to count - 1, in lexicographic order of the things' numbers. */
void mixes_get(const struct mix_rule *rule, uint64_t number, uint32_t mix[MIX_MAX]);
/*
 * `count` different numbers below `all`, ascending, chosen by the seed (Floyd's algorithm). `numbers` has room for
 * them. False when out of memory.
 */
bool mixes_sample(uint64_t all, uint32_t count, uint64_t seed, uint64_t *numbers);

#endif
