/*
 * Graphs: tasks with dependencies, written down by capturing streams or one by one, and launched as a whole.
 *
 * A graph is a list of nodes; every node comes after those that it depends on, so the list is an order in which they may run. An executable
 * graph is a copy of it. Launched, its nodes go into streams of its own: a node goes to the stream of its first dependency if it is
 * the first to follow it there, else to another one, and events hold what crosses streams.
 */
#ifndef CORUN_CUDA_GRAPH_H
#define CORUN_CUDA_GRAPH_H

#include "cuda/process.h"

struct graph_node {
    struct object object;
    struct graph *graph;
    enum task_kind kind; /* NOTHING: empty or a child graph */
    struct task *task;   /* what it does; NULL if empty or a child */
    struct graph *child;
    VECTOR(struct graph_node *) dependencies;
    struct graph_node *copy; /* while a graph is being copied; in a copy: what it was made from */
    bool disabled;
    uint32_t track; /* of an executable graph: which of its streams */
};

struct graph {
    struct object object; /* GRAPH or GRAPH_EXECUTABLE */
    struct context *context;
    VECTOR(struct graph_node *) nodes;
    VECTOR(struct stream *) tracks;
    bool owned; /* by a node */
};

struct graph *graph_create(struct process *process, struct context *context);
void graph_destroy(struct process *process, struct graph *graph);
/* Adds a node at the end; takes the task over. NULL when out of memory. */
struct graph_node *graph_add(struct process *process, struct graph *graph, struct task *task,
                             struct graph_node *const *dependencies, size_t count);
/* A copy; `kind` is GRAPH or GRAPH_EXECUTABLE. NULL when out of memory. */
struct graph *graph_copy(struct process *process, struct graph *graph, enum object_kind kind);
int graph_launch(struct process *process, struct graph *graph, struct stream *stream);
/* A task for a stream that is being captured: becomes a node. Takes it over. */
int graph_capture(struct process *process, struct stream *stream, struct task *task);
int graph_begin_capture(struct process *process, struct stream *stream, int mode);
int graph_end_capture(struct process *process, struct stream *stream, struct graph **graph);
/* A copy of a task, not in any stream. NULL when out of memory. */
struct task *task_copy(const struct task *task);

#endif
