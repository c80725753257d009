/* SPDX-License-Identifier: MIT */
/*
 * The frame of every call of an entry point: it takes the lock of the process, finds the current context, and gives
 * back the lock with the call's error.
 */
#ifndef CORUN_CUDA_CALL_H
#define CORUN_CUDA_CALL_H

#include "cuda/object.h"

#include <stdbool.h>

struct context;
struct process;
struct thread_state;

/* One call of an entry point. */
struct call {
    struct process *process;
    struct thread_state *thread;
    struct context *context; /* current; NULL if none is wanted */
    bool driver;             /* by the driver API: no context comes into being, no error is kept */
    int error;
};

/*
 * Begin a call: takes the lock and finds the current context. False if the call cannot proceed: `error` says why. Every
 * call ends with call_end or runtime_end, which give back the lock.
 */
bool runtime_begin(struct call *call); /* with a context, and that without error; a driver's call as driver_begin */
bool primary_begin(struct call *call); /* with a context, the device's own if there is none, in both interfaces */
bool runtime_begin_device(struct call *call); /* a device is enough */
int runtime_end(struct call *call);           /* keeps the error for cudaGetLastError */
bool driver_begin(struct call *call);         /* with a current context without error */
bool driver_begin_started(struct call *call); /* cuInit was called */
/* The same, with a live handle of that kind and a place for the result; else NULL with the error. */
void *driver_begin_object(struct call *call, const void *handle, enum object_kind kind, const void *result);
int call_end(struct call *call); /* keeps no error */

#endif
