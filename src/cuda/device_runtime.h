/* SPDX-License-Identifier: MIT */
/*
 * CUDA's runtime for kernels: launches, streams, events, copies, fills, errors, as PTX that is linked to modules which declare any of its
 * functions. What of it is no PTX: isa/device_launch.h.
 */
#ifndef CORUN_CUDA_DEVICE_RUNTIME_H
#define CORUN_CUDA_DEVICE_RUNTIME_H

#include "corun/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct context;
struct corun_diagnostics;

/* cudaLimit */
enum { LIMIT_STACK = 0, LIMIT_HEAP = 2, LIMIT_PENDING_LAUNCHES = 4 };

/* Does a module declare a function of it? */
bool device_runtime_wanted(const char *text);
/* Its text, for the device of a context that is one of so many, and with the context's limits. */
void device_runtime_write(FILE *out, const struct context *context, uint32_t devices);
/* The module with it. *linked is to be freed. */
enum corun_status device_runtime_link(const struct context *context, uint32_t devices, const char *text, size_t bytes,
                                      struct corun_diagnostics *list, char **linked, size_t *linked_bytes);
/* How many launches may be pending there: the context's limit, within what can be. */
uint32_t device_runtime_pending(const struct context *context);

#endif
