/* SPDX-License-Identifier: MIT */
/* What a launch of the host or of a kernel is for whoever carries it out: a grid. */
#ifndef CORUN_CUDA_LAUNCH_GRID_H
#define CORUN_CUDA_LAUNCH_GRID_H

#include "corun/module.h"

struct process;
struct task;

/* Of a launch that runs in parts (parts.h), the one at hand. Statuses as of corun_grid_create; MEMORY. *grid is the caller's. */
enum corun_status launch_grid_create(struct process *process, struct task *task, struct corun_grid **grid);

#endif
