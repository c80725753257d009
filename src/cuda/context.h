/* SPDX-License-Identifier: MIT */
/* Contexts: an address space on a device with its modules, its streams and its error. */
#ifndef CORUN_CUDA_CONTEXT_H
#define CORUN_CUDA_CONTEXT_H

#include "base/vector.h"
#include "corun/module.h"
#include "cuda/device_heap.h"
#include "cuda/object.h"
#include "cuda/pointer_map.h"
#include "stream/scheduler.h"

struct device;
struct graph_memory;
struct green;
struct module;
struct process;
struct stream;
struct texture_object;
struct texture_reference;

/* Memory that graphs allocate: what launches hold of it, and all of it; now and at most. */
struct graph_bytes {
    uint64_t used, most_used, reserved, most_reserved;
};

struct context {
    struct object object;
    struct device *device;
    struct corun_memory *memory;
    uint32_t memory_index; /* which range of addresses */
    uint32_t application;  /* of the device's machine; CORUN_NO_APPLICATION: it has launched nothing there yet */
    bool primary, destroyed;
    unsigned flags;
    uint32_t attached; /* cuCtxAttach without cuCtxDetach */
    int error;         /* that stays until the context is gone; CUDA_SUCCESS: none */
    char *reason;      /* what has been said of it */
    struct stream *legacy;
    struct stream_group group;             /* the queues of the streams */
    VECTOR(struct stream *) streams;       /* legacy first */
    VECTOR(struct green *) greens;         /* of a primary one */
    VECTOR(struct module *) modules;       /* also unloaded ones: the machine may know their code */
    VECTOR(struct module *) image_modules; /* by index of the image; NULL: not used yet */
    struct pointer_map functions;          /* host stub → struct function */
    VECTOR(struct texture_object *) textures;
    VECTOR(struct graph_memory *) graph_memories;
    struct graph_bytes graph_bytes;
    VECTOR(struct texture_reference *) references;
    size_t limits[16];
    struct device_heap heap;
    uint64_t allocated_bytes;
    uint64_t grid_barrier; /* device address of the words that cooperative launches meet at; 0: none yet */
    uint32_t grid_barrier_next;
    uint64_t
        numbers; /* device address of a page of conditions of graphs, and how many of it are left (graph_condition.h) */
    uint32_t numbers_left;
    struct crew_memory *crew; /* crew.h; NULL: nothing was launched by workers */
};

/* cudaLimit at first: stack, printf buffer, heap, depth, pending launches */
#define CONTEXT_LIMITS \
    { \
        1024, 1 << 20, 8 << 20, 2, 2048, 128 \
    }

/* NULL when out of memory or addresses. */
struct context *cuda_context_create(struct process *process, struct device *device, bool primary);
/* Waits for nothing: what is in the streams is dropped. */
void cuda_context_destroy(struct process *process, struct context *context);
/* The device's primary context, made when it is first asked for; NULL when out of memory. */
struct context *cuda_context_primary(struct process *process, uint32_t device);
/* Keeps the error, if it is the first: every later call gives it. */
void cuda_context_fail(struct context *context, int error);

#endif
