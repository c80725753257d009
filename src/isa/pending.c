/* SPDX-License-Identifier: MIT */
/* The table of pending atomics, hashed by address, and what a load sees of them. */
#include "isa/pending.h"

#include "base/bits.h"

#include "isa/executor.h"

#include <stdlib.h>
#include <string.h>

/* The bytes that one access looks at: whole granules, of which those that are known hold what the warp sees. */
struct seen {
    uint64_t address;
    uint32_t known; /* a bit per byte */
    uint8_t bytes[32];
};

void pending_free(struct pending *pending)
{
    free(pending->buckets);
    free(pending->entries);
    *pending = (struct pending){0};
}

static uint32_t take_entry(struct pending *pending)
{
    if (pending->free) {
        uint32_t index = pending->free - 1;
        pending->free = pending->entries[index].next;
        return index;
    }
    if (pending->made == pending->capacity) {
        uint32_t capacity = pending->capacity ? 2 * pending->capacity : 256;
        struct pending_entry *entries = realloc(pending->entries, sizeof *entries * capacity);
        if (!entries)
            return UINT32_MAX;
        pending->entries = entries;
        pending->capacity = capacity;
    }
    return pending->made++;
}

bool pending_add(struct pending *pending, uint64_t address, uint32_t bytes, uint32_t ticket, uint32_t lane)
{
    if (!pending->buckets && !(pending->buckets = calloc(PENDING_BUCKETS, sizeof *pending->buckets)))
        return false;
    uint32_t index = take_entry(pending);
    if (index == UINT32_MAX)
        return false;
    pending->entries[index] = (struct pending_entry){address, ticket, 0, (uint8_t)lane, (uint8_t)bytes};
    struct pending_bucket *bucket = &pending->buckets[pending_hash(address)];
    if (bucket->last)
        pending->entries[bucket->last - 1].next = index + 1;
    else
        bucket->first = index + 1;
    bucket->last = index + 1;
    pending->count++;
    return true;
}

/* `before`: index + 1 of the entry in front of it, 0 for the first. */
static void unlink_entry(struct pending *pending, struct pending_bucket *bucket, uint32_t before, uint32_t place)
{
    struct pending_entry *entry = &pending->entries[place - 1];
    if (before)
        pending->entries[before - 1].next = entry->next;
    else
        bucket->first = entry->next;
    if (bucket->last == place)
        bucket->last = before;
    entry->next = pending->free;
    pending->free = place;
    pending->count--;
}

void pending_remove(struct pending *pending, uint64_t address, uint32_t ticket, uint32_t lane)
{
    struct pending_bucket *bucket = &pending->buckets[pending_hash(address)];
    for (uint32_t place = bucket->first, before = 0; place; before = place, place = pending->entries[place - 1].next) {
        const struct pending_entry *entry = &pending->entries[place - 1];
        if (entry->ticket != ticket || entry->lane != lane)
            continue;
        unlink_entry(pending, bucket, before, place);
        return;
    }
}

void pending_drop(struct executor_sm *sm, const struct launch *launch)
{
    struct atomic_pool *pool = &sm->atomics;
    for (uint32_t i = 0; pool->used && i < pool->count; i++) {
        struct atomic_ticket *ticket = &pool->tickets[i];
        if (!ticket->warp || ticket->warp->tb->launch != launch)
            continue;
        bool waits = bulk_reduction_number(ticket->op) == BULK_REDUCTIONS;
        for (uint32_t rest = waits ? ticket->lanes & ~ticket->performed & ~ticket->remote : 0; rest; rest &= rest - 1)
            pending_remove(&sm->pending, ticket->address[lowest_bit(rest)], i, lowest_bit(rest));
        atomic_pool_give(pool, i);
    }
}

/*
 * Whether the atomic comes before what the warp does now. Its thread block's count even where nothing orders them, for then either is
 * right; but whether a compare-and-swap of another warp will change anything is not certain before it has been performed, so those
 * are seen only where they have to be.
 */
static bool comes_before(const struct atomic_ticket *ticket, const struct corun_warp *warp)
{
    if (ticket->warp == warp)
        return true;
    return ticket->warp->tb == warp->tb &&
           (ticket->op->extra[0] != ATOMIC_COMPARE || ticket->barriers_met != warp->tb->barriers_met);
}

/* Reads those bytes of [from, from + count) that are not known yet. */
static void learn(struct executor_sm *sm, struct seen *seen, uint32_t from, const uint8_t *host, uint32_t count)
{
    uint8_t bytes[PENDING_GRANULE];
    memcpy(bytes, host, count);
    store_buffer_overlay(&sm->stores, seen->address + from, bytes, count);
    for (uint32_t i = 0; i < count; i++)
        if (!(seen->known >> (from + i) & 1))
            seen->bytes[from + i] = bytes[i];
    seen->known |= ((1u << count) - 1) << from;
}

/* Applies the atomics of one granule, in order; those that lie within [performed, performed + bytes) are performed by that. */
static void apply(struct executor_sm *sm, const struct corun_warp *warp, struct seen *seen, uint64_t granule,
                  uint64_t performed, uint64_t bytes)
{
    struct pending *pending = &sm->pending;
    struct pending_bucket *bucket = &pending->buckets[pending_hash(granule)];
    for (uint32_t place = bucket->first, before = 0, next; place; place = next) {
        const struct pending_entry *entry = &pending->entries[place - 1];
        struct atomic_ticket *ticket = &sm->atomics.tickets[entry->ticket];
        next = entry->next;
        if (entry->address / PENDING_GRANULE != granule / PENDING_GRANULE || !comes_before(ticket, warp)) {
            before = place;
            continue;
        }
        uint32_t at = (uint32_t)(entry->address - seen->address), lane = entry->lane;
        learn(sm, seen, at, ticket->host[lane], entry->bytes);
        struct atomic_value old = atomic_ticket_apply(ticket, lane, seen->bytes + at, true);
        if (entry->address < performed || entry->address + entry->bytes > performed + bytes) {
            before = place;
            continue;
        }
        ticket->old[lane] = old.low;
        ticket->high[lane].old = old.high;
        ticket->performed |= 1u << lane;
        unlink_entry(pending, bucket, before, place);
    }
}

void pending_load(struct executor_sm *sm, const struct corun_warp *warp, uint64_t address, uint8_t *value,
                  uint32_t bytes)
{
    struct seen seen = {.address = address & ~(uint64_t)(PENDING_GRANULE - 1)};
    uint32_t from = (uint32_t)(address - seen.address);
    memcpy(seen.bytes + from, value, bytes);
    seen.known = (uint32_t)(((UINT64_C(1) << bytes) - 1) << from);
    for (uint64_t granule = seen.address; granule < address + bytes; granule += PENDING_GRANULE)
        apply(sm, warp, &seen, granule, 0, 0);
    memcpy(value, seen.bytes + from, bytes);
}

void pending_store(struct executor_sm *sm, const struct corun_warp *warp, uint64_t address, uint32_t bytes)
{
    struct seen seen = {.address = address & ~(uint64_t)(PENDING_GRANULE - 1)};
    for (uint64_t granule = seen.address; granule < address + bytes; granule += PENDING_GRANULE)
        apply(sm, warp, &seen, granule, address, bytes);
}
