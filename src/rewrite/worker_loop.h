/* SPDX-License-Identifier: MIT */
/*
 * What a worker does around the body of the old kernel (workers.h says what, in words): texts of templates for splice.h. The body goes
 * in place of the `pmevent` of the loop, and what ends a thread of the old kernel jumps to END.
 *
 *     prologue      previous, join; or, where there are no workers, to the body
 *     (body)        with x, y and z, as far as it reads them. Somewhere towards its end the elected thread asks what is next: worker_asking_text
 *     END           where there are no workers: the end. The elected thread writes where the next thread block lies into one of two slots
 *                   in shared memory
 *     SYNC          all wait for that, and for each other: everybody has ended the last round; then to the body
 *                   leave
 *
 * Two slots, because the elected thread may come to END again while others have not read the last one: one barrier each round is enough. Where it is told
 * by barriers, there is no slot, and SYNC is two barriers that count threads, or more.
 */
#ifndef CORUN_REWRITE_WORKER_LOOP_H
#define CORUN_REWRITE_WORKER_LOOP_H

#include "ptx/module.h"
#include "rewrite/grid_reads.h"

#define WORKER_PTX_VERSION 600u /* at least: barriers of a warp, and of parts of warps */
#define WORKER_SHARED_WORDS \
    12u /* two slots of x, y, z, -; the last thread block of a range that was told, and how many follow */
#define WORKER_SHARED_ALIGN 32u /* so that the address of one is that of the other, but for a bit */

/* Registers that a worker keeps while the body runs, unless it is thrifty: the slot, and what it asked for. */
#define WORKER_KEPT_REGISTERS 3u

/* How threads meet at SYNC. */
enum worker_meeting {
    WORKER_MEETS_PLAINLY, /* no thread may wait at another barrier */
    WORKER_MEETS_BY_OR, /* those that have ended take part in barriers of the body, which say by `or` that they are some */
    WORKER_MEETS_BY_COUNT /* the same by `popc`, twice: worker_barriers.h */
};

struct worker_shape {
    const struct ptx_module *module; /* the target is its own */
    uint32_t reads;                  /* set of enum grid_value */
    enum worker_meeting meeting;
    uint32_t barrier; /* number of the barrier */
    bool by_barriers; /* what is next is told by barriers, and not in shared memory. MEETS_PLAINLY, without `drops` */
    bool thrifty;     /* no register of the loop is kept while the body runs: it asks at the end */
    bool ranges; /* a draw may be of several thread blocks, one behind the other. Without `by_barriers` and `drops` */
    bool acts;   /* warps act as one in the body: at barriers, in shuffles */
    bool waits_for_copies; /* cp.async of a thread may be under way at the end of the body */
    bool waits_for_bulk;   /* cp.async.bulk from shared memory may */
    bool drops;            /* limits may say that who is too many leaves at once: workers_dropping_module */
    bool completes;        /* a launch may be the only one of its grid: workers_completing_module. Without `drops` */
};

/* The text; free(). NULL when out of memory. Names are those of worker_loop.c. */
char *worker_loop_text(const struct worker_shape *shape, size_t *bytes);
/* What the elected thread asks for once in a round, wherever it first comes to this. Its registers are those of the loop. */
char *worker_asking_text(const struct ptx_module *module, size_t *bytes);
/*
 * Where a worker may leave in the middle of the body (worker_drops.h). In loops: behind the text, threads leave for which %dropping is true. At barriers:
 * all leave, at a barrier that says that it is true of one. To leave is to jump to END.
 */
char *worker_leaving_text(const struct ptx_module *module, bool at_barriers, size_t *bytes);

#endif
