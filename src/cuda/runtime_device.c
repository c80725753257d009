/* SPDX-License-Identifier: MIT */
/*
 * Devices of the runtime API: which there are, what they are, limits, versions; and the old names of these calls
 * (cudaThread…).
 */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/device_heap.h"
#include "cuda/device_runtime.h"
#include "cuda/driver_calls.h"
#include "cuda/engine.h"
#include "cuda/graph.h"
#include "cuda/process.h"
#include "cuda/runtime_api.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

ENTRY(int, cudaGetDeviceCount, int *count)
{
    struct call call;
    bool good = runtime_begin_device(&call);
    if (count)
        *count = good ? (int)call.process->device_count : 0;
    else if (good)
        call.error = CUDA_ERROR_INVALID_VALUE;
    return runtime_end(&call);
}

ENTRY(int, cudaGetDevice, int *device)
{
    struct call call;
    if (runtime_begin_device(&call)) {
        if (device)
            *device = call.thread->contexts.count
                          ? (int)call.thread->contexts.data[call.thread->contexts.count - 1]->device->ordinal
                          : (int)call.thread->device;
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

/* A device by its number, and a place for the result; NULL with the error if one is missing. */
static struct device *begin_with_device(struct call *call, int device, const void *result)
{
    if (!runtime_begin_device(call))
        return NULL;
    struct device *found = result ? process_device(call->process, device) : NULL;
    if (!found)
        call->error = result ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
    return found;
}

ENTRY(int, cudaSetDevice_11, int device)
{
    struct call call;
    if (begin_with_device(&call, device, &device)) {
        call.thread->device = (uint32_t)device;
        call.thread->contexts.count = 0; /* the device's own context is current now */
    }
    return runtime_end(&call);
}

/* From CUDA 12 on, the device's own context is made at once: the driver API finds it current. */
ENTRY(int, cudaSetDevice, int device)
{
    int error = corun_cudaSetDevice_11(device);
    if (error != CUDA_SUCCESS)
        return error;
    struct call call;
    primary_begin(&call);
    return runtime_end(&call);
}

ENTRY(int, cudaInitDevice, int device, unsigned device_flags, unsigned flags)
{
    struct call call;
    (void)device_flags, (void)flags;
    if (begin_with_device(&call, device, &device) && !cuda_context_primary(call.process, (uint32_t)device))
        call.error = CUDA_ERROR_OUT_OF_MEMORY;
    return runtime_end(&call);
}

ENTRY(int, cudaSetValidDevices, int *devices, int count)
{
    struct call call;
    if (runtime_begin_device(&call))
        for (int i = 0; i < count && call.error == CUDA_SUCCESS; i++)
            if (!devices || !process_device(call.process, devices[i]))
                call.error = CUDA_ERROR_INVALID_DEVICE;
    return runtime_end(&call);
}

static int get_properties(void *properties, int device, int version)
{
    struct call call;
    const struct device *of = begin_with_device(&call, device, properties);
    if (of)
        device_copy_properties(of, version, properties);
    return runtime_end(&call);
}

ENTRY(int, cudaGetDeviceProperties_11, void *properties, int device)
{
    return get_properties(properties, device, 11);
}

ENTRY(int, cudaGetDeviceProperties_12, void *properties, int device)
{
    return get_properties(properties, device, 12);
}

ENTRY(int, cudaGetDeviceProperties_13, void *properties, int device)
{
    return get_properties(properties, device, 13);
}

/* The device that comes nearest: any is as good as another, the first one is taken. */
ENTRY(int, cudaChooseDevice, int *device, const void *properties)
{
    struct call call;
    if (runtime_begin_device(&call)) {
        if (device && properties)
            *device = 0;
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaDeviceGetAttribute, int *value, int attribute, int device)
{
    struct call call;
    const struct device *of = begin_with_device(&call, device, value);
    if (of)
        call.error = device_attribute(of, attribute, value);
    return runtime_end(&call);
}

ENTRY(int, cudaDeviceSynchronize, void)
{
    struct call call;
    if (runtime_begin(&call)) {
        call.error = graph_refuse_unsafe(call.process, call.thread);
        if (call.error == CUDA_SUCCESS)
            call.error = engine_wait_context(call.process, call.context);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaDeviceReset, void)
{
    struct call call;
    if (runtime_begin_device(&call)) {
        if (call.process->devices[call.thread->device].primary) {
            const struct driver_call driver = driver_call_begin(call.process, NULL);
            (void)driver.calls->cuDevicePrimaryCtxReset((int)call.thread->device);
            driver_call_end(call.process, &driver);
        }
        call.thread->last_error = CUDA_SUCCESS;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaSetDeviceFlags, unsigned flags)
{
    struct call call;
    if (runtime_begin_device(&call))
        call.process->devices[call.thread->device].flags = flags;
    return runtime_end(&call);
}

ENTRY(int, cudaGetDeviceFlags, unsigned *flags)
{
    struct call call;
    if (runtime_begin_device(&call)) {
        if (flags)
            *flags = call.process->devices[call.thread->device].flags | HOST_MAPPED * 4u;
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaDeviceGetLimit, size_t *value, int limit)
{
    struct call call;
    if (runtime_begin(&call)) {
        if (!value)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (limit < 0 || limit > 8)
            call.error = CUDA_ERROR_UNSUPPORTED_LIMIT;
        else
            *value = call.context->limits[limit];
    }
    return runtime_end(&call);
}

ENTRY(int, cudaDeviceSetLimit, int limit, size_t value)
{
    struct call call;
    if (runtime_begin(&call)) {
        if (limit < 0 || limit > 8)
            call.error = CUDA_ERROR_UNSUPPORTED_LIMIT;
        else if (limit != LIMIT_HEAP)
            call.context->limits[limit] = value;
        else if (!device_heap_limit(call.context, value))
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

static int tell(int *place, int value)
{
    if (place)
        *place = value;
    return place ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Preferences that this GPU does not need. */
ENTRY(int, cudaDeviceSetCacheConfig, int config)
{
    (void)config;
    return CUDA_SUCCESS;
}

ENTRY(int, cudaDeviceGetCacheConfig, int *config)
{
    return tell(config, 0);
}

ENTRY(int, cudaDeviceSetSharedMemConfig, int config)
{
    (void)config;
    return CUDA_SUCCESS;
}

ENTRY(int, cudaDeviceGetSharedMemConfig, int *config)
{
    return tell(config, 1); /* banks of four bytes */
}

ENTRY(int, cudaCtxResetPersistingL2Cache, void)
{
    return CUDA_SUCCESS;
}

ENTRY(int, cudaDeviceGetPCIBusId, char *text, int bytes, int device)
{
    struct call call;
    if (begin_with_device(&call, device, bytes < 13 ? NULL : text))
        snprintf(text, (size_t)bytes, "0000:%02X:00.0", (unsigned)device + 1);
    return runtime_end(&call);
}

ENTRY(int, cudaDeviceGetByPCIBusId, int *device, const char *text)
{
    struct call call;
    if (runtime_begin_device(&call)) {
        call.error = CUDA_ERROR_INVALID_VALUE;
        for (uint32_t i = 0; device && text && i < call.process->device_count; i++) {
            char own[32];
            snprintf(own, sizeof own, "0000:%02X:00.0", i + 1);
            if (!strcasecmp(text, own) || !strcasecmp(text, own + 5)) {
                *device = (int)i;
                call.error = CUDA_SUCCESS;
            }
        }
    }
    return runtime_end(&call);
}

/* The devices of a program do not reach each other's memory; copies between them go. */
ENTRY(int, cudaDeviceCanAccessPeer, int *can, int device, int peer)
{
    struct call call;
    if (begin_with_device(&call, device, can)) {
        if (process_device(call.process, peer))
            *can = 0;
        else
            call.error = CUDA_ERROR_INVALID_DEVICE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaDeviceEnablePeerAccess, int peer, unsigned flags)
{
    struct call call;
    (void)flags;
    if (begin_with_device(&call, peer, &peer))
        call.error = peer == (int)call.thread->device ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    return runtime_end(&call);
}

ENTRY(int, cudaDeviceDisablePeerAccess, int peer)
{
    struct call call;
    if (begin_with_device(&call, peer, &peer))
        call.error = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    return runtime_end(&call);
}

ENTRY(int, cudaDeviceGetP2PAttribute, int *value, int attribute, int from, int to)
{
    struct call call;
    (void)attribute;
    if (runtime_begin_device(&call)) {
        if (!value || !process_device(call.process, from) || !process_device(call.process, to) || from == to)
            call.error = CUDA_ERROR_INVALID_DEVICE;
        else
            *value = 0;
    }
    return runtime_end(&call);
}

#define DRIVER_VERSION 13000

ENTRY(int, cudaDriverGetVersion, int *version)
{
    return tell(version, DRIVER_VERSION);
}

ENTRY(int, cudaRuntimeGetVersion_11, int *version)
{
    return tell(version, 1000 * 11);
}

ENTRY(int, cudaRuntimeGetVersion_12, int *version)
{
    return tell(version, 1000 * 12);
}

ENTRY(int, cudaRuntimeGetVersion_13, int *version)
{
    return tell(version, 1000 * 13);
}

/* There is no profiler; what may be timed is what they enclose (region.h). */
static int set_profiled(bool profiled)
{
    struct call call = {0};
    if (runtime_begin_device(&call))
        call.process->region.profiled = profiled;
    return runtime_end(&call);
}

ENTRY(int, cudaProfilerStart, void)
{
    return set_profiled(true);
}

ENTRY(int, cudaProfilerStop, void)
{
    return set_profiled(false);
}

/* Old names of what is called device now. */
ENTRY(int, cudaThreadSynchronize, void)
{
    return corun_cudaDeviceSynchronize();
}

ENTRY(int, cudaThreadExit, void)
{
    return corun_cudaDeviceReset();
}

ENTRY(int, cudaThreadSetLimit, int limit, size_t value)
{
    return corun_cudaDeviceSetLimit(limit, value);
}

ENTRY(int, cudaThreadGetLimit, size_t *value, int limit)
{
    return corun_cudaDeviceGetLimit(value, limit);
}

ENTRY(int, cudaThreadSetCacheConfig, int config)
{
    return corun_cudaDeviceSetCacheConfig(config);
}

ENTRY(int, cudaThreadGetCacheConfig, int *config)
{
    return corun_cudaDeviceGetCacheConfig(config);
}
