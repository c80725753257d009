/* SPDX-License-Identifier: MIT */
/*
 * One GPU: a copy of the task's buffers, what of them is valid, and parts that are moved, computed and moved back. All functions
 * but gpu_close may be called by one thread at a time only.
 */
#ifndef CORUN_SPLIT_GPU_H
#define CORUN_SPLIT_GPU_H

#include "driver/driver.h"
#include "split/executor.h"

/* Opens CUDA's driver as the loader finds it. False: there is none that has what a GPU of a split needs. */
bool gpu_find_driver(struct driver *driver);
/*
 * `index` counts the driver's devices. The task's description must stay. A GPU that cannot be used has a gpu_failure, and the
 * status is OK all the same; FILE or SYNTAX if the task's module cannot be had, MEMORY.
 */
enum corun_status gpu_open(const struct driver *driver, uint32_t index, const struct corun_split_task *task,
                           const struct corun_split_parameters *parameters, struct corun_split_gpu **gpu,
                           struct corun_diagnostics *diagnostics);
void gpu_close(struct corun_split_gpu *gpu);
const char *gpu_name(const struct corun_split_gpu *gpu);
uint64_t gpu_flat(const struct corun_split_gpu *gpu);       /* for the view of strategies */
const char *gpu_failure(const struct corun_split_gpu *gpu); /* NULL: it works */

/* Makes the GPU's context current and returns the one that was; the program on this thread may use another. */
void *gpu_enter(const struct corun_split_gpu *gpu);
void gpu_leave(const struct corun_split_gpu *gpu, void *outside);

/* A run begins: buffers that are not `kept` count as changed. */
void gpu_begin_run(struct corun_split_gpu *gpu);
/* Moves, computes and moves back [begin, end); fills in part, setup_seconds, kept_bytes, status and failure of the event. */
void gpu_run_part(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end, struct executor_event *event);
/* Bytes of the host have changed; what this GPU has of them is old. */
void gpu_host_changed(struct corun_split_gpu *gpu, uint32_t buffer, size_t offset, size_t bytes);
/* Parts of other devices have written: what this GPU has of it is old. */
void gpu_overwritten(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end);
/* What parts of this GPU ([begin, end)) have written is what the host has, too. */
void gpu_wrote(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end);

#endif
