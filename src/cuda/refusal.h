/* SPDX-License-Identifier: MIT */
/* Launches that corun refuses although a GPU would run them. */
#ifndef CORUN_CUDA_REFUSAL_H
#define CORUN_CUDA_REFUSAL_H

struct process;

/* Says, once for each `key`, that a kernel is not run and why; the call then gives an error. */
void launch_refuse(struct process *process, const void *key, const char *kernel, const char *reason);

#endif
