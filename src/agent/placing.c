/* SPDX-License-Identifier: MIT */
/* Cores and ways by name. */
#include "agent/placing.h"

#include <assert.h>
#include <string.h>

void placing_begin(struct placing *placing, uint32_t core_count, uint32_t way_count)
{
    assert(core_count <= PLACING_CORES && way_count <= PLACING_WAYS);
    memset(placing, 0, sizeof *placing);
    placing->core_count = core_count;
    placing->way_count = way_count;
    placing->ways[PLACING_COMMON].count = (uint8_t)way_count;
}

static void place_cores(struct placing *placing, const struct corun_host_share *wanted, uint32_t owner_count)
{
    uint32_t missing[PLACING_OWNERS] = {0}, owner = 1;
    for (uint32_t i = 1; i < owner_count; i++)
        missing[i] = wanted[i].cores;
    for (uint32_t core = 0; core < placing->core_count; core++) {
        uint32_t has = placing->core_owner[core];
        if (has && (has >= owner_count || !missing[has]))
            placing->core_owner[core] = PLACING_COMMON;
        else if (has)
            missing[has]--;
    }
    for (uint32_t core = 0; core < placing->core_count; core++) {
        while (owner < owner_count && !missing[owner])
            owner++;
        if (owner == owner_count)
            return;
        if (placing->core_owner[core] == PLACING_COMMON) {
            placing->core_owner[core] = (uint16_t)owner;
            missing[owner]--;
        }
    }
}

static void place_ways(struct placing *placing, const struct corun_host_share *wanted, uint32_t owner_count)
{
    uint32_t kept = 0, next = 0;
    for (uint32_t i = 0; i < placing->ordered; i++) {
        uint16_t owner = placing->order[i];
        if (owner < owner_count && wanted[owner].ways)
            placing->order[kept++] = owner;
    }
    for (uint32_t owner = 1; owner < owner_count; owner++)
        if (wanted[owner].ways && !placing->ways[owner].count)
            placing->order[kept++] = (uint16_t)owner;
    placing->ordered = kept;
    memset(placing->ways, 0, sizeof placing->ways);
    for (uint32_t i = 0; i < kept; i++) {
        uint16_t owner = placing->order[i];
        placing->ways[owner] = (struct placing_ways){(uint8_t)next, (uint8_t)wanted[owner].ways};
        next += wanted[owner].ways;
    }
    assert(next <= placing->way_count);
    placing->ways[PLACING_COMMON] = (struct placing_ways){(uint8_t)next, (uint8_t)(placing->way_count - next)};
}

void placing_update(struct placing *placing, const struct corun_host_share *wanted, uint32_t owner_count)
{
    assert(owner_count <= PLACING_OWNERS);
    place_cores(placing, wanted, owner_count);
    place_ways(placing, wanted, owner_count);
}

static uint64_t mask_of(uint32_t first, uint32_t count)
{
    return count ? (UINT64_MAX >> (64 - count)) << first : 0;
}

uint64_t placing_way_mask(const struct placing *placing, uint32_t owner)
{
    const struct placing_ways *ways = &placing->ways[owner];
    if (owner == PLACING_COMMON && !ways->count && placing->way_count)
        return mask_of(placing->way_count - 1, 1);
    return mask_of(ways->first, ways->count);
}
