/* SPDX-License-Identifier: MIT */
/*
 * Green contexts: some of the SMs of a device, and streams whose kernels run on those alone. They have memory and modules of the device's primary
 * context. For the machine, each is an application of its own that may be on so many SMs from the first one on.
 */
#ifndef CORUN_CUDA_GREEN_H
#define CORUN_CUDA_GREEN_H

#include "corun/status.h"
#include "cuda/object.h"

struct context;
struct device;
struct event;
struct process;
struct stream;

struct green {
    struct object object;
    struct context *context; /* the primary one */
    uint32_t first_sm, sm_count;
    uint32_t application; /* of the device's machine; CORUN_NO_APPLICATION: it has launched nothing there yet */
    uint64_t id;
    /* Streams of ours, NULL: not needed yet. `gathers` is where all of its streams have been when an event was recorded; what every later stream
       waits for is in `holds`. */
    struct stream *gathers, *holds;
};

/* How finely SMs of the device can be parted: how many at least, and a multiple of what. Below compute capability 6.0 they cannot, 0. */
struct green_grain {
    uint32_t least, multiple;
};
struct green_grain green_grain_of(const struct device *device, bool any_sm);

/* NULL when out of memory. */
struct green *green_create(struct process *process, struct context *context, uint32_t first_sm, uint32_t sm_count);
/* Waits for its streams, which are gone then. Gives the context's error. */
int green_destroy(struct process *process, struct green *green);

/* The event is what all streams of the green context have been asked for. An error if one of them is captured, whose capture fails then. */
int green_record(struct process *process, struct green *green, struct event *event);
/* All streams of the green context, also later ones, wait for the event. An error if one of them or the event is captured. */
int green_wait(struct process *process, struct green *green, struct event *event);
/* A stream of the green context; NULL when out of memory. */
struct stream *green_stream_create(struct process *process, struct green *green, int priority);

/* A context is an application of its device's machine from its first launch on, until it fails or is destroyed; so is a green one (NULL: none). */
enum corun_status green_join_machine(struct context *context, struct green *green, uint32_t *application);
/* The context and its green ones: what they have in flight there is dropped; the machine names nothing of it any more. */
void green_leave_machine(struct context *context);
/* There is no machine any more. */
void green_forget_machine(struct context *context);
/* They go with their context. */
void green_free_all(struct process *process, struct context *context);

#endif
