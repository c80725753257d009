/* SPDX-License-Identifier: MIT */
/* Profiles of kernels: where warps issued and waited, by line of the PTX, for the record of the process (record.h). */
#ifndef CORUN_CUDA_PROFILE_H
#define CORUN_CUDA_PROFILE_H

struct context;
struct process;

/* Records what the kernels of a context have done on the machine so far: once, before it leaves the machine or the process ends. */
void profile_record(struct process *process, const struct context *context);

#endif
