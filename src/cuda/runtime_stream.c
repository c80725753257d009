/* SPDX-License-Identifier: MIT */
/* Streams of the runtime API. */
#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/engine.h"
#include "cuda/graph.h"
#include "cuda/object.h"
#include "cuda/runtime_api.h"
#include "cuda/stream.h"

#include <string.h>

static struct stream *begin_with_stream(struct call *call, void *handle, const void *result)
{
    struct stream *stream = NULL;
    if (runtime_begin(call)) {
        call->error = result ? stream_of_handle(call, handle, &stream) : CUDA_ERROR_INVALID_VALUE;
        if (call->error != CUDA_SUCCESS)
            stream = NULL;
    }
    return stream;
}

static int create_stream(void **handle, unsigned flags, int priority)
{
    struct call call;
    if (runtime_begin(&call)) {
        if (!handle || flags > STREAM_NON_BLOCKING) {
            call.error = CUDA_ERROR_INVALID_VALUE;
        } else {
            *handle = stream_create(call.process, call.context, flags, stream_priority(priority));
            call.error = *handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cudaStreamCreate, void **stream)
{
    return create_stream(stream, 0, 0);
}

ENTRY(int, cudaStreamCreateWithFlags, void **stream, unsigned flags)
{
    return create_stream(stream, flags, 0);
}

ENTRY(int, cudaStreamCreateWithPriority, void **stream, unsigned flags, int priority)
{
    return create_stream(stream, flags, priority);
}

ENTRY(int, cudaDeviceGetStreamPriorityRange, int *least, int *greatest)
{
    if (least)
        *least = LEAST_PRIORITY;
    if (greatest)
        *greatest = GREATEST_PRIORITY;
    return CUDA_SUCCESS;
}

ENTRY(int, cudaStreamDestroy, void *handle)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct stream *stream = object_find(call.process, handle, OBJECT_STREAM);
        call.error = stream && !stream->destroyed ? api_stream_destroy(&call, stream) : CUDA_ERROR_INVALID_HANDLE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaStreamSynchronize, void *handle)
{
    struct call call;
    struct stream *stream = begin_with_stream(&call, handle, &handle);
    if (stream)
        call.error = stream->capture ? graph_spoil_capture(stream) : engine_wait_stream(call.process, stream);
    return runtime_end(&call);
}

ENTRY(int, cudaStreamQuery, void *handle)
{
    struct call call;
    struct stream *stream = begin_with_stream(&call, handle, &handle);
    if (stream)
        call.error = stream->capture ? graph_spoil_capture(stream) : engine_ask_stream(call.process, stream);
    return runtime_end(&call);
}

ENTRY(int, cudaStreamWaitEvent, void *stream, void *handle, unsigned flags)
{
    struct call call;
    (void)flags;
    if (runtime_begin(&call)) {
        struct event *event = object_find(call.process, handle, OBJECT_EVENT);
        call.error = event ? api_wait_event(&call, event, stream) : CUDA_ERROR_INVALID_HANDLE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaLaunchHostFunc, void *stream, abi_host_function function, void *user)
{
    struct call call;
    if (runtime_begin(&call))
        call.error = api_call_host(&call, stream, function, NULL, user);
    return runtime_end(&call);
}

ENTRY(int, cudaStreamAddCallback, void *stream, abi_stream_callback callback, void *user, unsigned flags)
{
    struct call call;
    if (runtime_begin(&call))
        call.error = flags ? CUDA_ERROR_INVALID_VALUE : api_call_host(&call, stream, NULL, callback, user);
    return runtime_end(&call);
}

ENTRY(int, cudaStreamGetFlags, void *handle, unsigned *flags)
{
    struct call call;
    const struct stream *stream = begin_with_stream(&call, handle, flags);
    if (stream)
        *flags = stream->flags;
    return runtime_end(&call);
}

ENTRY(int, cudaStreamGetPriority, void *handle, int *priority)
{
    struct call call;
    const struct stream *stream = begin_with_stream(&call, handle, priority);
    if (stream)
        *priority = stream->queue.priority;
    return runtime_end(&call);
}

ENTRY(int, cudaStreamGetId, void *handle, unsigned long long *id)
{
    struct call call;
    const struct stream *stream = begin_with_stream(&call, handle, id);
    if (stream)
        *id = stream->id;
    return runtime_end(&call);
}

ENTRY(int, cudaStreamGetDevice, void *handle, int *device)
{
    struct call call;
    const struct stream *stream = begin_with_stream(&call, handle, device);
    if (stream)
        *device = (int)stream->context->device->ordinal;
    return runtime_end(&call);
}

/*
 * Attributes are hints here: priority counts, the rest changes nothing. An attribute's bytes are all that is read or written: the values of CUDA 11 are shorter than
 * those that came later.
 */
static void *find_attribute(struct call *call, struct stream *stream, int attribute, size_t *bytes)
{
    struct stream_attributes *kept = &stream->attributes;
    switch (attribute) {
    case LAUNCH_ACCESS_POLICY:
        *bytes = sizeof kept->access_policy;
        return kept->access_policy;
    case LAUNCH_SYNCHRONIZATION:
        *bytes = sizeof kept->synchronization;
        return &kept->synchronization;
    case LAUNCH_PRIORITY:
        *bytes = sizeof stream->queue.priority;
        return &stream->queue.priority;
    case LAUNCH_MEMORY_DOMAIN_MAP:
        *bytes = sizeof kept->memory_domain_map;
        return kept->memory_domain_map;
    case LAUNCH_MEMORY_DOMAIN:
        *bytes = sizeof kept->memory_domain;
        return &kept->memory_domain;
    default:
        call->error = CUDA_ERROR_INVALID_VALUE;
        return NULL;
    }
}

ENTRY(int, cudaStreamSetAttribute, void *handle, int attribute, const void *value)
{
    struct call call;
    struct stream *stream = begin_with_stream(&call, handle, value);
    size_t bytes;
    void *place = stream ? find_attribute(&call, stream, attribute, &bytes) : NULL;
    if (place)
        memcpy(place, value, bytes);
    return runtime_end(&call);
}

ENTRY(int, cudaStreamGetAttribute, void *handle, int attribute, void *value)
{
    struct call call;
    struct stream *stream = begin_with_stream(&call, handle, value);
    size_t bytes;
    const void *place = stream ? find_attribute(&call, stream, attribute, &bytes) : NULL;
    if (place)
        memcpy(value, place, bytes);
    return runtime_end(&call);
}

ENTRY(int, cudaStreamCopyAttributes, void *to, void *from)
{
    struct call call;
    struct stream *target = begin_with_stream(&call, to, &to), *source = NULL;
    if (target) {
        call.error = stream_of_handle(&call, from, &source);
        if (call.error == CUDA_SUCCESS) {
            target->queue.priority = source->queue.priority;
            target->attributes = source->attributes;
        }
    }
    return runtime_end(&call);
}
