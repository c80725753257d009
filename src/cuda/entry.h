/* SPDX-License-Identifier: MIT */
/* Entry points: what programs call, by way of the tables of jumps (entry_points.def, shim.c). */
#ifndef CORUN_CUDA_ENTRY_H
#define CORUN_CUDA_ENTRY_H

#include <stdbool.h>

#define CORUN_CUDA_EXPORT __attribute__((visibility("default")))

/* Set by the entry points for which stream 0 is the thread's own (shim.c), cleared when the call ends. */
extern CORUN_CUDA_EXPORT _Thread_local bool corun_per_thread;
/* Set by libcuda's entry points, cleared by libcudart's: which interface was called. */
extern CORUN_CUDA_EXPORT _Thread_local bool corun_driver_call;

/*
 * The function behind an entry point: declared in runtime_api.h or driver_api.h, defined in a file runtime_… or
 * driver_….
 */
#define ENTRY(type, name, ...) CORUN_CUDA_EXPORT type corun_##name(__VA_ARGS__)

#endif
