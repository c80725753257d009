/* SPDX-License-Identifier: MIT */
/* Streams, in which tasks wait their turn, and events, which tell how far they have come. */
#ifndef CORUN_CUDA_STREAM_H
#define CORUN_CUDA_STREAM_H

#include "base/vector.h"
#include "cuda/object.h"
#include "stream/scheduler.h"

struct call;
struct context;
struct graph;
struct graph_node;
struct green;
struct process;
struct shared_counts;
struct task;
struct thread_state;

/* Attributes that are kept for the program as it set them, and do nothing here. */
struct stream_attributes {
    unsigned char access_policy[32]; /* struct cudaAccessPolicyWindow */
    int synchronization, memory_domain;
    unsigned char memory_domain_map[2];
};

struct stream {
    struct object object;
    struct context *context;
    struct green *green; /* its kernels run on these SMs alone; NULL: on all */
    struct stream_queue queue;
    unsigned flags;
    uint64_t id;
    struct stream_attributes attributes;
    bool destroyed;
    struct graph *capture;
    VECTOR(struct graph_node *) capture_front;          /* what the next captured node depends on */
    bool capture_origin, capture_broken, capture_given; /* given: the program's own graph is captured into */
    int capture_mode;
    const struct thread_state *capture_thread; /* which began it */
};

struct event {
    struct object object;
    struct context *context;
    unsigned flags;
    uint32_t references;         /* tasks that name it, and the program's handle */
    uint64_t recorded;           /* number of calls that recorded it */
    struct stream_event reached; /* the last of them that has been, and when */
    double nanoseconds;          /* the same */
    uint64_t capture; /* recorded in a stream that was being captured: the graph's number, and where the stream was */
    VECTOR(struct graph_node *) capture_front;
    struct shared_counts *shared; /* with other processes (interprocess.h); NULL: with none */
    int shared_file;
    uint64_t recorded_here; /* the last of the calls in this process, if it is shared */
};

/* The nearest one that there is. */
int stream_priority(int priority);
/* NULL when out of memory. */
struct stream *stream_create(struct process *process, struct context *context, unsigned flags, int priority);
/* With the tasks that are still in it. */
void stream_free(struct process *process, struct stream *stream);
/* What a handle means in a call; *stream is NULL and the result an error if it is none. */
int stream_of_handle(struct call *call, const void *handle, struct stream **stream);
/* Puts it at the end of a stream, or into the graph that is being captured there. Takes it over, also when it fails. */
int stream_ask(struct process *process, struct stream *stream, struct task *task);
/* Puts it right behind a task of a stream, before what was asked for later. */
void stream_ask_behind(struct process *process, struct task *before, struct task *task);
bool stream_idle(const struct stream *stream);

struct event *event_create(struct process *process, struct context *context, unsigned flags);
/* One reference less. */
void event_release(struct process *process, struct event *event);

#endif
