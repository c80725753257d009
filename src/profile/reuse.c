/* SPDX-License-Identifier: MIT */
/* Reuse distances by a tree of sums over time. */
#include "profile/reuse.h"

#include "trace/format.h"

#include <stdlib.h>

struct line {
    uint64_t name; /* + 1; 0: free */
    size_t last;   /* time of its last access, from 1 on */
    bool dirty;
};

struct reuse {
    struct line *lines; /* a hash table */
    size_t room;        /* power of two */
    uint32_t *sums;     /* by time: a tree (Fenwick, 1994) over "the last access of a line so far" */
    size_t times;
};

static struct line *find(struct reuse *reuse, uint64_t name)
{
    size_t at = trace_hash(name ^ UINT64_C(0x5bd1e995)) & (reuse->room - 1);
    while (reuse->lines[at].name && reuse->lines[at].name != name + 1)
        at = (at + 1) & (reuse->room - 1);
    reuse->lines[at].name = name + 1;
    return &reuse->lines[at];
}

static void add(struct reuse *reuse, size_t time, uint32_t value)
{
    for (; time <= reuse->times; time += time & -time)
        reuse->sums[time] += value;
}

static size_t sum_until(const struct reuse *reuse, size_t time)
{
    size_t sum = 0;
    for (; time; time -= time & -time)
        sum += reuse->sums[time];
    return sum;
}

/* Lines accessed since the last access of this one, without it; SIZE_MAX: it is new. */
static size_t distance(struct reuse *reuse, struct line *line, size_t now)
{
    size_t between = SIZE_MAX;
    if (line->last) {
        between = sum_until(reuse, now - 1) - sum_until(reuse, line->last);
        add(reuse, line->last, UINT32_MAX); /* minus 1 */
    }
    line->last = now;
    add(reuse, now, 1);
    return between;
}

enum corun_status profile_reuse(const struct profile_access *accesses, size_t count, double rate,
                                struct profile_misses *misses)
{
    struct reuse reuse = {.room = 1024, .times = count};
    while (reuse.room < 2 * count)
        reuse.room *= 2;
    reuse.lines = calloc(reuse.room, sizeof *reuse.lines);
    reuse.sums = calloc(count + 1, sizeof *reuse.sums);
    if (!reuse.lines || !reuse.sums) {
        free(reuse.lines);
        free(reuse.sums);
        return CORUN_MEMORY;
    }
    misses->accesses = misses->written = 0;
    for (uint32_t s = 0; s < misses->size_count; s++)
        misses->misses[s] = 0;
    for (size_t i = 0; i < count; i++) {
        struct line *line = find(&reuse, accesses[i].line);
        if (accesses[i].written) {
            line->dirty = true;
            continue;
        }
        size_t between = distance(&reuse, line, i + 1);
        double lines = between == SIZE_MAX ? -1 : (double)between * rate;
        for (uint32_t s = 0; s < misses->size_count && accesses[i].counts; s++)
            misses->misses[s] += lines < 0 || lines >= (double)misses->lines[s];
        misses->accesses += accesses[i].counts;
        if (misses->size_count && (lines < 0 || lines >= (double)misses->lines[0])) {
            misses->written += accesses[i].counts && line->dirty;
            line->dirty = false;
        }
    }
    free(reuse.lines);
    free(reuse.sums);
    return CORUN_OK;
}
