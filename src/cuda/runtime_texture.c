/* Texture and surface objects of the runtime API. */
#include "cuda/array.h"
#include "cuda/capture.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { RESOURCE_ARRAY, RESOURCE_MIPMAPPED, RESOURCE_LINEAR, RESOURCE_PITCHED };

struct abi_resource {
    int type;
    union {
        void *array;
        struct {
            void *pointer;
            struct abi_channel channel;
            size_t bytes;
        } linear;
        struct {
            void *pointer;
            struct abi_channel channel;
            size_t width, height, pitch;
        } pitched;
        int reserved[32];
    } of;
    unsigned flags; /* since CUDA 13 */
};

/* As far as it is used here; what follows has come with later versions. */
struct abi_texture {
    int mode[3];
    int filter; /* 0 point, 1 linear */
    int read;   /* 0 element type, 1 normalized float */
    int srgb;
    float border[4];
    int normalized_coordinates;
    unsigned anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_lowest, mipmap_highest;
    int no_trilinear;
};

/* What an object was made from, for the calls that ask. */
struct texture_object {
    uint64_t handle;
    struct abi_resource resource;
    struct abi_texture texture;
    bool surface;
};

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
    default:
        say("not supported: mipmapped arrays");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
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
    memcpy(texture->border, from->border, sizeof texture->border);
    /* Numbers between integers there are only of floats, and 32 bits are not normalized. */
    if ((texture->linear && integers && !texture->normalized_values) ||
        (texture->normalized_values && texture->channel_bits == 32))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
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

static int create(uint64_t *handle, const struct abi_resource *resource, const struct abi_texture *texture,
                  const void *view, bool surface)
{
    struct call call;
    if (!runtime_begin(&call))
        return runtime_end(&call);
    struct corun_texture description;
    struct texture_object object = {.surface = surface};
    if (!handle || !resource || (!surface && !texture) || (surface && resource->type != RESOURCE_ARRAY)) {
        call.error = CUDA_ERROR_INVALID_VALUE;
    } else if (view) {
        say("not supported: resource views of textures");
        call.error = CUDA_ERROR_NOT_SUPPORTED;
    } else {
        call.error = describe_resource(&call, resource, &description);
    }
    if (call.error == CUDA_SUCCESS && !surface)
        call.error = describe_reading(texture, &description);
    if (call.error == CUDA_SUCCESS) {
        /* `flags` has come with CUDA 13: what lies there before is not the caller's. */
        memcpy(&object.resource, resource, offsetof(struct abi_resource, flags));
        if (texture)
            object.texture = *texture;
        call.error = keep(call.context, &description, &object);
    }
    if (call.error == CUDA_SUCCESS)
        *handle = object.handle;
    return runtime_end(&call);
}

ENTRY(int, cudaCreateTextureObject, uint64_t *handle, const struct abi_resource *resource,
      const struct abi_texture *texture, const void *view)
{
    return create(handle, resource, texture, view, false);
}

ENTRY(int, cudaCreateSurfaceObject, uint64_t *handle, const struct abi_resource *resource)
{
    return create(handle, resource, NULL, NULL, true);
}

/* Its place in the context's list; the number of them if it is none. */
static size_t find(const struct context *context, uint64_t handle, bool surface)
{
    size_t i = 0;
    while (i < context->textures.count &&
           (context->textures.data[i]->handle != handle || context->textures.data[i]->surface != surface))
        i++;
    return i;
}

static int destroy(uint64_t handle, bool surface)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct context *context = call.context;
        size_t i = find(context, handle, surface);
        if (handle && i == context->textures.count)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (handle)
            call.error = engine_wait_context(call.process, context); /* kernels under way may read it */
        if (handle && i < context->textures.count) {
            corun_texture_destroy(context->memory, handle);
            capture_texture_end(call.process, context, handle);
            free(context->textures.data[i]);
            context->textures.data[i] = context->textures.data[--context->textures.count];
        }
    }
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
        size_t i = find(call.context, handle, surface);
        if (i == call.context->textures.count || (!resource && !texture)) {
            call.error = CUDA_ERROR_INVALID_VALUE;
        } else {
            const struct texture_object *object = call.context->textures.data[i];
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
