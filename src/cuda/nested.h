/* SPDX-License-Identifier: MIT */
/*
 * Grids that kernels have launched (isa/device_launch.h): which of them can start, and when a grid is complete with what it launched.
 *
 *     a thread launches ─► collected ─► first of its stream ─► ready ─► started ─► its thread blocks have ended ─► complete,
 *                                                                                 when what it launched is, then its tail launches
 *
 * What a grid launched waits in streams of that grid: the null stream of a thread block, one of a thread, those that were made. A grid that was
 * fired and forgotten waits for nothing. A tail launch waits until everything else of its grid is complete. Events order the streams of a grid.
 *
 * The engine starts what is ready and says what has ended. Order follows from cycle and SM of the launch alone.
 */
#ifndef CORUN_CUDA_NESTED_H
#define CORUN_CUDA_NESTED_H

#include "cuda/pointer_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct device;
struct module;
struct nested;
struct process;
struct task;

/* On a GPU at once; the others wait until one has ended. As CUDA documents for compute capability 7.0 and most later ones. */
#define NESTED_MOST_RUNNING 128u

/* Zeroed is empty. */
struct nested_launches {
    struct nested *all;
    struct nested *ready_first, *ready_last;
    uint32_t running;
};

/* After a module was loaded whose kernels may launch. */
void nested_prepare(struct process *process, const struct context *context, const struct module *module);
/*
 * Takes what kernels of a context have launched. `parent`: all of it is by this launch; NULL: by launches in flight on the context's device, whose
 * cycles count. OK or an error of CUDA.
 */
int nested_collect(struct process *process, struct nested_launches *nested, struct context *context,
                   struct task *parent);
/* The next that can start, and since when; NULL: none. It counts as started. */
struct task *nested_next(struct nested_launches *nested, uint64_t *since);
/*
 * The thread blocks of a launch have ended, by the host or by a kernel. False: that is all, and nothing is known of it any more; true: it is
 * finished by engine_finish, now or later, or was launched by a kernel.
 */
bool nested_ended(struct process *process, struct nested_launches *nested, struct task *task, uint64_t cycle);
/* Forgets all that a context has launched so. The tasks of the host's launches stay. */
void nested_abandon(struct process *process, struct nested_launches *nested, const struct context *context);

#endif
