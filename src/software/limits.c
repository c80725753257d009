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

/* What is to stand in the table for the applications of an SM. */
struct wanted {
    uint32_t limits[SOFTWARE_MOST_APPLICATIONS];
    int after[SOFTWARE_MOST_APPLICATIONS];
};

/* Who else may be there; *count of them. */
static uint32_t find_others(const struct software *software, uint32_t place, uint32_t index, uint32_t *count)
{
    uint32_t found = software->count;
    *count = 0;
    for (uint32_t a = 0; a < software->count; a++)
        if (a != index && may_be_on(software, place, a)) {
            found = a;
            ++*count;
        }
    return found;
}

/*
 * On an exclusive SM nobody begins beside somebody else. Those that have a limit keep what they are allowed. Where nobody has one, who comes next gets it,
 * even if another one's workers are still there: its own wait for them, on the SM. Where two others may be there, nobody gets it.
 */
static void limit_exclusive(const struct software *software, uint32_t place, struct wanted *wanted)
{
    uint32_t next = first_comer(software, place), count;
    bool kept = false, others_want = false;
    for (uint32_t a = 0; a < software->count; a++)
        others_want |= !share_of(software, place, a)->given && is_wanted(software, place, a);
    for (uint32_t a = 0; a < software->count; a++) {
        bool has = share_of(software, place, a)->given, idle = orders_idle(&software->applications[a]);
        wanted->limits[a] = has && !(idle && others_want) ? allowed(software, place, a) : 0;
        kept |= wanted->limits[a] != 0;
    }
    if (!kept && next < software->count) {
        (void)find_others(software, place, next, &count);
        wanted->limits[next] = count <= 1 ? allowed(software, place, next) : 0;
    }
    for (uint32_t a = 0; a < software->count; a++) {
        uint32_t other = find_others(software, place, a, &count);
        bool waits =
            wanted->limits[a] && count && (!share_of(software, place, a)->given || share_of(software, place, a)->after);
        wanted->after[a] = waits ? (int)other - (int)a : 0;
    }
}

static void note_hand_over(struct software *software, struct share *share, uint32_t limit)
{
    if (!limit || share->resident)
        share->owed_since = 0;
    else if (!share->owed_since && !share->given)
        share->owed_since = software->now + 1; /* 0: no */
}

/*
 * A limit that is lowered is obeyed at once where the policy drops, until it rises: a worker that joins is counted for a moment, and need not send another
 * one away.
 */
static bool leaves_at_once(const struct software *software, uint32_t place, uint32_t index, const struct wanted *wanted)
{
    const struct share *share = share_of(software, place, index);
    uint32_t limit = wanted->limits[index];
    bool drops = software->allowances->reclaim[place * software->count + index] == CORUN_RECLAIM_DROP;
    if (!software->drops || !drops || wanted->after[index] || limit > share->given)
        return false;
    return limit < share->given || share->at_once;
}

/* Sets what is to stand in the table; false: it stands there. */
static bool set_limits(struct software *software, uint32_t place)
{
    struct wanted wanted = {{0}, {0}};
    bool changed = false;
    for (uint32_t a = 0; a < software->count; a++)
        wanted.limits[a] = allowed(software, place, a);
    for (uint32_t a = 0; a < software->count; a++)
        note_hand_over(software, share_of(software, place, a), wanted.limits[a]);
    if (software->allowances->exclusive[place])
        limit_exclusive(software, place, &wanted);
    for (uint32_t a = 0; a < software->count; a++) {
        struct share *share = share_of(software, place, a);
        bool at_once = leaves_at_once(software, place, a, &wanted);
        if (share->given == wanted.limits[a] && share->after == wanted.after[a] && share->at_once == at_once)
            continue;
        changed = true;
        if (!share->given) {
            share->covered = false;
            share->raised = runtime_table_written(software->runtime) + 1;
            share->waits_for = wanted.after[a] ? wanted.after[a] : share->waits_for;
        }
        if (!share->given &&
            wanted.after[a]) /* who was to come after somebody may be there now, as far as anybody knows */
            share_of(software, place, (uint32_t)((int)a + wanted.after[a]))->waits_for = 0;
        share->emptied = false;
        share->given = wanted.limits[a];
        share->after = wanted.after[a];
        share->at_once = at_once;
        share->write = runtime_table_written(software->runtime) + 1;
        software->limit_rows[a * software->places + place] =
            worker_limit(share->given, at_once ? WORKERS_AT_ONCE : share->after);
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

/*
 * A write waits on the device for the launch that goes as its program has it. What is decided meanwhile is one write more, when that one is there: each takes the time of a copy, and
 * the next launch comes behind all of them.
 */
static bool is_held(struct software *software)
{
    bool once = false;
    for (uint32_t i = 0; i < software->count; i++)
        once |= runs_once(&software->applications[i]);
    return once && runtime_table_settled(software->runtime) < runtime_table_written(software->runtime);
}

enum corun_status limits_follow(struct software *software)
{
    const uint64_t none = UINT64_MAX;
    uint64_t first = none, last = 0;
    if (!software->limits_due || is_held(software))
        return CORUN_OK;
    software->limits_due = false;
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
    plugs_plan(software, &first, &last);
    return first == none ? CORUN_OK : write_rows(software, first, last);
}

void limits_clear(struct software *software)
{
    uint64_t count = ((uint64_t)software->count + 1) * software->places;
    for (uint64_t row = 0; row < count; row++)
        software->limit_rows[row] = 0;
    if (count)
        (void)write_rows(software, 0, count - 1);
}
