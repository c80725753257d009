/* SPDX-License-Identifier: MIT */
/*
 * Writes what a program does with its GPU to a file that is a workload (`corun capture`, docs/captures.md). Every
 * function does nothing while nobody wants a capture.
 */
#ifndef CORUN_CUDA_CAPTURE_H
#define CORUN_CUDA_CAPTURE_H

#include "corun/texture.h"

struct context;
struct corun_grid;
struct event;
struct module;
struct process;
struct stream;
struct task;

struct capture;

/* NULL if nobody wants it. */
struct capture *capture_open(const struct process *process);
/* Completes the file, or leaves beside it why there is none. */
void capture_close(struct process *process);

/* What cannot be captured: the program runs on, the first reason is what the user is told. */
void capture_refuse(struct process *process, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* After it was loaded, with the text that was loaded. */
void capture_module(struct process *process, const struct module *module, const char *text, size_t bytes);
void capture_allocate(struct process *process, struct context *context, uint64_t address, uint64_t bytes);
/* `place` is where the device has it, `address` what the program uses; the same if that was possible. */
void capture_allocate_host(struct process *process, struct context *context, uint64_t place, uint64_t address,
                           uint64_t bytes);
/* Memory of the host that a kernel may use from now on; `same_as`: the module's variable that it is, or 0. */
void capture_adopt(struct process *process, struct context *context, uint64_t address, uint64_t bytes,
                   uint64_t same_as);
void capture_free(struct process *process, struct context *context, uint64_t address);
void capture_texture(struct process *process, struct context *context, uint64_t handle,
                     const struct corun_texture *texture);
void capture_texture_end(struct process *process, struct context *context, uint64_t handle);

/* Before a launch runs, and when it has ended. */
void capture_launch(struct process *process, const struct task *task, const struct corun_grid *grid);
void capture_launched(struct process *process);
/* Copies, fills, records and waits, when they have been carried out. */
void capture_task(struct process *process, const struct task *task);
/* An event is no more; another one may come to lie where it was. */
void capture_event_end(struct process *process, const struct event *event);
/* A function of the host in a stream has returned. */
void capture_called(struct process *process);
/* The host has waited for a stream, an event for the `count`th time, or, with neither, for everything. */
void capture_wait(struct process *process, struct context *context, const struct stream *stream,
                  const struct event *event, uint64_t count);

#endif
