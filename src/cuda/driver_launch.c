/* SPDX-License-Identifier: MIT */
/* Launches of the driver API: of today, and in the steps of CUDA before 4.0. */
#include "cuda/driver_launch.h"

#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/call.h"
#include "cuda/driver_api.h"
#include "cuda/module.h"
#include "cuda/object.h"

#include <stdlib.h>
#include <string.h>

static int launch(void *handle, struct corun_dim3 grid, struct corun_dim3 block, unsigned shared, void *stream,
                  void **arguments, void **extra, bool cooperative, struct launch_cluster cluster)
{
    struct call call;
    if (driver_begin(&call)) {
        struct api_launch request = {.function = object_find(call.process, handle, OBJECT_FUNCTION),
                                     .grid = grid,
                                     .block = block,
                                     .dynamic_shared_bytes = shared,
                                     .stream = stream,
                                     .arguments = arguments,
                                     .extra = extra,
                                     .cooperative = cooperative,
                                     .cluster = cluster};
        call.error = request.function ? api_launch(&call, &request) : CUDA_ERROR_INVALID_HANDLE;
        if (call.error == CUDA_ERROR_INVALID_CONFIGURATION)
            call.error = CUDA_ERROR_INVALID_VALUE; /* the driver's name for it */
    }
    return call_end(&call);
}

ENTRY(int, cuLaunchKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned shared, void *stream, void **arguments, void **extra)
{
    return launch(function, (struct corun_dim3){gx, gy, gz}, (struct corun_dim3){bx, by, bz}, shared, stream, arguments,
                  extra, false, (struct launch_cluster){0});
}

ENTRY(int, cuLaunchCooperativeKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
      unsigned bz, unsigned shared, void *stream, void **arguments)
{
    return launch(function, (struct corun_dim3){gx, gy, gz}, (struct corun_dim3){bx, by, bz}, shared, stream, arguments,
                  NULL, true, (struct launch_cluster){0});
}

ENTRY(int, cuLaunchKernelEx, const struct abi_driver_launch_config *config, void *function, void **arguments,
      void **extra)
{
    bool cooperative = false;
    struct launch_cluster cluster = {0};
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < config->attribute_count; i++)
        if (config->attributes[i].id == LAUNCH_COOPERATIVE)
            cooperative = config->attributes[i].value.number != 0;
        else
            (void)launch_cluster_take(&cluster, &config->attributes[i]);
    return launch(function, config->grid, config->block, config->dynamic_shared, config->stream, arguments, extra,
                  cooperative, cluster);
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
    struct function *function = driver_begin_object(call, handle, OBJECT_FUNCTION, &handle);
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
