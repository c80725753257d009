/* SPDX-License-Identifier: MIT */
/* Texture and surface objects: made of a resource, kept with their context, destroyed. */
#include "cuda/texture_object.h"

#include "cuda/abi.h"
#include "cuda/array.h"
#include "cuda/call.h"
#include "cuda/capture.h"
#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/engine.h"
#include "cuda/mipmap.h"
#include "cuda/process.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int describe_resource(struct call *call, const struct abi_resource *resource, struct corun_texture *texture)
{
    const struct array *array;
    switch (resource->type) {
    case RESOURCE_ARRAY:
        array = array_find(call->process, resource->of.array);
        return array ? array_describe(array, texture) : CUDA_ERROR_INVALID_HANDLE;
    case RESOURCE_LINEAR: {
        uint32_t element = channel_bytes(&resource->of.linear.channel);
        size_t width = element ? resource->of.linear.bytes / element : 0;
        *texture = (struct corun_texture){.address = (uint64_t)(uintptr_t)resource->of.linear.pointer,
                                          .width = width > INT32_MAX ? INT32_MAX : (uint32_t)width};
        return channel_describe(&resource->of.linear.channel, texture);
    }
    case RESOURCE_PITCHED:
        *texture = (struct corun_texture){.address = (uint64_t)(uintptr_t)resource->of.pitched.pointer,
                                          .width = (uint32_t)resource->of.pitched.width,
                                          .height = (uint32_t)resource->of.pitched.height,
                                          .row_bytes = resource->of.pitched.pitch};
        return channel_describe(&resource->of.pitched.channel, texture);
    case RESOURCE_MIPMAPPED: {
        const struct mipmap *mipmap = mipmap_find(call->process, resource->of.array);
        int error = mipmap ? array_describe(mipmap->level[0], texture) : CUDA_ERROR_INVALID_HANDLE;
        texture->levels = mipmap ? mipmap->levels : 0;
        return error;
    }
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static int apply_view(struct call *call, const struct abi_resource *resource, const struct abi_view *view,
                      struct corun_texture *texture)
{
    const struct mipmap *mipmap =
        resource->type == RESOURCE_MIPMAPPED ? mipmap_find(call->process, resource->of.array) : NULL;
    const struct array *array = mipmap                             ? mipmap->level[0]
                                : resource->type == RESOURCE_ARRAY ? array_find(call->process, resource->of.array)
                                                                   : NULL;
    return array ? texture_view_apply(view, array->flags, texture) : CUDA_ERROR_INVALID_VALUE;
}

static int describe_reading(const struct abi_texture *from, struct corun_texture *texture)
{
    for (int i = 0; i < 3; i++) {
        if (from->mode[i] < CORUN_TEXTURE_WRAP || from->mode[i] > CORUN_TEXTURE_BORDER)
            return CUDA_ERROR_INVALID_VALUE;
        texture->mode[i] = (uint8_t)from->mode[i];
    }
    if (from->srgb) {
        say("not supported: textures that convert from sRGB");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    bool integers = texture->kind != CORUN_TEXEL_FLOAT;
    texture->linear = from->filter == 1;
    texture->normalized_coordinates = from->normalized_coordinates != 0;
    texture->normalized_values = integers && from->read == 1;
    texture->levels_linear = from->mipmap_filter == 1;
    texture->level_bias = from->mipmap_bias;
    texture->level_lowest = from->mipmap_lowest;
    texture->level_highest = from->mipmap_highest;
    if (texture->levels > 1 && !texture->normalized_coordinates)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(texture->border, from->border, sizeof texture->border);
    /* Numbers between integers there are only of floats, and 32 bits are not normalized. */
    if (texture->linear && integers && !texture->normalized_values)
        return CUDA_ERROR_INVALID_FILTER_SETTING;
    return texture->normalized_values && texture->channel_bits == 32 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static int error_of(enum corun_status status)
{
    return status == CORUN_OK       ? CUDA_SUCCESS
           : status == CORUN_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY
                                    : CUDA_ERROR_INVALID_VALUE;
}

/* Keeps the object in its context; `object` is the caller's. */
static int keep(struct context *context, const struct corun_texture *description, struct texture_object *object)
{
    int error = error_of(corun_texture_create(context->memory, description, &object->handle));
    if (error != CUDA_SUCCESS)
        return error;
    struct texture_object *kept = malloc(sizeof *kept);
    if (kept)
        *kept = *object;
    if (!kept || !vector_push(&context->textures, kept)) {
        free(kept);
        corun_texture_destroy(context->memory, object->handle);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    capture_texture(process_get(), context, object->handle, description);
    return CUDA_SUCCESS;
}

int texture_object_create(struct call *call, const struct abi_resource *resource, const struct abi_texture *texture,
                          const struct abi_view *view, uint64_t *handle)
{
    struct corun_texture description;
    struct texture_object object = {.surface = !texture};
    if (!texture && resource->type != RESOURCE_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    int error = describe_resource(call, resource, &description);
    if (error == CUDA_SUCCESS && view)
        error = apply_view(call, resource, view, &description);
    if (error == CUDA_SUCCESS && texture)
        error = describe_reading(texture, &description);
    if (error != CUDA_SUCCESS)
        return error;
    /* `flags` has come with CUDA 13: what lies there before is not the caller's. */
    memcpy(&object.resource, resource, offsetof(struct abi_resource, flags));
    if (texture)
        object.texture = *texture;
    object.has_view = view != NULL;
    if (view)
        object.view = *view;
    error = keep(call->context, &description, &object);
    if (error == CUDA_SUCCESS)
        *handle = object.handle;
    return error;
}

/* Its place in the context's list; the number of them if it is none. */
static size_t place_of(const struct context *context, uint64_t handle, bool surface)
{
    size_t i = 0;
    while (i < context->textures.count &&
           (context->textures.data[i]->handle != handle || context->textures.data[i]->surface != surface))
        i++;
    return i;
}

const struct texture_object *texture_object_find(const struct context *context, uint64_t handle, bool surface)
{
    size_t i = place_of(context, handle, surface);
    return i < context->textures.count ? context->textures.data[i] : NULL;
}

int texture_object_destroy(struct call *call, uint64_t handle, bool surface)
{
    struct context *context = call->context;
    if (!handle)
        return CUDA_SUCCESS;
    if (!texture_object_find(context, handle, surface))
        return CUDA_ERROR_INVALID_VALUE;
    int error = engine_wait_context(call->process, context);
    size_t i = place_of(context, handle, surface); /* other threads have had the lock */
    if (i == context->textures.count)
        return error;
    corun_texture_destroy(context->memory, handle);
    capture_texture_end(call->process, context, handle);
    free(context->textures.data[i]);
    context->textures.data[i] = context->textures.data[--context->textures.count];
    return error;
}
