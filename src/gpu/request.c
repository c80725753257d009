/* SPDX-License-Identifier: MIT */
/*
 * The pool of requests grows and reuses its records; a queue of requests is a ring for what comes in order and a heap
 * for the rest.
 */
#include "gpu/request.h"

#include <stdlib.h>
#include <string.h>

uint32_t request_pool_take(struct request_pool *pool)
{
    if (pool->used == pool->capacity) {
        uint32_t capacity = pool->capacity ? pool->capacity * 2 : 256;
        struct request *slots = capacity > pool->capacity && capacity < NO_REQUEST
                                    ? aligned_alloc(64, (size_t)capacity * sizeof *slots)
                                    : NULL;
        if (!slots)
            return NO_REQUEST;
        if (pool->capacity)
            memcpy(slots, pool->slots, (size_t)pool->capacity * sizeof *slots);
        free(pool->slots);
        pool->slots = slots;
        /* looked at in free ones, too (memory_system_retire, checkpoints) */
        memset(slots + pool->capacity, 0, (capacity - pool->capacity) * sizeof *slots);
        for (uint32_t i = pool->capacity; i < capacity; i++)
            slots[i].next = i + 1;
        pool->first_free = pool->capacity;
        pool->capacity = capacity;
    }
    uint32_t request = pool->first_free;
    pool->first_free = pool->slots[request].next;
    pool->used++;
    return request;
}

void request_pool_free(struct request_pool *pool)
{
    free(pool->slots);
    *pool = (struct request_pool){0};
}

uint32_t request_pool_count(const struct request_pool *pool, enum packet_kind kind)
{
    uint32_t count = 0, free_ones = pool->capacity - pool->used;
    for (uint32_t i = 0; i < pool->capacity; i++)
        count += pool->slots[i].packet.kind == kind;
    for (uint32_t i = pool->first_free; free_ones-- && i < pool->capacity; i = pool->slots[i].next)
        count -= pool->slots[i].packet.kind == kind;
    return count;
}

bool request_queue_grow(struct request_queue *queue)
{
    uint32_t capacity = queue->ring_capacity ? queue->ring_capacity * 2 : 16;
    struct queued_request *ring = capacity ? malloc(capacity * sizeof *ring) : NULL;
    if (!ring)
        return false;
    for (uint32_t i = 0; i < queue->count; i++)
        ring[i] = queue->ring[(queue->head + i) & (queue->ring_capacity - 1)];
    free(queue->ring);
    queue->ring = ring;
    queue->ring_capacity = capacity;
    queue->head = 0;
    return true;
}

static bool push_heap(struct request_queue *queue, struct queued_request entry)
{
    if (queue->heap_count == queue->heap_capacity) {
        uint32_t capacity = queue->heap_capacity ? queue->heap_capacity * 2 : 16;
        struct queued_request *heap = capacity ? realloc(queue->heap, capacity * sizeof *heap) : NULL;
        if (!heap)
            return false;
        queue->heap = heap;
        queue->heap_capacity = capacity;
    }
    uint32_t at = queue->heap_count++;
    for (; at && queue->heap[(at - 1) / 2].key > entry.key; at = (at - 1) / 2)
        queue->heap[at] = queue->heap[(at - 1) / 2];
    queue->heap[at] = entry;
    return true;
}

/* Places before the end of the ring that are tried: what comes from several sources in turn is out of order by that much. */
#define INSERTED 16u

bool request_queue_insert(struct request_queue *queue, struct queued_request entry)
{
    uint32_t most = queue->count < INSERTED ? queue->count : INSERTED;
    uint32_t mask = queue->ring_capacity - 1, end = queue->head + queue->count,
             place = end - 1; /* before the last, at least */
    while (end - place < most && queue->ring[(place - 1) & mask].key > entry.key)
        place--;
    if (end - place == most && most < queue->count && queue->ring[(place - 1) & mask].key > entry.key)
        return push_heap(queue, entry);
    if (queue->count == queue->ring_capacity) {
        place -= queue->head;
        if (!request_queue_grow(queue))
            return false;
        place += queue->head;
        end = queue->head + queue->count;
        mask = queue->ring_capacity - 1;
    }
    for (uint32_t at = end; at != place; at--)
        queue->ring[at & mask] = queue->ring[(at - 1) & mask];
    queue->ring[place & mask] = entry;
    queue->count++;
    return true;
}

struct queued_request request_queue_pop_heap(struct request_queue *queue)
{
    struct queued_request *heap = queue->heap, first = heap[0], moved = heap[--queue->heap_count];
    uint32_t at = 0, count = queue->heap_count;
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1].key < heap[child].key)
            child++;
        if (heap[child].key >= moved.key)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
    return first;
}

void request_queue_free(struct request_queue *queue)
{
    free(queue->ring);
    free(queue->heap);
    *queue = (struct request_queue){0};
}

#define MOST_REQUESTS (UINT32_C(1) << 26)

void request_pool_archive(struct corun_archive *archive, struct request_pool *pool)
{
    size_t capacity = pool->capacity;
    archive_count(archive, &capacity, MOST_REQUESTS);
    if (archive->reads && archive_fine(archive)) {
        request_pool_free(pool);
        pool->slots = capacity ? aligned_alloc(64, capacity * sizeof *pool->slots) : NULL;
        if (capacity && !pool->slots)
            archive_fail(archive, CORUN_MEMORY, "out of memory");
        pool->capacity = pool->slots ? (uint32_t)capacity : 0;
    }
    ARCHIVE(archive, pool->first_free);
    ARCHIVE(archive, pool->used);
    archive_bytes(archive, pool->slots, pool->capacity * sizeof *pool->slots);
}

static void archive_entry(struct corun_archive *archive, struct queued_request *entry)
{
    ARCHIVE(archive, entry->key);
    ARCHIVE(archive, entry->request);
}

/* In the order of the ring; where that begins and how long it is nobody sees. */
void request_queue_archive(struct corun_archive *archive, struct request_queue *queue)
{
    size_t count = queue->count, heap_count = queue->heap_count;
    archive_count(archive, &count, MOST_REQUESTS);
    archive_count(archive, &heap_count, MOST_REQUESTS);
    ARCHIVE(archive, queue->last);
    if (archive->reads) {
        queue->head = queue->count = queue->heap_count = 0;
        while (archive_fine(archive) && queue->ring_capacity < count)
            if (!request_queue_grow(queue))
                archive_fail(archive, CORUN_MEMORY, "out of memory");
        bool grows = heap_count > queue->heap_capacity;
        struct queued_request *heap = grows ? realloc(queue->heap, heap_count * sizeof *heap) : queue->heap;
        if (grows && !heap)
            archive_fail(archive, CORUN_MEMORY, "out of memory");
        else
            queue->heap = heap;
        if (!archive_fine(archive))
            return;
        queue->heap_capacity = grows ? (uint32_t)heap_count : queue->heap_capacity;
        queue->count = (uint32_t)count;
        queue->heap_count = (uint32_t)heap_count;
    }
    for (uint32_t i = 0; i < queue->count; i++)
        archive_entry(archive, &queue->ring[(queue->head + i) & (queue->ring_capacity - 1)]);
    for (uint32_t i = 0; i < queue->heap_count; i++)
        archive_entry(archive, &queue->heap[i]);
}
