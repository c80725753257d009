/* SPDX-License-Identifier: MIT */
/*
 * Values found by an address or another non-zero number: handles, host stubs. Zeroed is empty; pointer_map_free ends
 * it.
 */
#ifndef CORUN_CUDA_POINTER_MAP_H
#define CORUN_CUDA_POINTER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pointer_map_entry {
    uint64_t key; /* 0: free */
    void *value;  /* NULL: was removed */
};

struct pointer_map {
    struct pointer_map_entry *entries;
    size_t used, capacity; /* used: places taken, removed ones included; capacity is 0 or a power of two */
};

/* Sets or replaces. False when out of memory. */
bool pointer_map_set(struct pointer_map *map, const void *key, void *value);
/* NULL if there is none. */
void *pointer_map_get(const struct pointer_map *map, const void *key);
void pointer_map_remove(struct pointer_map *map, const void *key);
void pointer_map_free(struct pointer_map *map);

#endif
