/* SPDX-License-Identifier: MIT */
#include "gpu/reply_ring.h"

#include <stdlib.h>

bool reply_ring_create(struct reply_ring *ring, uint32_t least)
{
    uint32_t slots = 1;
    while (slots < least)
        slots *= 2;
    struct reply *replies = calloc(slots, sizeof *replies);
    *ring =
        (struct reply_ring){.slots = replies, .mask = slots - 1, .delivered_to = replies, .delivered_mask = slots - 1};
    return replies != NULL;
}

void reply_ring_destroy(struct reply_ring *ring)
{
    free(ring->slots);
}

void reply_ring_retire(struct reply_ring *ring, const struct retired_kernels *retired)
{
    for (uint32_t at = ring->head; at != ring->tail; at++)
        ring->slots[at & ring->mask].kernel = heir_of(retired, ring->slots[at & ring->mask].kernel);
}

void reply_ring_archive(struct corun_archive *archive, struct reply_ring *ring)
{
    uint32_t head = ring->head, tail = ring->tail;
    ARCHIVE(archive, head);
    ARCHIVE(archive, tail);
    if (tail - head > ring->mask + 1)
        archive_fail(archive, CORUN_SYNTAX, "%u replies to an SM", tail - head);
    if (!archive_fine(archive))
        return;
    ring->head = head;
    ring->tail = tail;
    atomic_store_explicit(&ring->delivered, tail, memory_order_relaxed);
    for (uint32_t i = head; i != tail; i++) {
        struct reply *reply = &ring->slots[i & ring->mask];
        ARCHIVE(archive, reply->cycle);
        ARCHIVE(archive, reply->token);
        ARCHIVE(archive, reply->kernel);
        ARCHIVE(archive, reply->sm);
        ARCHIVE(archive, reply->kind);
        ARCHIVE(archive, reply->client);
    }
}
