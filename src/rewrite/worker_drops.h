/* SPDX-License-Identifier: MIT */
/*
 * Where a worker may leave in the middle of a thread block, which somebody else begins anew then. That is for kernels whose thread blocks may start again
 * (ptx/idempotence.h), in loops:
 *
 *     at barriers     all threads are there, and none goes on: they leave together, at a barrier that says so
 *     in loops        threads that know nothing of each other (no barrier, no shared memory, no shuffle) leave each by itself: what one has written
 *                     is right, and what it has not written, the next one writes
 *
 * Threads that meet must not leave each by itself: what the others would read of one that has left may be anything.
 */
#ifndef CORUN_REWRITE_WORKER_DROPS_H
#define CORUN_REWRITE_WORKER_DROPS_H

#include "ptx/idempotence.h"
#include "rewrite/rewritten.h"
#include "rewrite/worker_points.h"

struct worker_drops {
    enum rewritten_drop kind;
    const uint32_t *instructions; /* ascending. IN_LOOPS: in front of which to leave; AT_BARRIERS: the barriers */
    uint32_t count;
    struct ptx_idempotence idempotence; /* which arguments it depends on */
    const char *reason;                 /* REWRITTEN_DROPS_NOWHERE: why; else NULL */
};

/* What is known of the kernel beside its text. */
struct worker_drops_about {
    bool acts;       /* warps act as one: shuffles, votes */
    bool ends_early; /* threads may have ended when others come to a barrier */
};

/* Of a kernel. Everything is allocated in `arena`. OK or MEMORY. */
enum corun_status worker_drops_create(const struct ptx_function *function, const struct worker_drops_about *about,
                                      struct arena *arena, struct worker_drops *drops);
/*
 * Of places to ask for the next thread block (worker_points.h), those stay from which no way leads to a place to leave: what has been asked for would have
 * to be given back, too.
 */
enum corun_status worker_drops_keep_points(const struct ptx_function *function, const struct worker_drops *drops,
                                           struct arena *arena, struct worker_points *points);

#endif
