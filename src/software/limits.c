/* SPDX-License-Identifier: MIT */
/* Allowances as limits in the table: what may be written now, and what has to wait until an exclusive SM is empty. */
#include "software/state.h"

static bool is_there(const struct application *a)
{
    return a->state == CORUN_APPLICATION_RUNNING && a->status == CORUN_OK;
}

static uint32_t allowed(const struct software *software, uint32_t place, uint32_t index)
{
    uint32_t limit = software->allowances->tb_limit[place * software->count + index];
    if (!is_there(&software->applications[index]))
        return 0;
    return limit < UNLIMITED_PLACES ? limit : UNLIMITED_PLACES;
}

/* It may have workers there now, or soon: its limit, or the last look was begun before the limit had gone. */
static bool may_be_on(const struct software *software, uint32_t place, uint32_t index)
{
    const struct share *share = share_of(software, place, index);
    return share->given || share->resident || share->write > software->writes_known;
}

static bool is_wanted(const struct software *software, uint32_t place, uint32_t index)
{
    return allowed(software, place, index) && !orders_idle(&software->applications[index]);
}

/* Who comes next to an exclusive SM that is empty: by rank, then by number; `count` if nobody wants it. */
static uint32_t first_comer(const struct software *software, uint32_t place)
{
    const uint32_t *order = &software->allowances->order[place * software->count];
    uint32_t best = software->count;
    for (uint32_t a = 0; a < software->count; a++)
        if (is_wanted(software, place, a) && (best == software->count || order[a] < order[best]))
            best = a;
    return best;
}

/* On an exclusive SM nobody enters beside somebody else. Those that are there keep what they are allowed. */
static void limit_exclusive(const struct software *software, uint32_t place, uint32_t *limits)
{
    bool taken = false, others_want = false;
    for (uint32_t a = 0; a < software->count; a++) {
        bool there = may_be_on(software, place, a);
        taken |= there;
        others_want |= !there && is_wanted(software, place, a);
    }
    uint32_t next = taken ? software->count : first_comer(software, place);
    for (uint32_t a = 0; a < software->count; a++) {
        bool there = may_be_on(software, place, a), idle = orders_idle(&software->applications[a]);
        limits[a] = (there && !(idle && others_want)) || a == next ? allowed(software, place, a) : 0;
    }
}

static void note_hand_over(struct software *software, struct share *share, uint32_t limit)
{
    if (!limit || share->resident)
        share->owed_since = 0;
    else if (!share->owed_since && !share->given)
        share->owed_since = software->now + 1; /* 0: no */
}

/* Sets what is to stand in the table; false: it stands there. */
static bool set_limits(struct software *software, uint32_t place)
{
    uint32_t limits[SOFTWARE_MOST_APPLICATIONS];
    bool changed = false;
    for (uint32_t a = 0; a < software->count; a++)
        limits[a] = allowed(software, place, a);
    for (uint32_t a = 0; a < software->count; a++)
        note_hand_over(software, share_of(software, place, a), limits[a]);
    if (software->allowances->exclusive[place])
        limit_exclusive(software, place, limits);
    for (uint32_t a = 0; a < software->count; a++) {
        struct share *share = share_of(software, place, a);
        if (share->given == limits[a])
            continue;
        changed = true;
        share->given = limits[a];
        share->emptied = false;
        share->write = runtime_table_written(software->runtime) + 1;
        software->limit_rows[a * software->places + place] = (uint16_t)limits[a];
    }
    return changed;
}

/* Rows from the first to the last that differ, by one copy: those between are written as they are. */
static enum corun_status write_rows(struct software *software, uint64_t first, uint64_t last)
{
    struct runtime_rows rows = {.offset = first * sizeof(struct worker_place) + offsetof(struct worker_place, limit),
                                .pitch = sizeof(struct worker_place),
                                .bytes = sizeof *software->limit_rows,
                                .rows = last - first + 1,
                                .data = &software->limit_rows[first]};
    software->control.writes++;
    enum corun_status status = runtime_table_write(software->runtime, &rows);
    return status == CORUN_FAULT ? CORUN_OK : status; /* runtime_wait looks after that */
}

enum corun_status limits_follow(struct software *software)
{
    const uint64_t count = (uint64_t)software->count * software->places, none = count;
    uint64_t first = none, last = 0;
    for (uint32_t place = 0; place < software->places; place++) {
        uint64_t written = runtime_table_written(software->runtime);
        if (!set_limits(software, place))
            continue;
        for (uint32_t a = 0; a < software->count; a++) {
            uint64_t row = (uint64_t)a * software->places + place;
            if (share_of(software, place, a)->write != written + 1)
                continue;
            first = first < row ? first : row;
            last = last > row ? last : row;
        }
    }
    return first == none ? CORUN_OK : write_rows(software, first, last);
}
