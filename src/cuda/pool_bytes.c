/* SPDX-License-Identifier: MIT */
/* Counts of pools of memory. */
#include "cuda/pool_bytes.h"

#include "cuda/pool.h"
#include "cuda/process.h"

#include <stdlib.h>

#define PAGE_BYTES (UINT64_C(2) << 20) /* of a GPU: what virtual memory management maps at least */

static uint64_t whole_pages(uint64_t bytes)
{
    return bytes > UINT64_MAX - PAGE_BYTES ? UINT64_MAX / PAGE_BYTES * PAGE_BYTES
                                           : (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void pool_bytes_take(struct pool_bytes *pool, uint64_t bytes)
{
    pool->used += bytes;
    pool->most_used = greater(pool->most_used, pool->used);
    pool->reserved = greater(pool->reserved, whole_pages(pool->used));
    pool->most_reserved = greater(pool->most_reserved, pool->reserved);
}

void pool_bytes_give(struct pool_bytes *pool, uint64_t bytes)
{
    pool->used -= bytes;
}

void pool_bytes_trim(struct pool_bytes *pool, uint64_t bytes)
{
    uint64_t least = greater(whole_pages(pool->used), whole_pages(bytes));
    pool->reserved = pool->reserved < least ? pool->reserved : least;
}

void pool_bytes_waited(struct process *process, const struct device *device)
{
    for (size_t i = 0; i < process->pools.count; i++)
        if (process->pools.data[i]->device == device)
            pool_bytes_trim(process->pools.data[i]->bytes, process->pools.data[i]->bytes->threshold);
}

uint64_t pool_bytes_idle(const struct process *process, const struct device *device)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < process->pools.count; i++) {
        const struct pool *pool = process->pools.data[i];
        sum += pool->device == device ? pool->bytes->reserved - pool->bytes->used : 0;
    }
    return sum;
}

void pool_bytes_release(struct pool_bytes *pool)
{
    if (--pool->references == 0)
        free(pool);
}
