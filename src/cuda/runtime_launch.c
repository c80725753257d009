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

static int launch(const void *host, struct corun_dim3 grid, struct corun_dim3 block, void **arguments, size_t shared,
                  void *stream, bool cooperative)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct api_launch request = {.host = host,
                                     .grid = grid,
                                     .block = block,
                                     .dynamic_shared_bytes = shared,
                                     .stream = stream,
                                     .arguments = arguments,
                                     .cooperative = cooperative};
        call.error = function_of_host(call.process, call.context, host, &request.function);
        refuse_module(call.process, host, call.error);
        if (call.error == CUDA_SUCCESS)
            call.error = api_launch(&call, &request);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaLaunchKernel, const void *host, struct corun_dim3 grid, struct corun_dim3 block, void **arguments,
      size_t shared, void *stream)
{
    return launch(host, grid, block, arguments, shared, stream, false);
}

ENTRY(int, cudaLaunchCooperativeKernel, const void *host, struct corun_dim3 grid, struct corun_dim3 block,
      void **arguments, size_t shared, void *stream)
{
    return launch(host, grid, block, arguments, shared, stream, true);
}

ENTRY(int, cudaLaunchKernelExC, const struct abi_launch_config *config, const void *host, void **arguments)
{
    bool cooperative = false;
    for (unsigned i = 0; config && i < config->attribute_count; i++) {
        const struct abi_launch_attribute *attribute = &config->attributes[i];
        if (attribute->id == LAUNCH_COOPERATIVE)
            cooperative = attribute->value.number != 0;
        if (attribute->id == LAUNCH_CLUSTER &&
            (attribute->value.cluster[0] > 1 || attribute->value.cluster[1] > 1 || attribute->value.cluster[2] > 1)) {
            struct process *process = process_get();
            pthread_mutex_lock(&process->lock);
            const char *name = function_name_of_host(process, host);
            launch_refuse(process, host, name ? name : "?", "not supported: launches with thread block clusters");
            pthread_mutex_unlock(&process->lock);
            thread_get()->last_error = CUDA_ERROR_NOT_SUPPORTED;
            return CUDA_ERROR_NOT_SUPPORTED;
        }
    }
    if (!config)
        return thread_get()->last_error = CUDA_ERROR_INVALID_VALUE;
    return launch(host, config->grid, config->block, arguments, config->dynamic_shared, config->stream, cooperative);
}
