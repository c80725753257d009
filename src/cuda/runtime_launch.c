/* SPDX-License-Identifier: MIT */
/* Launches of the runtime API: as compilers write them (<<<…>>>), and by their functions. */
#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/call.h"
#include "cuda/driver_calls.h"
#include "cuda/image.h"
#include "cuda/process.h"
#include "cuda/refusal.h"
#include "cuda/remote.h"
#include "cuda/runtime_api.h"

#include <limits.h>

ENTRY(unsigned, __cudaPushCallConfiguration, struct corun_dim3 grid, struct corun_dim3 block, size_t shared,
      void *stream)
{
    struct thread_state *thread = thread_get();
    struct call_configuration configuration = {grid, block, shared, stream};
    return vector_push(&thread->configurations, configuration) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

ENTRY(int, __cudaPopCallConfiguration, struct corun_dim3 *grid, struct corun_dim3 *block, size_t *shared, void **stream)
{
    struct thread_state *thread = thread_get();
    if (thread->configurations.count == 0) {
        thread->last_error = CUDA_ERROR_MISSING_CONFIGURATION;
        return CUDA_ERROR_MISSING_CONFIGURATION;
    }
    struct call_configuration top = thread->configurations.data[--thread->configurations.count];
    *grid = top.grid;
    *block = top.block;
    *shared = top.dynamic_shared_bytes;
    *stream = top.stream;
    return CUDA_SUCCESS;
}

/* The old way to launch, which CUDA 9 programs and clang of old use. */
ENTRY(int, cudaConfigureCall, struct corun_dim3 grid, struct corun_dim3 block, size_t shared, void *stream)
{
    return (int)corun___cudaPushCallConfiguration(grid, block, shared, stream);
}

/* The module of a kernel could not be loaded, for a reason that was said. */
static void refuse_module(struct process *process, const void *host, int error)
{
    if (error == CUDA_SUCCESS || error == CUDA_ERROR_OUT_OF_MEMORY || error == CUDA_ERROR_INVALID_DEVICE_FUNCTION ||
        remote_is_lost(process->remote))
        return;
    const char *name = function_name_of_host(process, host);
    if (name)
        launch_refuse(process, host, name, "its module cannot be loaded");
}

enum launched_as {
    LAUNCHED_FUNCTION, /* its symbol on the host, as up to CUDA 12 */
    LAUNCHED_EITHER,   /* that, or a handle: cudaLaunchKernel of CUDA 13 */
    LAUNCHED_HANDLE,   /* what <<<>>> of CUDA 13 has */
    LAUNCHED_TOGETHER  /* cooperative */
};

struct launching {
    struct corun_dim3 grid, block;
    void **arguments;
    size_t shared;
    void *stream;
    enum launched_as as;
    const struct abi_launch_attribute *attributes; /* NULL: none */
    unsigned attribute_count;
};

/* Measured on an H100 with CUDA 13.0 (docs/conformance.md): what names no kernel is no handle, and a launch of a handle fails as the driver's does. */
static int error_as_launched(struct process *process, const void *host, enum launched_as as, int error)
{
    bool by_handle = as == LAUNCHED_EITHER || as == LAUNCHED_HANDLE;
    if (by_handle && error == CUDA_ERROR_INVALID_DEVICE_FUNCTION && host && !function_name_of_host(process, host))
        return CUDA_ERROR_INVALID_HANDLE;
    return as == LAUNCHED_HANDLE && error == CUDA_ERROR_INVALID_CONFIGURATION ? CUDA_ERROR_INVALID_VALUE : error;
}

static int ask_driver(struct call *call, struct function *function, const struct launching *launching)
{
    const struct driver_call driver = driver_call_begin(call->process, NULL);
    const struct driver_calls *calls = driver.calls;
    bool own = driver.per_thread;
    struct corun_dim3 grid = launching->grid, block = launching->block;
    /* What is more than a kernel can have is refused as the largest number is. */
    unsigned shared = launching->shared > UINT_MAX ? UINT_MAX : (unsigned)launching->shared;
    const struct abi_driver_launch_config config = {
        grid, block, shared, launching->stream, launching->attributes, launching->attribute_count};
    if (launching->attributes)
        call->error = calls->cuLaunchKernelEx[own](&config, function, launching->arguments, NULL);
    else if (launching->as == LAUNCHED_TOGETHER)
        call->error = calls->cuLaunchCooperativeKernel[own](function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                            shared, launching->stream, launching->arguments);
    else
        call->error = calls->cuLaunchKernel[own](function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared,
                                                 launching->stream, launching->arguments, NULL);
    driver_call_end(call->process, &driver);
    return call->error;
}

static int launch(const void *host, const struct launching *launching)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct function *function;
        call.error = function_of_host(call.process, call.context, host, &function);
        refuse_module(call.process, host, call.error);
        /* Which of its values the driver does not take is for the runtime to find out. */
        bool takes_shape = call.error != CUDA_SUCCESS || api_shape_is_good(function, launching->grid, launching->block);
        if (call.error == CUDA_SUCCESS && ask_driver(&call, function, launching) == CUDA_ERROR_INVALID_VALUE &&
            !takes_shape)
            call.error = CUDA_ERROR_INVALID_CONFIGURATION;
        call.error = error_as_launched(call.process, host, launching->as, call.error);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaLaunchKernel, const void *host, struct corun_dim3 grid, struct corun_dim3 block, void **arguments,
      size_t shared, void *stream)
{
    return launch(host, &(struct launching){grid, block, arguments, shared, stream, LAUNCHED_FUNCTION, NULL, 0});
}

ENTRY(int, cudaLaunchKernel_13, const void *host, struct corun_dim3 grid, struct corun_dim3 block, void **arguments,
      size_t shared, void *stream)
{
    return launch(host, &(struct launching){grid, block, arguments, shared, stream, LAUNCHED_EITHER, NULL, 0});
}

ENTRY(int, cudaLaunchKernel_of_handle, const void *kernel, struct corun_dim3 grid, struct corun_dim3 block,
      void **arguments, size_t shared, void *stream)
{
    return launch(kernel, &(struct launching){grid, block, arguments, shared, stream, LAUNCHED_HANDLE, NULL, 0});
}

ENTRY(int, cudaLaunchCooperativeKernel, const void *host, struct corun_dim3 grid, struct corun_dim3 block,
      void **arguments, size_t shared, void *stream)
{
    return launch(host, &(struct launching){grid, block, arguments, shared, stream, LAUNCHED_TOGETHER, NULL, 0});
}

ENTRY(int, cudaLaunchKernelExC, const struct abi_launch_config *config, const void *host, void **arguments)
{
    if (!config)
        return thread_get()->last_error = CUDA_ERROR_INVALID_VALUE;
    return launch(host,
                  &(struct launching){config->grid, config->block, arguments, config->dynamic_shared, config->stream,
                                      LAUNCHED_FUNCTION, config->attributes, config->attribute_count});
}
