/* SPDX-License-Identifier: MIT */
/* The record of what a process launched and copied, for the table of `corun exec`. NULL: nobody wants to know. */
#ifndef CORUN_CUDA_RECORD_H
#define CORUN_CUDA_RECORD_H

#include "corun/case.h"

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

struct corun_profile_line;
/* What warps did at a line of a kernel (isa/profile_lines.h). */
void record_profile(struct process *process, const struct device *device, const char *kernel,
                    const struct corun_profile_line *line);

#endif
