/* SPDX-License-Identifier: MIT */
/*
 * Graphs of the runtime API as a whole: made, copied, instantiated, launched, and what is in them. Their nodes:
 * runtime_graph_node.c.
 */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/driver_api.h"
#include "cuda/driver_calls.h"
#include "cuda/engine.h"
#include "cuda/graph.h"
#include "cuda/graph_node.h"
#include "cuda/module.h"
#include "cuda/object.h"
#include "cuda/process.h"
#include "cuda/runtime_api.h"
#include "cuda/stream.h"
#include "cuda/task.h"

#include <stdio.h>
#include <string.h>

ENTRY(int, cudaGraphCreate, void **graph, unsigned flags)
{
    struct call call;
    if (runtime_begin(&call)) {
        if (!graph || flags)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (!(*graph = graph_create(call.process, call.context)))
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return runtime_end(&call);
}

static int destroy(void *handle, enum object_kind kind)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct graph *graph = object_find(call.process, handle, kind);
        if (graph && !graph->owned && !graph_being_captured(graph->context, graph->id))
            graph_destroy(call.process, graph);
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphDestroy, void *graph)
{
    return destroy(graph, OBJECT_GRAPH);
}

ENTRY(int, cudaGraphExecDestroy, void *graph)
{
    return destroy(graph, OBJECT_GRAPH_EXECUTABLE);
}

ENTRY(int, cudaGraphClone, void **clone, void *handle)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct graph *graph = graph_find(call.process, handle, OBJECT_GRAPH);
        if (!graph || !clone)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (!graph_sort(graph) || !(*clone = graph_copy(call.process, graph, OBJECT_GRAPH)))
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return runtime_end(&call);
}

enum { FREES_ON_LAUNCH = 1 }; /* cudaGraphInstantiateFlagAutoFreeOnLaunch */

static int instantiate(void **executable, void *handle, unsigned long long flags)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct graph *graph = graph_find(call.process, handle, OBJECT_GRAPH);
        if (!graph || !executable || !graph_sort(graph))
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (!(*executable = graph_copy(call.process, graph, OBJECT_GRAPH_EXECUTABLE)))
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
        else
            ((struct graph *)*executable)->frees_on_launch = flags & FREES_ON_LAUNCH;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphInstantiate_11, void **executable, void *graph, void **node, char *log, size_t bytes)
{
    if (node)
        *node = NULL;
    if (log && bytes)
        *log = 0;
    return instantiate(executable, graph, 0);
}

ENTRY(int, cudaGraphInstantiate, void **executable, void *graph, unsigned long long flags)
{
    return instantiate(executable, graph, flags);
}

ENTRY(int, cudaGraphInstantiateWithFlags, void **executable, void *graph, unsigned long long flags)
{
    return instantiate(executable, graph, flags);
}

struct abi_instantiate {
    unsigned long long flags;
    void *stream, *node;
    int result;
};

ENTRY(int, cudaGraphInstantiateWithParams, void **executable, void *graph, struct abi_instantiate *parameters)
{
    if (!parameters)
        return thread_get()->last_error = CUDA_ERROR_INVALID_VALUE;
    parameters->node = NULL;
    int error = instantiate(executable, graph, parameters->flags);
    parameters->result = error != CUDA_SUCCESS;
    return error;
}

static int with_executable(void *handle, void *stream_handle, bool launch)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct graph *graph = graph_find(call.process, handle, OBJECT_GRAPH_EXECUTABLE);
        struct stream *stream;
        call.error = graph ? stream_of_handle(&call, stream_handle, &stream) : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS && launch) {
            if (stream->capture) {
                call.error = graph_capture_launch(call.process, stream, graph);
            } else {
                engine_host_launches(call.process, stream);
                call.error = graph_launch(call.process, graph, stream);
                if (call.error == CUDA_SUCCESS)
                    call.error = engine_make_room(call.process, call.context);
            }
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cuGraphLaunch, void *executable, void *stream)
{
    return with_executable(executable, stream, true);
}

ENTRY(int, cudaGraphLaunch, void *executable, void *stream)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct driver_call driver = driver_call_begin(call.process, NULL);
        call.error = driver.calls->cuGraphLaunch[driver.per_thread](executable, stream);
        driver_call_end(call.process, &driver);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphUpload, void *executable, void *stream)
{
    return with_executable(executable, stream, false);
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

static int change_edges(void *handle, void *const *from, void *const *to, size_t count, bool add)
{
    struct call call;
    if (!runtime_begin(&call))
        return runtime_end(&call);
    struct graph *graph = graph_find(call.process, handle, OBJECT_GRAPH);
    if (!graph || !graph_holds_all(call.process, graph, from, count) ||
        !graph_holds_all(call.process, graph, to, count))
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

static const char *label(const struct graph_node *node)
{
    static const char *const labels[] = {"kernel", "memcpy", "memset",     "host",
                                         "graph",  "empty",  "event wait", "event record"};
    int type = graph_node_type(node);
    return type <= NODE_RECORD ? labels[type] : type == NODE_CONDITIONAL ? "conditional" : "memory operation";
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
