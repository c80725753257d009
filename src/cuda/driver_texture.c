/* SPDX-License-Identifier: MIT */
/* Texture and surface objects of the driver API. */
#include "cuda/abi.h"
#include "cuda/array.h"
#include "cuda/call.h"
#include "cuda/driver_api.h"
#include "cuda/driver_array.h"
#include "cuda/mipmap.h"
#include "cuda/texture_object.h"

#include <string.h>

enum { READ_AS_INTEGER = 1, NORMALIZED_COORDINATES = 2, FROM_SRGB = 16 };

/* CUDA_RESOURCE_DESC */
struct abi_driver_resource {
    int type;
    union {
        void *array;
        struct {
            uint64_t address;
            int format;
            unsigned channels;
            size_t bytes;
        } linear;
        struct {
            uint64_t address;
            int format;
            unsigned channels;
            size_t width, height, pitch;
        } pitched;
        int reserved[32];
    } of;
    unsigned flags;
};

/* CUDA_TEXTURE_DESC */
struct abi_driver_texture {
    int mode[3];
    int filter;
    unsigned flags, anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_lowest, mipmap_highest, border[4];
    int reserved[12];
};

/* The same as the runtime API has it, and which channels it has. */
static int to_resource(struct call *call, const struct abi_driver_resource *from, struct abi_resource *to,
                       struct abi_channel *channel)
{
    *to = (struct abi_resource){.type = from->type};
    *channel = (struct abi_channel){.kind = CHANNEL_NONE};
    bool known = true;
    if (from->type == RESOURCE_LINEAR) {
        known = channel_of_format(from->of.linear.format, from->of.linear.channels, channel);
        to->of.linear.pointer = (void *)(uintptr_t)from->of.linear.address;
        to->of.linear.channel = *channel;
        to->of.linear.bytes = from->of.linear.bytes;
    } else if (from->type == RESOURCE_PITCHED) {
        known = channel_of_format(from->of.pitched.format, from->of.pitched.channels, channel);
        to->of.pitched.pointer = (void *)(uintptr_t)from->of.pitched.address;
        to->of.pitched.channel = *channel;
        to->of.pitched.width = from->of.pitched.width;
        to->of.pitched.height = from->of.pitched.height;
        to->of.pitched.pitch = from->of.pitched.pitch;
    } else if (from->type == RESOURCE_ARRAY || from->type == RESOURCE_MIPMAPPED) {
        const struct mipmap *mipmap =
            from->type == RESOURCE_MIPMAPPED ? mipmap_find(call->process, from->of.array) : NULL;
        const struct array *array = mipmap ? mipmap->level[0] : array_find(call->process, from->of.array);
        if (!array)
            return CUDA_ERROR_INVALID_HANDLE;
        *channel = array->channel;
        to->of.array = from->of.array;
    }
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void from_resource(const struct abi_resource *from, struct abi_driver_resource *to)
{
    *to = (struct abi_driver_resource){.type = from->type};
    if (from->type == RESOURCE_LINEAR) {
        to->of.linear.address = (uint64_t)(uintptr_t)from->of.linear.pointer;
        to->of.linear.format = format_of_channel(&from->of.linear.channel, &to->of.linear.channels);
        to->of.linear.bytes = from->of.linear.bytes;
    } else if (from->type == RESOURCE_PITCHED) {
        to->of.pitched.address = (uint64_t)(uintptr_t)from->of.pitched.pointer;
        to->of.pitched.format = format_of_channel(&from->of.pitched.channel, &to->of.pitched.channels);
        to->of.pitched.width = from->of.pitched.width;
        to->of.pitched.height = from->of.pitched.height;
        to->of.pitched.pitch = from->of.pitched.pitch;
    } else {
        to->of.array = from->of.array;
    }
}

/* Integers of 32 bits are read as such whatever the flags say. */
static void to_texture(const struct abi_driver_texture *from, const struct abi_channel *channel, struct abi_texture *to)
{
    bool wide = channel->bits[0] == 32 && channel->kind != CHANNEL_FLOAT;
    *to = (struct abi_texture){.filter = from->filter,
                               .read = !(from->flags & READ_AS_INTEGER) && !wide,
                               .srgb = (from->flags & FROM_SRGB) != 0,
                               .normalized_coordinates = (from->flags & NORMALIZED_COORDINATES) != 0,
                               .anisotropy = from->anisotropy,
                               .mipmap_filter = from->mipmap_filter,
                               .mipmap_bias = from->mipmap_bias,
                               .mipmap_lowest = from->mipmap_lowest,
                               .mipmap_highest = from->mipmap_highest};
    memcpy(to->mode, from->mode, sizeof to->mode);
    memcpy(to->border, from->border, sizeof to->border);
}

static void from_texture(const struct abi_texture *from, struct abi_driver_texture *to)
{
    unsigned flags = (from->read ? 0 : READ_AS_INTEGER) | (from->normalized_coordinates ? NORMALIZED_COORDINATES : 0);
    *to = (struct abi_driver_texture){.filter = from->filter,
                                      .flags = flags,
                                      .anisotropy = from->anisotropy,
                                      .mipmap_filter = from->mipmap_filter,
                                      .mipmap_bias = from->mipmap_bias,
                                      .mipmap_lowest = from->mipmap_lowest,
                                      .mipmap_highest = from->mipmap_highest};
    memcpy(to->mode, from->mode, sizeof to->mode);
    memcpy(to->border, from->border, sizeof to->border);
}

static int create(uint64_t *handle, const struct abi_driver_resource *resource,
                  const struct abi_driver_texture *reading, const struct abi_view *view, bool surface)
{
    struct call call;
    if (driver_begin(&call)) {
        struct abi_resource of;
        struct abi_channel channel;
        struct abi_texture texture;
        call.error = handle && resource && (surface || reading) ? to_resource(&call, resource, &of, &channel)
                                                                : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS && view)
            call.error = texture_view_channel(view, &channel);
        if (call.error == CUDA_SUCCESS && !surface)
            to_texture(reading, &channel, &texture);
        if (call.error == CUDA_SUCCESS)
            call.error = texture_object_create(&call, &of, surface ? NULL : &texture, view, handle);
        if (call.error == CUDA_ERROR_INVALID_FILTER_SETTING)
            call.error = CUDA_ERROR_INVALID_VALUE; /* the driver has no name of its own for it */
    }
    return call_end(&call);
}

ENTRY(int, cuTexObjectCreate, uint64_t *handle, const struct abi_driver_resource *resource,
      const struct abi_driver_texture *reading, const struct abi_view *view)
{
    return create(handle, resource, reading, view, false);
}

ENTRY(int, cuSurfObjectCreate, uint64_t *handle, const struct abi_driver_resource *resource)
{
    return create(handle, resource, NULL, NULL, true);
}

static int tell(uint64_t handle, bool surface, struct abi_driver_resource *resource, struct abi_driver_texture *texture)
{
    struct call call;
    if (driver_begin(&call)) {
        const struct texture_object *object = texture_object_find(call.context, handle, surface);
        if (!object || (!resource && !texture)) {
            call.error = CUDA_ERROR_INVALID_VALUE;
        } else {
            if (resource)
                from_resource(&object->resource, resource);
            if (texture)
                from_texture(&object->texture, texture);
        }
    }
    return call_end(&call);
}

ENTRY(int, cuTexObjectGetResourceDesc, struct abi_driver_resource *resource, uint64_t handle)
{
    return tell(handle, false, resource, NULL);
}

ENTRY(int, cuTexObjectGetTextureDesc, struct abi_driver_texture *texture, uint64_t handle)
{
    return tell(handle, false, NULL, texture);
}

ENTRY(int, cuSurfObjectGetResourceDesc, struct abi_driver_resource *resource, uint64_t handle)
{
    return tell(handle, true, resource, NULL);
}
