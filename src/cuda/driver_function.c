/* SPDX-License-Identifier: MIT */
/* Functions and kernels of the driver API: their attributes, and how many thread blocks of them fit. */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/driver_api.h"
#include "cuda/module.h"
#include "cuda/object.h"
#include "cuda/occupancy.h"
#include "cuda/runtime_api.h"

/* Kernels are there as soon as their module is. */
ENTRY(int, cuFuncIsLoaded, int *state, void *handle)
{
    struct call call;
    if (driver_begin_object(&call, handle, OBJECT_FUNCTION, state))
        *state = 1;
    return call_end(&call);
}

ENTRY(int, cuFuncLoad, void *handle)
{
    struct call call;
    (void)driver_begin_object(&call, handle, OBJECT_FUNCTION, &handle);
    return call_end(&call);
}

ENTRY(int, cuKernelGetLibrary, void **library, void *handle)
{
    struct call call;
    const struct function *function = driver_begin_object(&call, handle, OBJECT_FUNCTION, library);
    if (function)
        *library = function->module;
    return call_end(&call);
}

/* CUfunction_attribute */
enum {
    FUNCTION_MAX_THREADS,
    FUNCTION_SHARED,
    FUNCTION_CONSTANT,
    FUNCTION_LOCAL,
    FUNCTION_REGISTERS,
    FUNCTION_PTX_VERSION,
    FUNCTION_BINARY_VERSION,
    FUNCTION_CACHE_MODE,
    FUNCTION_DYNAMIC_SHARED,
    FUNCTION_CARVEOUT,
    FUNCTION_LAST = FUNCTION_CLUSTER_LAST
};

static int function_attribute(struct function *function, int attribute, int *value)
{
    if (attribute < 0 || attribute > FUNCTION_LAST)
        return CUDA_ERROR_INVALID_VALUE;
    if (!function->kernel)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct abi_function_attributes described;
    function_describe(function, &described);
    const int values[FUNCTION_LAST + 1] = {
        [FUNCTION_MAX_THREADS] = described.max_threads,
        [FUNCTION_SHARED] = (int)described.shared_bytes,
        [FUNCTION_CONSTANT] = (int)described.constant_bytes,
        [FUNCTION_LOCAL] = (int)described.local_bytes,
        [FUNCTION_REGISTERS] = described.registers,
        [FUNCTION_PTX_VERSION] = described.ptx_version,
        [FUNCTION_BINARY_VERSION] = described.binary_version,
        [FUNCTION_DYNAMIC_SHARED] = described.max_dynamic_shared,
        [FUNCTION_CARVEOUT] = described.preferred_carveout,
        [FUNCTION_CLUSTER_FIRST] = described.cluster_must_be_set,
        [FUNCTION_CLUSTER_FIRST + 1] = described.cluster_width,
        [FUNCTION_CLUSTER_FIRST + 2] = described.cluster_height,
        [FUNCTION_CLUSTER_FIRST + 3] = described.cluster_depth,
        [FUNCTION_CLUSTER_FIRST + 4] = described.cluster_non_portable,
        [FUNCTION_CLUSTER_LAST] = described.cluster_policy,
    };
    *value = values[attribute];
    return CUDA_SUCCESS;
}

ENTRY(int, cuFuncGetAttribute, int *value, int attribute, void *handle)
{
    struct call call;
    struct function *function = driver_begin_object(&call, handle, OBJECT_FUNCTION, value);
    if (function)
        call.error = function_attribute(function, attribute, value);
    return call_end(&call);
}

/* A kernel of a library is one of the device whose context it was loaded in. */
static bool is_of_device(struct call *call, const void *kernel, int device)
{
    if (!driver_begin(call))
        return false;
    const struct function *function = object_find(call->process, kernel, OBJECT_FUNCTION);
    if (!function)
        call->error = CUDA_ERROR_INVALID_HANDLE;
    else if (device < 0 || (uint32_t)device != function->module->context->device->ordinal)
        call->error = CUDA_ERROR_INVALID_DEVICE;
    return call->error == CUDA_SUCCESS;
}

ENTRY(int, cuKernelGetAttribute, int *value, int attribute, void *kernel, int device)
{
    struct call call;
    bool good = is_of_device(&call, kernel, device);
    (void)call_end(&call);
    return good ? corun_cuFuncGetAttribute(value, attribute, kernel) : call.error;
}

ENTRY(int, cuKernelSetAttribute, int attribute, int value, void *kernel, int device)
{
    struct call call;
    bool good = is_of_device(&call, kernel, device);
    (void)call_end(&call);
    return good ? corun_cudaFuncSetAttribute(kernel, attribute, value) : call.error;
}

/* A preference that this GPU does not need. */
ENTRY(int, cuKernelSetCacheConfig, void *kernel, int config, int device)
{
    struct call call;
    (void)config;
    (void)is_of_device(&call, kernel, device);
    return call_end(&call);
}

ENTRY(int, cuKernelGetFunction, void **function, void *kernel)
{
    struct call call;
    if (driver_begin(&call)) {
        if (function && object_find(call.process, kernel, OBJECT_FUNCTION))
            *function = kernel;
        else
            call.error = CUDA_ERROR_INVALID_HANDLE;
    }
    return call_end(&call);
}

ENTRY(int, cuFuncGetModule, void **module, void *handle)
{
    struct call call;
    if (driver_begin(&call)) {
        const struct function *function = object_find(call.process, handle, OBJECT_FUNCTION);
        if (function && module)
            *module = function->module;
        else
            call.error = CUDA_ERROR_INVALID_HANDLE;
    }
    return call_end(&call);
}

/* The block size with the most threads on an SM, and the grid that fills the GPU once. */
ENTRY(int, cuOccupancyMaxPotentialBlockSizeWithFlags, int *grid, int *block, void *handle, size_t (*shared_of)(int),
      size_t shared, int limit, unsigned flags)
{
    struct call call;
    (void)flags;
    if (!driver_begin(&call))
        return call_end(&call);
    struct function *function = object_find(call.process, handle, OBJECT_FUNCTION);
    if (!function || !function->kernel || !grid || !block) {
        call.error = function ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
        return call_end(&call);
    }
    struct corun_kernel_info info;
    corun_kernel_describe(function->kernel, &info);
    const struct corun_gpu_config *config = &function->module->context->device->config;
    uint32_t most = info.max_threads_per_tb ? info.max_threads_per_tb : config->threads_per_tb, best = 0, best_tbs = 0;
    if (limit > 0 && (uint32_t)limit < most)
        most = (uint32_t)limit;
    for (uint32_t threads = most / 32 * 32; threads && call.error == CUDA_SUCCESS; threads -= 32) {
        uint32_t tbs;
        call.error = occupancy_of_function(function, threads, shared_of ? shared_of((int)threads) : shared, &tbs);
        if (tbs * threads > best * best_tbs) {
            best = threads;
            best_tbs = tbs;
        }
    }
    *block = (int)best;
    *grid = (int)(best_tbs * config->sms);
    return call_end(&call);
}

ENTRY(int, cuOccupancyMaxPotentialBlockSize, int *grid, int *block, void *function, size_t (*shared_of)(int),
      size_t shared, int limit)
{
    return corun_cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of, shared, limit, 0);
}
