/* SPDX-License-Identifier: MIT */
/*
 * One GPU: a copy of the task's buffers, what of them is valid, and parts that are moved, computed and moved back. Parts are enqueued
 * one after the other and end in that order; several may be under way, and their kernels run at once as far as there is room. One
 * thread may begin parts and deliver results while another waits for the end of parts; all other functions need the GPU for themselves.
 */
#ifndef CORUN_SPLIT_GPU_H
#define CORUN_SPLIT_GPU_H

#include "driver/driver.h"
#include "split/executor.h"

/* Finds CUDA's driver. false: there is none with all that GPUs here need. */
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
/* For the view of strategies. */
uint64_t gpu_flat(const struct corun_split_gpu *gpu);
uint64_t gpu_full(const struct corun_split_gpu *gpu);
uint64_t gpu_piece(const struct corun_split_gpu *gpu);
uint64_t gpu_again(const struct corun_split_gpu *gpu);
double
gpu_handing(const struct corun_split_gpu *gpu); /* seconds to enqueue a part, at the least; 0: its time is simulated */
/* Seconds that a copy takes at least, of memory like that to which results go; 0: not known. Before the first part. */
double gpu_latency(struct corun_split_gpu *gpu);
const char *gpu_failure(struct corun_split_gpu *gpu); /* NULL: it works */

/* Makes the GPU's context current and returns the one that was; the program on this thread may use another. */
void *gpu_enter(const struct corun_split_gpu *gpu);
void gpu_leave(const struct corun_split_gpu *gpu, void *outside);

/* A run begins: buffers that are not `kept` count as changed. */
void gpu_begin_run(struct corun_split_gpu *gpu);

/* Nothing is under way, or only simulated time counts: times of events count from now on. */
void gpu_set_origin(struct corun_split_gpu *gpu);
/*
 * Enqueues a part: moves in what it needs, and launches. At most MOST_PARTS at a time. `fed`: its results stay there until they are
 * delivered; otherwise gpu_end_part moves them back.
 */
void gpu_begin_part(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end, bool fed);
/*
 * Waits for the oldest part; fills in part, setup_seconds, kept_bytes, status and failure of the event, and, with simulated GPUs, the time
 * since the origin.
 */
void gpu_end_part(struct corun_split_gpu *gpu, struct executor_event *event);
/*
 * Whether the oldest part, or delivery, has ended or failed, so that gpu_end_part, or gpu_end_delivery, returns at once. What follows upon the
 * computed chunks of a part is enqueued on the way. For real GPUs, by whoever would wait.
 */
bool gpu_part_over(struct corun_split_gpu *gpu);
bool gpu_delivery_over(struct corun_split_gpu *gpu);
/*
 * Enqueues what [begin, end) needs of `kept` buffers that parts only read, behind all that is to be moved in. gpu_fetched: whether that is
 * there, or has failed; with the seconds that its copies took, 0 if nothing was fetched. At most one at a time.
 */
void gpu_fetch(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end);
bool gpu_fetched(struct corun_split_gpu *gpu, double *seconds);
/*
 * Iterations before `end`, in whole granules, whose bytes of these buffers are there or on their way; 0 if there are no such buffers. Nobody may be
 * enqueuing.
 */
uint64_t gpu_held(const struct corun_split_gpu *gpu, uint64_t end);
/* Of the bytes of [begin, end) that stay on a GPU from run to run, the fraction that it has not. */
double gpu_lacks(const struct corun_split_gpu *gpu, uint64_t begin, uint64_t end);
/* Moves the results of fed parts back: enqueues that, and waits for the oldest. At most MOST_DELIVERIES at a time. */
void gpu_begin_delivery(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end);
void gpu_end_delivery(struct corun_split_gpu *gpu, struct executor_event *event);
/* Whether the oldest delivery has ended or failed. Simulated GPUs do not work while they are asked. */
bool gpu_delivery_ready(struct corun_split_gpu *gpu);
/* The same of the kernels of the oldest part. */
bool gpu_part_ready(struct corun_split_gpu *gpu);
/* A simulated GPU works for that long. */
void gpu_work_for(struct corun_split_gpu *gpu, double seconds);

/* Nobody waits for this GPU any more, and it writes no more results to the host. false: it is just doing that. By any thread. */
bool gpu_abandon(struct corun_split_gpu *gpu, const char *why);

/* Bytes of the host have changed; what this GPU has of them is old. */
void gpu_host_changed(struct corun_split_gpu *gpu, uint32_t buffer, size_t offset, size_t bytes);
/* Parts of other devices have written: what this GPU has of it is old. */
void gpu_overwritten(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end);
/* What parts of this GPU ([begin, end)) have written is what the host has, too. */
void gpu_wrote(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end);

#endif
