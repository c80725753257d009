/* SPDX-License-Identifier: MIT */
/* Rows of limits: which one counts for whom. */
#include "daemon/limits.h"

#include <string.h>

static bool is_in(const struct peer *peer, uint32_t group)
{
    if (peer->gid == group)
        return true;
    for (uint32_t i = 0; i < peer->group_count; i++)
        if (peer->groups[i] == group)
            return true;
    return false;
}

static bool has_cgroups(const struct limits *limits)
{
    bool any = false;
    for (uint32_t i = 0; i < limits->count; i++)
        any |= limits->rows[i].of == LIMIT_OF_CGROUP;
    return any;
}

static bool fits(const struct limit *row, const struct peer *peer)
{
    switch (row->of) {
    case LIMIT_OF_USER:
        return row->id == peer->uid;
    case LIMIT_OF_GROUP:
        return is_in(peer, row->id);
    case LIMIT_OF_CGROUP:
        return cgroup_fits(row->cgroup, peer->cgroup) != 0;
    default:
        return true;
    }
}

/* It cannot be said whether the row fits. */
static bool is_unknown(const struct limit *row, const struct peer *peer)
{
    return (row->of == LIMIT_OF_GROUP && peer->groups_unknown) || (row->of == LIMIT_OF_CGROUP && !*peer->cgroup);
}

uint32_t limits_find(const struct limits *limits, const struct peer *peer, uint32_t owner)
{
    bool is_owner =
        peer->uid == 0 || peer->uid == owner; /* in a container perhaps, of whose control group there is a row */
    if (is_owner && !has_cgroups(limits))
        return LIMITS_OWNER;
    for (uint32_t i = 0; i < limits->count; i++) {
        const struct limit *row = &limits->rows[i];
        if (is_owner && row->of != LIMIT_OF_CGROUP)
            continue;
        if (fits(row, peer))
            return i;
        if (is_unknown(row, peer))
            return LIMITS_NOBODY;
    }
    return is_owner ? LIMITS_OWNER : LIMITS_NOBODY;
}

bool limits_same(const struct limits *limits, uint32_t row, const struct peer *peer, uint32_t other_row,
                 const struct peer *other)
{
    if (row != other_row)
        return false;
    const struct limit *limit = row < limits->count ? &limits->rows[row] : NULL;
    if (!limit || (limit->of != LIMIT_OF_GROUP && limit->of != LIMIT_OF_CGROUP))
        return peer->uid == other->uid;
    size_t bytes = limit->of == LIMIT_OF_CGROUP ? cgroup_fits(limit->cgroup, peer->cgroup) : 0;
    return bytes == (limit->of == LIMIT_OF_CGROUP ? cgroup_fits(limit->cgroup, other->cgroup) : 0) &&
           memcmp(peer->cgroup, other->cgroup, bytes) == 0;
}
