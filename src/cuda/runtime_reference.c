/* SPDX-License-Identifier: MIT */
/* Texture and surface references of the runtime API, up to CUDA 12. */
#include "cuda/abi.h"
#include "cuda/array.h"
#include "cuda/call.h"
#include "cuda/image.h"
#include "cuda/module.h"
#include "cuda/process.h"
#include "cuda/ranges.h"
#include "cuda/runtime_api.h"
#include "cuda/texture_object.h"
#include "cuda/texture_reference.h"

#include <string.h>

/* struct textureReference, which the program changes as it likes: it counts when something is bound. */
struct abi_texture_reference {
    int normalized_coordinates, filter, mode[3];
    struct abi_channel channel;
    int srgb;
    unsigned anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_lowest, mipmap_highest;
    int no_trilinear;
};

/*
 * nvcc up to 11 registers a reference by its name in C++, which begins with `::`, and gives its name in PTX where an
 * address is declared (__name__text_var and __device__text_var of its crt/host_runtime.h). Other compilers, nvcc 12 for
 * what is no reference, and programs by hand give the name in PTX alone.
 */
static void add(void **handle, const void *host, const void **address, const char *name, bool surface,
                bool normalized_values)
{
    bool of_cpp = name && !strncmp(name, "::", 2);
    struct process *process = process_get();
    pthread_mutex_lock(&process->lock);
    struct image *image = image_of_handle(process, handle);
    struct image_reference reference = {.image = image,
                                        .name = of_cpp ? name + 2 : name,
                                        .ptx_name = of_cpp ? (const char *)address : NULL,
                                        .host = host,
                                        .surface = surface,
                                        .normalized_values = normalized_values};
    if (image && host && name)
        (void)vector_push(&process->references, reference);
    pthread_mutex_unlock(&process->lock);
}

ENTRY(void, __cudaRegisterTexture, void **handle, const void *host, const void **address, const char *name,
      int dimensions, int normalized_values, int external)
{
    add(handle, host, address, name, false, normalized_values != 0);
    (void)dimensions, (void)external;
}

ENTRY(void, __cudaRegisterSurface, void **handle, const void *host, const void **address, const char *name,
      int dimensions, int external)
{
    add(handle, host, address, name, true, false);
    (void)dimensions, (void)external;
}

static const struct image_reference *registered(const struct process *process, const void *host, bool surface)
{
    for (size_t i = process->references.count; i-- > 0;) {
        const struct image_reference *one = &process->references.data[i];
        if (one->host == host && one->surface == surface && !one->image->unregistered)
            return one;
    }
    return NULL;
}

/* `resource` is NULL: nothing is bound from now on. */
static int bind(struct call *call, const struct abi_texture_reference *host, const struct abi_resource *resource,
                bool surface)
{
    const struct image_reference *entry = registered(call->process, host, surface);
    struct texture_reference *reference;
    struct module *module;
    if (!entry)
        return surface ? CUDA_ERROR_INVALID_SURFACE : CUDA_ERROR_INVALID_TEXTURE;
    int error = module_of_image(call->process, call->context, entry->image, &module);
    if (error == CUDA_SUCCESS)
        error = texture_reference_get(call, module, entry->name, surface, &reference);
    if (error == CUDA_ERROR_NOT_FOUND && entry->ptx_name)
        error = texture_reference_get(call, module, entry->ptx_name, surface, &reference);
    if (error == CUDA_ERROR_NOT_FOUND)
        error = surface ? CUDA_ERROR_INVALID_SURFACE : CUDA_ERROR_INVALID_TEXTURE;
    if (error != CUDA_SUCCESS)
        return error;
    reference->bound = resource != NULL;
    if (resource)
        reference->resource = *resource;
    if (resource && !surface) {
        reference->reading = (struct abi_texture){.filter = host->filter,
                                                  .read = entry->normalized_values,
                                                  .srgb = host->srgb,
                                                  .normalized_coordinates = host->normalized_coordinates};
        memcpy(reference->reading.mode, host->mode, sizeof host->mode);
    }
    return texture_reference_bind(call, reference);
}

static int bind_call(const void *host, const struct abi_resource *resource, bool surface)
{
    struct call call;
    if (runtime_begin(&call))
        call.error = bind(&call, host, resource, surface);
    return runtime_end(&call);
}

ENTRY(int, cudaBindTexture, size_t *offset, const void *host, const void *address, const struct abi_channel *channel,
      size_t bytes)
{
    if (!channel)
        return thread_get()->last_error = CUDA_ERROR_INVALID_VALUE;
    if (offset)
        *offset = 0;
    struct abi_resource resource = {.type = RESOURCE_LINEAR};
    resource.of.linear.pointer = (void *)(uintptr_t)address;
    resource.of.linear.channel = *channel;
    struct call call;
    if (runtime_begin(&call)) {
        /* Programs say UINT_MAX for all there is. */
        const struct range *range = ranges_find(call.process, (uint64_t)(uintptr_t)address);
        uint64_t there = range ? range->address + range->bytes - (uint64_t)(uintptr_t)address : 0;
        resource.of.linear.bytes = bytes < there ? bytes : there;
        call.error = bind(&call, host, &resource, false);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaBindTexture2D, size_t *offset, const void *host, const void *address, const struct abi_channel *channel,
      size_t width, size_t height, size_t pitch)
{
    if (!channel)
        return thread_get()->last_error = CUDA_ERROR_INVALID_VALUE;
    if (offset)
        *offset = 0;
    struct abi_resource resource = {.type = RESOURCE_PITCHED};
    resource.of.pitched.pointer = (void *)(uintptr_t)address;
    resource.of.pitched.channel = *channel;
    resource.of.pitched.width = width;
    resource.of.pitched.height = height;
    resource.of.pitched.pitch = pitch;
    return bind_call(host, &resource, false);
}

ENTRY(int, cudaBindTextureToArray, const void *host, const void *array, const struct abi_channel *channel)
{
    struct abi_resource resource = {.type = RESOURCE_ARRAY, .of.array = (void *)(uintptr_t)array};
    (void)channel; /* the array's own */
    return bind_call(host, &resource, false);
}

ENTRY(int, cudaBindSurfaceToArray, const void *host, const void *array, const struct abi_channel *channel)
{
    struct abi_resource resource = {.type = RESOURCE_ARRAY, .of.array = (void *)(uintptr_t)array};
    (void)channel;
    return bind_call(host, &resource, true);
}

ENTRY(int, cudaUnbindTexture, const void *host)
{
    return bind_call(host, NULL, false);
}

static int find(const void **reference, const void *symbol, bool surface)
{
    struct call call;
    if (runtime_begin(&call)) {
        if (!reference || !registered(call.process, symbol, surface))
            call.error = surface ? CUDA_ERROR_INVALID_SURFACE : CUDA_ERROR_INVALID_TEXTURE;
        else
            *reference = symbol;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGetTextureReference, const void **reference, const void *symbol)
{
    return find(reference, symbol, false);
}

ENTRY(int, cudaGetSurfaceReference, const void **reference, const void *symbol)
{
    return find(reference, symbol, true);
}

/* Textures begin where they are told to: there is no offset. */
ENTRY(int, cudaGetTextureAlignmentOffset, size_t *offset, const void *host)
{
    const void *reference;
    int error = find(&reference, host, false);
    if (error == CUDA_SUCCESS && offset)
        *offset = 0;
    return error;
}
