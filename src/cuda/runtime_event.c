/* SPDX-License-Identifier: MIT */
/* Events of the runtime API. */
#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/call.h"
#include "cuda/engine.h"
#include "cuda/graph.h"
#include "cuda/interprocess.h"
#include "cuda/object.h"
#include "cuda/runtime_api.h"
#include "cuda/stream.h"

ENTRY(int, cudaEventCreateWithFlags, void **handle, unsigned flags)
{
    struct call call;
    if (runtime_begin(&call)) {
        if (!handle || flags > (EVENT_BLOCKING_SYNC | EVENT_DISABLE_TIMING | EVENT_INTERPROCESS) ||
            (flags & (EVENT_INTERPROCESS | EVENT_DISABLE_TIMING)) == EVENT_INTERPROCESS)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (!(*handle = event_create(call.process, call.context, flags)))
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaEventCreate, void **event)
{
    return corun_cudaEventCreateWithFlags(event, 0);
}

ENTRY(int, cudaEventDestroy, void *handle)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct event *event = object_find(call.process, handle, OBJECT_EVENT);
        if (event) {
            object_remove(call.process, &event->object); /* the handle is dead although tasks may name it */
            event_release(call.process, event);
        } else {
            call.error = CUDA_ERROR_INVALID_HANDLE;
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cudaEventRecord, void *handle, void *stream)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct event *event = object_find(call.process, handle, OBJECT_EVENT);
        call.error = event ? api_record(&call, event, stream) : CUDA_ERROR_INVALID_HANDLE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaEventRecordWithFlags, void *handle, void *stream, unsigned flags)
{
    (void)flags;
    return corun_cudaEventRecord(handle, stream);
}

ENTRY(int, cudaEventSynchronize, void *handle)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct event *event = object_find(call.process, handle, OBJECT_EVENT);
        if (event)
            interprocess_follow(event);
        if (!event)
            call.error = CUDA_ERROR_INVALID_HANDLE;
        else if (graph_being_captured(event->context, event->capture))
            call.error = CUDA_ERROR_CAPTURED_EVENT;
        else
            call.error = engine_wait_event(call.process, event, event->recorded);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaEventQuery, void *handle)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct event *event = object_find(call.process, handle, OBJECT_EVENT);
        if (event)
            interprocess_follow(event);
        call.error = event ? engine_ask_event(call.process, event, event->recorded) : CUDA_ERROR_INVALID_HANDLE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaEventElapsedTime, float *milliseconds, void *start, void *end)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct event *from = object_find(call.process, start, OBJECT_EVENT);
        struct event *to = object_find(call.process, end, OBJECT_EVENT);
        if (!milliseconds)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else
            call.error = from && to ? api_elapsed(from, to, milliseconds) : CUDA_ERROR_INVALID_HANDLE;
    }
    return runtime_end(&call);
}
