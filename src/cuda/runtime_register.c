/* What compilers put into a program: registration of its device code at start, and launches. */
#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/call.h"
#include "cuda/console.h"
#include "cuda/fat_binary.h"
#include "cuda/image.h"
#include "cuda/module.h"
#include "cuda/pointer_map.h"
#include "cuda/process.h"
#include "cuda/refusal.h"
#include "cuda/runtime_api.h"

#include <stdlib.h>

/* Only writes down: a program without a GPU in sight may be registered too, and most modules are never used. */
static struct process *enter(void)
{
    struct process *process = process_get();
    pthread_mutex_lock(&process->lock);
    return process;
}

static void leave(struct process *process)
{
    pthread_mutex_unlock(&process->lock);
}

ENTRY(void **, __cudaRegisterFatBinary, void *data)
{
    struct process *process = enter();
    const struct fat_binary_wrapper *wrapper = data;
    struct image *image = calloc(1, sizeof *image);
    if (!image || !wrapper || wrapper->magic != FAT_BINARY_WRAPPER_MAGIC || !vector_push(&process->images, image)) {
        if (wrapper && wrapper->magic != FAT_BINARY_WRAPPER_MAGIC)
            say("a program registers device code in a form that is not known");
        free(image);
        leave(process);
        return NULL;
    }
    image->wrapper = wrapper;
    leave(process);
    return &image->handle;
}

ENTRY(void, __cudaRegisterFatBinaryEnd, void **handle)
{
    (void)handle;
}

ENTRY(void, __cudaUnregisterFatBinary, void **handle)
{
    struct process *process = enter();
    struct image *image = image_of_handle(process, handle);
    if (image && !image->unregistered) {
        image->unregistered = true;
        for (size_t i = 0; i < process->functions.count; i++)
            if (process->functions.data[i].image == image)
                pointer_map_remove(&process->function_of_host, process->functions.data[i].host);
        for (size_t i = 0; i < process->variables.count; i++)
            if (process->variables.data[i].image == image)
                pointer_map_remove(&process->variable_of_host, process->variables.data[i].host);
    }
    leave(process);
}

ENTRY(void, __cudaRegisterFunction, void **handle, const char *host, const char *device, const char *name,
      int thread_limit, void *thread_id, void *block_id, void *block_dim, void *grid_dim, const int *warp_size)
{
    struct process *process = enter();
    struct image *image = image_of_handle(process, handle);
    if (image && host && name && vector_push(&process->functions, ((struct image_function){image, name, host})))
        (void)pointer_map_set(&process->function_of_host, host, (void *)(uintptr_t)process->functions.count);
    leave(process);
    (void)device, (void)thread_limit, (void)thread_id, (void)block_id, (void)block_dim, (void)grid_dim;
    (void)warp_size;
}

static void register_variable(void **handle, const void *host, const char *name, size_t bytes, bool managed,
                              bool constant)
{
    struct process *process = enter();
    struct image *image = image_of_handle(process, handle);
    struct image_variable variable = {image, name, host, bytes, managed, constant};
    if (image && host && name && vector_push(&process->variables, variable))
        (void)pointer_map_set(&process->variable_of_host, host, (void *)(uintptr_t)process->variables.count);
    leave(process);
}

ENTRY(void, __cudaRegisterVar, void **handle, char *host, const char *device, const char *name, int external,
      size_t bytes, int constant, int global)
{
    register_variable(handle, host, name, bytes, false, constant);
    (void)device, (void)external, (void)global;
}

ENTRY(void, __cudaRegisterManagedVar, void **handle, void **host, const char *device, const char *name, int external,
      size_t bytes, int constant, int global)
{
    register_variable(handle, host, name, bytes, true, constant);
    (void)device, (void)external, (void)global;
}

ENTRY(void, __cudaRegisterHostVar, void **handle, const char *name, char *host, size_t bytes)
{
    register_variable(handle, host, name, bytes, false, false);
}

/* Called before managed variables are used: then the module must be there. */
ENTRY(char, __cudaInitModule, void **handle)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct image *image = image_of_handle(call.process, handle);
        struct module *module;
        if (image)
            call.error = module_of_image(call.process, call.context, image, &module);
    }
    return (char)(runtime_end(&call) == CUDA_SUCCESS);
}

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

/* The module of a kernel could not be loaded, for a reason that was said. */
static void refuse_module(struct process *process, const void *host, int error)
{
    size_t index = (size_t)(uintptr_t)pointer_map_get(&process->function_of_host, host);
    if (index && error != CUDA_SUCCESS && error != CUDA_ERROR_OUT_OF_MEMORY &&
        error != CUDA_ERROR_INVALID_DEVICE_FUNCTION)
        launch_refuse(process, host, process->functions.data[index - 1].name, "its module cannot be loaded");
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
            struct process *process = enter();
            size_t index = (size_t)(uintptr_t)pointer_map_get(&process->function_of_host, host);
            launch_refuse(process, host, index ? process->functions.data[index - 1].name : "?",
                          "not supported: launches with thread block clusters");
            leave(process);
            thread_get()->last_error = CUDA_ERROR_NOT_SUPPORTED;
            return CUDA_ERROR_NOT_SUPPORTED;
        }
    }
    if (!config)
        return thread_get()->last_error = CUDA_ERROR_INVALID_VALUE;
    return launch(host, config->grid, config->block, arguments, config->dynamic_shared, config->stream, cooperative);
}

/* The old way to launch, which CUDA 9 programs and clang of old use. */
ENTRY(int, cudaConfigureCall, struct corun_dim3 grid, struct corun_dim3 block, size_t shared, void *stream)
{
    return (int)corun___cudaPushCallConfiguration(grid, block, shared, stream);
}
