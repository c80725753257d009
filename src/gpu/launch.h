/* SPDX-License-Identifier: MIT */
/* A grid in flight: what the dispatcher and the SMs share about it. */
#ifndef CORUN_GPU_LAUNCH_H
#define CORUN_GPU_LAUNCH_H

#include "base/vector.h"
#include "gpu/kernel.h"

struct launch {
    const struct corun_grid *grid;
    struct machine_kernel *kernel;
    uint64_t number;      /* 1, 2, … over the whole GPU: a later launch has a higher one */
    uint32_t index;       /* 0, 1, … within its application: what the caller knows it by */
    uint64_t earliest;    /* cycle before which no thread block of it may start */
    uint64_t first_cycle; /* start of its first thread block */
    uint64_t last_cycle;  /* completion of its last one so far */
    uint32_t next_tb;     /* first that was not dispatched */
    uint32_t completed;
    int32_t priority; /* lower ones go first */
    bool started;
    struct launch *next;       /* in flight behind it */
    VECTOR(uint32_t) returned; /* thread blocks that were dispatched and are to start anew */
};

#endif
