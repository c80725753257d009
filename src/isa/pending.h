/* SPDX-License-Identifier: MIT */
/*
 * The lanes of global atomics of one SM that have not been performed yet, by address.
 *
 * An atomic is performed when it reaches the L2, long after it was issued. Its own thread, and its thread block behind a barrier, still
 * have to find it done: their loads see what the atomics before them will have made of memory, and a store behind an atomic to the
 * same place performs that atomic at once, so that it cannot undo the store later.
 */
#ifndef CORUN_ISA_PENDING_H
#define CORUN_ISA_PENDING_H

#include <stdbool.h>
#include <stdint.h>

struct corun_warp;
struct executor_sm;
struct launch;

#define PENDING_BUCKETS 1024u
#define PENDING_GRANULE 16u /* bytes; an atomic lies within one */

struct pending_entry {
    uint64_t address;
    uint32_t ticket;
    uint32_t next; /* index + 1, in the order of issue */
    uint8_t lane, bytes;
};

struct pending_bucket {
    uint32_t first, last; /* index + 1; 0: none */
};

struct pending {
    struct pending_bucket *buckets; /* PENDING_BUCKETS, once there has been an atomic */
    struct pending_entry *entries;
    uint32_t count; /* lanes that wait */
    uint32_t made, capacity;
    uint32_t free; /* index + 1 */
};

void pending_free(struct pending *pending);
/* False when out of memory. */
bool pending_add(struct pending *pending, uint64_t address, uint32_t bytes, uint32_t ticket, uint32_t lane);
/* Takes the lane out, if it is there still. */
void pending_remove(struct pending *pending, uint64_t address, uint32_t ticket, uint32_t lane);

/* The launch goes: those of its atomics that nobody has performed or completed never are. */
void pending_drop(struct executor_sm *sm, const struct launch *launch);
/* Changes the `bytes` bytes that a warp loads at `address` to what the atomics before it make of them. */
void pending_load(struct executor_sm *sm, const struct corun_warp *warp, uint64_t address, uint8_t *value,
                  uint32_t bytes);
/* Performs the atomics before a store to all of their bytes; call it before the store is made. */
void pending_store(struct executor_sm *sm, const struct corun_warp *warp, uint64_t address, uint32_t bytes);

static inline uint32_t pending_hash(uint64_t address)
{
    return (uint32_t)((address / PENDING_GRANULE * UINT64_C(0x9e3779b97f4a7c15)) >> 54);
}

/* Whether one of the bytes may be waiting for an atomic. */
static inline bool pending_may_hold(const struct pending *pending, uint64_t address, uint64_t bytes)
{
    uint64_t end = address + bytes;
    for (address &= ~(uint64_t)(PENDING_GRANULE - 1); address < end; address += PENDING_GRANULE)
        if (pending->buckets[pending_hash(address)].first)
            return true;
    return false;
}

#endif
