/* SPDX-License-Identifier: MIT */
/* Copies and fills of a program whose state is saved: what it gives is compared, what it gets is kept, or given once more. */
#ifndef CORUN_CUDA_JOURNALED_COPY_H
#define CORUN_CUDA_JOURNALED_COPY_H

struct process;
struct task;

/* A copy or fill starts. */
void journaled_copy_ask(struct process *process, const struct task *task);
/* It has ended: moves the bytes, as far as they are not those of device memory that is loaded later. An error of CUDA. */
int journaled_copy_perform(struct process *process, const struct task *task);

#endif
