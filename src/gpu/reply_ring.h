/* SPDX-License-Identifier: MIT */
/* Replies of the memory system, or of the cluster network, to one SM in order of delivery. */
#ifndef CORUN_GPU_REPLY_RING_H
#define CORUN_GPU_REPLY_RING_H

#include "base/archive.h"
#include "gpu/cache_lines.h"
#include "gpu/retired_kernels.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What an SM is told when its packet has been served: half a cache line of the host less than the packet. */
struct reply {
    uint64_t cycle; /* at which it is at the SM */
    uint32_t token;
    uint16_t kernel, sm;
    uint8_t kind, client;
};

/*
 * Appended at one end, taken from the other. The capacity is a power of two and never exceeded: an SM has at most icnt_buffer packets under way. What
 * was appended the SM finds when it accepts: at once, or at the beginning of a step where the memory system is played beside SMs.
 */
struct reply_ring {
    /* the SM's, in a line of the host's cache of its own */
    _Alignas(HOST_LINE_BYTES) struct reply *slots;
    uint32_t mask, head, tail;
    uint64_t *first_cycle; /* the SM's: gets the cycle of a reply that finds the ring empty; NULL: nobody asks */
    /* the memory system's, which leaves the SM's line to the SM */
    _Alignas(HOST_LINE_BYTES) _Atomic uint32_t delivered; /* the tail, as soon as the SM accepts */
    uint32_t delivered_mask;
    struct reply *delivered_to; /* the slots */
};

/* Room for `least` replies or more. False when out of memory. */
bool reply_ring_create(struct reply_ring *ring, uint32_t least);
void reply_ring_destroy(struct reply_ring *ring);
/* Replies that name a retired slot name the heir from now on. */
void reply_ring_retire(struct reply_ring *ring, const struct retired_kernels *retired);
/* To a checkpoint or from it, when all has been accepted. */
void reply_ring_archive(struct corun_archive *archive, struct reply_ring *ring);

/* Its cycle is not before those of the replies before it. */
static inline void reply_ring_append(struct reply_ring *ring, struct reply reply)
{
    uint32_t at = atomic_load_explicit(&ring->delivered, memory_order_relaxed);
    ring->delivered_to[at & ring->delivered_mask] = reply;
    atomic_store_explicit(&ring->delivered, at + 1, memory_order_release);
}

/* By whoever runs the SM, or while nobody does. */
static inline void reply_ring_accept(struct reply_ring *ring)
{
    uint32_t delivered = atomic_load_explicit(&ring->delivered, memory_order_acquire);
    if (ring->tail == delivered)
        return;
    if (ring->first_cycle && ring->head == ring->tail)
        *ring->first_cycle = ring->slots[ring->head & ring->mask].cycle;
    ring->tail = delivered;
    assert(ring->tail - ring->head <= ring->mask + 1);
}

#endif
