/* SPDX-License-Identifier: MIT */
/*
 * The CUDA front door of one process, which is one instance. The map of the house, a header for each noun:
 *
 *   entry.h      entry points: declared in runtime_api.h and driver_api.h, defined in runtime_….c and driver_….c,
 *                thin over all this
 *   call.h       the frame of every call: lock, current context, error
 *   driver_calls.h  the driver as the runtime calls it: ours, or a shim that stands in front of it
 *   process.h    the one instance, and what each host thread has of its own
 *   object.h     handles
 *   device.h     simulated GPUs and what they say of themselves
 *   context.h    an address space with its modules, streams and its error
 *   ranges.h     who owns which addresses, on the device and on the host
 *   module.h     PTX from fat binaries, files and texts; functions and variables
 *   image.h      device code that registers itself when a program starts
 *   stream.h     streams and events
 *   task.h       what waits in streams
 *   copy.h       what copies and fills do
 *   api.h        what both interfaces do alike: launches, copies, fills, waits
 *   graph.h      tasks with dependencies
 *   machine.h    the machine that runs launches: of this process, or of corund (remote.h)
 *   engine.h     carries tasks out: in program order without timing, or on the simulated machine
 *   caller.h     the thread that calls functions of the program
 *   untimed.h    launches without timing: to their end, or in turns with what they wait for
 *   nested.h     what kernels launch, and when it can start
 *   failure.h    what a failed kernel does to its context, and what is said of it
 *   idle.h       advances the machine for programs that wait without calling
 *   host_sleep.h the host does nothing for a while, for programs that know that the GPU is a simulated one
 *   parts.h      launches in slices (slicing.h) or by workers (crew.h), on request
 *   region.h     which launches are timed, on request
 *   refusal.h    launches that corun cannot run
 *   record.h     what was launched and copied, for the table of `corun exec`
 *   capture.h    the same as a workload, for `corun capture`
 *   checkpoint.h the state of the GPU, saved; a program that is run again goes on from there
 *   console.h    what the user is told
 *
 * and what these need: abi.h (the structures and numbers of CUDA's interfaces), errors.h, settings.h, fat_binary.h,
 * ptx_text.h, ptx_link.h, device_heap.h, device_runtime.h, occupancy.h, stream_value.h, graph_node.h, graph_memory.h, array.h,
 * texture_object.h, texture_reference.h, virtual_memory.h, interprocess.h, pointer_map.h.
 *
 * Everything is protected by the lock of the process, which every entry point holds; it is let go while the program's
 * own functions run and, now and then, while the machine advances.
 */
#ifndef CORUN_CUDA_PROCESS_H
#define CORUN_CUDA_PROCESS_H

#include "base/duration.h"
#include "base/vector.h"
#include "corun/module.h"
#include "cuda/caller.h"
#include "cuda/device.h"
#include "cuda/driver_calls.h"
#include "cuda/image.h"
#include "cuda/parts.h"
#include "cuda/pointer_map.h"
#include "cuda/ranges.h"
#include "cuda/region.h"
#include "cuda/runs.h"

#include <pthread.h>

struct capture;
struct checkpoint;
struct context;
struct interprocess;
struct pool;
struct record;
struct remote;
struct stream;
struct task;
struct virtual_memory;

/* Between __cudaPushCallConfiguration and the launch. */
struct call_configuration {
    struct corun_dim3 grid, block;
    size_t dynamic_shared_bytes;
    void *stream;
};

struct thread_state {
    int last_error;
    uint32_t device;
    VECTOR(struct context *) contexts; /* the driver API's stack; the top is current */
    VECTOR(struct call_configuration) configurations;
    VECTOR(struct stream *) streams; /* the thread's own default stream of each context */
    int capture_mode;
    bool calls_functions; /* caller.h: of this thread no call is taken */
    const char *asked;    /* driver_calls.h: of the runtime, which has called the driver for it; NULL: none */
};

struct process {
    pthread_mutex_t lock;
    struct driver_calls driver; /* process_driver */
    pthread_mutex_t
        loading_lock; /* while an image becomes a module; taken without `lock`, which may be taken under it */
    bool ready, failed, forked, driver_started, functional;
    bool launch_costs;   /* launches take time */
    bool nests;          /* kernels may launch kernels */
    bool watched, ended; /* idle.c */
    pid_t watcher;       /* the thread of that; 0: it has not begun */
    uint64_t calls;
    _Atomic uint32_t calls_wanting; /* those that wait for the lock */
    uint32_t calls_waiting;         /* those that have given the lock back for others to have their turn */
    uint32_t threads;
    struct simulated_duration kernel_timeout; /* zeroed: none */
    struct corun_diagnostics *list;
    struct device devices[MAX_DEVICES];
    uint32_t device_count;
    struct pointer_map objects; /* handle → struct object, while it lives */
    VECTOR(struct context *) contexts;
    VECTOR(struct range) ranges; /* in ascending address */
    uint32_t memories_used;      /* mask of address ranges taken */
    VECTOR(struct image *) images;
    VECTOR(struct image_function) functions;
    VECTOR(struct image_variable) variables;
    VECTOR(struct image_reference) references;
    struct pointer_map function_of_host; /* host stub → index + 1 */
    struct pointer_map variable_of_host;
    struct stream_host host;
    uint64_t next_stream_id;
    uint64_t allocations, launches; /* so far */
    uint32_t checks;                /* enum corun_check */
    uint64_t patience_microseconds; /* of the host, without a call: then the machine goes on by itself (idle.c) */
    struct parting parting;         /* of all launches */
    struct region region;           /* of those that are timed */
    bool profiles;                  /* counts where kernels issue and wait */
    bool samples;
    struct corun_sampling sampling; /* if it does */
    VECTOR(struct task *) untimed;  /* launches that give turns (untimed.h), in the order in which they were started */
    struct caller caller;           /* of functions of the program */
    VECTOR(struct task *) calling;  /* whose functions have been asked for (caller.h), and are still in their streams */
    uint32_t functions_waiting;     /* functions in streams */
    uint32_t values_waiting, value_looks; /* streams that wait for a value; how often nothing else was to be done */
    struct record *record;                /* NULL: nobody wants to know */
    struct capture *capture;              /* NULL: nobody wants one */
    struct checkpoint *checkpoint;        /* NULL: nothing is saved or taken up again */
    struct runs runs;                     /* under corund */
    struct remote *remote;                /* NULL: the GPUs are in this process */
    VECTOR(struct pool *) pools;
    struct virtual_memory *virtual_memory; /* NULL until it is used */
    struct interprocess *interprocess;     /* the same */
    struct pointer_map complained;         /* names of what is absent that were said */
    VECTOR(struct context *) gone;         /* destroyed: threads may still have them on their stack */
};

struct process *process_get(void);
struct thread_state *thread_get(void);
/* The device of that number; NULL if there is none. */
struct device *process_device(struct process *process, int ordinal);
/* The context that is current for a thread: the top of its stack, or its device's primary one if that is used; or NULL. */
struct context *process_current_context(const struct process *process, const struct thread_state *thread);
/* What the runtime calls of the driver, found by the first call. Without the lock: libraries are opened. */
const struct driver_calls *process_driver(void);
/* Takes the lock; the first call makes the devices of the settings. Gives an error if CUDA cannot be used. */
int process_enter(void);

#endif
