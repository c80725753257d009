/* SPDX-License-Identifier: MIT */
/*
 * Requests under way: a pool of records of one host cache line each, named by index and linked into lists by it, and the
 * queue in which they arrive somewhere in order of time.
 */
#ifndef CORUN_GPU_REQUEST_H
#define CORUN_GPU_REQUEST_H

#include "base/archive.h"
#include "base/bits.h"
#include "gpu/clock.h"
#include "gpu/memory_system.h"

#define NO_REQUEST UINT32_MAX

struct request {
    struct packet packet;
    uint64_t local;       /* address within its slice */
    uint64_t ready;       /* L2 cycle at which its reply can enter the network */
    uint32_t next;        /* in whatever list it is */
    uint16_t destination; /* port it is on its way to */
    uint8_t flits;
    uint8_t need; /* sectors it waits for */
};
_Static_assert(sizeof(struct request) == 64, "one cache line");

/* Sectors in a mask of at most eight. */
static inline uint32_t count_sectors(uint32_t mask)
{
    return count_bits(mask);
}

struct request_pool {
    struct request *slots;
    uint32_t capacity, first_free, used;
};

/* NO_REQUEST when out of memory. May move the slots: keep indices, not pointers, over a call. */
uint32_t request_pool_take(struct request_pool *pool);
void request_pool_free(struct request_pool *pool);
/* Of a kind of packet, those that are under way. */
uint32_t request_pool_count(const struct request_pool *pool, enum packet_kind kind);
void request_pool_archive(struct corun_archive *archive, struct request_pool *pool);

static inline void request_pool_give(struct request_pool *pool, uint32_t request)
{
    pool->slots[request].next = pool->first_free;
    pool->first_free = request;
    pool->used--;
}

/* A list of requests, first in first out, through `next`. */
struct request_list {
    uint32_t first, last;
};

static inline void request_list_append(struct request_pool *pool, struct request_list *list, uint32_t request)
{
    pool->slots[request].next = NO_REQUEST;
    if (list->first == NO_REQUEST)
        list->first = request;
    else
        pool->slots[list->last].next = request;
    list->last = request;
}

static inline uint32_t request_list_pop(struct request_pool *pool, struct request_list *list)
{
    uint32_t request = list->first;
    list->first = pool->slots[request].next;
    return request;
}

/*
 * Requests by (time, source), smallest first; no two have both in common. Most come in order, or nearly so, and go to a ring,
 * a few places before its end at most; those that a backlog elsewhere made late go to a heap.
 */
struct queued_request {
    uint64_t key; /* time << REQUEST_SOURCE_BITS | source */
    uint32_t request;
};
#define REQUEST_SOURCE_BITS 10

struct request_queue {
    struct queued_request *ring, *heap;
    uint32_t ring_capacity, head, count; /* of the ring; capacity is a power of two */
    uint32_t heap_capacity, heap_count;
    uint64_t last; /* key of the ring's last */
};

void request_queue_free(struct request_queue *queue);
void request_queue_archive(struct corun_archive *archive, struct request_queue *queue);
/* What is needed less often. False when out of memory. */
bool request_queue_grow(struct request_queue *queue);                                /* the ring */
bool request_queue_insert(struct request_queue *queue, struct queued_request entry); /* before the ring's last */
struct queued_request request_queue_pop_heap(struct request_queue *queue);

/* False when out of memory. */
static inline bool request_queue_push(struct request_queue *queue, uint64_t time, uint32_t source, uint32_t request)
{
    struct queued_request entry = {time << REQUEST_SOURCE_BITS | source, request};
    if (queue->count && entry.key < queue->last)
        return request_queue_insert(queue, entry);
    if (queue->count == queue->ring_capacity && !request_queue_grow(queue))
        return false;
    queue->ring[(queue->head + queue->count++) & (queue->ring_capacity - 1)] = entry;
    queue->last = entry.key;
    return true;
}

static inline bool request_queue_empty(const struct request_queue *queue)
{
    return !(queue->count | queue->heap_count);
}

/* Time of the first; NEVER if empty. */
static inline uint64_t request_queue_time(const struct request_queue *queue)
{
    uint64_t key = NEVER;
    if (queue->count)
        key = queue->ring[queue->head].key;
    if (queue->heap_count && queue->heap[0].key < key)
        key = queue->heap[0].key;
    return key == NEVER ? NEVER : key >> REQUEST_SOURCE_BITS;
}

/* Time of the one behind the first, or an earlier time; NEVER if there is none. */
static inline uint64_t request_queue_second(const struct request_queue *queue)
{
    if (queue->heap_count)
        return 0;
    return queue->count > 1 ? queue->ring[(queue->head + 1) & (queue->ring_capacity - 1)].key >> REQUEST_SOURCE_BITS
                            : NEVER;
}

static inline struct queued_request request_queue_pop(struct request_queue *queue) /* must not be empty */
{
    if (queue->heap_count && (!queue->count || queue->heap[0].key < queue->ring[queue->head].key))
        return request_queue_pop_heap(queue);
    struct queued_request first = queue->ring[queue->head];
    queue->head = (queue->head + 1) & (queue->ring_capacity - 1);
    queue->count--;
    return first;
}

#endif
