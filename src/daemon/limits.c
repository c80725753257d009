/* SPDX-License-Identifier: MIT */
/* Rows of limits: which one counts for whom. */
#include "daemon/limits.h"

static bool is_in(const struct peer *peer, uint32_t group)
{
    if (peer->gid == group)
        return true;
    for (uint32_t i = 0; i < peer->group_count; i++)
        if (peer->groups[i] == group)
            return true;
    return false;
}

uint32_t limits_find(const struct limits *limits, const struct peer *peer, uint32_t owner)
{
    if (peer->uid == owner || peer->uid == 0)
        return LIMITS_OWNER;
    for (uint32_t i = 0; i < limits->count; i++) {
        const struct limit *row = &limits->rows[i];
        if (row->of == LIMIT_OF_EVERYBODY || (row->of == LIMIT_OF_USER && row->id == peer->uid) ||
            (row->of == LIMIT_OF_GROUP && is_in(peer, row->id)))
            return i;
        if (row->of == LIMIT_OF_GROUP && peer->groups_unknown)
            return LIMITS_NOBODY;
    }
    return LIMITS_NOBODY;
}

bool limits_same(const struct limits *limits, uint32_t row, uint32_t uid, uint32_t other_row, uint32_t other_uid)
{
    if (row != other_row)
        return false;
    bool together = row < limits->count && limits->rows[row].of == LIMIT_OF_GROUP;
    return together || uid == other_uid;
}
