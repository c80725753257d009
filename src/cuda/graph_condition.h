/* SPDX-License-Identifier: MIT */
/*
 * Conditions: a number in device memory that kernels change (cudaGraphSetConditional), and nodes of graphs that run one of their bodies, again
 * and again, or none by it.
 *
 * A handle is the number's device address. The node is a task that looks at the number when it is the first of its stream: the nodes of the
 * body that is to run are put behind it there, one after the other, and behind those of a loop the node again.
 */
#ifndef CORUN_CUDA_GRAPH_CONDITION_H
#define CORUN_CUDA_GRAPH_CONDITION_H

#include "base/vector.h"
#include "cuda/object.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct graph;
struct graph_node;
struct process;
struct stream;
struct task;

/* cudaGraphConditionalNodeType */
enum condition_kind { CONDITION_IF, CONDITION_WHILE, CONDITION_SWITCH, CONDITION_KINDS };

/* What a handle stands for, in the graph that it was made for and in copies of that. */
struct graph_handle {
    uint64_t address;
    uint32_t value; /* at the beginning of a launch */
    bool assigned;  /* it is put there */
};

/* Of a node. Tasks that are under way hold it, too: its executable graph may be destroyed meanwhile. */
struct graph_condition {
    enum condition_kind kind;
    uint64_t address;
    uint32_t references;
    VECTOR(struct graph *) bodies;
};

/* A number in the memory of a context, which stays until that is destroyed; 0 when out of memory. */
uint64_t graph_condition_number(struct context *context);
/* Was the handle made for the graph, or for one that it is a body of? */
bool graph_condition_is_known(const struct graph *graph, uint64_t address);
/* With empty bodies, of which the graph is the parent. NULL when out of memory. */
struct graph_condition *graph_condition_create(struct process *process, struct graph *graph, enum condition_kind kind,
                                               uint64_t address, unsigned bodies);
/* For a copy of its node. NULL when out of memory. */
struct graph_condition *graph_condition_copy(struct process *process, const struct graph_condition *condition,
                                             struct graph *graph, enum object_kind kind);
void graph_condition_release(struct process *process, struct graph_condition *condition);

/* At the end of a stream: what numbers are when a graph is launched, and a node. Errors of CUDA. */
int graph_condition_begin(struct process *process, const struct graph *graph, struct stream *stream);
int graph_condition_ask(struct process *process, struct graph_condition *condition, struct stream *stream);
/* Carries out what they have put there. The task is the first of its stream. */
int graph_condition_set(const struct task *task);
int graph_condition_run(struct process *process, struct task *task);

#endif
