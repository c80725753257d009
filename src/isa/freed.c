/* SPDX-License-Identifier: MIT */
/* The list of freed ranges, sorted by address, with a bound on its length: the oldest range goes first. */
#include "isa/freed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Index of the first entry that begins above `address`. */
static size_t first_above(const struct freed_list *list, uint64_t address)
{
    size_t low = 0, high = list->entries.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->entries.data[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool freed_reserve(struct freed_list *list)
{
    list->entries.data = calloc(MOST_FREED, sizeof *list->entries.data);
    list->entries.capacity = list->entries.data ? MOST_FREED : 0;
    return list->entries.data != NULL;
}

static void remove_entries(struct freed_list *list, size_t first, size_t behind)
{
    struct freed *all = list->entries.data;
    if (first == behind)
        return;
    memmove(all + first, all + behind, (list->entries.count - behind) * sizeof *all);
    list->entries.count -= behind - first;
}

static void remove_oldest(struct freed_list *list)
{
    size_t oldest = 0;
    for (size_t i = 1; i < list->entries.count; i++)
        if (list->entries.data[i].order < list->entries.data[oldest].order)
            oldest = i;
    remove_entries(list, oldest, oldest + 1);
}

void freed_forget(struct freed_list *list, uint64_t address, uint64_t bytes)
{
    if (!list->entries.count || !bytes)
        return;
    size_t behind = first_above(list, address + bytes - 1), first = behind;
    while (first > 0 && list->entries.data[first - 1].address + list->entries.data[first - 1].bytes > address)
        first--;
    remove_entries(list, first, behind);
}

void freed_add(struct freed_list *list, uint64_t address, uint64_t bytes, const char *name, const char *freer)
{
    freed_forget(list, address, bytes);
    if (list->entries.count == MOST_FREED)
        remove_oldest(list);
    struct freed entry = {.address = address, .bytes = bytes, .order = list->count++};
    snprintf(entry.name, sizeof entry.name, "%s", name);
    snprintf(entry.freer, sizeof entry.freer, "%s", freer);
    size_t position = first_above(list, address);
    if (!vector_push(&list->entries, entry))
        return;
    struct freed *all = list->entries.data;
    memmove(all + position + 1, all + position, (list->entries.count - 1 - position) * sizeof *all);
    all[position] = entry;
}

const struct freed *freed_find(const struct freed_list *list, uint64_t address)
{
    size_t above = first_above(list, address);
    const struct freed *entry = above ? &list->entries.data[above - 1] : NULL;
    return entry && address - entry->address < entry->bytes ? entry : NULL;
}
