/* SPDX-License-Identifier: MIT */
/*
 * One data-parallel task on CPU and GPUs together.
 *
 * A task is a range of independent iterations, a function that computes [begin, end) on a CPU thread, a function that
 * enqueues [begin, end) on a CUDA stream, and buffers with the bytes that a part reads and writes. corun_split_run divides
 * the range between the devices so that all of them end together, without knowing the machine: a strategy looks at what was
 * measured and says how many iterations each device takes next (static, quick, split and cap of Wang, thesis, SJTU 2017, chapter 4; meet).
 *
 *     const struct corun_split_buffer buffers[] = {
 *         {.name = "x", .data = x, .bytes = n * 4, .access = CORUN_SPLIT_READ, .iteration_bytes = 4},
 *         {.name = "y", .data = y, .bytes = n * 4, .access = CORUN_SPLIT_READ_WRITE, .iteration_bytes = 4}};
 *     const struct corun_split_task task = {.name = "saxpy", .iterations = n, .cpu = saxpy_cpu, .gpu = saxpy_gpu,
 *         .user = &problem, .buffers = buffers, .buffer_count = 2, .module_file = "saxpy.ptx"};
 *     struct corun_split *split;
 *     if (corun_split_create(&task, NULL, &split, diagnostics) == CORUN_OK &&
 *         corun_split_run(split, diagnostics) == CORUN_OK) ... y is complete, corun_split_result(split) tells how
 *     corun_split_destroy(split);
 *
 * CUDA is found at run time (libcuda.so.1): NVIDIA's driver, the simulated GPU under `corun exec`, or none; then the CPU does
 * all. Programs link with -lcorun-split alone (pkg-config corun-split). A split belongs to one thread at a time.
 */
#ifndef CORUN_SPLIT_H
#define CORUN_SPLIT_H

#include "corun/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CORUN_SPLIT_MAX_DEVICES 17u /* device 0 is the CPU with all its threads, the others are GPUs */
#define CORUN_SPLIT_ALL UINT32_MAX

/* ---- What a program describes ---- */

enum corun_split_access { CORUN_SPLIT_READ, CORUN_SPLIT_WRITE, CORUN_SPLIT_READ_WRITE };

/*
 * Memory of the program that parts use. The CPU's function uses it where it is; every GPU has a copy of the same length,
 * at corun_split_gpu_address, and offsets are the same in both. Which bytes the part [begin, end) needs:
 *
 *     range given          what it says; parts of `user` are the task's
 *     iteration_bytes > 0  [begin * iteration_bytes, end * iteration_bytes)
 *     else                 all of it; only for READ. It is moved before the first step, and once
 *
 * Only these bytes are moved: to the GPU if READ and not there yet, back if WRITE. The bytes that different parts write must
 * not overlap, and a part must not read what another one writes; READ_WRITE means in place.
 */
struct corun_split_buffer {
    const char *name;
    void *data; /* the program's, until corun_split_destroy; pinned once if the driver can */
    size_t bytes;
    enum corun_split_access access;
    size_t iteration_bytes;
    void (*range)(void *user, uint64_t begin, uint64_t end, size_t *offset, size_t *bytes);
    /*
     * Between two runs the program changes this buffer only where it says so (corun_split_changed), so what a GPU has of
     * it stays valid. false: it counts as changed before every run.
     */
    bool kept;
};

struct corun_split_gpu; /* one GPU, while a part of the task is enqueued there */

struct corun_split_task {
    const char *name;
    uint64_t iterations;
    uint64_t granularity; /* parts begin and end at multiples of it, or at the end of the range; 0 is 1 */
    /*
     * Computes [begin, end). Several threads call it at once with different ranges; `thread` counts from 0, below
     * corun_split_threads(). A range may be computed again (a GPU failed; times are repeated): what is READ_WRITE is
     * restored before. Any status but OK ends the run.
     */
    enum corun_status (*cpu)(void *user, uint64_t begin, uint64_t end, unsigned thread);
    /*
     * Enqueues [begin, end) on corun_split_gpu_stream and returns without waiting: by corun_split_gpu_launch, by the
     * driver API, or by the runtime API (`<<<>>>`; the device's primary context is current, a CUstream is a cudaStream_t).
     * Parts may run on a GPU at once, and the CPU may compute the same iterations meanwhile; then only one result counts.
     * Called on the thread that runs the task, or on one of the library. Any status but OK means that this GPU has failed; others do its part. NULL: no GPUs.
     */
    enum corun_status (*gpu)(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end);
    void *user;
    const struct corun_split_buffer *buffers;
    uint32_t buffer_count;
    /* Code for corun_split_gpu_launch: PTX text (ending with NUL) or another image that the driver loads, in memory or in a
     * file. Both NULL: the program brings its kernels by itself. */
    const void *module;
    const char *module_file;
    /*
     * How many thread blocks `gpu` launches for an iteration (a fraction, as a rule), and how many threads a block has, so that no part
     * is needlessly smaller than what occupies a GPU. 0: not said.
     */
    double gpu_blocks;
    uint32_t gpu_block_threads;
    /*
     * Where the parameter `cpu_seconds` gives the CPU's time beside simulated GPUs, and iterations differ: how much work [begin, end) is, in mean iterations of the task.
     * NULL: they do not. Strategies do not see it.
     */
    double (*work)(void *user, uint64_t begin, uint64_t end);
};

void *corun_split_gpu_stream(const struct corun_split_gpu *gpu); /* a CUstream */
uint64_t corun_split_gpu_address(const struct corun_split_gpu *gpu,
                                 uint32_t buffer);                 /* a CUdeviceptr: its first byte */
uint32_t corun_split_gpu_index(const struct corun_split_gpu *gpu); /* 0 is the first GPU */
/* Enqueues a kernel of the task's module. `arguments[i]` points at the i-th value, as for cuLaunchKernel. */
enum corun_status corun_split_gpu_launch(struct corun_split_gpu *gpu, const char *kernel, const uint32_t grid[3],
                                         const uint32_t block[3], uint32_t shared_bytes, void **arguments);

/* ---- Strategies: from what was measured to the next parts ---- */

struct corun_split_parameters {
#define P(name, default_value, least, most, meaning) double name; /* meaning: corun/split_parameters.def */
#include "corun/split_parameters.def"
#undef P
};

/* What a device was given in a step, and what became of it. */
struct corun_split_part {
    uint64_t begin, end; /* end == begin: nothing, or others have computed it meanwhile (race) */
    uint64_t
        done; /* iterations of it that were computed: fewer than given when it was recalled, or the device failed */
    double
        seconds; /* from its start until it was done, copies included; while `busy`, so far, or until `done` will be */
    double copy_seconds; /* of these, what no kernel of the part ran beside */
    uint64_t bytes_in, bytes_out;
    bool busy, fed; /* fed: without the way back of its results */
    double
        ended; /* when it was done, in seconds since the run began; 0 while it is not. Parts wait for others before they start */
};

struct corun_split_step {
    uint64_t iterations; /* of all parts */
    double start, end;   /* seconds since the run began; end: the last of its parts was done, or recalled */
    bool profiling;      /* the strategy wants to measure; false for the part that is computed for its own sake */
    double variance;     /* of this split and the one before; negative if the strategy has not computed it */
    double share[CORUN_SPLIT_MAX_DEVICES]; /* the split, sums up to 1 */
    struct corun_split_part part[CORUN_SPLIT_MAX_DEVICES];
};

struct corun_split_view {
    uint64_t iterations, left; /* of the run; not given to anybody yet */
    uint64_t granularity;
    double now;       /* seconds since the run began */
    uint32_t threads; /* of the CPU; each computes whole granules */
    uint32_t device_count;
    bool usable[CORUN_SPLIT_MAX_DEVICES];     /* false: failed, or without threads */
    bool busy[CORUN_SPLIT_MAX_DEVICES];       /* still computes a part of an earlier step */
    uint32_t queued[CORUN_SPLIT_MAX_DEVICES]; /* parts under way */
    uint32_t most[CORUN_SPLIT_MAX_DEVICES];   /* parts that may be under way at a time: 1, more for GPUs */
    bool stale[CORUN_SPLIT_MAX_DEVICES];      /* still works on parts of an earlier run that nobody needs any more */
    /* Iterations; 0: not known. Up to so many take a device hardly longer than one; so many occupy a GPU wholly; so many move copy_bytes. */
    uint64_t flat[CORUN_SPLIT_MAX_DEVICES], full[CORUN_SPLIT_MAX_DEVICES], piece[CORUN_SPLIT_MAX_DEVICES];
    uint64_t again
        [CORUN_SPLIT_MAX_DEVICES]; /* iterations that move half of copy_bytes when a run is repeated: not those bytes that are kept and only read; 0: not known */
    double returning[CORUN_SPLIT_MAX_DEVICES],
        latency
            [CORUN_SPLIT_MAX_DEVICES]; /* seconds that the results of an iteration took back in the last run, and that a copy takes at least; 0: not known */
    uint64_t block; /* iterations of a thread block of the task on GPUs; 0: not said, or less than one */
    double delivery
        [CORUN_SPLIT_MAX_DEVICES]; /* seconds that results of fed parts took to go back the last time; 0: not known */
    double handing
        [CORUN_SPLIT_MAX_DEVICES]; /* the least seconds that the host has needed to enqueue a part; 0: not known */
    /*
     * Of GPUs: seconds that the bytes of `kept` buffers take to one, for any iterations at all and for each (0: not known). The rates of a run that has
     * `learned` do not have them. And iterations, from the end of what `learned` gives a GPU, whose bytes it had when the run began.
     */
    double moving_start[CORUN_SPLIT_MAX_DEVICES], moving[CORUN_SPLIT_MAX_DEVICES];
    uint64_t held[CORUN_SPLIT_MAX_DEVICES];
    double setup
        [CORUN_SPLIT_MAX_DEVICES]; /* seconds at the beginning of a run in which what every part needs moves to a GPU; 0: not known, or nothing */
    bool fetches[CORUN_SPLIT_MAX_DEVICES]; /* it has been told to fetch in this run */
    double fetched_at
        [CORUN_SPLIT_MAX_DEVICES]; /* when what it was last told to fetch, in this run or before, should be there by what is known of such copies */
    double given[CORUN_SPLIT_MAX_DEVICES]; /* when its last part had been enqueued; 0: it has had none in this run */
    double expected
        [CORUN_SPLIT_MAX_DEVICES]; /* seconds that what `learned` gives it should take, by the last run; 0: not known */
    double
        lately; /* iterations per second that the CPU has done of late, a sixteenth of the run or more; 0: not known */
    double
        asks; /* of the CPU's function in the part that it computes: seconds from one question whether it is needed to the next; 0: it has not asked */
    double usual; /* seconds of the shortest run since the split was learned; 0: not known */
    double spent,
        wasted; /* seconds of all runs; of these, what they took longer than the CPU alone would have, less what others took less */
    bool reads;    /* parts read bytes of their own, which are moved before each */
    bool keeps;    /* parts read bytes of `kept` buffers, which the next run finds where they are */
    bool may_race; /* what GPUs have not computed may be computed by the CPU as well: no buffer is READ_WRITE */
    uint32_t step_count;
    const struct corun_split_step *steps;
    const double *learned; /* split of an earlier run of the same task that has not drifted, per device; NULL if none */
    const struct corun_split_parameters *parameters;
    const void *user; /* of the options: a user's own strategy may keep constants there */
    /* Of the iterations that `learned` gives a GPU: so many whose bytes of `kept` buffers it had not when the run began. */
    double lacks[CORUN_SPLIT_MAX_DEVICES];
};

struct corun_split_decision {
    /* Iterations for devices that have room for a part (queued < most), 0 is nothing; at most `left` together. */
    uint64_t parts[CORUN_SPLIT_MAX_DEVICES];
    /*
     * Iterations before those that a GPU has been given whose bytes of `kept` buffers it moves in for later runs, while others compute. Once in a run.
     */
    uint64_t fetch[CORUN_SPLIT_MAX_DEVICES];
    /* Mask of busy devices: what they have not begun goes back to what is left, and they become idle soon. The CPU obeys. */
    uint32_t recall;
    bool
        give_up; /* a CPU that is recalled from what is under way on a GPU gives up what it has begun of that, where its function asks whether it is needed */
    /*
     * Parts of GPUs are fed: they end when they are computed, and results go back together, when copy_bytes have gathered or the GPU
     * has nothing else to do. If they are more than what is left, they are taken off the end of what the CPU has not begun; there may be less.
     */
    bool feed;
    /* Mask of GPUs whose results need not gather: they go back now, where none is on its way. */
    uint32_t deliver;
    /* The idle CPU computes the foremost iterations that are under way on a GPU. Who is first has computed them. */
    bool race;
    bool trial; /* of these, one granule only */
    /*
     * A GPU that gets all that is left, and what the busy CPU has begun and can give up, because its function asks whether it is needed; the CPU stops. 0: none.
     */
    uint32_t relief;
    bool again;  /* ask again at once, if anything was begun: there may be more to say */
    double wake; /* ask again at this time even if nothing has ended; 0 or less: only when a part has ended */
    bool profiling;
    double variance;
    double share[CORUN_SPLIT_MAX_DEVICES];
};

/*
 * Called when a run begins and whenever a part has ended, a device has failed or `wake` has come, while iterations are left or
 * parts under way (and when it said `again`). It sees `decision` zeroed (variance negative). No parts while devices are busy means waiting; none while all
 * are idle ends the run with ARGUMENT. It must not keep state: equal views give equal decisions.
 */
typedef void corun_split_strategy(const struct corun_split_view *view, struct corun_split_decision *decision);

corun_split_strategy *
corun_split_strategy_find(const char *name);           /* static, quick, split, cap, meet; NULL if there is none */
const char *corun_split_strategy_name(uint32_t index); /* NULL after the last */

/*
 * Help for strategies: `total` iterations by `share` (usable devices only) in whole granules, the largest remainders first.
 * The parts sum up to `total`.
 */
void corun_split_apportion(const struct corun_split_view *view, uint64_t total, const double *share, uint64_t *parts);
/* Iterations per second of a device, from its latest part with something done; 0 if there is none. */
double corun_split_rate(const struct corun_split_view *view, uint32_t device);

/* ---- Running ---- */

enum corun_split_clock {
    CORUN_SPLIT_CLOCK_AUTO, /* simulated if the GPUs are */
    CORUN_SPLIT_CLOCK_WALL, /* devices work side by side, wall time */
    CORUN_SPLIT_CLOCK_SIMULATED, /* GPUs in simulated time, CPU parts measured alone, a run lasts as if they had been side by side */
};

/* Deterministic runs: how long a device needs for [begin, end). The work itself is done by the task's CPU function. */
struct corun_split_rate_table {
    const char *name;
    double (*seconds)(void *user, uint64_t begin, uint64_t end);
    void *user;
    uint64_t flat;     /* for the view, as */
    uint32_t most;     /* this; 0 is 1. A part begins when the one before has ended */
    uint64_t fails_at; /* the device fails in the part that takes its sum of iterations beyond this; 0: never */
    double back;       /* seconds that the results of a part, or of fed parts together, take to the program's memory */
    double
        asks; /* of the CPU: seconds after which its function asks each time whether it is needed; 0: it does not ask */
};

/*
 * NULL or zeroes are the defaults: strategy meet, all cores, all GPUs, clock AUTO. The environment variable CORUN_SPLIT has the
 * last word, so that `corun split` and users can vary programs that nobody changed: words separated by commas,
 * `strategy=NAME`, `threads=N|all`, `gpus=N|all`, `clock=auto|wall|simulated`, and parameters `NAME=NUMBER`, `NAME=1/128`.
 */
struct corun_split_options {
    const char *strategy;           /* by name, or */
    corun_split_strategy *function; /* one of the user's own, with */
    const void *strategy_user;
    uint32_t threads; /* CPU threads, 0 or ALL: one per core that this process may use */
    bool no_cpu;      /* GPUs alone */
    uint32_t gpus;    /* at most so many, 0 or ALL: all that there are */
    bool no_gpu;      /* CPU alone */
    enum corun_split_clock clock;
    const struct corun_split_parameters *parameters; /* NULL: the defaults */
    /* Not NULL: no clock runs and no CUDA is looked for; device d needs rates[d].seconds. rates[0] is the CPU. */
    const struct corun_split_rate_table *rates;
    uint32_t rate_count;
};

struct corun_split;

/*
 * Copies the description (not what it points to), opens CUDA and the GPUs, pins buffers, starts threads that sleep until
 * there is work. A machine without CUDA is no error. ARGUMENT (a description or option that cannot be), FILE, MEMORY,
 * SYNTAX (CORUN_SPLIT, or the module), NOT_FOUND (strategy; no device at all). On failure *split is NULL.
 */
enum corun_status corun_split_create(const struct corun_split_task *task, const struct corun_split_options *options,
                                     struct corun_split **split, struct corun_diagnostics *diagnostics);
void corun_split_destroy(struct corun_split *split); /* NULL is fine */

/*
 * Computes all iterations, and returns when every byte is in the program's memory. May be called again and again: iterative
 * tasks. The split of a run is the first one of the next, watched, and measured anew when it drifts.
 * A GPU that fails is left out from then on, and what it had not finished is done by the others: OK, and the result says so.
 * ARGUMENT while the same split is run, by another thread or by one of the task's functions.
 */
enum corun_status corun_split_run(struct corun_split *split, struct corun_diagnostics *diagnostics);

/*
 * By the CPU's function, with the `thread` that it is given: true when a GPU has computed first what this call computes, or is about to. The function should return OK then, whatever it has
 * written: the GPU's results follow when it has returned. To be asked every few microseconds by functions whose granules take longer: so
 * nobody waits for a granule that nobody needs. false if `split` is NULL.
 */
bool corun_split_unneeded(const struct corun_split *split, unsigned thread);

/* The program has changed bytes of a `kept` buffer between two runs. */
void corun_split_changed(struct corun_split *split, uint32_t buffer, size_t offset, size_t bytes);
/* The iterations of the task from the next run on: at most those of the description. */
enum corun_status corun_split_set_iterations(struct corun_split *split, uint64_t iterations);
/* Forgets the learned split: the next run measures anew. */
void corun_split_forget(struct corun_split *split);

struct corun_split_device_result {
    const char *name;     /* of the processor or GPU */
    uint64_t iterations;  /* done */
    double seconds;       /* computing and copying */
    double copy_seconds;  /* of these, copies that nothing ran beside */
    double setup_seconds; /* buffers that every part needs, moved before the first step; counted in `seconds` */
    uint64_t bytes_in, bytes_out;
    const char *failure; /* why the device was left out, NULL if it was not */
};

/* Of the last run; belongs to the split and is valid until its next run. */
struct corun_split_result {
    const char *task, *strategy;
    bool simulated, deterministic; /* which clock */
    uint64_t run;                  /* counts from 1 */
    bool reused;                   /* a learned split was used, nothing was profiled */
    bool drifted;                  /* the learned split is given up: the next run profiles */
    uint64_t iterations;
    double seconds;   /* from the beginning to the end of the run */
    double profiled;  /* share of the iterations that were computed in profiling steps */
    double imbalance; /* |t1 - t2| / max: longest minus shortest time of the devices that worked, over the longest */
    double deciding_seconds; /* processor time spent in strategy and engine between steps */
    uint32_t device_count;
    struct corun_split_device_result devices[CORUN_SPLIT_MAX_DEVICES];
    uint32_t step_count;
    const struct corun_split_step *steps;
};

const struct corun_split_result *corun_split_result(const struct corun_split *split);
uint32_t corun_split_threads(const struct corun_split *split); /* of the CPU; 0 if it takes no part */
uint32_t corun_split_gpus(const struct corun_split *split);

#ifdef __cplusplus
}
#endif
#endif
