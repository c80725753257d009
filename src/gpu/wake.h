/* SPDX-License-Identifier: MIT */
/*
 * What wakes an SM.
 *
 * An SM that could issue nothing in a cycle sleeps until the earliest of a few cycles, one for each thing that can give
 * it something to do. Each of these cycles has one place, struct wakes, and whoever causes it puts it there: the
 * first sources whenever they learn of it, WAKE_WARP to WAKE_ISSUE when the SM is about to sleep. A cycle that has passed
 * means "at once". Too early a cycle costs a look that finds nothing; too late a one would change results.
 *
 *      what is looked at in every cycle:   REPLY   REMOTE   OCCASION   WARP   LOAD_STORE   ISSUE
 *                                                              |
 *                                             the first of INCOMING, CLUSTER, PREEMPTION, QUOTA, COPY
 */
#ifndef CORUN_GPU_WAKE_H
#define CORUN_GPU_WAKE_H

#include "gpu/clock.h"

#include <stdbool.h>

enum wake_source {
    WAKE_REPLY,      /* the memory system has answered a packet (port.c; noted by memory_system.c) */
    WAKE_REMOTE,     /* the cluster network has answered a packet (port.c; noted by cluster_network.c) */
    WAKE_OCCASION,   /* the first of those that come once in many cycles (below); wake_by and wake_not_before keep it */
    WAKE_WARP,       /* what a warp waits for is there: an operand, a branch, a barrier (wake_wheel.h) */
    WAKE_LOAD_STORE, /* the load/store unit can serve its first instruction (load_store.c) */
    WAKE_ISSUE,      /* a warp may issue: in the cycle after another one did, or when a pipeline is free (sm.c) */
    WAKE_LOOKED_AT,  /* those before are looked at in every cycle, those from here on when WAKE_OCCASION is due */
    WAKE_INCOMING = WAKE_LOOKED_AT, /* a thread block reaches the SM (thread_block.c) */
    WAKE_CLUSTER,                   /* a barrier of a cluster is met (sm_cluster.c) */
    WAKE_PREEMPTION, /* a thread block has to leave, or the next packet of its state can be sent (preemption_engine.c) */
    WAKE_QUOTA,      /* an order about quotas, a completion that spends one, a refill (quota.c) */
    WAKE_COPY,       /* the copy engine can make its next request, or is done with a copy (copy_engine.c) */
    WAKE_SOURCES
};

struct wakes {
    uint64_t cycle[WAKE_SOURCES]; /* NEVER: not by this source */
};

static inline uint64_t wake_first(const struct wakes *wakes, uint32_t from, uint32_t end)
{
    uint64_t first = NEVER;
    for (uint32_t source = from; source < end; source++)
        first = wakes->cycle[source] < first ? wakes->cycle[source] : first;
    return first;
}

/* A source from WAKE_INCOMING on has something to do at `cycle`, or before. */
static inline void wake_by(struct wakes *wakes, enum wake_source source, uint64_t cycle)
{
    if (cycle < wakes->cycle[source])
        wakes->cycle[source] = cycle;
    if (cycle < wakes->cycle[WAKE_OCCASION])
        wakes->cycle[WAKE_OCCASION] = cycle;
}

/* A source from WAKE_INCOMING on has nothing to do before `cycle`, whatever it had. */
static inline void wake_not_before(struct wakes *wakes, enum wake_source source, uint64_t cycle)
{
    wakes->cycle[source] = cycle;
    wakes->cycle[WAKE_OCCASION] = wake_first(wakes, WAKE_INCOMING, WAKE_SOURCES);
}

static inline bool wake_due(const struct wakes *wakes, enum wake_source source, uint64_t now)
{
    return wakes->cycle[source] <= now;
}

static inline uint64_t wake_next(const struct wakes *wakes)
{
    return wake_first(wakes, 0, WAKE_LOOKED_AT);
}

#endif
