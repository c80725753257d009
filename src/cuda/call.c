/* SPDX-License-Identifier: MIT */
/* The frame of every call: begun with the lock and the current context, ended with the error. */
#include "cuda/call.h"

#include "cuda/abi.h"
#include "cuda/caller.h"
#include "cuda/checkpoint.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/driver_calls.h"
#include "cuda/entry.h"
#include "cuda/failure.h"
#include "cuda/object.h"
#include "cuda/process.h"
#include "cuda/remote.h"
#include "cuda/stack_clear.h"

static void begin(struct call *call)
{
    *call = (struct call){.process = process_get(), .thread = thread_get(), .driver = corun_driver_call};
    call->error = process_enter();
}

static bool fail(struct call *call, int error)
{
    call->error = error;
    return false;
}

/* All contexts are of the daemon's GPU. What waits in this one is let go with the error. */
static void fail_with_daemon(struct call *call)
{
    if (remote_is_lost(call->process->remote) && !call->context->destroyed && !call->context->error)
        failure_of_launch(call->process, call->context, CORUN_DEADLOCK);
}

static bool context_is_good(struct call *call)
{
    fail_with_daemon(call);
    call->error = call->context->destroyed ? CUDA_ERROR_CONTEXT_IS_DESTROYED : call->context->error;
    return call->error == CUDA_SUCCESS;
}

bool runtime_begin_device(struct call *call)
{
    begin(call);
    if (call->error == CUDA_SUCCESS && call->process->device_count == 0)
        call->error = CUDA_ERROR_NO_DEVICE;
    if (call->error == CUDA_SUCCESS && !call->driver) /* the runtime calls cuInit */
        call->process->driver_started = true;
    return call->error == CUDA_SUCCESS;
}

bool runtime_begin(struct call *call)
{
    return corun_driver_call ? driver_begin(call) : primary_begin(call);
}

/* By the driver, and once for the runtime, however often it is reset in between. NULL with the error. */
static struct context *retain_primary(struct call *call)
{
    void *context = NULL;
    struct device *device = &call->process->devices[call->thread->device];
    const struct driver_call driver = driver_call_begin(call->process, NULL);
    call->error = driver.calls->cuDevicePrimaryCtxRetain(&context, (int)device->ordinal);
    driver_call_end(call->process, &driver);
    if (call->error == CUDA_SUCCESS && device->runtime_uses)
        device->primary_uses--;
    device->runtime_uses |= call->error == CUDA_SUCCESS;
    return context;
}

bool primary_begin(struct call *call)
{
    if (!runtime_begin_device(call))
        return false;
    /* A context that the driver API has made current is the runtime's, too. */
    call->context = process_current_context(call->process, call->thread);
    if (!call->context)
        call->context = retain_primary(call);
    return call->context && call->error == CUDA_SUCCESS ? context_is_good(call) : false;
}

bool driver_begin_started(struct call *call)
{
    begin(call);
    if (call->error == CUDA_SUCCESS && !call->process->driver_started)
        call->error = CUDA_ERROR_NOT_INITIALIZED;
    return call->error == CUDA_SUCCESS;
}

bool driver_begin(struct call *call)
{
    begin(call);
    if (call->error != CUDA_SUCCESS)
        return false;
    call->context = process_current_context(call->process, call->thread);
    if (call->context)
        return context_is_good(call);
    return fail(call, call->process->driver_started ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_INITIALIZED);
}

void *driver_begin_object(struct call *call, const void *handle, enum object_kind kind, const void *result)
{
    if (!driver_begin(call))
        return NULL;
    void *object = object_find(call->process, handle, kind);
    if (!object || !result)
        call->error = object ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    return result ? object : NULL;
}

/* Whatever the call has come to, the daemon is gone by now: it says so, as all that follow. */
static void hear_of_loss(struct call *call)
{
    if (!remote_is_lost(call->process->remote) || (!call->context && call->error == CUDA_SUCCESS))
        return;
    if (call->context && call->context->destroyed)
        return;
    if (call->context)
        fail_with_daemon(call);
    call->error = call->context ? call->context->error : CUDA_ERROR_LAUNCH_FAILED;
}

int call_end(struct call *call)
{
    hear_of_loss(call);
    corun_per_thread = false;
    caller_wait_owed(call->process);
    pthread_mutex_unlock(&call->process->lock);
    if (call->process->checkpoint)
        stack_clear(call->process->checkpoint->stack_end);
    return call->error;
}

int runtime_end(struct call *call)
{
    hear_of_loss(call);
    /* cudaErrorNotReady is an answer, not a failure. */
    if (call->error != CUDA_SUCCESS && call->error != CUDA_ERROR_NOT_READY && !call->driver)
        call->thread->last_error = call->error;
    return call_end(call);
}
