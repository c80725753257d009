/* SPDX-License-Identifier: MIT */
/* A grid in flight: what the dispatcher and the SMs share about it. */
#ifndef CORUN_GPU_LAUNCH_H
#define CORUN_GPU_LAUNCH_H

#include "base/ratio.h"
#include "base/vector.h"
#include "corun/gpu.h"
#include "gpu/kernel.h"

enum sample_state { SAMPLE_TIMED, SAMPLE_WATCHED, SAMPLE_DRAINING, SAMPLE_SKIPPED, SAMPLE_ESTIMATED };

/* Of a launch of a machine that samples (sampling.h). */
struct launch_sample {
    enum sample_state state;
    struct sample_group *group;
    uint32_t wave;                           /* thread blocks that fit on the GPU at once */
    uint32_t next_mark;                      /* thread blocks completed at the end of the wave under way */
    uint32_t waves;                          /* that have ended and are behind the first one */
    uint32_t tbs_before;                     /* that were timed before the rest ran */
    uint64_t mark_cycle, mark_instructions;  /* at the end of the wave before */
    uint64_t stop_cycle;                     /* when it was told to drain */
    uint64_t until;                          /* SKIPPED: its start. ESTIMATED: its end */
    uint64_t rate_cycles, rate_instructions; /* of the waves that count */
    uint64_t margin_cycles, estimated_cycles;
    struct ratio_point points[RATIO_POINTS]; /* of the last waves, as a ring */
    struct corun_counters before;            /* of its kernel, when it began */
    struct corun_counters rest;              /* estimates, of what was not timed */
    bool estimated;                          /* some of its cycles are */
};

struct launch {
    const struct corun_grid *grid;
    struct machine_kernel *kernel;
    uint64_t number;       /* 1, 2, … over the whole GPU: a later launch has a higher one */
    uint32_t index;        /* 0, 1, … within its application: what the caller knows it by */
    uint64_t earliest;     /* cycle before which no thread block of it may start */
    uint64_t first_cycle;  /* start of its first thread block */
    uint64_t last_cycle;   /* completion of its last one so far */
    uint64_t longest_warp; /* instructions of the longest one so far */
    uint32_t next_tb;      /* first that was not dispatched */
    uint32_t completed;
    uint32_t tbs;     /* that are dispatched: all, unless it is sampled */
    int32_t priority; /* lower ones go first */
    bool started;
    struct launch *next;          /* in flight behind it */
    VECTOR(uint32_t) returned;    /* thread blocks that were dispatched and are to start anew */
    struct launch_sample *sample; /* NULL: the machine does not sample */
};

#endif
