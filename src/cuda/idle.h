/* SPDX-License-Identifier: MIT */
/* Advances for programs that wait without calling CUDA. */
#ifndef CORUN_CUDA_IDLE_H
#define CORUN_CUDA_IDLE_H

#include <stdint.h>

struct process;

/* Watches for programs that wait without calling. Once is enough. */
void idle_start(struct process *process);
/* How long such a program has, in microseconds. */
uint64_t idle_patience(const struct process *process);

#endif
