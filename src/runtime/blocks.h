/* SPDX-License-Identifier: MIT */
/*
 * Memory of a device, or page-locked memory of the host, in blocks that are kept when they are given back: jobs of a workload ask for the
 * same sizes again and again, and a driver may stop everything to allocate. Every block is an allocation of its own, so that an access
 * beside it is one outside; or all are parts of an arena.
 */
#ifndef CORUN_RUNTIME_BLOCKS_H
#define CORUN_RUNTIME_BLOCKS_H

#include "base/vector.h"
#include "driver/driver.h"

struct block {
    unsigned long long address; /* of the device, or a pointer */
    uint64_t bytes;
};

struct blocks {
    const struct driver *driver;
    bool of_host;
    uint64_t most_bytes;             /* of blocks together, used or kept */
    uint64_t used_bytes, kept_bytes; /* rounded up to what an allocation takes at least */
    uint64_t peak_bytes;             /* most that was used */
    VECTOR(struct block) kept;
    struct block arena; /* of no bytes: none */
    uint64_t arena_used;
};

/* What blocks of that size count for. */
uint64_t block_cost(uint64_t bytes);
/* Takes a block. False: there is no room now, or (*error not 0) the driver's error. */
bool blocks_take(struct blocks *blocks, uint64_t bytes, struct block *block, int *error);
/* Gives a block back; one of no bytes is nothing. */
void blocks_give(struct blocks *blocks, struct block *block);
/* Frees what is kept. The context is current. */
void blocks_clear(struct blocks *blocks);
/* Memory of the device has gone with its context. */
void blocks_forget(struct blocks *blocks);

#endif
