/* Graphs of the runtime API as a whole: captured from streams, copied, instantiated, launched. Their nodes: runtime_graph.c. */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/engine.h"
#include "cuda/graph.h"
#include "cuda/object.h"
#include "cuda/process.h"
#include "cuda/runtime_api.h"
#include "cuda/stream.h"

enum { CAPTURE_NONE, CAPTURE_ACTIVE, CAPTURE_INVALIDATED };

ENTRY(int, cudaStreamBeginCapture, void *handle, int mode)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct stream *stream;
        call.error = stream_of_handle(&call, handle, &stream);
        if (call.error == CUDA_SUCCESS)
            call.error = graph_begin_capture(call.process, stream, mode);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaStreamEndCapture, void *handle, void **graph)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct stream *stream;
        struct graph *captured = NULL;
        call.error = graph ? stream_of_handle(&call, handle, &stream) : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS)
            call.error = graph_end_capture(call.process, stream, &captured);
        if (graph)
            *graph = captured;
    }
    return runtime_end(&call);
}

static int capture_status(const struct stream *stream)
{
    return !stream->capture ? CAPTURE_NONE : stream->capture_broken ? CAPTURE_INVALIDATED : CAPTURE_ACTIVE;
}

ENTRY(int, cudaStreamIsCapturing, void *handle, int *status)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct stream *stream;
        call.error = status ? stream_of_handle(&call, handle, &stream) : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS)
            *status = capture_status(stream);
    }
    return runtime_end(&call);
}

static int capture_info(void *handle, int *status, unsigned long long *id, void **graph, void ***front, size_t *count)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct stream *stream;
        call.error = status ? stream_of_handle(&call, handle, &stream) : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS) {
            *status = capture_status(stream);
            if (id)
                *id = stream->capture ? stream->capture->id : 0;
            if (graph)
                *graph = stream->capture;
            if (front)
                *front = (void **)stream->capture_front.data;
            if (count)
                *count = stream->capture_front.count;
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cudaStreamGetCaptureInfo_11, void *stream, int *status, unsigned long long *id)
{
    return capture_info(stream, status, id, NULL, NULL, NULL);
}

ENTRY(int, cudaStreamGetCaptureInfo_v2, void *stream, int *status, unsigned long long *id, void **graph, void ***front,
      size_t *count)
{
    return capture_info(stream, status, id, graph, front, count);
}

ENTRY(int, cudaStreamGetCaptureInfo_v3, void *stream, int *status, unsigned long long *id, void **graph, void ***front,
      const void **edges, size_t *count)
{
    if (edges)
        *edges = NULL;
    return capture_info(stream, status, id, graph, front, count);
}

/* What the next node that is captured depends on: nodes added to that, or in its place. */
static int change_front(void *handle, void *const *nodes, size_t count, unsigned flags)
{
    enum { ADD, SET };
    struct call call;
    if (!runtime_begin(&call))
        return runtime_end(&call);
    struct stream *stream;
    call.error = stream_of_handle(&call, handle, &stream);
    if (call.error == CUDA_SUCCESS && !stream->capture)
        call.error = CUDA_ERROR_ILLEGAL_STATE;
    if (call.error == CUDA_SUCCESS && (flags > SET || (count && !nodes)))
        call.error = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && call.error == CUDA_SUCCESS; i++)
        if (!graph_holds(call.process, stream->capture, nodes[i]))
            call.error = CUDA_ERROR_INVALID_VALUE;
    if (call.error == CUDA_SUCCESS && flags == SET)
        stream->capture_front.count = 0;
    for (size_t i = 0; i < count && call.error == CUDA_SUCCESS; i++)
        if (!graph_join_front(stream, nodes[i]))
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
    return runtime_end(&call);
}

ENTRY(int, cudaStreamUpdateCaptureDependencies, void *stream, void *const *nodes, size_t count, unsigned flags)
{
    return change_front(stream, nodes, count, flags);
}

ENTRY(int, cudaStreamUpdateCaptureDependencies_v2, void *stream, void *const *nodes, const void *edges, size_t count,
      unsigned flags)
{
    (void)edges;
    return change_front(stream, nodes, count, flags);
}

ENTRY(int, cudaThreadExchangeStreamCaptureMode, int *mode)
{
    struct thread_state *thread = thread_get();
    if (!mode || *mode < 0 || *mode > 2)
        return thread->last_error = CUDA_ERROR_INVALID_VALUE;
    int before = thread->capture_mode;
    thread->capture_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

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
                call.error = graph_launch(call.process, graph, stream);
                if (call.error == CUDA_SUCCESS)
                    call.error = engine_make_room(call.process, call.context);
            }
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGraphLaunch, void *executable, void *stream)
{
    return with_executable(executable, stream, true);
}

ENTRY(int, cudaGraphUpload, void *executable, void *stream)
{
    return with_executable(executable, stream, false);
}
