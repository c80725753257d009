/* SPDX-License-Identifier: MIT */
/* What compilers put into a program: registration of its device code at start. */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/console.h"
#include "cuda/fat_binary.h"
#include "cuda/image.h"
#include "cuda/module.h"
#include "cuda/pointer_map.h"
#include "cuda/process.h"
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
    struct image_variable variable = {image, name, host, bytes, managed, constant, false};
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
