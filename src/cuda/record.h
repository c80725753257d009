/* SPDX-License-Identifier: MIT */
/* The record of what a process launched and copied, for the table of `corun exec`. NULL: nobody wants to know. */
#ifndef CORUN_CUDA_RECORD_H
#define CORUN_CUDA_RECORD_H

#include "corun/gpu.h"

struct device;
struct process;
struct record;
struct task;

/* NULL if nobody wants it. */
struct record *record_open(const struct process *process);
void record_launch(struct process *process, const struct device *device, const struct task *task,
                   const struct corun_grid *grid, const struct corun_counters *counters);
void record_copy(struct process *process, const struct device *device, const struct task *task);
/* What the machine of the device has sampled, if it has; before that machine goes. */
void record_sampled(struct process *process, const struct device *device);
/* A kernel that was to be launched and cannot be. */
void record_refusal(struct process *process, const char *kernel, const char *reason);
void record_close(struct record *record);

/* A line of the PTX of a kernel, and what warps did there. */
struct record_profile_line {
    const char *kernel;
    uint32_t line;
    const char *text, *source; /* of the PTX, which need not end; of the CUDA source, "" if not known */
    int text_bytes;
    struct corun_profile_row counts;
};
void record_profile(struct process *process, const struct device *device, const struct record_profile_line *line);

#endif
