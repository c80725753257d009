/* SPDX-License-Identifier: MIT */
/* A grid in flight, and the kernel that it is counted under: what the dispatcher and the SMs share about them. */
#ifndef CORUN_GPU_LAUNCH_H
#define CORUN_GPU_LAUNCH_H

#include "base/vector.h"
#include "corun/gpu.h"

/* Pipelines that an instruction can be issued to. Control instructions go through the integer pipelines. */
enum pipe { PIPE_INT, PIPE_FP32, PIPE_FP64, PIPE_SFU, PIPE_TENSOR, PIPE_MEMORY, PIPE_COUNT };

/* What an SM keeps of an instruction: the source's description with the configuration's timing, ready for use. */
struct machine_op {
    uint8_t pipe;         /* enum pipe */
    uint8_t unit;         /* enum corun_unit, for counters */
    uint8_t hazard_count; /* scoreboard entries that must be ready */
    uint8_t read_count;   /* registers read through the banks, without repetition and predicates */
    uint8_t written_count;
    uint8_t register_accesses; /* registers read or written, without repetition and predicates */
    uint8_t space;             /* enum corun_space, static */
    uint8_t access_bytes;
    uint16_t flags;   /* enum corun_instruction_flag */
    uint16_t latency; /* from the start of execution */
    uint16_t interval;
    uint16_t hazards[CORUN_MAX_SOURCES + CORUN_MAX_DESTINATIONS];
    uint16_t reads[CORUN_MAX_SOURCES];
    uint16_t written[CORUN_MAX_DESTINATIONS];
};

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
    struct instruction_sum settled; /* what its application has been given of its counters already */
};

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

/* Resources that one thread block takes on an SM, rounded up to allocation units. */
struct tb_needs {
    uint32_t registers, shared_bytes, threads, warps, barriers;
};
void tb_needs_compute(const struct corun_gpu_config *config, const struct corun_grid *grid, struct tb_needs *needs);

/* Translates a grid's instructions for this configuration; `ops` has grid->code_length elements. */
void machine_ops_build(const struct corun_gpu_config *config, const struct corun_grid *grid, struct machine_op *ops);

#endif
