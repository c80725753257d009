/* SPDX-License-Identifier: MIT */
/* Profiles of kernels: where warps issued and waited, by line of the PTX, for the record of the process (record.h). */
#ifndef CORUN_CUDA_PROFILE_H
#define CORUN_CUDA_PROFILE_H

struct context;
struct process;

#include <stdint.h>

/* Records what an application of a context has done on the machine so far: once, before it leaves the machine or the process ends. */
void profile_record(struct process *process, const struct context *context, uint32_t application);
/* The same of all that the context is: itself, and its green contexts. */
void profile_record_all(struct process *process, const struct context *context);

#endif
