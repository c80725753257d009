/* Nodes of graphs in the runtime API: added, looked at, changed. */
#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/copy.h"
#include "cuda/graph.h"
#include "cuda/graph_node.h"
#include "cuda/image.h"
#include "cuda/object.h"
#include "cuda/runtime_api.h"
#include "cuda/stream.h"
#include "cuda/task.h"

#include <stdlib.h>
#include <string.h>

/* The nodes that a new one depends on, checked. */
static bool known_nodes(struct call *call, const struct graph *graph, void *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!nodes || !graph_holds(call->process, graph, nodes[i]))
            return false;
    return true;
}

struct graph *graph_node_begin_new(struct call *call, void **result, void *handle, void *const *nodes, size_t count)
{
    if (!runtime_begin(call))
        return NULL;
    struct graph *graph = graph_find(call->process, handle, OBJECT_GRAPH);
    if (!graph || !result || !known_nodes(call, graph, nodes, count)) {
        call->error = CUDA_ERROR_INVALID_VALUE;
        return NULL;
    }
    return graph;
}

int graph_node_end_new(struct call *call, void **result, struct graph *graph, struct task *task, void *const *nodes,
                       size_t count)
{
    if (graph && call->error == CUDA_SUCCESS) {
        *result = graph_add(call->process, graph, task, (struct graph_node *const *)nodes, count);
        if (!*result)
            call->error = CUDA_ERROR_OUT_OF_MEMORY;
    } else if (task) {
        task_free(call->process, task);
    }
    return runtime_end(call);
}

static struct task *new_task(struct call *call, enum task_kind kind)
{
    struct task *task = task_create(kind);
    if (!task)
        call->error = CUDA_ERROR_OUT_OF_MEMORY;
    return task;
}

int graph_node_set_kernel(struct call *call, const struct abi_kernel_node *node, struct launch_request *request)
{
    struct api_launch launch = {.host = node->function,
                                .grid = node->grid,
                                .block = node->block,
                                .dynamic_shared_bytes = node->shared,
                                .arguments = node->arguments,
                                .extra = node->extra};
    int error = function_of_host(call->process, call->context, node->function, &launch.function);
    return error == CUDA_SUCCESS ? api_launch_request(&launch, request) : error;
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

int graph_node_set_copy(struct call *call, const struct abi_copy_3d *p, struct copy *copy)
{
    if (!p || p->from_array || p->to_array)
        return p ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    size_t to_slice = p->to.pitch * p->to.height, from_slice = p->from.pitch * p->from.height;
    *copy = (struct copy){.width_bytes = p->extent.width, .height = p->extent.height, .depth = p->extent.depth};
    int error = api_copy_sides(call,
                               (uint64_t)(uintptr_t)p->to.pointer + p->to_position.z * to_slice +
                                   p->to_position.y * p->to.pitch + p->to_position.x,
                               (uint64_t)(uintptr_t)p->from.pointer + p->from_position.z * from_slice +
                                   p->from_position.y * p->from.pitch + p->from_position.x,
                               p->kind, copy);
    copy->to.pitch = p->to.pitch;
    copy->to.slice_bytes = to_slice;
    copy->from.pitch = p->from.pitch;
    copy->from.slice_bytes = from_slice;
    return error == CUDA_SUCCESS ? copy_prepare(copy) : error;
}

int graph_node_set_copy_1d(struct call *call, void *to, const void *from, size_t bytes, int kind, struct copy *copy)
{
    *copy = (struct copy){.width_bytes = bytes, .height = 1, .depth = 1};
    int error = api_copy_sides(call, (uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, kind, copy);
    copy->to.pitch = copy->to.slice_bytes = copy->from.pitch = copy->from.slice_bytes = bytes;
    return error == CUDA_SUCCESS ? copy_prepare(copy) : error;
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
    uint64_t address = 0, size = 0;
    if (graph)
        call.error = variable_of_host(call.process, call.context, symbol, &address, &size);
    if (graph && call.error == CUDA_SUCCESS && (offset > size || bytes > size - offset))
        call.error = CUDA_ERROR_INVALID_VALUE;
    void *there = (void *)(uintptr_t)(address + offset);
    if (graph && call.error == CUDA_SUCCESS && (task = new_task(&call, TASK_COPY)))
        call.error = graph_node_set_copy_1d(&call, to_symbol ? there : other, to_symbol ? other : there, bytes, kind,
                                            &task->copy);
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

int graph_node_set_fill(struct call *call, const struct abi_fill_node *node, struct fill *fill)
{
    if (!node || (node->element_bytes != 1 && node->element_bytes != 2 && node->element_bytes != 4) ||
        node->width > UINT32_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    *fill = (struct fill){.address = (uint64_t)(uintptr_t)node->to,
                          .pitch = node->pitch,
                          .width_bytes = node->width * node->element_bytes,
                          .height = node->height,
                          .depth = 1,
                          .value = node->value,
                          .element_bytes = node->element_bytes};
    return fill_prepare(call->process, fill);
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
        task->call.function = node->function;
        task->call.user = node->user;
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

static int change_edges(void *handle, void *const *from, void *const *to, size_t count, bool add)
{
    struct call call;
    if (!runtime_begin(&call))
        return runtime_end(&call);
    struct graph *graph = graph_find(call.process, handle, OBJECT_GRAPH);
    if (!graph || !known_nodes(&call, graph, from, count) || !known_nodes(&call, graph, to, count))
        call.error = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && call.error == CUDA_SUCCESS; i++) {
        struct graph_node *node = to[i];
        size_t d = 0;
        while (d < node->dependencies.count && node->dependencies.data[d] != from[i])
            d++;
        bool there = d < node->dependencies.count;
        if (there == add)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (!add)
            node->dependencies.data[d] = node->dependencies.data[--node->dependencies.count];
        else if (!vector_push(&node->dependencies, (struct graph_node *)from[i]))
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphAddDependencies, void *graph, void *const *from, void *const *to, size_t count)
{
    return change_edges(graph, from, to, count, true);
}

ENTRY(int, cudaGraphAddDependencies_v2, void *graph, void *const *from, void *const *to, const void *edges,
      size_t count)
{
    (void)edges;
    return change_edges(graph, from, to, count, true);
}

ENTRY(int, cudaGraphRemoveDependencies, void *graph, void *const *from, void *const *to, size_t count)
{
    return change_edges(graph, from, to, count, false);
}

ENTRY(int, cudaGraphRemoveDependencies_v2, void *graph, void *const *from, void *const *to, const void *edges,
      size_t count)
{
    (void)edges;
    return change_edges(graph, from, to, count, false);
}

/* Lists: how many there are; with room, as many as fit. */
static int list_nodes(void *handle, void **nodes, size_t *count, bool roots)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct graph *graph = graph_find(call.process, handle, OBJECT_GRAPH);
        if (!graph || !count) {
            call.error = CUDA_ERROR_INVALID_VALUE;
        } else {
            size_t found = 0;
            for (size_t i = 0; i < graph->nodes.count; i++) {
                if (roots && graph->nodes.data[i]->dependencies.count)
                    continue;
                if (nodes && found < *count)
                    nodes[found] = graph->nodes.data[i];
                found++;
            }
            for (size_t i = found; nodes && i < *count; i++)
                nodes[i] = NULL;
            *count = found;
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphGetNodes, void *graph, void **nodes, size_t *count)
{
    return list_nodes(graph, nodes, count, false);
}

ENTRY(int, cudaGraphGetRootNodes, void *graph, void **nodes, size_t *count)
{
    return list_nodes(graph, nodes, count, true);
}

static int list_edges(void *handle, void **from, void **to, size_t *count)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct graph *graph = graph_find(call.process, handle, OBJECT_GRAPH);
        if (!graph || !count) {
            call.error = CUDA_ERROR_INVALID_VALUE;
        } else {
            size_t found = 0;
            for (size_t i = 0; i < graph->nodes.count; i++)
                for (size_t d = 0; d < graph->nodes.data[i]->dependencies.count; d++, found++)
                    if (from && to && found < *count) {
                        from[found] = graph->nodes.data[i]->dependencies.data[d];
                        to[found] = graph->nodes.data[i];
                    }
            *count = found;
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphGetEdges, void *graph, void **from, void **to, size_t *count)
{
    return list_edges(graph, from, to, count);
}

ENTRY(int, cudaGraphGetEdges_v2, void *graph, void **from, void **to, void *edges, size_t *count)
{
    if (edges && count)
        memset(edges, 0, *count * 8);
    return list_edges(graph, from, to, count);
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

int graph_node_type(const struct graph_node *node)
{
    static const int types[] = {[TASK_LAUNCH] = NODE_KERNEL,
                                [TASK_COPY] = NODE_COPY,
                                [TASK_FILL] = NODE_FILL,
                                [TASK_RECORD] = NODE_RECORD,
                                [TASK_WAIT] = NODE_WAIT,
                                [TASK_CALL] = NODE_HOST,
                                [TASK_FREE] = NODE_EMPTY,
                                [TASK_NOTHING] = NODE_EMPTY,
                                [TASK_WAIT_VALUE] = NODE_MEMORY_OPERATIONS,
                                [TASK_WRITE_VALUE] = NODE_MEMORY_OPERATIONS};
    if (node->memory)
        return node->frees ? NODE_FREE : NODE_ALLOCATE;
    return node->child ? NODE_GRAPH : types[node->kind];
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

ENTRY(int, cudaGraphNodeFindInClone, void **result, void *handle, void *clone_handle)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct graph *clone = graph_find(call.process, clone_handle, OBJECT_GRAPH);
        call.error = CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; clone && result && i < clone->nodes.count; i++)
            if (clone->nodes.data[i]->origin == handle) {
                *result = clone->nodes.data[i];
                call.error = CUDA_SUCCESS;
            }
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

struct graph_node *graph_executable_node(struct call *call, void *executable, void *handle)
{
    const struct graph *graph = graph_find(call->process, executable, OBJECT_GRAPH_EXECUTABLE);
    for (size_t i = 0; graph && i < graph->nodes.count; i++)
        if (graph->nodes.data[i]->origin == handle)
            return graph->nodes.data[i];
    return NULL;
}

/* A node, or in an executable graph the copy of one, of a kind. */
struct graph_node *graph_node_begin(struct call *call, void *executable, bool in_executable, void *handle,
                                    enum task_kind kind, const void *values)
{
    if (!runtime_begin(call))
        return NULL;
    struct graph_node *node = in_executable ? graph_executable_node(call, executable, handle)
                                            : object_find(call->process, handle, OBJECT_GRAPH_NODE);
    if (!node || node->kind != kind || !node->task || !values || node->graph->context->destroyed) {
        call->error = CUDA_ERROR_INVALID_VALUE;
        return NULL;
    }
    return node;
}

static int change_kernel(void *executable, bool in_executable, void *handle, const struct abi_kernel_node *values)
{
    struct call call;
    struct graph_node *node = graph_node_begin(&call, executable, in_executable, handle, TASK_LAUNCH, values);
    struct launch_request request;
    if (node && (call.error = graph_node_set_kernel(&call, values, &request)) == CUDA_SUCCESS) {
        free(node->task->launch.request.parameters);
        node->task->launch.request = request;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphKernelNodeSetParams, void *node, const struct abi_kernel_node *values)
{
    return change_kernel(NULL, false, node, values);
}

ENTRY(int, cudaGraphExecKernelNodeSetParams, void *executable, void *node, const struct abi_kernel_node *values)
{
    return change_kernel(executable, true, node, values);
}

static int change_fill(void *executable, bool in_executable, void *handle, const struct abi_fill_node *values)
{
    struct call call;
    struct graph_node *node = graph_node_begin(&call, executable, in_executable, handle, TASK_FILL, values);
    if (node)
        call.error = graph_node_set_fill(&call, values, &node->task->fill);
    return runtime_end(&call);
}

ENTRY(int, cudaGraphMemsetNodeSetParams, void *node, const struct abi_fill_node *values)
{
    return change_fill(NULL, false, node, values);
}

ENTRY(int, cudaGraphExecMemsetNodeSetParams, void *executable, void *node, const struct abi_fill_node *values)
{
    return change_fill(executable, true, node, values);
}

static int change_host(void *executable, bool in_executable, void *handle, const struct abi_host_node *values)
{
    struct call call;
    struct graph_node *node = graph_node_begin(&call, executable, in_executable, handle, TASK_CALL, values);
    if (node) {
        node->task->call.function = values->function;
        node->task->call.user = values->user;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphHostNodeSetParams, void *node, const struct abi_host_node *values)
{
    return change_host(NULL, false, node, values);
}

ENTRY(int, cudaGraphExecHostNodeSetParams, void *executable, void *node, const struct abi_host_node *values)
{
    return change_host(executable, true, node, values);
}

static int change_copy(void *executable, bool in_executable, void *handle, const struct abi_copy_3d *values)
{
    struct call call;
    struct graph_node *node = graph_node_begin(&call, executable, in_executable, handle, TASK_COPY, values);
    struct copy copy;
    if (node && (call.error = graph_node_set_copy(&call, values, &copy)) == CUDA_SUCCESS)
        node->task->copy = copy;
    return runtime_end(&call);
}

ENTRY(int, cudaGraphMemcpyNodeSetParams, void *node, const struct abi_copy_3d *values)
{
    return change_copy(NULL, false, node, values);
}

ENTRY(int, cudaGraphExecMemcpyNodeSetParams, void *executable, void *node, const struct abi_copy_3d *values)
{
    return change_copy(executable, true, node, values);
}

static int change_copy_1d(void *executable, bool in_executable, void *handle, void *to, const void *from, size_t bytes,
                          int kind)
{
    struct call call;
    struct graph_node *node = graph_node_begin(&call, executable, in_executable, handle, TASK_COPY, from);
    struct copy copy;
    if (node && (call.error = graph_node_set_copy_1d(&call, to, from, bytes, kind, &copy)) == CUDA_SUCCESS)
        node->task->copy = copy;
    return runtime_end(&call);
}

ENTRY(int, cudaGraphMemcpyNodeSetParams1D, void *node, void *to, const void *from, size_t bytes, int kind)
{
    return change_copy_1d(NULL, false, node, to, from, bytes, kind);
}

ENTRY(int, cudaGraphExecMemcpyNodeSetParams1D, void *executable, void *node, void *to, const void *from, size_t bytes,
      int kind)
{
    return change_copy_1d(executable, true, node, to, from, bytes, kind);
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

ENTRY(int, cudaGraphExecGetFlags, void *executable, unsigned long long *flags)
{
    struct call call;
    if (runtime_begin(&call)) {
        if (flags && graph_find(call.process, executable, OBJECT_GRAPH_EXECUTABLE))
            *flags = ((struct graph *)executable)->frees_on_launch;
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}
