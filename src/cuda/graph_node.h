/* SPDX-License-Identifier: MIT */
/*
 * What nodes of graphs do, as programs describe it: how a description becomes a task, and the other way round. The
 * driver API has the same structures with more at the end of them, but for copies.
 */
#ifndef CORUN_CUDA_GRAPH_NODE_H
#define CORUN_CUDA_GRAPH_NODE_H

#include "cuda/abi.h"
#include "cuda/task.h"

struct call;
struct graph;
struct graph_node;

/* cudaGraphNodeType */
enum {
    NODE_KERNEL,
    NODE_COPY,
    NODE_FILL,
    NODE_HOST,
    NODE_GRAPH,
    NODE_EMPTY,
    NODE_WAIT,
    NODE_RECORD,
    NODE_ALLOCATE = 10,
    NODE_FREE = 11,
    NODE_MEMORY_OPERATIONS = 12,
    NODE_CONDITIONAL = 13,
};

struct abi_kernel_node {
    void *function;
    struct corun_dim3 grid, block;
    unsigned shared;
    void **arguments, **extra;
};

/* CUDA_KERNEL_NODE_PARAMS_v2 */
struct abi_driver_kernel_node {
    struct abi_kernel_node plain;
    void *kernel, *context;
};

struct abi_fill_node {
    void *to;
    size_t pitch;
    unsigned value, element_bytes;
    size_t width, height;
};

struct abi_host_node {
    abi_host_function function;
    void *user;
};

int graph_node_type(const struct graph_node *node);
/* request->parameters is the caller's if the result is CUDA_SUCCESS. */
int graph_node_set_kernel(struct call *call, const struct abi_kernel_node *node, struct launch_request *request);
int graph_node_set_copy(struct call *call, const struct abi_copy_3d *p, struct copy *copy);
int graph_node_set_copy_1d(struct call *call, void *to, const void *from, size_t bytes, int kind, struct copy *copy);
/* Between a variable and other memory. */
int graph_node_set_symbol_copy(struct call *call, const void *symbol, void *other, size_t bytes, size_t offset,
                               int kind, bool to_symbol, struct copy *copy);
int graph_node_set_fill(struct call *call, const struct abi_fill_node *node, struct fill *fill);
/* A copy as the driver API describes it. driver_copy.c */
int driver_copy_of(struct call *call, const struct abi_driver_copy_3d *p, struct copy *copy);

/* The other way round. The pointers to arguments stay good until the node is changed, asked again, or gone. */
int graph_node_show_kernel(struct graph_node *node, struct abi_kernel_node *values);
struct abi_pitched graph_node_show_side(const struct copy *copy, const struct copy_side *side);

/*
 * Begins a call that adds a node: the graph, or NULL with the call's error. Its end adds a node with the task, which it
 * takes over, unless the call has an error.
 */
struct graph *graph_node_begin_new(struct call *call, void **result, void *graph, void *const *nodes, size_t count);
int graph_node_end_new(struct call *call, void **result, struct graph *graph, struct task *task, void *const *nodes,
                       size_t count);
/* The node of an executable graph that was made from a node of its graph; NULL if there is none. */
struct graph_node *graph_executable_node(struct call *call, void *executable, void *handle);
/*
 * Begins a call that reads or changes a node, or with `in_executable` the node of an executable graph that was made
 * from it. NULL with the call's error if there is none of that kind or nothing to read or write.
 */
struct graph_node *graph_node_begin(struct call *call, void *executable, bool in_executable, void *handle,
                                    enum task_kind kind, const void *values);

#endif
