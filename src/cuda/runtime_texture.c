/* SPDX-License-Identifier: MIT */
/* Texture and surface objects of the runtime API. */
#include "cuda/abi.h"
#include "cuda/array.h"
#include "cuda/call.h"
#include "cuda/process.h"
#include "cuda/runtime_api.h"
#include "cuda/texture_object.h"

#include <stddef.h>
#include <string.h>

ENTRY(int, cudaCreateTextureObject, uint64_t *handle, const struct abi_resource *resource,
      const struct abi_texture *texture, const struct abi_view *view)
{
    struct call call;
    if (runtime_begin(&call)) {
        call.error = handle && resource && texture ? texture_object_create(&call, resource, texture, view, handle)
                                                   : CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaCreateSurfaceObject, uint64_t *handle, const struct abi_resource *resource)
{
    struct call call;
    if (runtime_begin(&call))
        call.error =
            handle && resource ? texture_object_create(&call, resource, NULL, NULL, handle) : CUDA_ERROR_INVALID_VALUE;
    return runtime_end(&call);
}

static int destroy(uint64_t handle, bool surface)
{
    struct call call;
    if (runtime_begin(&call))
        call.error = texture_object_destroy(&call, handle, surface);
    return runtime_end(&call);
}

ENTRY(int, cudaDestroyTextureObject, uint64_t handle)
{
    return destroy(handle, false);
}

ENTRY(int, cudaDestroySurfaceObject, uint64_t handle)
{
    return destroy(handle, true);
}

static int tell(uint64_t handle, bool surface, struct abi_resource *resource, struct abi_texture *texture)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct texture_object *object = texture_object_find(call.context, handle, surface);
        if (!object || (!resource && !texture)) {
            call.error = CUDA_ERROR_INVALID_VALUE;
        } else {
            if (resource)
                memcpy(resource, &object->resource, offsetof(struct abi_resource, flags));
            if (texture)
                *texture = object->texture;
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGetTextureObjectResourceDesc, struct abi_resource *resource, uint64_t handle)
{
    return tell(handle, false, resource, NULL);
}

ENTRY(int, cudaGetTextureObjectTextureDesc, struct abi_texture *texture, uint64_t handle)
{
    return tell(handle, false, NULL, texture);
}

ENTRY(int, cudaGetTextureObjectResourceViewDesc, struct abi_view *view, uint64_t handle)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct texture_object *object = texture_object_find(call.context, handle, false);
        if (object && object->has_view && view)
            *view = object->view;
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGetSurfaceObjectResourceDesc, struct abi_resource *resource, uint64_t handle)
{
    return tell(handle, true, resource, NULL);
}

ENTRY(int, cudaDeviceGetTexture1DLinearMaxWidth, size_t *width, const struct abi_channel *channel, int device)
{
    (void)device;
    if (!width || !channel || !channel_bytes(channel))
        return thread_get()->last_error = CUDA_ERROR_INVALID_VALUE;
    *width = (size_t)1 << 28;
    return CUDA_SUCCESS;
}
