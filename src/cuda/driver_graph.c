/* SPDX-License-Identifier: MIT */
/* Nodes of graphs in the driver API, where its description is not that of the runtime API: kernels and copies. */
#include "cuda/abi.h"
#include "cuda/array.h"
#include "cuda/call.h"
#include "cuda/copy.h"
#include "cuda/driver_api.h"
#include "cuda/graph.h"
#include "cuda/graph_node.h"
#include "cuda/module.h"
#include "cuda/runtime_api.h"
#include "cuda/task.h"

ENTRY(int, cuGraphKernelNodeGetParams_v2, void *handle, struct abi_driver_kernel_node *values)
{
    struct call call;
    struct graph_node *node = graph_node_begin(&call, NULL, false, handle, TASK_LAUNCH, values);
    if (node) {
        call.error = graph_node_show_kernel(node, &values->plain);
        values->plain.function = node->task->launch.request.function;
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

/* Arrays are shown in place of their memory. */
static void show_arrays(struct call *call, const struct copy *copy, struct abi_driver_copy_3d *values)
{
    struct abi_position at;
    struct array *array = array_of_side(call->process, &copy->to, &at);
    if (array) {
        values->to_type = MEMORY_ARRAY;
        values->to_array = array;
        values->to_x = at.x * array->element_bytes, values->to_y = at.y, values->to_z = at.z;
        values->to_device = values->to_pitch = values->to_height = 0;
    }
    array = array_of_side(call->process, &copy->from, &at);
    if (array) {
        values->from_type = MEMORY_ARRAY;
        values->from_array = array;
        values->from_x = at.x * array->element_bytes, values->from_y = at.y, values->from_z = at.z;
        values->from_device = values->from_pitch = values->from_height = 0;
    }
}

ENTRY(int, cuGraphMemcpyNodeGetParams, void *handle, struct abi_driver_copy_3d *values)
{
    struct call call;
    const struct graph_node *node = graph_node_begin(&call, NULL, false, handle, TASK_COPY, values);
    if (node) {
        const struct copy *copy = &node->task->copy;
        struct abi_pitched from = graph_node_show_side(copy, &copy->from), to = graph_node_show_side(copy, &copy->to);
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
        show_arrays(&call, copy, values);
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
