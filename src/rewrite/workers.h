/* SPDX-License-Identifier: MIT */
/*
 * Workers: every kernel of a module becomes one whose thread blocks stay and run thread blocks of a grid one after the other, as long as
 * their SM owes their application a place (persistent threads: Sun et al., "SMQoS", section 4.4, figures 5 and 6, where the owner of an
 * SM is fixed; here a table in device memory says it, which may change at any time). Whoever launches a grid
 *
 *     (gx, gy, gz)          launches          any number of workers, at any time, once or often
 *
 * as one-dimensional grids of thread blocks of the same shape, with the dynamic shared memory and the arguments of the whole grid, and
 * behind those arguments a struct worker_arguments. Every thread block of the grid runs exactly once, whatever the table does. The launch
 * is complete when queue.done == queue.total. If all workers have ended and it is not complete, more have to be launched.
 *
 * What a worker does. s is its %smid, which it reads again whenever it is needed; one thread talks, the others wait at a barrier.
 *
 *     previous    If queue `previous` is not complete: leaves when thread blocks of that one have not been drawn, which need places;
 *                 else waits until it is.
 *     join        places[s].resident += 1. If it was at least places[s].limit: places[s].resident -= 1, and the worker ends. A worker
 *                 that is seated (see below) stays whatever the limit says.
 *     draw        first = queue.next, queue.next += range, in one step. From queue.total on: nothing is left, and the worker leaves.
 *     run         the old kernel, for each index from `first` to below first + range and total. %ctaid is made of the index, x fastest,
 *                 %nctaid and %gridid come from the arguments.
 *     count       places[s].done += 1 behind each thread block.
 *     stay?       If places[s].resident > places[s].limit when what it drew has been run: leaves, if no other worker has left for that
 *                 place meanwhile. Otherwise: draw. A worker never leaves with thread blocks that it has drawn and not run, so that no
 *                 list of those is needed.
 *     leave       fence, queue.done += the thread blocks that it has run; places[s].resident -= 1.
 *
 * The machine may write limits at any time, in 4 bytes, while workers run. It sets up a queue before it launches the first workers of a
 * grid, and touches neither `next` nor `done` until all workers have ended.
 *
 * The launcher keeps whole what it was asked to launch cooperatively or in clusters of several thread blocks, and grids of more than
 * WORKERS_MOST_BLOCKS: no kernel shows that.
 */
#ifndef CORUN_REWRITE_WORKERS_H
#define CORUN_REWRITE_WORKERS_H

#include "rewrite/rewritten.h"

/* The last parameter of a kernel that was rewritten: `.param .align 16 .b8 corun_workers[64]`, with a suffix if that name is taken. */
#define WORKERS_PARAMETER "corun_workers"
#define WORKERS_PARAMETER_ALIGN 16u
#define WORKERS_MOST_BLOCKS INT32_MAX /* thread blocks of a grid */

/* In device memory, aligned to 32 bytes: of a launch. */
struct worker_queue {
    uint32_t next;  /* index of the first thread block that nobody has drawn; may pass `total` */
    uint32_t total; /* thread blocks of the grid */
    uint32_t done;  /* that have been run by workers that have left */
    uint32_t reserved[5];
};
_Static_assert(sizeof(struct worker_queue) == 32, "kernels rely on the layout");

/* In device memory, aligned to 32 bytes: of an application on an SM. An application has one for every value below %nsmid, by %smid. */
struct worker_place {
    uint32_t limit; /* workers that the SM owes; written by the machine alone */
    uint32_t
        resident; /* workers that are there: at most `limit`, but for those that have not come to the end of a thread block */
    uint64_t done; /* thread blocks that have been run there, from the beginning */
    uint64_t
        busy; /* nanoseconds of %globaltimer: the sum of all leavings less that of all joinings (worker_place_busy) */
    uint64_t reserved;
};
_Static_assert(sizeof(struct worker_place) == 32, "kernels rely on the layout");

/* Filled by worker_arguments_set. Addresses are those of device memory. */
struct worker_arguments {
    uint64_t queue;  /* of struct worker_queue of this launch */
    uint64_t places; /* of the first struct worker_place of the application */
    uint64_t
        previous; /* of the struct worker_queue of the launch that has to be complete before this one begins; 0: none */
    uint64_t grid_id;                /* %gridid: the same for all workers of a launch, another one for each launch */
    uint32_t grid_x, grid_y, grid_z; /* %nctaid */
    uint32_t row_reciprocal, layer_reciprocal; /* 2^32 / grid_x and 2^32 / grid_y, rounded down, at most 2^32 - 1 */
    uint32_t range;                            /* thread blocks per draw, at least 1 */
    /*
     * 1: worker i of this launch begins with thread blocks i * range to (i + 1) * range - 1 and neither draws them nor asks whether it may
     * stay. For the first launch of a queue, whose `next` then starts at workers * range; 0 for further ones. It saves two round trips to
     * the L2 cache where the table owes every place anyway. Where it does not, a worker may run one range that it should not have run.
     */
    uint32_t seated;
    uint32_t total; /* thread blocks of the grid */
};
_Static_assert(sizeof(struct worker_arguments) == 64, "the layout is that of the parameter");

/*
 * A rewrite_pass: rewritten.h. A kernel that reads_noncoherent is launched when the launch before it is complete, without `previous`: what
 * that one wrote while workers of this one were there already may not be seen.
 */
enum corun_status workers_module(const struct ptx_module *source, struct corun_diagnostics *list,
                                 struct rewritten *rewritten);

/* For a grid of at most WORKERS_MOST_BLOCKS. The rest (previous 0, range 1, seated 0) is for the caller to change. */
static inline void worker_arguments_set(struct worker_arguments *arguments, const uint32_t grid[3], uint64_t queue,
                                        uint64_t places, uint64_t grid_id)
{
    const uint64_t one = UINT64_C(1) << 32;
    *arguments = (struct worker_arguments){.queue = queue,
                                           .places = places,
                                           .grid_id = grid_id,
                                           .grid_x = grid[0],
                                           .grid_y = grid[1],
                                           .grid_z = grid[2],
                                           .row_reciprocal = (uint32_t)(grid[0] == 1 ? one - 1 : one / grid[0]),
                                           .layer_reciprocal = (uint32_t)(grid[1] == 1 ? one - 1 : one / grid[1]),
                                           .range = 1,
                                           .total = grid[0] * grid[1] * grid[2]};
}

/* Nanoseconds that workers have been in a place until `now`, a time of %globaltimer, all together. */
static inline uint64_t worker_place_busy(const struct worker_place *place, uint64_t now)
{
    return place->busy + (uint64_t)place->resident * now;
}

#endif
