/* SPDX-License-Identifier: MIT */
/* Failures: which error a program gets, what becomes of its context, and what is said. */
#ifndef CORUN_CUDA_FAILURE_H
#define CORUN_CUDA_FAILURE_H

#include "corun/module.h"

struct context;
struct process;

int error_of_status(enum corun_status status);
/* A kernel has failed: says how, and the context is in error from now on. */
void failure_of_launch(struct process *process, struct context *context, enum corun_status status);
/* What a GPU lets pass is worth a line: it is a mistake. */
void failure_tell_notes(struct process *process, struct corun_module_instance *loaded);

#endif
