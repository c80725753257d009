/* SPDX-License-Identifier: MIT */
/*
 * The driver as the runtime calls it: for what a library in front of the driver wants to see, the loading of device code, launches, ends of contexts, memory.
 * These are our own functions. Where the program finds a shim as its libcuda.so.1 (docs/daemon.md), and below that this library, they are what the
 * shim gives for their names, as NVIDIA's runtime asks for them.
 */
#ifndef CORUN_CUDA_DRIVER_CALLS_H
#define CORUN_CUDA_DRIVER_CALLS_H

#include "cuda/driver_api.h"

struct process;

struct driver_calls {
    bool own; /* ours: stream 0 is the thread's own one as corun_per_thread says, not by a variant */
#define PLAIN(name, handler) __typeof__(corun_##handler) *name;
#define STREAM(name, handler) __typeof__(corun_##handler) *name[2]; /* [1]: stream 0 is the thread's own */
#include "cuda/driver_calls.def"
#undef PLAIN
#undef STREAM
};

/* For process_driver. */
void driver_calls_find(struct driver_calls *calls);

/*
 * Within a call of the runtime: what it calls of the driver. The lock is given back meanwhile, so contexts, modules and streams may be gone
 * behind that, as behind whatever else lets it go.
 */
struct driver_call {
    const struct driver_calls *calls;
    bool per_thread; /* the variant that is meant */
    bool driver;     /* which interface the program had called */
};
/* `name`: the function that the program has called, by which messages name what becomes of it; NULL: the driver's name is as good. It lives as long as the call. */
struct driver_call driver_call_begin(struct process *process, const char *name);
void driver_call_end(struct process *process, const struct driver_call *driver);
/* What the program calls a function of the driver that it has called: `own`, or what of the runtime led to it. */
const char *driver_call_name(const char *own);

#endif
