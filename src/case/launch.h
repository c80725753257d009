/* SPDX-License-Identifier: MIT */
/* One launch of one kernel of anybody's PTX, with or without timing. */
#ifndef CORUN_CASE_LAUNCH_H
#define CORUN_CASE_LAUNCH_H

#include "base/duration.h"
#include "case/argument.h"
#include "corun/gpu.h"
#include "corun/module.h"

#include <stdio.h>

struct launch_save {
    uint32_t argument; /* counts from 0 */
    const char *path;  /* for messages */
    FILE *file;
};

struct launch_request {
    const char *path;   /* of the PTX */
    const char *kernel; /* NULL: the only one */
    struct corun_dim3 grid, block;
    uint64_t dynamic_shared_bytes;
    const char *const *arguments; /* texts for argument_parse */
    size_t argument_count;
    const struct launch_save *saves;
    size_t save_count;
    bool functional; /* without timing */
    const struct corun_gpu_config *gpu;
    uint64_t watchdog; /* cycles without progress; functional: warp instructions of a thread block. 0: a default */
    struct simulated_duration timeout; /* of the kernel, only with timing; zeroed: none */
    uint32_t threads;
    uint32_t checks; /* enum corun_check: mistakes that are faults and not notes */
    void (*print)(void *user, const char *text, size_t bytes);
    void *print_user;
    bool (*progress)(void *user, uint64_t cycle); /* only with timing; may be NULL */
    void *progress_user;
};

struct launch_result {
    char kernel[256];
    bool functional, interrupted;
    bool
        saved; /* all that was to be saved has been written to its files, where write errors are left to their streams */
    enum corun_status status; /* OK, or why the kernel was stopped */
    uint64_t cycles, thread_instructions, warp_instructions;
    uint64_t profiled_cycles; /* with what a profiler counts of the launch (profiled_launch_cycles) */
    double ipc;               /* NAN: not known */
    uint32_t registers_per_thread, shared_bytes;
    uint32_t tbs_per_sm;            /* 0: not known */
    struct corun_counters counters; /* all 0 without timing */
    struct corun_memory_result memory;
    struct corun_energy_result energy; /* all 0 without timing */
    double wall_seconds, warp_instructions_per_second;
};

/*
 * OK if it ran or was stopped (its status is in the result and its reason in the list). Buffers are saved unless it was
 * stopped. USAGE (a --save names no buffer), NOT_FOUND, ARGUMENT, LIMIT, MEMORY and what corun_module_load
 * returns.
 */
enum corun_status launch_run(const struct launch_request *request, struct corun_diagnostics *list,
                             struct launch_result *result);

#endif
