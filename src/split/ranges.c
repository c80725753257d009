/* SPDX-License-Identifier: MIT */
/* Ranges are added and removed; neighbours become one range. */
#include "split/ranges.h"

#include <stdlib.h>
#include <string.h>

/* The first range that ends at or behind `place`. */
static size_t find(const struct ranges *set, uint64_t place)
{
    size_t low = 0, high = set->list.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->list.data[middle].end < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Replaces the ranges [first, last) by `count` new ones, at most two. */
static bool replace(struct ranges *set, size_t first, size_t last, const struct range *with, size_t count)
{
    struct range nothing = {0};
    size_t before = set->list.count;
    for (size_t removed = last - first; removed < count; removed++) {
        if (!vector_push(&set->list, nothing)) { /* room first, before anything moves */
            set->list.count = before;
            return false;
        }
    }
    set->list.count = before;
    struct range *data = set->list.data;
    memmove(data + first + count, data + last, (before - last) * sizeof *data);
    for (size_t i = 0; i < count; i++)
        data[first + i] = with[i];
    set->list.count = before - (last - first) + count;
    return true;
}

bool ranges_add(struct ranges *set, uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return true;
    size_t first = find(set, begin), last = first;
    struct range merged = {begin, end};
    for (; last < set->list.count && set->list.data[last].begin <= end; last++) {
        const struct range *old = &set->list.data[last];
        merged.begin = old->begin < merged.begin ? old->begin : merged.begin;
        merged.end = old->end > merged.end ? old->end : merged.end;
    }
    return replace(set, first, last, &merged, 1);
}

bool ranges_remove(struct ranges *set, uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return true;
    size_t first = find(set, begin + 1), last = first, kept = 0;
    struct range rest[2];
    for (; last < set->list.count && set->list.data[last].begin < end; last++) {
        const struct range *old = &set->list.data[last];
        if (old->begin < begin)
            rest[kept++] = (struct range){old->begin, begin};
        if (old->end > end)
            rest[kept++] = (struct range){end, old->end};
    }
    return last == first || replace(set, first, last, rest, kept);
}

uint64_t ranges_total(const struct ranges *set)
{
    uint64_t total = 0;
    for (size_t i = 0; i < set->list.count; i++)
        total += set->list.data[i].end - set->list.data[i].begin;
    return total;
}

bool ranges_next_gap(const struct ranges *set, uint64_t *from, uint64_t end, struct range *gap)
{
    size_t i = find(set, *from + 1);
    while (*from < end && i < set->list.count && set->list.data[i].begin <= *from)
        *from = set->list.data[i++].end;
    if (*from >= end)
        return false;
    gap->begin = *from;
    gap->end = i < set->list.count && set->list.data[i].begin < end ? set->list.data[i].begin : end;
    *from = gap->end;
    return true;
}

struct range ranges_take(struct ranges *set, uint64_t count, bool from_back)
{
    struct range taken = {0};
    if (!set->list.count || !count)
        return taken;
    size_t index = from_back ? set->list.count - 1 : 0;
    struct range *place = &set->list.data[index];
    taken = *place;
    if (place->end - place->begin <= count) {
        (void)replace(set, index, index + 1, NULL, 0); /* shrinking needs no memory */
    } else if (from_back) {
        place->end -= count;
        taken.begin = place->end;
    } else {
        place->begin += count;
        taken.end = place->begin;
    }
    return taken;
}

void ranges_clear(struct ranges *set)
{
    set->list.count = 0;
}

void ranges_free(struct ranges *set)
{
    vector_free(&set->list);
}
