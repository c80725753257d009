/* Functions and kernels of the driver API: lists of them, their attributes, and the oldest way to launch. */
#include "cuda/driver_function.h"

#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/driver_api.h"
#include "cuda/module.h"
#include "cuda/object.h"
#include "cuda/runtime_api.h"

#include <stdlib.h>
#include <string.h>

static struct module *begin_with_module(struct call *call, const void *handle, const void *result)
{
    if (!driver_begin(call))
        return NULL;
    struct module *module = object_find(call->process, handle, OBJECT_MODULE);
    if (!module || !result)
        call->error = module ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    return module && result ? module : NULL;
}

static struct function *begin_with_function(struct call *call, const void *handle, const void *result)
{
    if (!driver_begin(call))
        return NULL;
    struct function *function = object_find(call->process, handle, OBJECT_FUNCTION);
    if (!function || !result)
        call->error = function ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    return function && result ? function : NULL;
}

ENTRY(int, cuModuleEnumerateFunctions, void **functions, unsigned count, void *handle)
{
    struct call call;
    struct module *module = begin_with_module(&call, handle, functions);
    size_t there = module ? corun_module_kernel_count(module->code) : 0;
    for (size_t i = 0; i < there && i < count && call.error == CUDA_SUCCESS; i++) {
        struct corun_kernel_info info;
        struct function *function = NULL;
        corun_kernel_describe(corun_module_kernel_at(module->code, i), &info);
        call.error = module_function(call.process, module, info.name, &function);
        functions[i] = function;
    }
    return call_end(&call);
}

/* Kernels are there as soon as their module is. */
ENTRY(int, cuFuncIsLoaded, int *state, void *handle)
{
    struct call call;
    if (begin_with_function(&call, handle, state))
        *state = 1;
    return call_end(&call);
}

ENTRY(int, cuFuncLoad, void *handle)
{
    struct call call;
    (void)begin_with_function(&call, handle, &handle);
    return call_end(&call);
}

ENTRY(int, cuKernelGetLibrary, void **library, void *handle)
{
    struct call call;
    const struct function *function = begin_with_function(&call, handle, library);
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
    FUNCTION_LAST = FUNCTION_CARVEOUT + 6 /* of clusters */
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
        [FUNCTION_MAX_THREADS] = described.max_threads,       [FUNCTION_SHARED] = (int)described.shared_bytes,
        [FUNCTION_CONSTANT] = (int)described.constant_bytes,  [FUNCTION_LOCAL] = (int)described.local_bytes,
        [FUNCTION_REGISTERS] = described.registers,           [FUNCTION_PTX_VERSION] = described.ptx_version,
        [FUNCTION_BINARY_VERSION] = described.binary_version, [FUNCTION_DYNAMIC_SHARED] = described.max_dynamic_shared,
        [FUNCTION_CARVEOUT] = described.preferred_carveout,
    };
    *value = values[attribute];
    return CUDA_SUCCESS;
}

ENTRY(int, cuFuncGetAttribute, int *value, int attribute, void *handle)
{
    struct call call;
    struct function *function = begin_with_function(&call, handle, value);
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

/*
 * The launch of CUDA before 4.0: shape, parameters and shared memory are kept in the function, one call after the
 * other, until the launch.
 */

#define OLD_PARAMETER_BYTES 4096u /* as many as a kernel can have */

struct old_launch {
    struct corun_dim3 block;
    uint32_t shared_bytes, parameter_bytes;
    uint8_t parameters[OLD_PARAMETER_BYTES];
};

void old_launch_free(struct function *function)
{
    free(function->old_launch);
    function->old_launch = NULL;
}

static struct old_launch *begin_old(struct call *call, const void *handle)
{
    struct function *function = begin_with_function(call, handle, &handle);
    if (!function)
        return NULL;
    if (!function->old_launch && !(function->old_launch = calloc(1, sizeof *function->old_launch)))
        call->error = CUDA_ERROR_OUT_OF_MEMORY;
    return function->old_launch;
}

ENTRY(int, cuFuncSetBlockShape, void *function, int x, int y, int z)
{
    struct call call;
    struct old_launch *old = begin_old(&call, function);
    if (old && (x <= 0 || y <= 0 || z <= 0))
        call.error = CUDA_ERROR_INVALID_VALUE;
    else if (old)
        old->block = (struct corun_dim3){(uint32_t)x, (uint32_t)y, (uint32_t)z};
    return call_end(&call);
}

ENTRY(int, cuFuncSetSharedSize, void *function, unsigned bytes)
{
    struct call call;
    struct old_launch *old = begin_old(&call, function);
    if (old)
        old->shared_bytes = bytes;
    return call_end(&call);
}

ENTRY(int, cuParamSetSize, void *function, unsigned bytes)
{
    struct call call;
    struct old_launch *old = begin_old(&call, function);
    if (old && bytes > OLD_PARAMETER_BYTES)
        call.error = CUDA_ERROR_INVALID_VALUE;
    else if (old)
        old->parameter_bytes = bytes;
    return call_end(&call);
}

ENTRY(int, cuParamSetv, void *function, int offset, const void *values, unsigned bytes)
{
    struct call call;
    struct old_launch *old = begin_old(&call, function);
    if (old && (offset < 0 || !values || bytes > OLD_PARAMETER_BYTES || (unsigned)offset > OLD_PARAMETER_BYTES - bytes))
        call.error = CUDA_ERROR_INVALID_VALUE;
    else if (old)
        memcpy(old->parameters + offset, values, bytes);
    return call_end(&call);
}

ENTRY(int, cuParamSeti, void *function, int offset, unsigned value)
{
    return corun_cuParamSetv(function, offset, &value, sizeof value);
}

ENTRY(int, cuParamSetf, void *function, int offset, float value)
{
    return corun_cuParamSetv(function, offset, &value, sizeof value);
}

static int launch_old(void *handle, int width, int height, void *stream)
{
    struct call call;
    struct old_launch *old = begin_old(&call, handle);
    if (old && (width <= 0 || height <= 0 || !old->block.x)) {
        call.error = CUDA_ERROR_INVALID_VALUE;
    } else if (old) {
        size_t bytes = old->parameter_bytes;
        void *extra[] = {LAUNCH_PARAMETER_POINTER, old->parameters, LAUNCH_PARAMETER_BYTES, &bytes,
                         LAUNCH_PARAMETER_END};
        struct api_launch request = {.function = object_find(call.process, handle, OBJECT_FUNCTION),
                                     .grid = {(uint32_t)width, (uint32_t)height, 1},
                                     .block = old->block,
                                     .dynamic_shared_bytes = old->shared_bytes,
                                     .stream = stream,
                                     .extra = extra};
        call.error = api_launch(&call, &request);
    }
    return call_end(&call);
}

ENTRY(int, cuLaunch, void *function)
{
    return launch_old(function, 1, 1, NULL);
}

ENTRY(int, cuLaunchGrid, void *function, int width, int height)
{
    return launch_old(function, width, height, NULL);
}

ENTRY(int, cuLaunchGridAsync, void *function, int width, int height, void *stream)
{
    return launch_old(function, width, height, stream);
}
