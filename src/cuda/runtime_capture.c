/* SPDX-License-Identifier: MIT */
/* Graphs that are captured from streams, in the runtime API. */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/driver_api.h"
#include "cuda/driver_calls.h"
#include "cuda/graph.h"
#include "cuda/process.h"
#include "cuda/runtime_api.h"
#include "cuda/stream.h"

enum { CAPTURE_NONE, CAPTURE_ACTIVE, CAPTURE_INVALIDATED };

ENTRY(int, cuStreamBeginCapture_v2, void *handle, int mode)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct stream *stream;
        call.error = stream_of_handle(&call, handle, &stream);
        if (call.error == CUDA_SUCCESS)
            call.error = graph_begin_capture(call.process, stream, call.thread, mode);
    }
    return runtime_end(&call);
}

/* Into a graph of the program's, a body of a conditional node perhaps, behind the nodes that are named. */
ENTRY(int, cuStreamBeginCaptureToGraph, void *handle, void *graph_handle, void *const *nodes, const void *edges,
      size_t count, int mode)
{
    struct call call;
    (void)edges; /* there is one kind of dependency */
    if (runtime_begin(&call)) {
        struct stream *stream;
        struct graph *graph = graph_find(call.process, graph_handle, OBJECT_GRAPH);
        call.error = graph ? stream_of_handle(&call, handle, &stream) : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS)
            call.error = graph_begin_capture_into(call.process, stream, graph, nodes, count, call.thread, mode);
    }
    return runtime_end(&call);
}

ENTRY(int, cuStreamEndCapture, void *handle, void **graph)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct stream *stream;
        struct graph *captured = NULL;
        call.error = stream_of_handle(&call, handle, &stream);
        if (call.error == CUDA_SUCCESS && !graph && !stream->capture_given) /* the program has no other name for it */
            call.error = CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS)
            call.error = graph_end_capture(call.process, stream, call.thread, &captured);
        if (graph)
            *graph = captured;
    }
    return runtime_end(&call);
}

/* The runtime's own calls of these: a library in front of the driver wants to know what is captured. */
ENTRY(int, cudaStreamBeginCapture, void *handle, int mode)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct driver_call driver = driver_call_begin(call.process, NULL);
        call.error = driver.calls->cuStreamBeginCapture[driver.per_thread](handle, mode);
        driver_call_end(call.process, &driver);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaStreamBeginCaptureToGraph, void *handle, void *graph, void *const *nodes, const void *edges,
      size_t count, int mode)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct driver_call driver = driver_call_begin(call.process, NULL);
        call.error =
            driver.calls->cuStreamBeginCaptureToGraph[driver.per_thread](handle, graph, nodes, edges, count, mode);
        driver_call_end(call.process, &driver);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaStreamEndCapture, void *handle, void **graph)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct driver_call driver = driver_call_begin(call.process, NULL);
        call.error = driver.calls->cuStreamEndCapture[driver.per_thread](handle, graph);
        driver_call_end(call.process, &driver);
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
