/* SPDX-License-Identifier: MIT */
/* Streams that wait for a value in memory, and write one. */
#ifndef CORUN_CUDA_STREAM_VALUE_H
#define CORUN_CUDA_STREAM_VALUE_H

#include "cuda/task.h"

struct call;
struct process;

/* A TASK_WAIT_VALUE or TASK_WRITE_VALUE at the end of a stream, checked. */
int stream_value_ask(struct call *call, void *stream, enum task_kind kind, uint64_t address, uint64_t value,
                     uint32_t bytes, unsigned flags);
/* Is the value that a TASK_WAIT_VALUE waits for there? */
bool stream_value_reached(const struct task *task);
/* Nobody writes what streams wait for: on the hardware that would be for ever. Their contexts fail. */
void stream_values_give_up(struct process *process);
/* Carries a TASK_WRITE_VALUE out. */
int stream_value_write(const struct task *task);

#endif
