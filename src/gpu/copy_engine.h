/* SPDX-License-Identifier: MIT */
/*
 * The copy engine of an SM: bulk copies, one after the other, request by request.
 *
 * A warp that starts copies goes on. The engine asks the source for the parts of each, a line at most, and sends a request for one part
 * every `bulk_copy_interval` cycles, past the L1. Replies come in any order; when the last one of a copy is there, the source is told, and
 * what it copied is seen. What a copy brings to other thread blocks of a cluster are further requests, which go through the cluster
 * network: those of a load when its own replies are there. Copies of stores belong to groups of their warp, and a warp may wait for groups. Groups are those of threads in
 * PTX, of warps here: so a wait may take longer than it must, where several threads of a warp have groups of their own. A warp that
 * ends waits for its copies. What a copy does in shared memory takes no turn of the banks.
 */
#ifndef CORUN_GPU_COPY_ENGINE_H
#define CORUN_GPU_COPY_ENGINE_H

#include "gpu/machine_op.h"

struct sm;

/* The copies that one warp instruction has started. */
struct copy_under_way {
    const struct corun_grid *grid; /* NULL: the place is free, or its application was stopped */
    struct corun_counters *counters;
    uint64_t ready;   /* earliest cycle of its first request */
    uint32_t copy;    /* the source's */
    uint32_t answers; /* requests that were not answered */
    uint32_t next;    /* in the queue, or free: index + 1 */
    uint32_t generation, group;
    uint16_t warp, kernel;
    uint8_t application;
    bool grouped;
    bool sent;    /* all its requests have been made */
    bool dropped; /* its application was stopped */
};

/* A request under way; the packet's token is its index. */
struct copy_part {
    uint32_t copy;
    uint32_t ticket; /* of an atomic; NOTHING: it is none */
    uint32_t next;   /* free: index + 1 */
};

struct copy_engine {
    struct copy_under_way *copies;
    struct copy_part *parts;
    uint32_t copy_count, part_count;
    uint32_t free_copy, free_part; /* index + 1 */
    uint32_t first, last;          /* of those with requests to make, index + 1 */
    uint64_t next_send;
    bool blocked; /* until a packet of the SM is answered */
};

void copy_engine_destroy(struct copy_engine *engine);
/* At least so many of each. False when out of memory. */
bool copy_engine_grow(struct copy_engine *engine, uint32_t copies, uint32_t parts);
/* Takes over what was just issued (sm->issue); operands are collected at `start`. */
void copy_engine_accept(struct sm *sm, uint32_t warp, const struct machine_op *op, uint64_t start);
/* WAKE_COPY: makes the next request, if it can be made now. */
void copy_engine_attend(struct sm *sm);
void copy_engine_answered(struct sm *sm, uint32_t token);
/* A reply has made room. */
void copy_engine_retry(struct sm *sm);
/* Copies of groups that the instruction waits for are under way. */
bool copy_engine_holds(const struct sm *sm, uint32_t warp, const struct machine_op *op);
void copy_engine_remove_application(struct sm *sm, uint32_t application);

#endif
