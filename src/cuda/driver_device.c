/* SPDX-License-Identifier: MIT */
/* Devices of the driver API, and its start. A device's number is its handle. */
#include "cuda/driver_device.h"

#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/device.h"
#include "cuda/driver_api.h"
#include "cuda/process.h"

#include <string.h>

ENTRY(int, cuInit, unsigned flags)
{
    struct call call;
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (runtime_begin_device(&call))
        call.process->driver_started = true;
    return call_end(&call);
}

struct device *driver_begin_device(struct call *call, int device, const void *result)
{
    if (!driver_begin_started(call))
        return NULL;
    struct device *found = result ? process_device(call->process, device) : NULL;
    if (!found)
        call->error = result ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
    return found;
}

ENTRY(int, cuDeviceGet, int *handle, int device)
{
    struct call call;
    if (driver_begin_device(&call, device, handle))
        *handle = device;
    return call_end(&call);
}

ENTRY(int, cuDeviceGetCount, int *count)
{
    struct call call;
    if (driver_begin_started(&call)) {
        if (count)
            *count = (int)call.process->device_count;
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return call_end(&call);
}

ENTRY(int, cuDeviceGetName, char *name, int bytes, int device)
{
    struct call call;
    const struct device *of = driver_begin_device(&call, device, name);
    if (of && bytes > 0) {
        strncpy(name, of->config.name, (size_t)bytes - 1);
        name[bytes - 1] = 0;
    } else if (of) {
        call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return call_end(&call);
}

ENTRY(int, cuDeviceGetUuid, char uuid[16], int device)
{
    struct call call;
    const struct device *of = driver_begin_device(&call, device, uuid);
    if (of) {
        char properties[2048];
        device_copy_properties(of, 13, properties);
        memcpy(uuid, properties + 256, 16);
    }
    return call_end(&call);
}

ENTRY(int, cuDeviceGetLuid, char luid[8], unsigned *mask, int device)
{
    struct call call;
    const struct device *of = driver_begin_device(&call, device, luid);
    if (of) { /* as on Linux: there is none */
        memset(luid, 0, 8);
        if (mask)
            *mask = 0;
    }
    return call_end(&call);
}

ENTRY(int, cuDeviceTotalMem_v2, size_t *bytes, int device)
{
    struct call call;
    const struct device *of = driver_begin_device(&call, device, bytes);
    if (of)
        *bytes = device_memory_bytes(of);
    return call_end(&call);
}

/* Of CUDA before 3.2. */
ENTRY(int, cuDeviceTotalMem, unsigned *bytes, int device)
{
    size_t all = 0;
    int error = bytes ? corun_cuDeviceTotalMem_v2(&all, device) : CUDA_ERROR_INVALID_VALUE;
    if (error == CUDA_SUCCESS)
        *bytes = abi_size_of_32_bits(all);
    return error;
}

ENTRY(int, cuDeviceGetAttribute, int *value, int attribute, int device)
{
    struct call call;
    const struct device *of = driver_begin_device(&call, device, value);
    if (of)
        call.error = device_attribute(of, attribute, value);
    return call_end(&call);
}

ENTRY(int, cuDeviceComputeCapability, int *major, int *minor, int device)
{
    struct call call;
    const struct device *of = driver_begin_device(&call, device, major);
    if (of) {
        *major = (int)of->config.compute_capability / 10;
        if (minor)
            *minor = (int)of->config.compute_capability % 10;
    }
    return call_end(&call);
}

/* CUdevprop, of CUDA 2 */
struct abi_old_properties {
    int threads_per_tb, block[3], grid[3], shared_bytes, constant_bytes, warp, pitch, registers, clock_khz, alignment;
};

ENTRY(int, cuDeviceGetProperties, struct abi_old_properties *properties, int device)
{
    enum { THREADS = 1, BLOCK_X, GRID_X = 5, SHARED = 8, CONSTANT, WARP, PITCH, REGISTERS, CLOCK, ALIGNMENT };
    struct call call;
    const struct device *of = driver_begin_device(&call, device, properties);
    if (of) {
        const int attributes[] = {THREADS, BLOCK_X,  BLOCK_X + 1, BLOCK_X + 2, GRID_X,    GRID_X + 1, GRID_X + 2,
                                  SHARED,  CONSTANT, WARP,        PITCH,       REGISTERS, CLOCK,      ALIGNMENT};
        for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
            (void)device_attribute(of, attributes[i], (int *)properties + i);
    }
    return call_end(&call);
}
