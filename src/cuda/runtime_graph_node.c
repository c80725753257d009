/* SPDX-License-Identifier: MIT */
/* Nodes of graphs in the runtime API: added, found, switched off, destroyed. */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/graph.h"
#include "cuda/graph_node.h"
#include "cuda/object.h"
#include "cuda/runtime_api.h"
#include "cuda/stream.h"
#include "cuda/task.h"

static struct task *new_task(struct call *call, enum task_kind kind)
{
    struct task *task = task_create(kind);
    if (!task)
        call->error = CUDA_ERROR_OUT_OF_MEMORY;
    return task;
}

ENTRY(int, cudaGraphAddKernelNode, void **result, void *handle, void *const *nodes, size_t count,
      const struct abi_kernel_node *node)
{
    struct call call;
    struct task *task = NULL;
    struct graph *graph = graph_node_begin_new(&call, result, handle, nodes, count);
    if (graph && !node)
        call.error = CUDA_ERROR_INVALID_VALUE;
    else if (graph && (task = new_task(&call, TASK_LAUNCH)))
        call.error = graph_node_set_kernel(&call, node, &task->launch.request);
    if (task && call.error != CUDA_SUCCESS)
        task->launch.request.parameters = NULL;
    return graph_node_end_new(&call, result, graph, task, nodes, count);
}

ENTRY(int, cudaGraphAddMemcpyNode, void **result, void *handle, void *const *nodes, size_t count,
      const struct abi_copy_3d *p)
{
    struct call call;
    struct task *task = NULL;
    struct graph *graph = graph_node_begin_new(&call, result, handle, nodes, count);
    if (graph && (task = new_task(&call, TASK_COPY)))
        call.error = graph_node_set_copy(&call, p, &task->copy);
    return graph_node_end_new(&call, result, graph, task, nodes, count);
}

ENTRY(int, cudaGraphAddMemcpyNode1D, void **result, void *handle, void *const *nodes, size_t count, void *to,
      const void *from, size_t bytes, int kind)
{
    struct call call;
    struct task *task = NULL;
    struct graph *graph = graph_node_begin_new(&call, result, handle, nodes, count);
    if (graph && (task = new_task(&call, TASK_COPY)))
        call.error = graph_node_set_copy_1d(&call, to, from, bytes, kind, &task->copy);
    return graph_node_end_new(&call, result, graph, task, nodes, count);
}

static int add_symbol_copy(void **result, void *handle, void *const *nodes, size_t count, const void *symbol,
                           void *other, size_t bytes, size_t offset, int kind, bool to_symbol)
{
    struct call call;
    struct task *task = NULL;
    struct graph *graph = graph_node_begin_new(&call, result, handle, nodes, count);
    if (graph && (task = new_task(&call, TASK_COPY)))
        call.error = graph_node_set_symbol_copy(&call, symbol, other, bytes, offset, kind, to_symbol, &task->copy);
    return graph_node_end_new(&call, result, graph, task, nodes, count);
}

ENTRY(int, cudaGraphAddMemcpyNodeToSymbol, void **result, void *graph, void *const *nodes, size_t count,
      const void *symbol, const void *from, size_t bytes, size_t offset, int kind)
{
    return add_symbol_copy(result, graph, nodes, count, symbol, (void *)(uintptr_t)from, bytes, offset, kind, true);
}

ENTRY(int, cudaGraphAddMemcpyNodeFromSymbol, void **result, void *graph, void *const *nodes, size_t count, void *to,
      const void *symbol, size_t bytes, size_t offset, int kind)
{
    return add_symbol_copy(result, graph, nodes, count, symbol, to, bytes, offset, kind, false);
}

ENTRY(int, cudaGraphAddMemsetNode, void **result, void *handle, void *const *nodes, size_t count,
      const struct abi_fill_node *node)
{
    struct call call;
    struct task *task = NULL;
    struct graph *graph = graph_node_begin_new(&call, result, handle, nodes, count);
    if (graph && (task = new_task(&call, TASK_FILL)))
        call.error = graph_node_set_fill(&call, node, &task->fill);
    return graph_node_end_new(&call, result, graph, task, nodes, count);
}

ENTRY(int, cudaGraphAddHostNode, void **result, void *handle, void *const *nodes, size_t count,
      const struct abi_host_node *node)
{
    struct call call;
    struct task *task = NULL;
    struct graph *graph = graph_node_begin_new(&call, result, handle, nodes, count);
    if (graph && (!node || !node->function))
        call.error = CUDA_ERROR_INVALID_VALUE;
    else if (graph && (task = new_task(&call, TASK_CALL))) {
        task->call.callee.function = node->function;
        task->call.callee.user = node->user;
    }
    return graph_node_end_new(&call, result, graph, task, nodes, count);
}

static int add_event_node(void **result, void *handle, void *const *nodes, size_t count, void *event_handle,
                          enum task_kind kind)
{
    struct call call;
    struct task *task = NULL;
    struct graph *graph = graph_node_begin_new(&call, result, handle, nodes, count);
    struct event *event = graph ? object_find(call.process, event_handle, OBJECT_EVENT) : NULL;
    if (graph && !event) {
        call.error = CUDA_ERROR_INVALID_HANDLE;
    } else if (graph && (task = new_task(&call, kind))) {
        task->event.event = event;
        event->references++;
    }
    return graph_node_end_new(&call, result, graph, task, nodes, count);
}

ENTRY(int, cudaGraphAddEventRecordNode, void **result, void *graph, void *const *nodes, size_t count, void *event)
{
    return add_event_node(result, graph, nodes, count, event, TASK_RECORD);
}

ENTRY(int, cudaGraphAddEventWaitNode, void **result, void *graph, void *const *nodes, size_t count, void *event)
{
    return add_event_node(result, graph, nodes, count, event, TASK_WAIT);
}

ENTRY(int, cudaGraphAddEmptyNode, void **result, void *handle, void *const *nodes, size_t count)
{
    struct call call;
    struct graph *graph = graph_node_begin_new(&call, result, handle, nodes, count);
    return graph_node_end_new(&call, result, graph, NULL, nodes, count);
}

ENTRY(int, cudaGraphAddChildGraphNode, void **result, void *handle, void *const *nodes, size_t count,
      void *child_handle)
{
    struct call call;
    struct graph *graph = graph_node_begin_new(&call, result, handle, nodes, count);
    struct graph *child = graph ? graph_find(call.process, child_handle, OBJECT_GRAPH) : NULL;
    struct graph *copy = NULL;
    if (graph && (!child || child == graph || !graph_sort(child)))
        call.error = CUDA_ERROR_INVALID_VALUE;
    else if (graph && !(copy = graph_copy(call.process, child, OBJECT_GRAPH)))
        call.error = CUDA_ERROR_OUT_OF_MEMORY;
    if (copy) {
        struct graph_node *node = graph_add(call.process, graph, NULL, (struct graph_node *const *)nodes, count);
        if (node) {
            node->child = copy;
            copy->owned = true;
            *result = node;
        } else {
            graph_destroy(call.process, copy);
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return runtime_end(&call);
}

static int list_neighbours(void *handle, void **nodes, size_t *count, bool after)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct graph_node *node = object_find(call.process, handle, OBJECT_GRAPH_NODE);
        if (!node || !count) {
            call.error = CUDA_ERROR_INVALID_VALUE;
        } else {
            size_t found = 0;
            if (!after)
                for (size_t d = 0; d < node->dependencies.count; d++, found++)
                    if (nodes && found < *count)
                        nodes[found] = node->dependencies.data[d];
            for (size_t i = 0; after && i < node->graph->nodes.count; i++)
                for (size_t d = 0; d < node->graph->nodes.data[i]->dependencies.count; d++)
                    if (node->graph->nodes.data[i]->dependencies.data[d] == node) {
                        if (nodes && found < *count)
                            nodes[found] = node->graph->nodes.data[i];
                        found++;
                    }
            *count = found;
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphNodeGetDependencies, void *node, void **nodes, size_t *count)
{
    return list_neighbours(node, nodes, count, false);
}

ENTRY(int, cudaGraphNodeGetDependencies_v2, void *node, void **nodes, void *edges, size_t *count)
{
    (void)edges;
    return list_neighbours(node, nodes, count, false);
}

ENTRY(int, cudaGraphNodeGetDependentNodes, void *node, void **nodes, size_t *count)
{
    return list_neighbours(node, nodes, count, true);
}

ENTRY(int, cudaGraphNodeGetDependentNodes_v2, void *node, void **nodes, void *edges, size_t *count)
{
    (void)edges;
    return list_neighbours(node, nodes, count, true);
}

ENTRY(int, cudaGraphNodeGetType, void *handle, int *type)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct graph_node *node = object_find(call.process, handle, OBJECT_GRAPH_NODE);
        if (node && type)
            *type = graph_node_type(node);
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphDestroyNode, void *handle)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct graph_node *node = object_find(call.process, handle, OBJECT_GRAPH_NODE);
        if (node)
            graph_remove(call.process, node);
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphNodeSetEnabled, void *executable, void *handle, unsigned enabled)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct graph_node *node = graph_executable_node(&call, executable, handle);
        if (node)
            node->disabled = !enabled;
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphNodeGetEnabled, void *executable, void *handle, unsigned *enabled)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct graph_node *node = graph_executable_node(&call, executable, handle);
        if (node && enabled)
            *enabled = !node->disabled;
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}
