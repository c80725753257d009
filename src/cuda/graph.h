/* SPDX-License-Identifier: MIT */
/*
 * Graphs: tasks with dependencies, written down by capturing streams or one by one, and launched as a whole.
 *
 * A graph is a list of nodes; sorted, every node comes after those that it depends on. An executable graph is a sorted
 * copy. Launched, its nodes go into streams of its own: a node goes to the stream of its first dependency if it is the
 * first to follow it there, else to another one, and events hold what crosses streams.
 */
#ifndef CORUN_CUDA_GRAPH_H
#define CORUN_CUDA_GRAPH_H

#include "base/vector.h"
#include "cuda/graph_condition.h"
#include "cuda/object.h"
#include "cuda/task.h"

struct context;
struct graph_memory;
struct process;
struct stream;
struct thread_state;

struct graph_node {
    struct object object;
    struct graph *graph;
    enum task_kind kind; /* NOTHING: empty or a child graph */
    struct task *task;   /* what it does; NULL if empty or a child */
    struct graph *child;
    struct graph_condition *condition; /* of a conditional node; else NULL (graph_condition.h) */
    VECTOR(struct graph_node *) dependencies;
    VECTOR(void *) arguments;    /* what a program was shown of a kernel's */
    struct graph_node *origin;   /* in a copy: what it was made from */
    struct graph_node *copy;     /* while a graph is being copied */
    struct graph_memory *memory; /* a node that allocates it, or frees it; else NULL (graph_memory.h) */
    bool frees;
    bool disabled;
    uint32_t place;         /* in its sorted graph, from 1 */
    uint32_t track;         /* of an executable graph: which of its streams */
    bool followed_in_track; /* another node comes after it there */
};

struct graph {
    struct object object; /* GRAPH or GRAPH_EXECUTABLE */
    uint64_t id;
    struct context *context;
    VECTOR(struct graph_node *) nodes;
    VECTOR(struct graph_node *)
    removed; /* their places are not given to others as long as the graph is there: a handle stays invalid */
    VECTOR(struct stream *) tracks;
    uint64_t launched_in;                /* an executable one: the number of the stream of its last launch; 0: none */
    VECTOR(struct graph_handle) handles; /* of conditions */
    struct user_references users;        /* kept as long as the graph, and its launches, are there */
    struct graph *parent;                /* a body: the graph of its node */
    bool owned;                          /* by a node */
    bool frees_on_launch;                /* an executable one: what its last launch has allocated */
};

struct graph *graph_create(struct process *process, struct context *context);
/* By its handle; NULL if there is none of that kind, or its context has been destroyed: its functions have gone, too. */
struct graph *graph_find(struct process *process, const void *handle, enum object_kind kind);
void graph_destroy(struct process *process, struct graph *graph);
/* Is that the handle of a node of this graph? */
bool graph_holds(struct process *process, const struct graph *graph, const void *handle);
/* Are all of them, of which there may be none? */
bool graph_holds_all(struct process *process, const struct graph *graph, void *const *nodes, size_t count);
/* Takes a node out, of the dependencies of others and of streams that are being captured, too, and frees it. */
void graph_remove(struct process *process, struct graph_node *node);
/* Adds a node at the end; takes the task over. NULL when out of memory. */
struct graph_node *graph_add(struct process *process, struct graph *graph, struct task *task,
                             struct graph_node *const *dependencies, size_t count);
/* Puts every node behind those that it depends on. False if they depend on each other in a circle. */
bool graph_sort(struct graph *graph);
/* A copy of a sorted graph; `kind` is GRAPH or GRAPH_EXECUTABLE. NULL when out of memory. */
struct graph *graph_copy(struct process *process, struct graph *graph, enum object_kind kind);
int graph_launch(struct process *process, struct graph *graph, struct stream *stream);
/* The next node that is captured from a stream depends on this one, too. False when out of memory. */
bool graph_join_front(struct stream *stream, struct graph_node *node);
/* A task for a stream that is being captured: becomes a node. Takes it over. */
int graph_capture(struct process *process, struct stream *stream, struct task *task);
/* What a capture cannot have was asked of one of its streams: nothing more is captured, and its end fails. The error of the call. */
int graph_spoil_capture(struct stream *stream);
/* An executable graph that is launched into such a stream: a copy becomes a node. */
int graph_capture_launch(struct process *process, struct stream *stream, struct graph *graph);
/* A stream that is being captured allocates or frees memory of graphs: becomes a node, with a reference of its own. */
int graph_capture_memory(struct process *process, struct stream *stream, struct graph_memory *memory, bool frees);
/* The graph of that number, if a stream of the context is still being captured into it; else NULL. */
struct graph *graph_being_captured(const struct context *context, uint64_t id);
/* Is a stream of another context being captured into the graph of that number? It would be joined by one of this context, which is not there: it is spoilt. */
bool graph_refuse_join(const struct process *process, const struct context *context, uint64_t id);
/* enum cudaStreamCaptureMode, of captures and of threads. */
enum { CAPTURE_GLOBAL, CAPTURE_THREAD_LOCAL, CAPTURE_RELAXED };
/*
 * A call that may have to wait for work (allocations, frees, waits for a whole context) while streams are captured. The modes of captures and of the
 * calling thread say whether it is refused: then these captures are spoilt.
 */
int graph_refuse_unsafe(const struct process *process, const struct thread_state *thread);
/* The same of work for the null stream, which waits for all streams of its context that block. */
int graph_refuse_implicit(const struct stream *legacy);
int graph_begin_capture(struct process *process, struct stream *stream, const struct thread_state *thread, int mode);
/* The same into a graph of the program's, behind some of its nodes. */
int graph_begin_capture_into(struct process *process, struct stream *stream, struct graph *graph, void *const *nodes,
                             size_t count, const struct thread_state *thread, int mode);
/* *graph is NULL after an error. A graph of the program's stays. Only the thread that began may end, but in relaxed mode. */
int graph_end_capture(struct process *process, struct stream *stream, const struct thread_state *thread,
                      struct graph **graph);

#endif
