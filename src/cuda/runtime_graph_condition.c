/* SPDX-License-Identifier: MIT */
/* Conditional nodes of graphs, in the runtime and in the driver API. */
#include "cuda/runtime_graph_condition.h"

#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/capture.h"
#include "cuda/driver_api.h"
#include "cuda/graph.h"
#include "cuda/graph_condition.h"
#include "cuda/graph_node.h"
#include "cuda/process.h"
#include "cuda/runtime_api.h"

enum { ASSIGN_DEFAULT = 1 };

ENTRY(int, cudaGraphConditionalHandleCreate, uint64_t *result, void *graph_handle, unsigned value, unsigned flags)
{
    struct call call;
    if (!runtime_begin(&call))
        return runtime_end(&call);
    struct graph *graph = graph_find(call.process, graph_handle, OBJECT_GRAPH);
    if (!graph || !result || flags > ASSIGN_DEFAULT) {
        call.error = CUDA_ERROR_INVALID_VALUE;
        return runtime_end(&call);
    }
    struct graph_handle handle = {graph_condition_number(graph->context), value, flags == ASSIGN_DEFAULT};
    if (handle.address && vector_push(&graph->handles, handle)) {
        *result = handle.address;
        capture_refuse(call.process, "the program's graphs have conditional nodes");
    } else {
        call.error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return runtime_end(&call);
}

ENTRY(int, cuGraphConditionalHandleCreate, uint64_t *result, void *graph, void *context, unsigned value, unsigned flags)
{
    (void)context; /* the graph's */
    return corun_cudaGraphConditionalHandleCreate(result, graph, value, flags);
}

static bool is_good(const struct graph *graph, const struct abi_condition_node *node)
{
    unsigned most = node->kind == CONDITION_WHILE ? 1 : node->kind == CONDITION_IF ? 2 : UINT16_MAX;
    return node->kind < CONDITION_KINDS && node->bodies >= 1 && node->bodies <= most &&
           graph_condition_is_known(graph, node->handle);
}

int runtime_graph_add_condition(void **result, void *handle, void *const *nodes, size_t count,
                                struct abi_condition_node *node)
{
    struct call call;
    struct graph *graph = graph_node_begin_new(&call, result, handle, nodes, count);
    struct graph_condition *condition = NULL;
    if (graph && !is_good(graph, node))
        call.error = CUDA_ERROR_INVALID_VALUE;
    else if (graph && !(condition = graph_condition_create(call.process, graph, (enum condition_kind)node->kind,
                                                           node->handle, node->bodies)))
        call.error = CUDA_ERROR_OUT_OF_MEMORY;
    if (condition) {
        struct graph_node *added = graph_add(call.process, graph, NULL, (struct graph_node *const *)nodes, count);
        if (added) {
            added->condition = condition;
            node->graphs = (void **)condition->bodies.data;
            *result = added;
        } else {
            graph_condition_release(call.process, condition);
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return runtime_end(&call);
}
