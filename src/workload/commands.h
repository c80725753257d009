/* SPDX-License-Identifier: MIT */
/*
 * One run of a workload as commands for any CUDA device: buffers with their data on the host, launches, and copies between them, all
 * evaluated. What `corun export` writes into files, in memory.
 */
#ifndef CORUN_WORKLOAD_COMMANDS_H
#define CORUN_WORKLOAD_COMMANDS_H

#include "corun/workload.h"

struct command_buffer {
    const char *name;
    const char *symbol; /* a variable of the module instead of an allocation; NULL: none */
    uint64_t bytes;
    /* [bytes], in whole pages of its own, which a driver can lock. NULL: zeros or, where it is `kept`, what the module's variable has. */
    const void *initial;
    const void *final; /* [bytes] that a run without timing leaves */
    bool kept;
    bool is_output;   /* the host reads it when the run has ended */
    bool is_constant; /* a run leaves it as it was */
};

struct command_argument {
    uint32_t bytes;
    bool is_buffer;
    uint32_t buffer;
    uint64_t bits; /* a scalar, in its low bytes; of a buffer: offset in bytes */
};

/* A launch, or a copy within the device's memory. Each begins when the one before has ended. */
struct command {
    const char *kernel; /* NULL: a copy */
    uint32_t grid[3], block[3], shared_bytes;
    uint32_t argument_count;
    const struct command_argument *arguments;
    uint32_t from, to; /* buffers */
    uint64_t from_offset, to_offset, copy_bytes;
    uint64_t thread_instructions; /* of a launch, in a run without timing */
};

struct workload_commands {
    struct arena *arena;
    const char *name; /* NAME@SIZE */
    const char *ptx;  /* NUL-terminated */
    size_t ptx_bytes;
    const char *
        workers_ptx; /* the same kernels as workers (rewrite/workers.h), from somebody who has them; NULL: from the pass */
    const struct command_buffer *buffers;
    size_t buffer_count;
    const struct command *commands;
    size_t command_count;
    uint32_t launch_count; /* commands that are launches */
};

#define WORKLOAD_ALL_LAUNCHES UINT32_MAX

/*
 * Commands of a whole run, or of one launch of it: its index in a run. Then the data are those that the launch finds, and everything that
 * it changes is an output. Runs the workload once without timing, for what it leaves, and compares that with the CPU reference if there
 * is one. Sums of matrix products are those of a GPU of that compute capability (70: 7.0; 0: of the latest). Needs nothing of the workload afterwards. UNSUPPORTED: a captured program, whose data hold addresses of the memory that it ran
 * in; NOT_FOUND: there is no such launch; else what corun_instance_create, corun_run_functional and corun_instance_verify return.
 */
enum corun_status workload_commands_create(const struct corun_workload *workload, uint32_t launch, uint64_t seed,
                                           uint32_t compute_capability, struct corun_diagnostics *list,
                                           struct workload_commands **commands);
void workload_commands_destroy(struct workload_commands *commands);

#endif
