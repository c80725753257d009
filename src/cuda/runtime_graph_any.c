/* SPDX-License-Identifier: MIT */
/* Nodes of graphs of any kind, described by one structure (cudaGraphNodeParams), added and changed. */
#include "cuda/abi.h"
#include "cuda/console.h"
#include "cuda/driver_api.h"
#include "cuda/entry.h"
#include "cuda/graph_node.h"
#include "cuda/runtime_api.h"
#include "cuda/runtime_graph_condition.h"

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
    case NODE_CONDITIONAL: /* the bodies come back in the description */
        return runtime_graph_add_condition(result, graph, nodes, count, (void *)(uintptr_t)&node->of);
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
