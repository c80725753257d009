/* SPDX-License-Identifier: MIT */
/* Atomic operations: what they compute, and those that are on their way to memory. */
#ifndef CORUN_ISA_ATOMICS_H
#define CORUN_ISA_ATOMICS_H

#include "corun/source.h"

struct operation;
struct corun_warp;

enum atomic_operation {
    ATOMIC_EXCHANGE,
    ATOMIC_COMPARE,
    ATOMIC_ADD,
    ATOMIC_INCREMENT,
    ATOMIC_DECREMENT,
    ATOMIC_MINIMUM,
    ATOMIC_MAXIMUM,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_BARRIER_INIT,          /* a barrier in memory (mbarrier) that expects b arrivals */
    ATOMIC_BARRIER_ARRIVE,        /* b arrivals */
    ATOMIC_BARRIER_DROP,          /* the same, and they are not expected any more */
    ATOMIC_BARRIER_EXPECT,        /* b bytes are expected */
    ATOMIC_BARRIER_ARRIVE_EXPECT, /* b bytes are expected, then an arrival */
    ATOMIC_BARRIER_DROP_EXPECT,   /* the same, and it is not expected any more */
    ATOMIC_BARRIER_COMPLETE       /* b bytes have come */
};

/*
 * A barrier in memory: arrivals that are pending in bits 0 to 19, those that a phase expects in 20 to 39, bytes that are expected in 40 to 60
 * (two's complement), and the parity of the phase in 63.
 */
#define BARRIER_COUNT_BITS 20u
#define BARRIER_BYTES_BITS 21u
#define BARRIER_BYTES_SHIFT 40u
#define BARRIER_PHASE (UINT64_C(1) << 63)

/*
 * Replaces the value at `host` (naturally aligned as a device address, any alignment here) and returns the old one. `flush`: f32
 * subnormals are zero, as in global memory (PTX ISA, atom).
 */
uint64_t atomic_apply(const struct operation *op, uint8_t *host, uint64_t b, uint64_t c, bool flush);

/* A value of up to 16 bytes. */
struct atomic_value {
    uint64_t low, high;
};
/* The same of any width. */
struct atomic_value atomic_apply_any(const struct operation *op, uint8_t *host, struct atomic_value b,
                                     struct atomic_value c, bool flush);

#define TICKET_BYTES 16u /* of a lane that loads or stores */

/*
 * An access whose lanes are performed one by one, later: a global atomic, or a load, store or atomic in the shared memory of another thread block
 * (isa/cluster_access.c).
 */
struct atomic_ticket {
    const struct operation *op;
    struct corun_warp *warp; /* NULL: the ticket is free */
    uint32_t lanes;          /* those that are performed later */
    uint32_t remote;         /* of those: in the shared memory of other thread blocks */
    uint32_t performed;      /* of those: already, as a store came behind them (see isa/pending.h) */
    uint32_t next_free;      /* index + 1 */
    uint64_t barriers_met;   /* by the thread block when it was issued */
    uint64_t address[CORUN_WARP_LANES];
    uint8_t *host[CORUN_WARP_LANES];
    uint64_t b[CORUN_WARP_LANES], c[CORUN_WARP_LANES], old[CORUN_WARP_LANES];
    struct {
        uint64_t b, c, old;
    } high[CORUN_WARP_LANES];                     /* upper halves, of operations of 16 bytes */
    uint8_t data[CORUN_WARP_LANES][TICKET_BYTES]; /* loads and stores */
};

/* What the lane of a ticket makes of the bytes at `host`; what was there. */
struct atomic_value atomic_ticket_apply(const struct atomic_ticket *ticket, uint32_t lane, uint8_t *host, bool flush);

struct atomic_pool {
    struct atomic_ticket *tickets;
    uint32_t count, capacity, free; /* free: index + 1 */
    uint32_t used;                  /* of `count` */
};

/* UINT32_MAX when out of memory. */
uint32_t atomic_pool_take(struct atomic_pool *pool);
void atomic_pool_give(struct atomic_pool *pool, uint32_t ticket);
void atomic_pool_free(struct atomic_pool *pool);

#endif
