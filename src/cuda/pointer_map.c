/* SPDX-License-Identifier: MIT */
/* A hash table of pointers with linear probing. */
#include "cuda/pointer_map.h"

#include <stdlib.h>

static struct pointer_map_entry *place_of(const struct pointer_map *map, uint64_t key)
{
    size_t mask = map->capacity - 1;
    size_t i = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & mask;
    while (map->entries[i].key && map->entries[i].key != key)
        i = (i + 1) & mask;
    return &map->entries[i];
}

/* Drops what was removed; doubles only if what is left needs it. */
static bool rebuild(struct pointer_map *map)
{
    size_t live = 0;
    for (size_t i = 0; i < map->capacity; i++)
        live += map->entries[i].value != NULL;
    struct pointer_map bigger = {.capacity = 64, .used = live};
    while (bigger.capacity < 4 * (live + 1))
        bigger.capacity *= 2;
    bigger.entries = calloc(bigger.capacity, sizeof *bigger.entries);
    if (!bigger.entries)
        return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].value)
            *place_of(&bigger, map->entries[i].key) = map->entries[i];
    free(map->entries);
    *map = bigger;
    return true;
}

bool pointer_map_set(struct pointer_map *map, const void *key, void *value)
{
    if (2 * (map->used + 1) > map->capacity && !rebuild(map))
        return false;
    struct pointer_map_entry *entry = place_of(map, (uint64_t)(uintptr_t)key);
    map->used += entry->key == 0;
    *entry = (struct pointer_map_entry){(uint64_t)(uintptr_t)key, value};
    return true;
}

void *pointer_map_get(const struct pointer_map *map, const void *key)
{
    return map->capacity && key ? place_of(map, (uint64_t)(uintptr_t)key)->value : NULL;
}

void pointer_map_remove(struct pointer_map *map, const void *key)
{
    if (map->capacity && key)
        place_of(map, (uint64_t)(uintptr_t)key)->value = NULL;
}

void pointer_map_free(struct pointer_map *map)
{
    free(map->entries);
    *map = (struct pointer_map){0};
}
