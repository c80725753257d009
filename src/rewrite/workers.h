/* SPDX-License-Identifier: MIT */
/*
 * Workers: every kernel of a module becomes one whose thread blocks stay and run thread blocks of a grid one after the other, as long as
 * their SM owes their application a place (persistent threads: Sun et al., "SMQoS", section 4.4, figures 5 and 6, where the owner of an
 * SM is fixed; here a table in device memory says it, which may change at any time). Whoever launches a grid
 *
 *     (gx, gy, gz)          launches          any number of workers, at any time, once or often
 *
 * as one-dimensional grids of thread blocks of the same shape, with the dynamic shared memory and the arguments of the whole grid, and
 * behind those arguments a struct worker_arguments. Every thread block of the grid runs exactly once, whatever the table does. If all
 * workers have ended and the grid is not complete, more have to be launched.
 *
 * The grid is drawn in ranges: up to `range` thread blocks that lie side by side in a row (x), which a worker runs one after the other.
 *
 * What a worker does. s is its %smid, which it reads again whenever it is needed; one thread talks, the others wait at a barrier.
 *
 *     previous    If queue `previous` is not complete: ends when ranges of that one have not been drawn, which need places; else waits
 *                 until it is.
 *     join        places[s].resident += 1. If it was at least places[s].limit: places[s].resident -= 1, and the worker ends. A worker
 *                 that is SEATED stays whatever the limit says.
 *     draw        next = queue.next, queue.next += 1, in one step. From queue.total on: nothing is left, and the worker leaves.
 *     run         places[s].begun += the thread blocks of the range; the old kernel, for each of them. %ctaid is made of the range,
 *                 %nctaid and %gridid come from the arguments.
 *     stay?       When the range has been run: if places[s].resident > places[s].limit, and no other worker leaves for that place, it
 *                 leaves. Otherwise: draw. A worker never leaves with thread blocks that it has drawn and not run, so that no list of
 *                 those is needed.
 *     leave       With TELL: fence, queue.done += the ranges that it has run. places[s].resident -= 1.
 *
 * Loads and atomics take as long as a short thread block where memory is busy. AHEAD, a worker draws the next range and reads the limit when
 * it begins a range, so that it waits for neither: it may run that range, the one that it has drawn, and the one that it draws before it
 * has seen a new limit. Without, it leaves behind the range that it runs, and loses two round trips to the L2 cache for each draw.
 *
 * The machine may write limits at any time, in 2 bytes, while workers run. It sets up a queue before it launches the first workers of a
 * grid, and leaves it alone until all workers have ended. The grid is complete when they have and queue.next >= queue.total.
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

/* In device memory, aligned to 32 bytes: of a launch. Filled by worker_queue_set. */
struct worker_queue {
    uint32_t next;  /* the first range that nobody has drawn; may pass `total` */
    uint32_t total; /* ranges of the grid */
    uint32_t done;  /* that have been run by workers that have left, and whose stores all can see; with TELL */
    uint32_t reserved[5];
};
_Static_assert(sizeof(struct worker_queue) == 32, "kernels rely on the layout");

/* In device memory, aligned to 16 bytes: of an application on an SM. An application has one for every value below %nsmid, by %smid. */
struct worker_place {
    uint16_t limit; /* workers that the SM owes; written by the machine alone */
    uint16_t
        resident; /* workers that are there: at most `limit`, but for those that have not come to the end of what they drew */
    uint32_t
        begun; /* thread blocks of ranges that were begun there, modulo 2^32: what counts is the difference of two readings */
    uint64_t
        busy; /* nanoseconds of %globaltimer: the sum of all leavings less that of all joinings (worker_place_busy) */
};
_Static_assert(sizeof(struct worker_place) == 16, "kernels rely on the layout");

enum worker_flag {
    /*
     * Worker i of this launch begins with range i, and AHEAD with range i + number of workers behind that; it neither draws them nor asks
     * whether it may stay. For the first launch of a queue (worker_queue_set). It saves round trips where every place is owed anyway; where
     * not, a worker may run ranges that it should not have run.
     */
    WORKERS_SEATED = 1 << 24,
    WORKERS_AHEAD = 1 << 25, /* see above: for short ranges */
    WORKERS_TELL = 1 << 26,  /* queue.done is wanted: somebody will name this queue as `previous` */
    /*
     * No workers: the launch has the shape of the grid, and every thread block runs that of its own %ctaid. For a grid whose thread blocks
     * all have a place at once, which workers could not give back any sooner. Nothing of queue and places is read or counted.
     */
    WORKERS_DIRECT = 1 << 27
};
#define WORKERS_MOST_RANGE 0xffffffu

/*
 * Filled by worker_arguments_set. Addresses are those of device memory. What a worker reads for each range lies together: a load of a
 * parameter may wait for the memory system like any other.
 */
struct worker_arguments {
    uint64_t queue;  /* of struct worker_queue of this launch */
    uint64_t places; /* of the first struct worker_place of the application */
    uint64_t
        previous; /* of the struct worker_queue, with TELL, of the launch that has to be complete before this one begins; 0: none */
    uint64_t grid_id;             /* %gridid: the same for all workers of a launch, another one for each launch */
    uint32_t row, row_reciprocal; /* ranges of a row of thread blocks */
    uint32_t rows;                /* of all layers */
    /*
     * Thread blocks of a range, but for the last one of a row, which may have less; and a set of enum worker_flag. Two further bits say that
     * a range has more than one thread block, and that the grid has more than one layer.
     */
    uint32_t range_flags;
    uint32_t grid_x, grid_y, grid_z; /* %nctaid */
    uint32_t layer_reciprocal;       /* of grid_y. A reciprocal of n is 2^32 / n, rounded down, at most 2^32 - 1 */
};
#define WORKERS_HAS_RANGES (UINT32_C(1) << 28)
#define WORKERS_HAS_LAYERS (UINT32_C(1) << 29)
_Static_assert(sizeof(struct worker_arguments) == 64, "the layout is that of the parameter");

/*
 * A rewrite_pass: rewritten.h. A kernel that reads_noncoherent is launched when the launch before it is complete, without `previous`: what
 * that one wrote while workers of this one were there already may not be seen.
 */
enum corun_status workers_module(const struct ptx_module *source, struct corun_diagnostics *list,
                                 struct rewritten *rewritten);

static inline uint32_t worker_reciprocal(uint32_t count)
{
    const uint64_t one = UINT64_C(1) << 32;
    return (uint32_t)(count == 1 ? one - 1 : one / count);
}

/*
 * For a grid of at most WORKERS_MOST_BLOCKS, in ranges of `range` thread blocks, 1 to WORKERS_MOST_RANGE. `flags` is a set of
 * enum worker_flag. The rest (queue, places, previous, grid_id) is 0, for the caller to change.
 */
static inline void worker_arguments_set(struct worker_arguments *arguments, const uint32_t grid[3], uint32_t range,
                                        uint32_t flags)
{
    const uint32_t row = grid[0] / range + (grid[0] % range != 0);
    *arguments = (struct worker_arguments){.row = row,
                                           .row_reciprocal = worker_reciprocal(row),
                                           .rows = grid[1] * grid[2],
                                           .range_flags = range | flags | (range > 1 ? WORKERS_HAS_RANGES : 0) |
                                                          (grid[2] > 1 ? WORKERS_HAS_LAYERS : 0),
                                           .grid_x = grid[0],
                                           .grid_y = grid[1],
                                           .grid_z = grid[2],
                                           .layer_reciprocal = worker_reciprocal(grid[1])};
}

static inline uint32_t worker_range_count(const struct worker_arguments *arguments)
{
    return arguments->row * arguments->rows;
}

/* For a first launch of so many workers with these arguments. */
static inline void worker_queue_set(struct worker_queue *queue, const struct worker_arguments *arguments,
                                    uint32_t workers)
{
    const uint32_t flags = arguments->range_flags, held = flags & WORKERS_AHEAD ? 2 : 1;
    *queue = (struct worker_queue){.next = flags & WORKERS_SEATED ? workers * held : 0,
                                   .total = worker_range_count(arguments)};
}

/* Nanoseconds that workers have been in a place until `now`, a time of %globaltimer, all together. */
static inline uint64_t worker_place_busy(const struct worker_place *place, uint64_t now)
{
    return place->busy + (uint64_t)place->resident * now;
}

#endif
