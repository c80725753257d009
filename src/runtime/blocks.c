/* SPDX-License-Identifier: MIT */
/* Blocks of memory: taken again in their size, freed when another size needs the room. */
#include "runtime/blocks.h"

#include <stdlib.h>

enum { OUT_OF_MEMORY = 2, HOST_FOR_ALL_CONTEXTS = 1, GRANULE = 512, PAGE = 4096 };

uint64_t block_cost(uint64_t bytes)
{
    return (bytes + GRANULE - 1) / GRANULE * GRANULE;
}

/* Whole pages of the host: they can be page-locked, and are of use where the driver refuses that. */
static int allocate(struct blocks *blocks, uint64_t bytes, unsigned long long *address)
{
    if (blocks->arena.bytes) {
        if (block_cost(bytes) > blocks->arena.bytes - blocks->arena_used)
            return OUT_OF_MEMORY;
        *address = blocks->arena.address + blocks->arena_used;
        blocks->arena_used += block_cost(bytes);
        return 0;
    }
    if (!blocks->of_host)
        return blocks->driver->memory_allocate(address, bytes);
    void *place = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    if (!place)
        return OUT_OF_MEMORY;
    (void)blocks->driver->host_register(place, bytes, HOST_FOR_ALL_CONTEXTS);
    *address = (uintptr_t)place;
    return 0;
}

static void release(const struct blocks *blocks, const struct block *block)
{
    void *place = (void *)(uintptr_t)block->address;
    if (blocks->arena.bytes)
        return;
    if (!blocks->of_host) {
        (void)blocks->driver->memory_free(block->address);
        return;
    }
    (void)blocks->driver->host_unregister(place);
    free(place);
}

static void drop(struct blocks *blocks, size_t index)
{
    blocks->kept_bytes -= block_cost(blocks->kept.data[index].bytes);
    blocks->kept.data[index] = blocks->kept.data[--blocks->kept.count];
}

static bool take_kept(struct blocks *blocks, uint64_t bytes, struct block *block)
{
    for (size_t i = blocks->kept.count; i-- > 0;)
        if (blocks->kept.data[i].bytes == bytes) {
            *block = blocks->kept.data[i];
            drop(blocks, i);
            return true;
        }
    return false;
}

bool blocks_take(struct blocks *blocks, uint64_t bytes, struct block *block, int *error)
{
    uint64_t cost = block_cost(bytes);
    *error = 0;
    *block = (struct block){.bytes = bytes};
    if (!bytes)
        return true;
    if (!take_kept(blocks, bytes, block)) {
        if (cost > blocks->most_bytes || blocks->used_bytes > blocks->most_bytes - cost)
            return false;
        if (blocks->used_bytes + blocks->kept_bytes > blocks->most_bytes - cost)
            blocks_clear(blocks);
        *error = allocate(blocks, bytes, &block->address);
        if (*error == OUT_OF_MEMORY && blocks->kept.count) {
            blocks_clear(blocks);
            *error = allocate(blocks, bytes, &block->address);
        }
        if (*error == OUT_OF_MEMORY && blocks->used_bytes) {
            *error = 0; /* others will give theirs back */
            return false;
        }
        if (*error)
            return false;
    }
    blocks->used_bytes += cost;
    if (blocks->used_bytes > blocks->peak_bytes)
        blocks->peak_bytes = blocks->used_bytes;
    return true;
}

void blocks_give(struct blocks *blocks, struct block *block)
{
    if (!block->address)
        return;
    blocks->used_bytes -= block_cost(block->bytes);
    if (vector_push(&blocks->kept, *block))
        blocks->kept_bytes += block_cost(block->bytes);
    else
        release(blocks, block);
    *block = (struct block){0};
}

void blocks_clear(struct blocks *blocks)
{
    if (blocks->arena.bytes) /* parts come back in their size alone */
        return;
    while (blocks->kept.count) {
        release(blocks, &blocks->kept.data[0]);
        drop(blocks, 0);
    }
    vector_free(&blocks->kept);
}

void blocks_forget(struct blocks *blocks)
{
    vector_free(&blocks->kept);
    blocks->kept_bytes = blocks->used_bytes = blocks->arena_used = 0;
    blocks->arena = (struct block){0};
}
