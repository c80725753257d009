/* SPDX-License-Identifier: MIT */
/* A kernel on a GPU: its instructions made ready for the SMs, and what launches of it are counted under. */
#ifndef CORUN_GPU_KERNEL_H
#define CORUN_GPU_KERNEL_H

#include "gpu/machine_op.h"

struct launch;

/* Instructions of a kernel or an application, over all SMs. */
struct instruction_sum {
    uint64_t warp, thread; /* thread: without those of thread blocks that were dropped later */
};

/* Per kernel and GPU: the decoded instructions and the slot under which it is counted (kernel.c). */
struct machine_kernel {
    const struct corun_instruction *code; /* identity of the kernel; NULL once its application has left */
    struct launch *running;               /* counted here; NULL: none */
    struct machine_kernel *twin;          /* the same kernel, for launches that overlap; NULL: no more */
    const char *name;
    char *kept_name;                   /* of its own, once its application has left */
    struct machine_op *ops;            /* NULL once its application has left */
    struct corun_profile_row *profile; /* [code_length] or NULL */
    uint32_t code_length;
    uint32_t hazard_entries; /* scoreboard entries of a warp */
    uint16_t slot;
    uint8_t application;
    uint32_t registers_per_thread, tb_shared_bytes, tb_threads, tbs_per_sm;
    uint32_t launches;              /* completed */
    uint64_t cycles;                /* of completed launches */
    struct instruction_sum untimed; /* run without timing, by sampling */
    struct instruction_sum settled; /* what its application has been given of its counters already */
};

#endif
