/* SPDX-License-Identifier: MIT */
/* Contexts of the driver API: primary ones, a program's own, and the stack of each thread. */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/driver_api.h"
#include "cuda/driver_device.h"
#include "cuda/engine.h"
#include "cuda/graph.h"
#include "cuda/object.h"
#include "cuda/process.h"
#include "cuda/stream.h"

ENTRY(int, cuDevicePrimaryCtxRetain, void **context, int device)
{
    struct call call;
    struct device *of = driver_begin_device(&call, device, context);
    if (of) {
        *context = cuda_context_primary(call.process, (uint32_t)device);
        if (*context)
            of->primary_uses++;
        else
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return call_end(&call);
}

static void drop_from_stack(struct thread_state *thread, const struct context *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < thread->contexts.count; i++)
        if (thread->contexts.data[i] != context)
            thread->contexts.data[kept++] = thread->contexts.data[i];
    thread->contexts.count = kept;
}

static void end_primary(struct call *call, struct device *device)
{
    if (!device->primary)
        return;
    (void)engine_wait_context(call->process, device->primary);
    drop_from_stack(call->thread, device->primary);
    cuda_context_destroy(call->process, device->primary);
}

ENTRY(int, cuDevicePrimaryCtxRelease_v2, int device)
{
    struct call call;
    struct device *of = driver_begin_device(&call, device, &device);
    if (of && of->primary_uses == 0)
        call.error = CUDA_ERROR_INVALID_CONTEXT;
    else if (of && --of->primary_uses == 0)
        end_primary(&call, of);
    return call_end(&call);
}

ENTRY(int, cuDevicePrimaryCtxReset_v2, int device)
{
    struct call call;
    struct device *of = driver_begin_device(&call, device, &device);
    if (of)
        end_primary(&call, of);
    return call_end(&call);
}

ENTRY(int, cuDevicePrimaryCtxSetFlags_v2, int device, unsigned flags)
{
    struct call call;
    struct device *of = driver_begin_device(&call, device, &device);
    if (of)
        of->flags = flags;
    return call_end(&call);
}

ENTRY(int, cuDevicePrimaryCtxGetState, int device, unsigned *flags, int *active)
{
    struct call call;
    struct device *of = driver_begin_device(&call, device, active);
    if (of) {
        *active = of->primary != NULL;
        if (flags)
            *flags = of->flags;
    }
    return call_end(&call);
}

static int create(void **handle, unsigned flags, int device)
{
    struct call call;
    struct device *of = driver_begin_device(&call, device, handle);
    if (of) {
        struct context *context = cuda_context_create(call.process, of, false);
        if (context && vector_push(&call.thread->contexts, context)) {
            context->flags = flags;
            *handle = context;
        } else {
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return call_end(&call);
}

ENTRY(int, cuCtxCreate_v2, void **context, unsigned flags, int device)
{
    return create(context, flags, device);
}

ENTRY(int, cuCtxCreate_v3, void **context, void *affinities, int count, unsigned flags, int device)
{
    (void)affinities, (void)count;
    return create(context, flags, device);
}

ENTRY(int, cuCtxCreate_v4, void **context, void *parameters, unsigned flags, int device)
{
    (void)parameters;
    return create(context, flags, device);
}

ENTRY(int, cuCtxDestroy_v2, void *handle)
{
    struct call call;
    if (driver_begin_started(&call)) {
        struct context *context = object_find(call.process, handle, OBJECT_CONTEXT);
        if (!context || context->primary) {
            call.error = CUDA_ERROR_INVALID_CONTEXT;
        } else {
            (void)engine_wait_context(call.process, context);
            drop_from_stack(call.thread, context);
            cuda_context_destroy(call.process, context);
        }
    }
    return call_end(&call);
}

ENTRY(int, cuCtxPushCurrent_v2, void *handle)
{
    struct call call;
    if (driver_begin_started(&call)) {
        struct context *context = object_find(call.process, handle, OBJECT_CONTEXT);
        if (!context)
            call.error = CUDA_ERROR_INVALID_CONTEXT;
        else if (!vector_push(&call.thread->contexts, context))
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return call_end(&call);
}

ENTRY(int, cuCtxPopCurrent_v2, void **handle)
{
    struct call call;
    if (driver_begin_started(&call)) {
        if (call.thread->contexts.count == 0) {
            call.error = CUDA_ERROR_INVALID_CONTEXT;
        } else {
            struct context *top = call.thread->contexts.data[--call.thread->contexts.count];
            if (handle)
                *handle = top;
        }
    }
    return call_end(&call);
}

ENTRY(int, cuCtxSetCurrent, void *handle)
{
    struct call call;
    if (driver_begin_started(&call)) {
        struct context *context = handle ? object_find(call.process, handle, OBJECT_CONTEXT) : NULL;
        struct thread_state *thread = call.thread;
        if (handle && !context)
            call.error = CUDA_ERROR_INVALID_CONTEXT;
        else if (!handle && thread->contexts.count)
            thread->contexts.count--;
        else if (handle && thread->contexts.count)
            thread->contexts.data[thread->contexts.count - 1] = context;
        else if (handle && !vector_push(&thread->contexts, context))
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return call_end(&call);
}

ENTRY(int, cuCtxGetCurrent, void **handle)
{
    struct call call;
    if (driver_begin_started(&call)) {
        if (handle)
            *handle = process_current_context(call.process, call.thread);
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return call_end(&call);
}

ENTRY(int, cuCtxGetDevice, int *device)
{
    struct call call;
    if (driver_begin(&call)) {
        if (device)
            *device = (int)call.context->device->ordinal;
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return call_end(&call);
}

ENTRY(int, cuCtxGetFlags, unsigned *flags)
{
    struct call call;
    if (driver_begin(&call)) {
        if (flags)
            *flags = call.context->primary ? call.context->device->flags : call.context->flags;
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return call_end(&call);
}

ENTRY(int, cuCtxGetId, void *handle, unsigned long long *id)
{
    struct call call;
    if (driver_begin_started(&call)) {
        const struct context *context = handle ? object_find(call.process, handle, OBJECT_CONTEXT)
                                               : process_current_context(call.process, call.thread);
        if (context && id)
            *id = context->legacy->id;
        else
            call.error = CUDA_ERROR_INVALID_CONTEXT;
    }
    return call_end(&call);
}

ENTRY(int, cuCtxGetApiVersion, void *handle, unsigned *version)
{
    struct call call;
    if (driver_begin_started(&call)) {
        if (version && (handle ? object_find(call.process, handle, OBJECT_CONTEXT) != NULL
                               : process_current_context(call.process, call.thread) != NULL))
            *version = 13000;
        else
            call.error = CUDA_ERROR_INVALID_CONTEXT;
    }
    return call_end(&call);
}

ENTRY(int, cuCtxGetDevice_v2, int *device, void *handle)
{
    struct call call;
    if (driver_begin_started(&call)) {
        const struct context *context = handle ? object_find(call.process, handle, OBJECT_CONTEXT)
                                               : process_current_context(call.process, call.thread);
        if (!context || !device)
            call.error = context ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
        else
            *device = (int)context->device->ordinal;
    }
    return call_end(&call);
}

ENTRY(int, cuCtxSynchronize_v2, void *handle)
{
    struct call call;
    if (driver_begin_started(&call)) {
        struct context *context = handle ? object_find(call.process, handle, OBJECT_CONTEXT)
                                         : process_current_context(call.process, call.thread);
        call.error = context ? graph_refuse_unsafe(call.process, call.thread) : CUDA_ERROR_INVALID_CONTEXT;
        if (call.error == CUDA_SUCCESS)
            call.error = engine_wait_context(call.process, context);
    }
    return call_end(&call);
}

ENTRY(int, cuCtxSetFlags, unsigned flags)
{
    struct call call;
    if (driver_begin(&call)) {
        if (flags & ~0xffu)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (call.context->primary)
            call.context->device->flags = flags;
        else
            call.context->flags = flags;
    }
    return call_end(&call);
}

/* The uses of a context that are counted: one from its creation. */
ENTRY(int, cuCtxAttach, void **handle, unsigned flags)
{
    struct call call;
    if (driver_begin(&call)) {
        if (!handle || flags) {
            call.error = CUDA_ERROR_INVALID_VALUE;
        } else {
            call.context->attached++;
            *handle = call.context;
        }
    }
    return call_end(&call);
}

ENTRY(int, cuCtxDetach, void *handle)
{
    struct call call;
    if (!driver_begin(&call))
        return call_end(&call);
    bool known = handle == call.context, last = known && call.context->attached == 0;
    if (!known)
        call.error = CUDA_ERROR_INVALID_CONTEXT;
    else if (!last)
        call.context->attached--;
    int error = call_end(&call);
    return last ? corun_cuCtxDestroy_v2(handle) : error;
}

/* Devices do not reach each other's memory from kernels. */
static int peer_access(void *peer, int refusal)
{
    struct call call;
    if (driver_begin(&call)) {
        const struct context *context = object_find(call.process, peer, OBJECT_CONTEXT);
        call.error = context && context != call.context ? refusal : CUDA_ERROR_INVALID_CONTEXT;
    }
    return call_end(&call);
}

ENTRY(int, cuCtxEnablePeerAccess, void *peer, unsigned flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE : peer_access(peer, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}

ENTRY(int, cuCtxDisablePeerAccess, void *peer)
{
    return peer_access(peer, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}
