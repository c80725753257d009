/* SPDX-License-Identifier: MIT */
/* An executable graph, or a child of it, takes over what the nodes of another graph of the same shape do. */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/graph.h"
#include "cuda/graph_node.h"
#include "cuda/object.h"
#include "cuda/process.h"
#include "cuda/runtime_api.h"
#include "cuda/task.h"

/* cudaGraphExecUpdateResult */
enum { UPDATED = 0, FAILED = 1, SHAPE_CHANGED = 2, TYPE_CHANGED = 3, PARAMETERS_CHANGED = 5 };

static bool depends_on_place(const struct graph_node *node, uint32_t place)
{
    for (size_t d = 0; d < node->dependencies.count; d++)
        if (node->dependencies.data[d]->place == place)
            return true;
    return false;
}

static int compare_nodes(const struct graph_node *old, const struct graph_node *new)
{
    if (graph_node_type(old) != graph_node_type(new))
        return TYPE_CHANGED;
    if (old->memory != new->memory) /* its address is fixed */
        return PARAMETERS_CHANGED;
    bool same = old->dependencies.count == new->dependencies.count;
    for (size_t d = 0; d < new->dependencies.count &&same; d++)
        same = depends_on_place(old, new->dependencies.data[d]->place);
    return same ? UPDATED : SHAPE_CHANGED;
}

static int compare(const struct graph *executable, const struct graph *graph, struct graph_node **different);

/* A conditional node keeps its kind and its handle. */
static int compare_bodies(const struct graph_condition *old, const struct graph_condition *new,
                          struct graph_node **different)
{
    int result = old->kind == new->kind && old->address == new->address && old->bodies.count == new->bodies.count
                     ? UPDATED
                     : SHAPE_CHANGED;
    for (size_t b = 0; result == UPDATED && b < new->bodies.count; b++)
        result = compare(old->bodies.data[b], new->bodies.data[b], different);
    return result;
}

/* Sorted graphs of one shape, built in the same order, have the same nodes in the same places. */
static int compare(const struct graph *executable, const struct graph *graph, struct graph_node **different)
{
    int result = executable->nodes.count == graph->nodes.count ? UPDATED : SHAPE_CHANGED;
    for (size_t i = 0; i < graph->nodes.count && result == UPDATED; i++) {
        const struct graph_node *old = executable->nodes.data[i];
        struct graph_node *new = graph->nodes.data[i];
        result = compare_nodes(old, new);
        if (result == UPDATED && new->child)
            result = compare(old->child, new->child, different);
        if (result == UPDATED && new->condition)
            result = compare_bodies(old->condition, new->condition, different);
        if (result != UPDATED && !*different)
            *different = new;
    }
    return result;
}

static int take_over(struct process *process, struct graph *executable, const struct graph *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        struct graph_node *old = executable->nodes.data[i], *new = graph->nodes.data[i];
        int error = new->child ? take_over(process, old->child, new->child) : CUDA_SUCCESS;
        const struct graph_condition *condition = new->condition;
        for (size_t b = 0; error == CUDA_SUCCESS && condition && b < condition->bodies.count; b++)
            error = take_over(process, old->condition->bodies.data[b], condition->bodies.data[b]);
        struct task *task = new->task ? task_copy(new->task) : NULL;
        if (error != CUDA_SUCCESS || (new->task && !task))
            return CUDA_ERROR_OUT_OF_MEMORY;
        if (old->task)
            task_free(process, old->task);
        old->task = task;
    }
    return CUDA_SUCCESS;
}

static int update(void *executable_handle, void *handle, int *result, struct graph_node **different)
{
    struct call call;
    *result = FAILED;
    *different = NULL;
    if (!runtime_begin(&call))
        return runtime_end(&call);
    struct graph *executable = graph_find(call.process, executable_handle, OBJECT_GRAPH_EXECUTABLE);
    struct graph *graph = graph_find(call.process, handle, OBJECT_GRAPH);
    if (!executable || !graph || !graph_sort(graph)) {
        call.error = CUDA_ERROR_INVALID_VALUE;
        return runtime_end(&call);
    }
    *result = compare(executable, graph, different);
    call.error = *result == UPDATED ? take_over(call.process, executable, graph) : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    return runtime_end(&call);
}

ENTRY(int, cudaGraphExecUpdate_11, void *executable, void *graph, void **node, int *result)
{
    int what;
    struct graph_node *different;
    int error = update(executable, graph, &what, &different);
    if (node)
        *node = different;
    if (result)
        *result = what;
    return error;
}

struct abi_update_result {
    int result;
    void *node, *from;
};

ENTRY(int, cudaGraphExecUpdate, void *executable, void *graph, struct abi_update_result *result)
{
    int what;
    struct graph_node *different;
    int error = update(executable, graph, &what, &different);
    if (result)
        *result = (struct abi_update_result){what, different, NULL};
    return error;
}

ENTRY(int, cudaGraphExecChildGraphNodeSetParams, void *executable, void *handle, void *child_handle)
{
    struct call call;
    if (!runtime_begin(&call))
        return runtime_end(&call);
    struct graph_node *node = graph_executable_node(&call, executable, handle), *different = NULL;
    struct graph *child = graph_find(call.process, child_handle, OBJECT_GRAPH);
    if (!node || !node->child || !child || !graph_sort(child) || compare(node->child, child, &different) != UPDATED)
        call.error = CUDA_ERROR_INVALID_VALUE;
    else
        call.error = take_over(call.process, node->child, child);
    return runtime_end(&call);
}
