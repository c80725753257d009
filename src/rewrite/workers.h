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
 * What a worker does. s is its %smid, which it reads again whenever it is needed; one thread talks.
 *
 *     previous    If queue `previous` is not complete: ends when thread blocks of that one have not been drawn, which need places; else
 *                 waits until it is.
 *     join        places[s].resident += 1. If it was at least places[s].limit, or as many as the launch wants on an SM (workers_per_sm):
 *                 places[s].resident -= 1, and the worker ends. Where the limit says
 *                 `after`, it waits until that place is empty. A worker that is SEATED stays whatever the limit says.
 *     draw        index = queue.next, queue.next += 1, in one step. From queue.total on: nothing is left, and the worker leaves.
 *                 A draw may be of several thread blocks, which the worker runs one after the other: worker_arguments_range.
 *     run         the old kernel, with %ctaid made of the index, x fastest, and %nctaid and %gridid from the arguments. Shortly before the
 *                 end of the thread block: places[s].done += 1, and the next draw, so that nothing is waited for.
 *     stay?       Behind each thread block: if places[s].resident was above places[s].limit when that was counted, and no other worker
 *                 leaves for that place, it leaves as soon as it has run what it has drawn. STRICT, it draws only when it may stay, and a
 *                 round trip to the L2 cache is waited for behind each thread block: a limit that it has not seen yet when it draws
 *                 is obeyed behind that draw.
 *     part        Nothing is drawn: COMPLETE, queue.gone += 1, and the last worker of the launch draws once more, whatever the limit says.
 *     leave       With TELL: fence, queue.alive -= 1. places[s].resident -= 1.
 *
 * A worker never leaves with a thread block that it has drawn and not run, so that no list of those is needed. The machine may write limits
 * at any time, in 2 bytes, while workers run. It sets up a queue before it launches the first workers of a grid, and leaves it alone
 * until all workers have ended. The grid is complete when they have and queue.next >= queue.total.
 *
 * The launcher keeps whole what it was asked to launch cooperatively or in clusters of several thread blocks, grids of more than
 * WORKERS_MOST_BLOCKS, and launches whose dynamic shared memory leaves no room for what a worker has of its own
 * (rewritten_kernel.shared_bytes_most): no kernel shows that.
 */
#ifndef CORUN_REWRITE_WORKERS_H
#define CORUN_REWRITE_WORKERS_H

#include "rewrite/rewritten.h"

/* The last parameter of a kernel that was rewritten: `.param .align 16 .b8 corun_workers[80]`, with a suffix if that name is taken. */
#define WORKERS_PARAMETER "corun_workers"
#define WORKERS_PARAMETER_ALIGN 16u
#define WORKERS_MOST_BLOCKS INT32_MAX /* thread blocks of a grid */

/* In device memory, aligned to 16 bytes: of a launch. Filled by worker_queue_set. */
struct worker_queue {
    uint32_t next; /* number of the first draw that nobody has made; may pass `total` */
    /*
     * With TELL: workers that may still run some. 0 and next >= total, in one reading of these 8 bytes: complete, and all can see what was stored.
     */
    uint32_t alive;
    uint32_t total; /* draws of the grid (worker_draws), and thread blocks that were given back */
    uint32_t gone;  /* COMPLETE: how often a worker of that launch has found nothing more that it may run */
};
_Static_assert(sizeof(struct worker_queue) == 16, "kernels rely on the layout");

/* In device memory, aligned to 16 bytes: of an application on an SM. An application has one for every value below %nsmid, by %smid. */
struct worker_place {
    uint16_t limit; /* workers that the SM owes, and who goes first (worker_limit); written by the machine alone */
    uint16_t
        resident; /* workers that are there: at most `limit`, but for those that have not come to the end of what they drew */
    uint32_t done; /* thread blocks that were run there, modulo 2^32: what counts is the difference of two readings */
    uint64_t
        busy; /* nanoseconds of %globaltimer: the sum of all leavings less that of all joinings (worker_place_busy) */
};
_Static_assert(sizeof(struct worker_place) == 16, "kernels rely on the layout");

#define WORKERS_UNLIMITED 4095u
/*
 * At most `count` workers, up to WORKERS_UNLIMITED. `after` from -7 to 7, and not 0: those that join begin when nobody is in the place of this SM that lies
 * `after` times worker_arguments.stride from this one; who waits there leaves when the limit falls or nothing is left. Workers that have begun stay
 * while `after` is set.
 */
static inline uint16_t worker_limit(uint32_t count, int after)
{
    return (uint16_t)((count < WORKERS_UNLIMITED ? count : WORKERS_UNLIMITED) | ((uint32_t)after & 15u) << 12);
}

/*
 * In place of `after`, for kernels of workers_dropping_module: workers above `count` leave at once. One that has drawn a thread block and not begun gives
 * it back; one in the middle of a thread block leaves it, if the launch says that it may start again (WORKERS_DROP) and the kernel has a place for that
 * (rewritten_kernel.drops), and gives it back: it is drawn again when all others have been, and runs from its beginning.
 */
#define WORKERS_AT_ONCE (-8)

enum worker_flag {
    /*
     * Worker i of this launch begins with thread block i, and neither draws it nor asks whether it may stay. For the first launch of a queue
     * (worker_queue_set). It saves round trips where every place is owed anyway; where not, a worker may run a thread block, and
     * the one that it draws then, that it should not have run.
     */
    WORKERS_SEATED = 1,
    WORKERS_STRICT = 2, /* see above: for long thread blocks */
    WORKERS_TELL = 4,   /* queue.alive is kept: somebody will name this queue as `previous` */
    /*
     * No workers: the launch has the shape of the grid, and every thread block runs that of its own %ctaid. For a grid whose thread blocks
     * all have a place at once, which workers could not give back any sooner. Nothing of queue and places is read or counted.
     */
    WORKERS_DIRECT = 8,
    WORKERS_HAS_LAYERS = 16, /* grid_z is above 1; set by worker_arguments_set */
    /* Thread blocks of this launch may start again, with these arguments: ptx_idempotence_holds. */
    WORKERS_DROP = 32,
    /*
     * Of kernels of workers_completing_module: when all workers of this launch have ended, the grid is complete. The last one of them stays in spite of limits, runs what is
     * left, and waits for workers of other launches, with TELL, that have drawn from the queue; these may come at any time. Not with SEATED.
     */
    WORKERS_COMPLETE = 64
};

/*
 * A flag besides, from this bit on: how many workers of the application an SM may have for another one to join; 0: `limit` alone decides. For grids
 * of fewer thread blocks than there are places: the first workers that draw would have them all, on the SMs on which they happen to be together.
 */
#define WORKERS_MOST_SHIFT 16u
#define WORKERS_MOST_PER_SM 65535u
static inline uint32_t workers_per_sm(uint32_t most)
{
    return (most < WORKERS_MOST_PER_SM ? most : 0) << WORKERS_MOST_SHIFT;
}

/*
 * Filled by worker_arguments_set. Addresses are those of device memory. What a worker reads for each thread block lies together: a load of
 * a parameter may wait for the memory system like any other.
 */
struct worker_arguments {
    uint64_t queue;  /* of struct worker_queue of this launch */
    uint64_t places; /* of the first struct worker_place of the application */
    uint64_t
        previous; /* of the struct worker_queue, with TELL, of the launch that has to be complete before this one begins; 0: none */
    uint64_t grid_id; /* %gridid: the same for all workers of a launch, another one for each launch */
    uint32_t grid_x, row_reciprocal;
    uint32_t rows;  /* grid_y * grid_z */
    uint32_t flags; /* set of enum worker_flag */
    uint32_t grid_y, grid_z;
    uint32_t layer_reciprocal; /* of grid_y. A reciprocal of n is 2^32 / n, rounded down, at most 2^32 - 1 */
    uint32_t stride; /* bytes from the places of an application to those of the next, below 2^31 (worker_limit) */
    uint32_t ranges, range_more; /* so many draws are of 1 + range_more thread blocks: worker_arguments_range */
    uint32_t reserved[2];
};
_Static_assert(sizeof(struct worker_arguments) == 80, "the layout is that of the parameter");

/* The parameter of a kernel of workers_dropping_module. */
struct worker_dropping_arguments {
    struct worker_arguments plain;
    uint64_t
        returned; /* of the first struct worker_returned of this launch: `room`, and as many as workers may be there at once */
    uint32_t
        room; /* when so many thread blocks have been given back in this launch, workers keep theirs; 0: they always do */
    uint32_t reserved;
};
_Static_assert(sizeof(struct worker_dropping_arguments) == 96, "the layout is that of the parameter");

/*
 * The parameter of a kernel of workers_completing_module. The queue of a launch that is COMPLETE is one of a pair, aligned to 32 bytes, and is all zero when it begins. It makes the
 * other one so, in which nobody may draw meanwhile.
 */
struct worker_completing_arguments {
    struct worker_arguments plain;
    uint64_t mark;  /* address of a word that becomes `begun` when the launch has begun, and then `begun` + 1, when */
    uint32_t begun; /* nothing can be drawn any more, and nobody runs anything but workers of the launch itself */
    uint32_t reserved;
};
#define WORKERS_STAYS_BYTES \
    2048u /* behind the mark: a word that becomes `begun` when the last worker stays in spite of limits */
_Static_assert(sizeof(struct worker_completing_arguments) == 96, "the layout is that of the parameter");

/*
 * In device memory, aligned to 8 bytes: a thread block that was given back. Number n of them is drawn as the thread block behind the last one of the grid and n
 * others: queue.total is raised by one for each. Written by workers alone; what other launches have left there does not matter.
 */
struct worker_returned {
    uint32_t index; /* of the thread block; UINT32_MAX: somebody has it */
    uint32_t
        launch; /* the low bits of worker_arguments.grid_id, which no other launch with these has, nor are they 0 */
};
_Static_assert(sizeof(struct worker_returned) == 8, "kernels rely on the layout");

/*
 * A rewrite_pass: rewritten.h. A kernel that reads_noncoherent is launched when the launch before it is complete, without `previous`: what
 * that one wrote while workers of this one were there already may not be seen.
 */
enum corun_status workers_module(const struct ptx_module *source, struct corun_diagnostics *list,
                                 struct rewritten *rewritten);

/* A rewrite_pass as well: of workers that obey WORKERS_AT_ONCE. They take a few instructions more, in the loops where they may leave too. */
enum corun_status workers_dropping_module(const struct ptx_module *source, struct corun_diagnostics *list,
                                          struct rewritten *rewritten);

/* A rewrite_pass as well: of workers whose launches may be COMPLETE. */
enum corun_status workers_completing_module(const struct ptx_module *source, struct corun_diagnostics *list,
                                            struct rewritten *rewritten);

/*
 * The first two, with each kernel as it was beside its workers (rewritten_kernel.whole): for launches that workers cannot run although they can run others of
 * the kernel, of a module whose variables are written. One that declares a variable in global memory in its body is not there. A rewrite_pass each.
 */
enum corun_status workers_beside_module(const struct ptx_module *source, struct corun_diagnostics *list,
                                        struct rewritten *rewritten);
enum corun_status workers_dropping_beside_module(const struct ptx_module *source, struct corun_diagnostics *list,
                                                 struct rewritten *rewritten);

static inline uint32_t worker_reciprocal(uint32_t count)
{
    const uint64_t one = UINT64_C(1) << 32;
    return (uint32_t)(count == 1 ? one - 1 : one / count);
}

/* For a grid of at most WORKERS_MOST_BLOCKS. The rest (queue, places, previous, grid_id) is 0, for the caller to change. */
static inline void worker_arguments_set(struct worker_arguments *arguments, const uint32_t grid[3], uint32_t flags)
{
    *arguments = (struct worker_arguments){.grid_x = grid[0],
                                           .row_reciprocal = worker_reciprocal(grid[0]),
                                           .rows = grid[1] * grid[2],
                                           .flags = flags | (grid[2] > 1 ? WORKERS_HAS_LAYERS : 0),
                                           .grid_y = grid[1],
                                           .grid_z = grid[2],
                                           .layer_reciprocal = worker_reciprocal(grid[1])};
}

/*
 * Ranges: the first draws are of `blocks` thread blocks each, up to WORKERS_MOST_RANGE, with one atomic and one round trip to the L2 cache for all of them. Of a kernel that may have that
 * (rewritten_kernel.ranges).
 *
 *     draw                 0            1           …  63        64             …  ranges      …
 *     its thread blocks    0, 64, 128   1, 65, 129  …  63, …     192, 256, 320  …  3 * ranges  …        (blocks = 3)
 *
 * Those of 64 draws are interleaved: workers that run at the same time run thread blocks that lie together, as those of a grid do, since what these want lies together in memory. At least
 * `single` thread blocks, at the end, are drawn one by one: a range there would be waited for. A worker that has drawn a range runs all of it, whatever the limit is by then.
 */
#define WORKERS_MOST_RANGE 4u
#define WORKERS_RANGE_GROUP 64u
static inline void worker_arguments_range(struct worker_arguments *arguments, uint32_t blocks, uint32_t single)
{
    const uint32_t total = arguments->grid_x * arguments->rows, wanted = total > single ? total - single : 0;
    arguments->ranges = blocks > 1 ? wanted / (WORKERS_RANGE_GROUP * blocks) * WORKERS_RANGE_GROUP : 0;
    arguments->range_more = arguments->ranges ? blocks - 1 : 0;
}

/* Thread blocks of a range that takes so long at most, where one takes `block_ns`; 0: not known. */
#define WORKERS_RANGE_NS UINT64_C(16000) /* twenty times what a draw may take to come back, and little to wait for */
static inline uint32_t worker_range_blocks(uint64_t block_ns, uint64_t range_ns)
{
    const uint64_t blocks = block_ns ? range_ns / block_ns : 1;
    return blocks > WORKERS_MOST_RANGE ? WORKERS_MOST_RANGE : blocks ? (uint32_t)blocks : 1;
}

/* How many thread blocks so many draws are; beyond the last draw, as many more. */
static inline uint32_t worker_drawn(const struct worker_arguments *arguments, uint32_t draws)
{
    const uint32_t of_ranges = draws < arguments->ranges ? draws : arguments->ranges;
    return draws + of_ranges * arguments->range_more;
}

/* Draws of a grid; without ranges, its thread blocks. */
static inline uint32_t worker_draws(const struct worker_arguments *arguments)
{
    return arguments->grid_x * arguments->rows - arguments->ranges * arguments->range_more;
}

/* For a first launch of so many workers with these arguments. */
static inline void worker_queue_set(struct worker_queue *queue, const struct worker_arguments *arguments,
                                    uint32_t workers)
{
    const uint32_t seated = arguments->flags & WORKERS_SEATED ? workers : 0;
    *queue = (struct worker_queue){.next = seated, .total = worker_draws(arguments), .alive = seated};
}

/* Nanoseconds that workers have been in a place until `now`, a time of %globaltimer, all together. */
static inline uint64_t worker_place_busy(const struct worker_place *place, uint64_t now)
{
    return place->busy + (uint64_t)place->resident * now;
}

#endif
