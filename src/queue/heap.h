/* SPDX-License-Identifier: MIT */
/* A binary heap: entries come out by key, the least first. Putting one in or taking it out looks at as many as the heap is high. */
#ifndef CORUN_QUEUE_HEAP_H
#define CORUN_QUEUE_HEAP_H

#include "base/vector.h"

#include <stdint.h>

struct heap_entry {
    uint64_t key;
    uint32_t slice, tbs; /* what events.c keeps by key */
};

/* All zero: empty. Owned by whoever declares it; heap_free ends it. */
struct heap {
    VECTOR(struct heap_entry) entries; /* the first one has the least key */
    uint64_t steps;                    /* entries that were compared with their parents, in all */
};

bool heap_put(struct heap *heap, struct heap_entry entry); /* false: out of memory */
struct heap_entry heap_take(struct heap *heap);            /* the least one; there is one */
void heap_free(struct heap *heap);

#endif
