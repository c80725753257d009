/* SPDX-License-Identifier: MIT */
/* The load/store unit of an SM: memory instructions in order, one transaction a cycle; loads and atomics under way. */
#ifndef CORUN_GPU_LOAD_STORE_H
#define CORUN_GPU_LOAD_STORE_H

#include "gpu/coalescer.h"
#include "gpu/machine_op.h"

struct sm;

/* One load or atomic under way. */
struct load_record {
    uint64_t done; /* latest of what is known */
    const struct machine_op *op;
    uint32_t outstanding; /* misses or atomics that have not been answered */
    uint32_t ticket;
    uint32_t generation;
    uint16_t warp;
    bool open;      /* its transactions have not all been started */
    bool atomic;    /* `ticket` is to be completed */
    bool reduction; /* no result: counts as a write of the warp */
    uint8_t application;
    uint8_t lanes; /* active */
    const struct corun_grid *grid;
};

/* A memory instruction in the load/store unit. */
struct memory_entry {
    uint64_t ready;  /* earliest cycle to be served */
    uint32_t record; /* NOTHING for stores */
    uint32_t generation;
    uint32_t ticket;
    uint16_t warp;
    uint16_t kernel;
    uint16_t bank_cycles;  /* shared memory and perfect constant cache: cycles that they are taken */
    uint16_t bank_latency; /* and when data comes after the last of these */
    uint8_t application;
    uint8_t client; /* cache its transactions go to */
    uint8_t flags;  /* CORUN_LOAD, CORUN_STORE, CORUN_ATOMIC, CORUN_REDUCTION as they are */
    bool bypass;    /* not looked up in the L1 */
    uint8_t lanes;  /* active, of a store */
    bool uncoalesced;
    uint16_t next, count;
    uint16_t missed; /* of those before `next`: not answered by a cache of the SM */
    struct corun_counters *counters;
    const struct corun_grid *grid;
    struct transaction transactions[CORUN_WARP_LANES];
};

struct load_store {
    struct memory_entry *entries; /* ring of `capacity`, rounded up to a power of two */
    uint32_t mask, head, count, capacity;
    struct load_record *records; /* [record_count]: in use and free */
    uint32_t *free_records;
    uint32_t record_count, free_record_count;
    uint64_t busy_until;
    uint32_t product_bytes; /* read by products of warpgroups that make no whole cycle yet */
    uint64_t stalled_since;
    bool stalled;
};

static inline bool load_store_has_room(const struct load_store *unit)
{
    return unit->count < unit->capacity;
}

bool load_store_create(struct sm *sm);
void load_store_destroy(struct sm *sm);
/* Takes over a memory instruction that was just issued (sm->issue); operands are collected at `start`. Turns of the loop that it is, or 0. */
uint32_t load_store_accept(struct sm *sm, uint32_t warp, const struct machine_op *op, uint64_t start);
/* Serves the first instruction, if it can be served now. */
void load_store_tick(struct sm *sm);
/* When load_store_tick has something to do; NEVER: after a reply, or when there is an instruction. */
uint64_t load_store_next(const struct sm *sm);
/* A store's packet has been acknowledged; `token` is the packet's. */
void load_store_stored(struct sm *sm, uint32_t token);
/* A part of what the record waits for has come back; its lanes have it `latency` cycles later. */
void load_store_answered(struct sm *sm, uint32_t record, uint32_t latency);
/* A reply has freed something: if the unit has stopped, it may try again. */
void load_store_retry(struct sm *sm);
/* What it holds of an application that was stopped is not served any more. */
void load_store_remove_application(struct sm *sm, uint32_t application);
/* As sm_forget_application: atomics are completed for nobody, stores cost nobody quota. */
void load_store_forget_application(struct sm *sm, uint32_t application);

#endif
