/* SPDX-License-Identifier: MIT */
/* Launches of the runtime API: as compilers write them (<<<…>>>), and by their functions. */
#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/call.h"
#include "cuda/image.h"
#include "cuda/process.h"
#include "cuda/refusal.h"
#include "cuda/runtime_api.h"

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
    if (error == CUDA_SUCCESS || error == CUDA_ERROR_OUT_OF_MEMORY || error == CUDA_ERROR_INVALID_DEVICE_FUNCTION)
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

/* Measured on an H100 with CUDA 13.0 (docs/conformance.md): what names no kernel is no handle, and a launch of a handle fails as the driver's does. */
static int error_as_launched(struct process *process, const void *host, enum launched_as as, int error)
{
    bool by_handle = as == LAUNCHED_EITHER || as == LAUNCHED_HANDLE;
    if (by_handle && error == CUDA_ERROR_INVALID_DEVICE_FUNCTION && host && !function_name_of_host(process, host))
        return CUDA_ERROR_INVALID_HANDLE;
    return as == LAUNCHED_HANDLE && error == CUDA_ERROR_INVALID_CONFIGURATION ? CUDA_ERROR_INVALID_VALUE : error;
}

static int launch(const void *host, struct corun_dim3 grid, struct corun_dim3 block, void **arguments, size_t shared,
                  void *stream, enum launched_as as, struct launch_cluster cluster)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct api_launch request = {.host = host,
                                     .grid = grid,
                                     .block = block,
                                     .dynamic_shared_bytes = shared,
                                     .stream = stream,
                                     .arguments = arguments,
                                     .cooperative = as == LAUNCHED_TOGETHER,
                                     .cluster = cluster};
        call.error = function_of_host(call.process, call.context, host, &request.function);
        refuse_module(call.process, host, call.error);
        if (call.error == CUDA_SUCCESS)
            call.error = api_launch(&call, &request);
        call.error = error_as_launched(call.process, host, as, call.error);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaLaunchKernel, const void *host, struct corun_dim3 grid, struct corun_dim3 block, void **arguments,
      size_t shared, void *stream)
{
    return launch(host, grid, block, arguments, shared, stream, LAUNCHED_FUNCTION, (struct launch_cluster){0});
}

ENTRY(int, cudaLaunchKernel_13, const void *host, struct corun_dim3 grid, struct corun_dim3 block, void **arguments,
      size_t shared, void *stream)
{
    return launch(host, grid, block, arguments, shared, stream, LAUNCHED_EITHER, (struct launch_cluster){0});
}

ENTRY(int, cudaLaunchKernel_of_handle, const void *kernel, struct corun_dim3 grid, struct corun_dim3 block,
      void **arguments, size_t shared, void *stream)
{
    return launch(kernel, grid, block, arguments, shared, stream, LAUNCHED_HANDLE, (struct launch_cluster){0});
}

ENTRY(int, cudaLaunchCooperativeKernel, const void *host, struct corun_dim3 grid, struct corun_dim3 block,
      void **arguments, size_t shared, void *stream)
{
    return launch(host, grid, block, arguments, shared, stream, LAUNCHED_TOGETHER, (struct launch_cluster){0});
}

ENTRY(int, cudaLaunchKernelExC, const struct abi_launch_config *config, const void *host, void **arguments)
{
    bool cooperative = false;
    struct launch_cluster cluster = {0};
    for (unsigned i = 0; config && i < config->attribute_count; i++) {
        const struct abi_launch_attribute *attribute = &config->attributes[i];
        if (attribute->id == LAUNCH_COOPERATIVE)
            cooperative = attribute->value.number != 0;
        else
            (void)launch_cluster_take(&cluster, attribute);
    }
    if (!config)
        return thread_get()->last_error = CUDA_ERROR_INVALID_VALUE;
    return launch(host, config->grid, config->block, arguments, config->dynamic_shared, config->stream,
                  cooperative ? LAUNCHED_TOGETHER : LAUNCHED_FUNCTION, cluster);
}
