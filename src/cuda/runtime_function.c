/* SPDX-License-Identifier: MIT */
/* Kernels of the runtime API: their attributes, and how many thread blocks of them fit. */
#include "base/kernel_name.h"
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/image.h"
#include "cuda/module.h"
#include "cuda/object.h"
#include "cuda/occupancy.h"
#include "cuda/runtime_api.h"

#include <string.h>

static struct function *begin_with_function(struct call *call, const void *host, const void *result)
{
    struct function *function = NULL;
    if (runtime_begin(call)) {
        call->error =
            result ? function_of_host(call->process, call->context, host, &function) : CUDA_ERROR_INVALID_VALUE;
        if (call->error == CUDA_SUCCESS && !function->kernel) {
            say("kernel %s cannot be used: %s", KERNEL_NAME(function->name), function->refused);
            call->error = CUDA_ERROR_NOT_SUPPORTED;
        }
    }
    return call->error == CUDA_SUCCESS ? function : NULL;
}

ENTRY(int, cudaFuncGetAttributes, struct abi_function_attributes *attributes, const void *host)
{
    struct call call;
    struct function *function = begin_with_function(&call, host, attributes);
    if (function)
        function_describe(function, attributes);
    return runtime_end(&call);
}

ENTRY(int, cudaFuncGetAttributes_11, struct abi_function_attributes *attributes, const void *host)
{
    struct call call;
    struct function *function = begin_with_function(&call, host, attributes);
    if (function) {
        struct abi_function_attributes all;
        function_describe(function, &all);
        memcpy(attributes, &all, offsetof(struct abi_function_attributes, cluster_must_be_set));
    }
    return runtime_end(&call);
}

enum { ATTRIBUTE_DYNAMIC_SHARED = 8, ATTRIBUTE_CARVEOUT = 9 };

ENTRY(int, cudaFuncSetAttribute, const void *host, int attribute, int value)
{
    struct call call;
    struct function *function = begin_with_function(&call, host, &host);
    if (function) {
        struct abi_function_attributes described;
        function_describe(function, &described);
        uint32_t most = function->module->context->device->config.shared_bytes_per_tb;
        if (attribute == ATTRIBUTE_DYNAMIC_SHARED && value >= 0 && (uint64_t)value + described.shared_bytes <= most)
            function->dynamic_shared_limit = (uint32_t)value;
        else if (attribute == ATTRIBUTE_CARVEOUT && value >= -1 && value <= 100)
            function->carveout = value;
        else if (attribute >= FUNCTION_CLUSTER_FIRST && attribute <= FUNCTION_CLUSTER_LAST)
            call.error = function_cluster_set(function, attribute, value);
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaFuncSetCacheConfig, const void *host, int config)
{
    struct call call;
    (void)config;
    (void)begin_with_function(&call, host, &host);
    return runtime_end(&call);
}

ENTRY(int, cudaFuncSetSharedMemConfig, const void *host, int config)
{
    return corun_cudaFuncSetCacheConfig(host, config);
}

ENTRY(int, cudaFuncGetName, const char **name, const void *host)
{
    struct call call;
    const struct function *function = begin_with_function(&call, host, name);
    if (function)
        *name = function->name;
    return runtime_end(&call);
}

ENTRY(int, cudaFuncGetParamInfo, const void *host, size_t index, size_t *offset, size_t *bytes)
{
    struct call call;
    const struct function *function = begin_with_function(&call, host, offset);
    if (function) {
        struct corun_kernel_info info;
        corun_kernel_describe(function->kernel, &info);
        if (index >= function_parameter_count(function)) {
            call.error = CUDA_ERROR_INVALID_VALUE;
        } else {
            *offset = info.parameters[index].offset_bytes;
            if (bytes)
                *bytes = info.parameters[index].bytes;
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGetFuncBySymbol, void **function, const void *host)
{
    struct call call;
    struct function *found = begin_with_function(&call, host, function);
    if (found)
        *function = found;
    return runtime_end(&call);
}

ENTRY(int, cudaGetKernel, void **kernel, const void *host)
{
    return corun_cudaGetFuncBySymbol(kernel, host);
}

ENTRY(int, cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, const void *host, int threads, size_t shared)
{
    struct call call;
    struct function *function = begin_with_function(&call, host, blocks);
    if (function) {
        uint32_t tbs = 0;
        call.error =
            threads > 0 ? occupancy_of_function(function, (uint32_t)threads, shared, &tbs) : CUDA_ERROR_INVALID_VALUE;
        *blocks = (int)tbs;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, const void *host, int threads,
      size_t shared, unsigned flags)
{
    (void)flags;
    return corun_cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, host, threads, shared);
}

/* The most dynamic shared memory with which so many blocks still fit. */
ENTRY(int, cudaOccupancyAvailableDynamicSMemPerBlock, size_t *bytes, const void *host, int blocks, int threads)
{
    struct call call;
    struct function *function = begin_with_function(&call, host, bytes);
    if (function && (blocks <= 0 || threads <= 0)) {
        call.error = CUDA_ERROR_INVALID_VALUE;
    } else if (function) {
        size_t low = 0, high = function->dynamic_shared_limit;
        while (low < high) {
            size_t middle = low + (high - low + 1) / 2;
            uint32_t tbs;
            call.error = occupancy_of_function(function, (uint32_t)threads, middle, &tbs);
            if (call.error != CUDA_SUCCESS)
                break;
            if (tbs >= (uint32_t)blocks)
                low = middle;
            else
                high = middle - 1;
        }
        *bytes = low;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaKernelSetAttributeForDevice, void *kernel, int attribute, int value, int device)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct function *function = object_find(call.process, kernel, OBJECT_FUNCTION);
        if (!function)
            call.error = CUDA_ERROR_INVALID_HANDLE;
        else if (device < 0 || (uint32_t)device != function->module->context->device->ordinal)
            call.error = CUDA_ERROR_INVALID_DEVICE;
    }
    int error = runtime_end(&call);
    return error == CUDA_SUCCESS ? corun_cudaFuncSetAttribute(kernel, attribute, value) : error;
}

/* A kernel's handle is its stub: the function differs from device to device. */
ENTRY(int, __cudaGetKernel, void **kernel, const void *host)
{
    if (!kernel)
        return CUDA_ERROR_INVALID_VALUE;
    *kernel = (void *)(uintptr_t)host;
    return CUDA_SUCCESS;
}
