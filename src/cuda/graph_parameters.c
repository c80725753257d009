/* Nodes of graphs, read and changed: what one does, told as it was described; and nodes of any kind in one call. */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/console.h"
#include "cuda/copy.h"
#include "cuda/driver_api.h"
#include "cuda/entry.h"
#include "cuda/graph.h"
#include "cuda/graph_node.h"
#include "cuda/image.h"
#include "cuda/module.h"
#include "cuda/object.h"
#include "cuda/runtime_api.h"
#include "cuda/stream.h"
#include "cuda/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory types of the driver API's copies. */
enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2 };

/* The pointers to a kernel's arguments stay good until the node is changed, asked again, or gone. */
static int show_kernel(struct graph_node *node, struct abi_kernel_node *values)
{
    const struct launch_request *request = &node->task->launch.request;
    struct corun_kernel_info info;
    corun_kernel_describe(request->function->kernel, &info);
    node->arguments.count = 0;
    for (uint32_t i = 0; i < info.parameter_count; i++)
        if (!vector_push(&node->arguments, request->parameters + info.parameters[i].offset_bytes))
            return CUDA_ERROR_OUT_OF_MEMORY;
    const void *name = request->host ? request->host : request->function;
    *values = (struct abi_kernel_node){.function = (void *)(uintptr_t)name,
                                       .grid = request->grid,
                                       .block = request->block,
                                       .shared = request->dynamic_shared_bytes,
                                       .arguments = node->arguments.data};
    return CUDA_SUCCESS;
}

ENTRY(int, cudaGraphKernelNodeGetParams, void *handle, struct abi_kernel_node *values)
{
    struct call call;
    struct graph_node *node = graph_node_begin(&call, NULL, false, handle, TASK_LAUNCH, values);
    if (node)
        call.error = show_kernel(node, values);
    return runtime_end(&call);
}

ENTRY(int, cuGraphKernelNodeGetParams_v2, void *handle, struct abi_driver_kernel_node *values)
{
    struct call call;
    struct graph_node *node = graph_node_begin(&call, NULL, false, handle, TASK_LAUNCH, values);
    if (node) {
        call.error = show_kernel(node, &values->plain);
        values->kernel = NULL;
        values->context = node->task->launch.request.function->module->context;
    }
    return call_end(&call);
}

/* A kernel of a library stands in another place than a function. */
static struct abi_kernel_node plain(const struct abi_driver_kernel_node *values)
{
    struct abi_kernel_node node = values->plain;
    if (!node.function)
        node.function = values->kernel;
    return node;
}

ENTRY(int, cuGraphAddKernelNode_v2, void **result, void *graph, void *const *nodes, size_t count,
      const struct abi_driver_kernel_node *values)
{
    if (!values)
        return corun_cudaGraphAddKernelNode(result, graph, nodes, count, NULL);
    struct abi_kernel_node node = plain(values);
    return corun_cudaGraphAddKernelNode(result, graph, nodes, count, &node);
}

ENTRY(int, cuGraphKernelNodeSetParams_v2, void *handle, const struct abi_driver_kernel_node *values)
{
    if (!values)
        return CUDA_ERROR_INVALID_VALUE;
    struct abi_kernel_node node = plain(values);
    return corun_cudaGraphKernelNodeSetParams(handle, &node);
}

ENTRY(int, cuGraphExecKernelNodeSetParams_v2, void *executable, void *handle,
      const struct abi_driver_kernel_node *values)
{
    if (!values)
        return CUDA_ERROR_INVALID_VALUE;
    struct abi_kernel_node node = plain(values);
    return corun_cudaGraphExecKernelNodeSetParams(executable, handle, &node);
}

/* Attributes of launches: that of a cooperative one can be read and changed. */
static int kernel_attribute(void *handle, int attribute, void *value, bool set)
{
    struct call call;
    struct graph_node *node = graph_node_begin(&call, NULL, false, handle, TASK_LAUNCH, value);
    int *number = value;
    if (node && attribute != LAUNCH_COOPERATIVE)
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
    else if (target)
        target->task->launch.request.cooperative = source->task->launch.request.cooperative;
    return runtime_end(&call);
}

static struct abi_pitched show_side(const struct copy *copy, const struct copy_side *side)
{
    void *pointer = side->context ? (void *)(uintptr_t)side->address : side->host;
    return (struct abi_pitched){pointer, side->pitch, copy->width_bytes,
                                side->pitch ? side->slice_bytes / side->pitch : 0};
}

ENTRY(int, cudaGraphMemcpyNodeGetParams, void *handle, struct abi_copy_3d *values)
{
    struct call call;
    const struct graph_node *node = graph_node_begin(&call, NULL, false, handle, TASK_COPY, values);
    if (node) {
        const struct copy *copy = &node->task->copy;
        bool to = copy->to.context != NULL, from = copy->from.context != NULL;
        *values = (struct abi_copy_3d){.from = show_side(copy, &copy->from),
                                       .to = show_side(copy, &copy->to),
                                       .extent = {copy->width_bytes, copy->height, copy->depth},
                                       .kind = to ? (from ? COPY_DEVICE_TO_DEVICE : COPY_HOST_TO_DEVICE)
                                                  : (from ? COPY_DEVICE_TO_HOST : COPY_HOST_TO_HOST)};
    }
    return runtime_end(&call);
}

ENTRY(int, cuGraphMemcpyNodeGetParams, void *handle, struct abi_driver_copy_3d *values)
{
    struct call call;
    const struct graph_node *node = graph_node_begin(&call, NULL, false, handle, TASK_COPY, values);
    if (node) {
        const struct copy *copy = &node->task->copy;
        struct abi_pitched from = show_side(copy, &copy->from), to = show_side(copy, &copy->to);
        *values = (struct abi_driver_copy_3d){.from_type = copy->from.context ? MEMORY_DEVICE : MEMORY_HOST,
                                              .from_host = copy->from.context ? NULL : from.pointer,
                                              .from_device = copy->from.context ? copy->from.address : 0,
                                              .from_pitch = from.pitch,
                                              .from_height = from.height,
                                              .to_type = copy->to.context ? MEMORY_DEVICE : MEMORY_HOST,
                                              .to_host = copy->to.context ? NULL : to.pointer,
                                              .to_device = copy->to.context ? copy->to.address : 0,
                                              .to_pitch = to.pitch,
                                              .to_height = to.height,
                                              .width_bytes = copy->width_bytes,
                                              .height = copy->height,
                                              .depth = copy->depth};
    }
    return call_end(&call);
}

static int set_driver_copy(struct call *call, const struct abi_driver_copy_3d *values, struct copy *copy)
{
    int error = driver_copy_of(call, values, copy);
    return error == CUDA_SUCCESS ? copy_prepare(copy) : error;
}

ENTRY(int, cuGraphAddMemcpyNode, void **result, void *handle, void *const *nodes, size_t count,
      const struct abi_driver_copy_3d *values, void *context)
{
    struct call call;
    struct task *task = NULL;
    struct graph *graph = graph_node_begin_new(&call, result, handle, nodes, count);
    (void)context; /* memory says whose it is */
    if (graph && !values)
        call.error = CUDA_ERROR_INVALID_VALUE;
    else if (graph && !(task = task_create(TASK_COPY)))
        call.error = CUDA_ERROR_OUT_OF_MEMORY;
    else if (graph)
        call.error = set_driver_copy(&call, values, &task->copy);
    return graph_node_end_new(&call, result, graph, task, nodes, count);
}

static int change_driver_copy(void *executable, bool in_executable, void *handle,
                              const struct abi_driver_copy_3d *values)
{
    struct call call;
    struct graph_node *node = graph_node_begin(&call, executable, in_executable, handle, TASK_COPY, values);
    struct copy copy;
    if (node && (call.error = set_driver_copy(&call, values, &copy)) == CUDA_SUCCESS)
        node->task->copy = copy;
    return call_end(&call);
}

ENTRY(int, cuGraphMemcpyNodeSetParams, void *node, const struct abi_driver_copy_3d *values)
{
    return change_driver_copy(NULL, false, node, values);
}

ENTRY(int, cuGraphExecMemcpyNodeSetParams, void *executable, void *node, const struct abi_driver_copy_3d *values,
      void *context)
{
    (void)context;
    return change_driver_copy(executable, true, node, values);
}

/* Copies to and from a variable, changed. */
static int change_symbol_copy(void *executable, bool in_executable, void *handle, const void *symbol, void *other,
                              size_t bytes, size_t offset, int kind, bool to_symbol)
{
    struct call call;
    struct graph_node *node = graph_node_begin(&call, executable, in_executable, handle, TASK_COPY, symbol);
    uint64_t address = 0, size = 0;
    struct copy copy;
    if (node)
        call.error = variable_of_host(call.process, call.context, symbol, &address, &size);
    if (node && call.error == CUDA_SUCCESS && (offset > size || bytes > size - offset))
        call.error = CUDA_ERROR_INVALID_VALUE;
    void *there = (void *)(uintptr_t)(address + offset);
    if (node && call.error == CUDA_SUCCESS)
        call.error =
            graph_node_set_copy_1d(&call, to_symbol ? there : other, to_symbol ? other : there, bytes, kind, &copy);
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
        *values = (struct abi_host_node){node->task->call.function, node->task->call.user};
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

static const char *label(const struct graph_node *node)
{
    static const char *const labels[] = {"kernel", "memcpy", "memset",     "host",
                                         "graph",  "empty",  "event wait", "event record"};
    int type = graph_node_type(node);
    return type <= NODE_RECORD ? labels[type] : "memory operation";
}

ENTRY(int, cudaGraphDebugDotPrint, void *handle, const char *path, unsigned flags)
{
    struct call call;
    (void)flags; /* how much is told */
    if (!runtime_begin(&call))
        return runtime_end(&call);
    const struct graph *graph = graph_find(call.process, handle, OBJECT_GRAPH);
    FILE *file = graph && path ? fopen(path, "we") : NULL;
    if (!file) {
        call.error = CUDA_ERROR_INVALID_VALUE;
        return runtime_end(&call);
    }
    fputs("digraph graph_1 {\n", file);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct graph_node *node = graph->nodes.data[i];
        bool kernel = node->kind == TASK_LAUNCH;
        fprintf(file, "    \"%p\" [label=\"%s%s%s\"];\n", (void *)(uintptr_t)node, label(node), kernel ? " " : "",
                kernel ? node->task->launch.request.function->name : "");
        for (size_t d = 0; d < node->dependencies.count; d++)
            fprintf(file, "    \"%p\" -> \"%p\";\n", (void *)node->dependencies.data[d], (void *)(uintptr_t)node);
    }
    fputs("}\n", file);
    if (fclose(file))
        call.error = CUDA_ERROR_OPERATING_SYSTEM;
    return runtime_end(&call);
}

/* Nodes of any kind, described by one structure (cudaGraphNodeParams). */
struct abi_node {
    int type, reserved[3];
    union {
        struct abi_driver_kernel_node kernel;
        struct {
            int flags, reserved;
            void *context;
            union {
                struct abi_copy_3d runtime;
                struct abi_driver_copy_3d driver;
            } copy;
        } copy;
        struct abi_fill_node fill;
        struct abi_host_node host;
        void *handle; /* of an event or a graph */
        char room[232];
    } of;
};

static int add_any(void **result, void *graph, void *const *nodes, size_t count, const struct abi_node *node)
{
    bool driver = corun_driver_call;
    if (!node)
        return CUDA_ERROR_INVALID_VALUE;
    switch (node->type) {
    case NODE_KERNEL:
        return driver ? corun_cuGraphAddKernelNode_v2(result, graph, nodes, count, &node->of.kernel)
                      : corun_cudaGraphAddKernelNode(result, graph, nodes, count, &node->of.kernel.plain);
    case NODE_COPY:
        return driver ? corun_cuGraphAddMemcpyNode(result, graph, nodes, count, &node->of.copy.copy.driver, NULL)
                      : corun_cudaGraphAddMemcpyNode(result, graph, nodes, count, &node->of.copy.copy.runtime);
    case NODE_FILL:
        return corun_cudaGraphAddMemsetNode(result, graph, nodes, count, &node->of.fill);
    case NODE_HOST:
        return corun_cudaGraphAddHostNode(result, graph, nodes, count, &node->of.host);
    case NODE_GRAPH:
        return corun_cudaGraphAddChildGraphNode(result, graph, nodes, count, node->of.handle);
    case NODE_EMPTY:
        return corun_cudaGraphAddEmptyNode(result, graph, nodes, count);
    case NODE_WAIT:
        return corun_cudaGraphAddEventWaitNode(result, graph, nodes, count, node->of.handle);
    case NODE_RECORD:
        return corun_cudaGraphAddEventRecordNode(result, graph, nodes, count, node->of.handle);
    case NODE_ALLOCATE: /* the address comes back in the description */
        return corun_cudaGraphAddMemAllocNode(result, graph, nodes, count, (void *)(uintptr_t)&node->of);
    case NODE_FREE:
        return corun_cudaGraphAddMemFreeNode(result, graph, nodes, count, node->of.handle);
    default:
        say("not supported: nodes of kind %d in graphs", node->type);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

ENTRY(int, cudaGraphAddNode, void **result, void *graph, void *const *nodes, size_t count, const struct abi_node *node)
{
    return add_any(result, graph, nodes, count, node);
}

/* With what kind of dependency each is: there is one. */
ENTRY(int, cudaGraphAddNode_v2, void **result, void *graph, void *const *nodes, const void *edges, size_t count,
      const struct abi_node *node)
{
    (void)edges;
    return add_any(result, graph, nodes, count, node);
}

ENTRY(int, cudaGraphNodeSetParams, void *handle, const struct abi_node *node)
{
    bool driver = corun_driver_call;
    if (!node)
        return CUDA_ERROR_INVALID_VALUE;
    switch (node->type) {
    case NODE_KERNEL:
        return driver ? corun_cuGraphKernelNodeSetParams_v2(handle, &node->of.kernel)
                      : corun_cudaGraphKernelNodeSetParams(handle, &node->of.kernel.plain);
    case NODE_COPY:
        return driver ? corun_cuGraphMemcpyNodeSetParams(handle, &node->of.copy.copy.driver)
                      : corun_cudaGraphMemcpyNodeSetParams(handle, &node->of.copy.copy.runtime);
    case NODE_FILL:
        return corun_cudaGraphMemsetNodeSetParams(handle, &node->of.fill);
    case NODE_HOST:
        return corun_cudaGraphHostNodeSetParams(handle, &node->of.host);
    case NODE_WAIT:
        return corun_cudaGraphEventWaitNodeSetEvent(handle, node->of.handle);
    case NODE_RECORD:
        return corun_cudaGraphEventRecordNodeSetEvent(handle, node->of.handle);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

ENTRY(int, cudaGraphExecNodeSetParams, void *executable, void *handle, const struct abi_node *node)
{
    bool driver = corun_driver_call;
    if (!node)
        return CUDA_ERROR_INVALID_VALUE;
    switch (node->type) {
    case NODE_KERNEL:
        return driver ? corun_cuGraphExecKernelNodeSetParams_v2(executable, handle, &node->of.kernel)
                      : corun_cudaGraphExecKernelNodeSetParams(executable, handle, &node->of.kernel.plain);
    case NODE_COPY:
        return driver ? corun_cuGraphExecMemcpyNodeSetParams(executable, handle, &node->of.copy.copy.driver, NULL)
                      : corun_cudaGraphExecMemcpyNodeSetParams(executable, handle, &node->of.copy.copy.runtime);
    case NODE_FILL:
        return corun_cudaGraphExecMemsetNodeSetParams(executable, handle, &node->of.fill);
    case NODE_HOST:
        return corun_cudaGraphExecHostNodeSetParams(executable, handle, &node->of.host);
    case NODE_WAIT:
        return corun_cudaGraphExecEventWaitNodeSetEvent(executable, handle, node->of.handle);
    case NODE_RECORD:
        return corun_cudaGraphExecEventRecordNodeSetEvent(executable, handle, node->of.handle);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}
