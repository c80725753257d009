/* SPDX-License-Identifier: MIT */
/* CUDA arrays: made, described to textures, copied from and to. */
#include "cuda/array.h"

#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/copy.h"
#include "cuda/engine.h"
#include "cuda/object.h"
#include "cuda/process.h"
#include "cuda/ranges.h"

#include <stdlib.h>

#define PITCH_BYTES 256u

uint32_t channel_bytes(const struct abi_channel *channel)
{
    int bits = channel->bits[0], count = 0;
    for (int i = 0; i < 4; i++) {
        if (channel->bits[i] && (channel->bits[i] != bits || count != i))
            return 0;
        count += channel->bits[i] != 0;
    }
    bool wide = bits == 16 || bits == 32, small = bits == 8 && channel->kind != CHANNEL_FLOAT;
    if (count == 0 || count == 3 || (!wide && !small) || channel->kind < CHANNEL_SIGNED ||
        channel->kind > CHANNEL_FLOAT)
        return 0;
    return (uint32_t)(bits / 8 * count);
}

int channel_describe(const struct abi_channel *channel, struct corun_texture *texture)
{
    uint32_t bytes = channel_bytes(channel);
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    texture->channel_bits = (uint8_t)channel->bits[0];
    texture->channels = (uint8_t)(bytes * 8 / (uint32_t)channel->bits[0]);
    texture->kind = channel->kind == CHANNEL_FLOAT    ? CORUN_TEXEL_FLOAT
                    : channel->kind == CHANNEL_SIGNED ? CORUN_TEXEL_SIGNED
                                                      : CORUN_TEXEL_UNSIGNED;
    return CUDA_SUCCESS;
}

static size_t at_least_one(size_t size)
{
    return size ? size : 1;
}

/* Arrays of two dimensions lie in blocks where those of their GPU do; how many rows a slice takes. */
static uint32_t gob_rows(const struct context *context, struct abi_extent extent)
{
    return extent.height > 1 ? context->device->config.texture_gob_rows : 0;
}

static size_t rows_of_slice(const struct context *context, struct abi_extent extent)
{
    uint32_t gob = gob_rows(context, extent);
    size_t block = gob ? corun_texture_block_rows((uint32_t)extent.height, gob) : 1;
    return (at_least_one(extent.height) + block - 1) / block * block;
}

int array_shape(struct context *context, const struct abi_channel *channel, struct abi_extent extent, unsigned flags,
                struct array *array)
{
    uint32_t element = channel_bytes(channel);
    if (!element || !extent.width || extent.width > INT32_MAX || extent.height > INT32_MAX ||
        extent.depth > INT32_MAX || (extent.depth && !extent.height && !(flags & ARRAY_LAYERED)))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & ARRAY_SPARSE) /* an attribute of the device says so */
        return CUDA_ERROR_NOT_SUPPORTED;
    bool cubes = flags & ARRAY_LAYERED ? extent.depth && extent.depth % 6 == 0 : extent.depth == 6;
    if (flags & ARRAY_CUBE && (!cubes || extent.width != extent.height))
        return CUDA_ERROR_INVALID_VALUE;
    size_t pitch = (extent.width * element + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES, bytes;
    *array = (struct array){.object = {OBJECT_ARRAY},
                            .context = context,
                            .channel = *channel,
                            .extent = extent,
                            .flags = flags,
                            .element_bytes = element,
                            .pitch = pitch};
    if (__builtin_mul_overflow(pitch, rows_of_slice(context, extent), &array->slice_bytes) ||
        __builtin_mul_overflow(array->slice_bytes, at_least_one(extent.depth), &bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

int array_create(struct call *call, const struct abi_channel *channel, struct abi_extent extent, unsigned flags,
                 struct array **result)
{
    struct array shape;
    int error = array_shape(call->context, channel, extent, flags, &shape);
    if (error != CUDA_SUCCESS)
        return error;
    struct array *array = malloc(sizeof *array);
    if (!array)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *array = shape;
    error = memory_allocate(call->process, call->context, array->slice_bytes * at_least_one(extent.depth),
                            &array->address, "an array");
    if (error == CUDA_SUCCESS && !object_add(call->process, &array->object)) {
        memory_release(call->process, array->address, "the end of the array");
        error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (error != CUDA_SUCCESS) {
        free(array);
        return error;
    }
    *result = array;
    return CUDA_SUCCESS;
}

struct array *array_of_level(const struct array *first, const struct corun_texture *texture)
{
    struct array *array = calloc(1, sizeof *array);
    if (array)
        *array = (struct array){.object = {OBJECT_ARRAY},
                                .context = first->context,
                                .channel = first->channel,
                                .extent = {texture->width, texture->height, texture->depth},
                                .flags = first->flags,
                                .address = texture->address,
                                .element_bytes = first->element_bytes,
                                .pitch = texture->row_bytes,
                                .slice_bytes = texture->slice_bytes,
                                .owned = true};
    return array;
}

struct array *array_find(struct process *process, const void *handle)
{
    struct array *array = object_find(process, handle, OBJECT_ARRAY);
    return array && !array->context->destroyed ? array : NULL; /* its memory has gone with its context */
}

int array_destroy(struct call *call, void *handle)
{
    if (!handle)
        return CUDA_SUCCESS;
    struct array *array = array_find(call->process, handle);
    if (!array || array->owned)
        return CUDA_ERROR_INVALID_HANDLE;
    int error = engine_wait_context(call->process, array->context);
    memory_release(call->process, array->address, "the end of the array");
    object_remove(call->process, &array->object);
    free(array);
    return error;
}

void array_side(const struct array *array, size_t x_bytes, size_t y, size_t z, struct copy_side *side)
{
    *side = (struct copy_side){.address = array->address + z * array->slice_bytes + y * array->pitch + x_bytes,
                               .context = array->context,
                               .pitch = array->pitch,
                               .slice_bytes = array->slice_bytes};
}

int array_part(const struct array *array, struct abi_position at, struct abi_extent extent, struct copy_side *side)
{
    size_t height = at_least_one(array->extent.height), depth = at_least_one(array->extent.depth);
    if (at.x > array->extent.width || extent.width > array->extent.width - at.x || at.y > height ||
        extent.height > height - at.y || at.z > depth || extent.depth > depth - at.z)
        return CUDA_ERROR_INVALID_VALUE;
    array_side(array, at.x * array->element_bytes, at.y, at.z, side);
    return CUDA_SUCCESS;
}

struct array *array_of_side(struct process *process, const struct copy_side *side, struct abi_position *at)
{
    for (size_t i = 0; side->context && i < process->objects.capacity; i++) {
        const struct object *object = process->objects.entries[i].value;
        struct array *array = process->objects.entries[i].value;
        if (!object || object->kind != OBJECT_ARRAY || array->context != side->context)
            continue;
        const uint64_t offset = side->address - array->address;
        if (offset >= array->slice_bytes * at_least_one(array->extent.depth) || side->pitch != array->pitch)
            continue;
        const uint64_t in_slice = offset % array->slice_bytes;
        *at = (struct abi_position){in_slice % array->pitch / array->element_bytes, in_slice / array->pitch,
                                    offset / array->slice_bytes};
        return array;
    }
    return NULL;
}

int array_describe(const struct array *array, struct corun_texture *texture)
{
    *texture = (struct corun_texture){.address = array->address,
                                      .width = (uint32_t)array->extent.width,
                                      .height = (uint32_t)array->extent.height,
                                      .depth = (uint32_t)array->extent.depth,
                                      .layered = array->flags & (ARRAY_LAYERED | ARRAY_CUBE),
                                      .row_bytes = array->pitch,
                                      .slice_bytes = array->slice_bytes,
                                      .gob_rows = gob_rows(array->context, array->extent)};
    return channel_describe(&array->channel, texture);
}
