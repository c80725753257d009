/* A grid in flight: what the dispatcher and the SMs share about it. Owned by its application (application.c). */
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

/* Per kernel and GPU: the decoded instructions and the slot under which it is counted. */
struct machine_kernel {
    const struct corun_instruction *code; /* identity of the kernel */
    struct launch *running;               /* counted here; NULL: none */
    struct machine_kernel *twin;          /* the same kernel, for launches that overlap; NULL: no more */
    const char *name;
    struct machine_op *ops;
    struct corun_profile_row *profile; /* [code_length] or NULL */
    uint32_t code_length;
    uint32_t hazard_entries; /* scoreboard entries of a warp */
    uint16_t slot;
    uint8_t application;
    uint32_t registers_per_thread, tb_shared_bytes, tb_threads, tbs_per_sm;
    uint32_t launches; /* completed */
    uint64_t cycles;   /* of completed launches */
};

struct launch {
    const struct corun_grid *grid;
    struct machine_kernel *kernel;
    uint64_t number;      /* 1, 2, … over the whole GPU: a later launch has a higher one */
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
