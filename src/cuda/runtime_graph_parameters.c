/* SPDX-License-Identifier: MIT */
/* Nodes of graphs in the runtime API: what one does, told as it was described, and changed. */
#include "cuda/abi.h"
#include "cuda/array.h"
#include "cuda/call.h"
#include "cuda/copy.h"
#include "cuda/graph.h"
#include "cuda/graph_node.h"
#include "cuda/object.h"
#include "cuda/runtime_api.h"
#include "cuda/stream.h"
#include "cuda/task.h"

#include <stdlib.h>
#include <string.h>

ENTRY(int, cudaGraphKernelNodeGetParams, void *handle, struct abi_kernel_node *values)
{
    struct call call;
    struct graph_node *node = graph_node_begin(&call, NULL, false, handle, TASK_LAUNCH, values);
    if (node)
        call.error = graph_node_show_kernel(node, values);
    return runtime_end(&call);
}

static int cluster_attribute(struct launch_request *request, int attribute, void *value, bool set)
{
    struct abi_launch_attribute given = {.id = attribute};
    struct launch_cluster cluster = request->cluster;
    unsigned *shape = value;
    if (set) {
        memcpy(&given.value, value, attribute == LAUNCH_CLUSTER ? sizeof given.value.cluster : sizeof(int));
        (void)launch_cluster_take(&cluster, &given);
        int error = launch_cluster_settle(request->function, request->grid, &cluster);
        request->cluster = error == CUDA_SUCCESS ? cluster : request->cluster;
        return error;
    }
    if (attribute == LAUNCH_CLUSTER_POLICY) {
        *(int *)value = cluster.policy;
        return CUDA_SUCCESS;
    }
    shape[0] = cluster.shape.x ? cluster.shape.x : 1;
    shape[1] = cluster.shape.y ? cluster.shape.y : 1;
    shape[2] = cluster.shape.z ? cluster.shape.z : 1;
    return CUDA_SUCCESS;
}

/* Attributes of launches: those of a cooperative one and of clusters can be read and changed. */
static int kernel_attribute(void *handle, int attribute, void *value, bool set)
{
    struct call call;
    struct graph_node *node = graph_node_begin(&call, NULL, false, handle, TASK_LAUNCH, value);
    int *number = value;
    if (node && (attribute == LAUNCH_CLUSTER || attribute == LAUNCH_CLUSTER_POLICY))
        call.error = cluster_attribute(&node->task->launch.request, attribute, value, set);
    else if (node && attribute != LAUNCH_COOPERATIVE)
        call.error = CUDA_ERROR_NOT_SUPPORTED;
    else if (node && set)
        node->task->launch.request.cooperative = *number != 0;
    else if (node)
        *number = node->task->launch.request.cooperative;
    return runtime_end(&call);
}

ENTRY(int, cudaGraphKernelNodeGetAttribute, void *node, int attribute, void *value)
{
    return kernel_attribute(node, attribute, value, false);
}

ENTRY(int, cudaGraphKernelNodeSetAttribute, void *node, int attribute, const void *value)
{
    return kernel_attribute(node, attribute, (void *)(uintptr_t)value, true);
}

ENTRY(int, cudaGraphKernelNodeCopyAttributes, void *to, void *from)
{
    struct call call;
    struct graph_node *target = graph_node_begin(&call, NULL, false, to, TASK_LAUNCH, to);
    const struct graph_node *source = target ? object_find(call.process, from, OBJECT_GRAPH_NODE) : NULL;
    if (target && (!source || source->kind != TASK_LAUNCH))
        call.error = CUDA_ERROR_INVALID_VALUE;
    else if (target) {
        target->task->launch.request.cooperative = source->task->launch.request.cooperative;
        target->task->launch.request.cluster = source->task->launch.request.cluster;
    }
    return runtime_end(&call);
}

/* An array is shown in place of its memory. Bytes of what the extent counts. */
static size_t show_array(struct call *call, const struct copy_side *side, void **handle, struct abi_position *at,
                         struct abi_pitched *memory)
{
    struct array *array = array_of_side(call->process, side, at);
    *handle = array;
    if (!array)
        return 1;
    *memory = (struct abi_pitched){0};
    return array->element_bytes;
}

ENTRY(int, cudaGraphMemcpyNodeGetParams, void *handle, struct abi_copy_3d *values)
{
    struct call call;
    const struct graph_node *node = graph_node_begin(&call, NULL, false, handle, TASK_COPY, values);
    if (node) {
        const struct copy *copy = &node->task->copy;
        bool to = copy->to.context != NULL, from = copy->from.context != NULL;
        *values = (struct abi_copy_3d){.from = graph_node_show_side(copy, &copy->from),
                                       .to = graph_node_show_side(copy, &copy->to),
                                       .extent = {copy->width_bytes, copy->height, copy->depth},
                                       .kind = to ? (from ? COPY_DEVICE_TO_DEVICE : COPY_HOST_TO_DEVICE)
                                                  : (from ? COPY_DEVICE_TO_HOST : COPY_HOST_TO_HOST)};
        size_t of_to = show_array(&call, &copy->to, &values->to_array, &values->to_position, &values->to);
        size_t of_from = show_array(&call, &copy->from, &values->from_array, &values->from_position, &values->from);
        values->extent.width /= values->to_array ? of_to : of_from;
    }
    return runtime_end(&call);
}

/* Copies to and from a variable, changed. */
static int change_symbol_copy(void *executable, bool in_executable, void *handle, const void *symbol, void *other,
                              size_t bytes, size_t offset, int kind, bool to_symbol)
{
    struct call call;
    struct graph_node *node = graph_node_begin(&call, executable, in_executable, handle, TASK_COPY, symbol);
    struct copy copy;
    if (node)
        call.error = graph_node_set_symbol_copy(&call, symbol, other, bytes, offset, kind, to_symbol, &copy);
    if (node && call.error == CUDA_SUCCESS)
        node->task->copy = copy;
    return runtime_end(&call);
}

ENTRY(int, cudaGraphMemcpyNodeSetParamsToSymbol, void *node, const void *symbol, const void *from, size_t bytes,
      size_t offset, int kind)
{
    return change_symbol_copy(NULL, false, node, symbol, (void *)(uintptr_t)from, bytes, offset, kind, true);
}

ENTRY(int, cudaGraphMemcpyNodeSetParamsFromSymbol, void *node, void *to, const void *symbol, size_t bytes,
      size_t offset, int kind)
{
    return change_symbol_copy(NULL, false, node, symbol, to, bytes, offset, kind, false);
}

ENTRY(int, cudaGraphExecMemcpyNodeSetParamsToSymbol, void *executable, void *node, const void *symbol, const void *from,
      size_t bytes, size_t offset, int kind)
{
    return change_symbol_copy(executable, true, node, symbol, (void *)(uintptr_t)from, bytes, offset, kind, true);
}

ENTRY(int, cudaGraphExecMemcpyNodeSetParamsFromSymbol, void *executable, void *node, void *to, const void *symbol,
      size_t bytes, size_t offset, int kind)
{
    return change_symbol_copy(executable, true, node, symbol, to, bytes, offset, kind, false);
}

ENTRY(int, cudaGraphMemsetNodeGetParams, void *handle, struct abi_fill_node *values)
{
    struct call call;
    const struct graph_node *node = graph_node_begin(&call, NULL, false, handle, TASK_FILL, values);
    if (node) {
        const struct fill *fill = &node->task->fill;
        *values = (struct abi_fill_node){
            (void *)(uintptr_t)fill->address,        fill->pitch, fill->value, fill->element_bytes,
            fill->width_bytes / fill->element_bytes, fill->height};
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphHostNodeGetParams, void *handle, struct abi_host_node *values)
{
    struct call call;
    const struct graph_node *node = graph_node_begin(&call, NULL, false, handle, TASK_CALL, values);
    if (node)
        *values = (struct abi_host_node){node->task->call.callee.function, node->task->call.callee.user};
    return runtime_end(&call);
}

static int event_of(void *handle, enum task_kind kind, void **event)
{
    struct call call;
    const struct graph_node *node = graph_node_begin(&call, NULL, false, handle, kind, event);
    if (node)
        *event = node->task->event.event;
    return runtime_end(&call);
}

ENTRY(int, cudaGraphEventRecordNodeGetEvent, void *node, void **event)
{
    return event_of(node, TASK_RECORD, event);
}

ENTRY(int, cudaGraphEventWaitNodeGetEvent, void *node, void **event)
{
    return event_of(node, TASK_WAIT, event);
}

static int change_event(void *executable, bool in_executable, void *handle, enum task_kind kind, void *event_handle)
{
    struct call call;
    struct graph_node *node = graph_node_begin(&call, executable, in_executable, handle, kind, handle);
    struct event *event = node ? object_find(call.process, event_handle, OBJECT_EVENT) : NULL;
    if (node && !event) {
        call.error = CUDA_ERROR_INVALID_HANDLE;
    } else if (node) {
        event->references++;
        event_release(call.process, node->task->event.event);
        node->task->event.event = event;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphEventRecordNodeSetEvent, void *node, void *event)
{
    return change_event(NULL, false, node, TASK_RECORD, event);
}

ENTRY(int, cudaGraphEventWaitNodeSetEvent, void *node, void *event)
{
    return change_event(NULL, false, node, TASK_WAIT, event);
}

ENTRY(int, cudaGraphExecEventRecordNodeSetEvent, void *executable, void *node, void *event)
{
    return change_event(executable, true, node, TASK_RECORD, event);
}

ENTRY(int, cudaGraphExecEventWaitNodeSetEvent, void *executable, void *node, void *event)
{
    return change_event(executable, true, node, TASK_WAIT, event);
}

ENTRY(int, cudaGraphChildGraphNodeGetGraph, void *handle, void **graph)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct graph_node *node = object_find(call.process, handle, OBJECT_GRAPH_NODE);
        if (node && node->child && graph)
            *graph = node->child;
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
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
        node->task->call.callee.function = values->function;
        node->task->call.callee.user = values->user;
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
