/* SPDX-License-Identifier: MIT */
/* Nodes of graphs: how what a program describes becomes a task, and the other way round. */
#include "cuda/graph_node.h"

#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/array.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/copy.h"
#include "cuda/graph.h"
#include "cuda/image.h"
#include "cuda/launch_cluster.h"
#include "cuda/module.h"
#include "cuda/object.h"
#include "cuda/task.h"

struct graph *graph_node_begin_new(struct call *call, void **result, void *handle, void *const *nodes, size_t count)
{
    if (!runtime_begin(call))
        return NULL;
    struct graph *graph = graph_find(call->process, handle, OBJECT_GRAPH);
    if (!graph || !result || !graph_holds_all(call->process, graph, nodes, count)) {
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

int graph_node_set_copy(struct call *call, const struct abi_copy_3d *p, struct copy *copy)
{
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    if (p->from_array || p->to_array) {
        int error = array_copy_of(call, p, copy);
        return error == CUDA_SUCCESS ? copy_prepare(copy) : error;
    }
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

int graph_node_set_symbol_copy(struct call *call, const void *symbol, void *other, size_t bytes, size_t offset,
                               int kind, bool to_symbol, struct copy *copy)
{
    uint64_t address = 0, size = 0;
    int error = variable_of_host(call->process, call->context, symbol, &address, &size);
    if (error == CUDA_SUCCESS && (offset > size || bytes > size - offset))
        error = CUDA_ERROR_INVALID_VALUE;
    void *there = (void *)(uintptr_t)(address + offset);
    return error == CUDA_SUCCESS
               ? graph_node_set_copy_1d(call, to_symbol ? there : other, to_symbol ? other : there, bytes, kind, copy)
               : error;
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
    if (node->condition)
        return NODE_CONDITIONAL;
    return node->child ? NODE_GRAPH : types[node->kind];
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

int graph_node_show_kernel(struct graph_node *node, struct abi_kernel_node *values)
{
    const struct launch_request *request = &node->task->launch.request;
    struct corun_kernel_info info;
    corun_kernel_describe(request->function->kernel, &info);
    node->arguments.count = 0;
    for (uint32_t i = 0; i < function_parameter_count(request->function); i++)
        if (!vector_push(&node->arguments, request->parameters + info.parameters[i].offset_bytes))
            return CUDA_ERROR_OUT_OF_MEMORY;
    const void *host = request->host ? request->host : request->function->host;
    *values = (struct abi_kernel_node){.function = (void *)(uintptr_t)(host ? host : request->function),
                                       .grid = launch_cluster_grid_shown(request->function, request->grid),
                                       .block = request->block,
                                       .shared = request->dynamic_shared_bytes,
                                       .arguments = node->arguments.data};
    return CUDA_SUCCESS;
}

struct abi_pitched graph_node_show_side(const struct copy *copy, const struct copy_side *side)
{
    void *pointer = side->context ? (void *)(uintptr_t)side->address : side->host;
    return (struct abi_pitched){pointer, side->pitch, copy->width_bytes,
                                side->pitch ? side->slice_bytes / side->pitch : 0};
}
