/* SPDX-License-Identifier: MIT */
/* The heap of events.c: entry i is above entries 2 i + 1 and 2 i + 2, and its key is not greater than theirs. */
#include "queue/heap.h"

#include <stdlib.h>

bool heap_put(struct heap *heap, struct heap_entry entry)
{
    size_t place = heap->entries.count;
    if (!vector_push(&heap->entries, entry))
        return false;
    for (; place; place = (place - 1) / 2) {
        struct heap_entry above = heap->entries.data[(place - 1) / 2];
        heap->steps++;
        if (above.key <= entry.key)
            break;
        heap->entries.data[place] = above;
    }
    heap->entries.data[place] = entry;
    return true;
}

struct heap_entry heap_take(struct heap *heap)
{
    struct heap_entry *entries = heap->entries.data, least = entries[0];
    size_t count = --heap->entries.count, place = 0;
    struct heap_entry last = entries[count];
    for (size_t below = 1; below < count; below = 2 * place + 1) {
        below += below + 1 < count && entries[below + 1].key < entries[below].key;
        heap->steps++;
        if (last.key <= entries[below].key)
            break;
        entries[place] = entries[below];
        place = below;
    }
    entries[place] = last;
    return least;
}

void heap_free(struct heap *heap)
{
    vector_free(&heap->entries);
}
