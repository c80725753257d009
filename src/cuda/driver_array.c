/* SPDX-License-Identifier: MIT */
/* Arrays of the driver API, and copies of lines from and to them. */
#include "cuda/driver_array.h"

#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/array.h"
#include "cuda/call.h"
#include "cuda/copy.h"
#include "cuda/driver_api.h"

/* CUarray_format and what it is: F(value, bits, kind) */
#define FORMATS(F) \
    F(0x01, 8, CHANNEL_UNSIGNED) \
    F(0x02, 16, CHANNEL_UNSIGNED) \
    F(0x03, 32, CHANNEL_UNSIGNED) \
    F(0x08, 8, CHANNEL_SIGNED) \
    F(0x09, 16, CHANNEL_SIGNED) \
    F(0x0a, 32, CHANNEL_SIGNED) \
    F(0x10, 16, CHANNEL_FLOAT) \
    F(0x20, 32, CHANNEL_FLOAT)

bool channel_of_format(int format, unsigned channels, struct abi_channel *channel)
{
    int bits = 0, kind = CHANNEL_NONE;
#define F(value, size, meaning) \
    if (format == (value)) { \
        bits = (size); \
        kind = (meaning); \
    }
    FORMATS(F)
#undef F
    *channel = (struct abi_channel){.kind = kind};
    if (!bits || channels > 4)
        return false;
    for (unsigned i = 0; i < channels; i++)
        channel->bits[i] = bits;
    return channel_bytes(channel) != 0;
}

int format_of_channel(const struct abi_channel *channel, unsigned *channels)
{
    *channels = channel_bytes(channel) * 8 / (unsigned)channel->bits[0];
#define F(value, size, meaning) \
    if (channel->bits[0] == (size) && channel->kind == (meaning)) \
        return (value);
    FORMATS(F)
#undef F
    return 0;
}

ENTRY(int, cuArray3DCreate_v2, void **handle, const struct abi_array_3d_descriptor *from)
{
    struct call call;
    if (driver_begin(&call)) {
        struct abi_channel channel;
        struct array *array = NULL;
        if (!handle || !from || !channel_of_format(from->format, from->channels, &channel))
            call.error = CUDA_ERROR_INVALID_VALUE;
        else
            call.error = array_create(&call, &channel, (struct abi_extent){from->width, from->height, from->depth},
                                      from->flags, &array);
        if (call.error == CUDA_SUCCESS)
            *handle = array;
    }
    return call_end(&call);
}

ENTRY(int, cuArrayCreate_v2, void **handle, const struct abi_array_descriptor *from)
{
    if (!from)
        return corun_cuArray3DCreate_v2(handle, NULL);
    return corun_cuArray3DCreate_v2(
        handle, &(struct abi_array_3d_descriptor){
                    .width = from->width, .height = from->height, .format = from->format, .channels = from->channels});
}

ENTRY(int, cuArrayDestroy, void *handle)
{
    struct call call;
    if (driver_begin(&call))
        call.error = handle ? array_destroy(&call, handle) : CUDA_ERROR_INVALID_HANDLE;
    return call_end(&call);
}

ENTRY(int, cuArray3DGetDescriptor_v2, struct abi_array_3d_descriptor *to, void *handle)
{
    struct call call;
    if (driver_begin(&call)) {
        const struct array *array = array_find(call.process, handle);
        if (!array || !to) {
            call.error = array ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
        } else {
            *to = (struct abi_array_3d_descriptor){.width = array->extent.width,
                                                   .height = array->extent.height,
                                                   .depth = array->extent.depth,
                                                   .flags = array->flags};
            to->format = format_of_channel(&array->channel, &to->channels);
        }
    }
    return call_end(&call);
}

ENTRY(int, cuArrayGetDescriptor_v2, struct abi_array_descriptor *to, void *handle)
{
    struct abi_array_3d_descriptor all;
    int error = corun_cuArray3DGetDescriptor_v2(to ? &all : NULL, handle);
    if (to && error == CUDA_SUCCESS)
        *to = (struct abi_array_descriptor){all.width, all.height, all.format, all.channels};
    return error;
}

/* One side of a copy of one line: an array from byte `at` on, or memory. */
struct line_side {
    void *array;
    size_t at;
    uint64_t address;
    bool device;
};

static int resolve(struct call *call, const struct line_side *line, size_t bytes, struct copy_side *side)
{
    if (!line->array)
        return copy_resolve(call->process, line->address, line->device, side);
    const struct array *array = array_find(call->process, line->array);
    if (!array)
        return CUDA_ERROR_INVALID_HANDLE;
    size_t row = array->extent.width * array->element_bytes;
    if (array->extent.height > 1 || line->at > row || bytes > row - line->at)
        return CUDA_ERROR_INVALID_VALUE; /* these calls are for arrays of one dimension */
    array_side(array, line->at, 0, 0, side);
    return CUDA_SUCCESS;
}

static int copy_line(struct line_side to, struct line_side from, size_t bytes, void *stream, bool wait)
{
    struct call call;
    if (driver_begin(&call) && bytes) {
        struct copy copy = {.width_bytes = bytes, .height = 1, .depth = 1};
        call.error = resolve(&call, &to, bytes, &copy.to);
        if (call.error == CUDA_SUCCESS)
            call.error = resolve(&call, &from, bytes, &copy.from);
        if (call.error == CUDA_SUCCESS)
            call.error = api_copy(&call, &copy, stream, wait);
    }
    return call_end(&call);
}

static struct line_side of_array(void *array, size_t at)
{
    return (struct line_side){.array = array ? array : (void *)1, .at = at}; /* none is an array that is not there */
}

static struct line_side of_host(const void *host)
{
    return (struct line_side){.address = (uint64_t)(uintptr_t)host};
}

static struct line_side of_device(uint64_t address)
{
    return (struct line_side){.address = address, .device = true};
}

ENTRY(int, cuMemcpyHtoA_v2, void *array, size_t at, const void *from, size_t bytes)
{
    return copy_line(of_array(array, at), of_host(from), bytes, NULL, true);
}

ENTRY(int, cuMemcpyHtoAAsync_v2, void *array, size_t at, const void *from, size_t bytes, void *stream)
{
    return copy_line(of_array(array, at), of_host(from), bytes, stream, false);
}

ENTRY(int, cuMemcpyAtoH_v2, void *to, void *array, size_t at, size_t bytes)
{
    return copy_line(of_host(to), of_array(array, at), bytes, NULL, true);
}

ENTRY(int, cuMemcpyAtoHAsync_v2, void *to, void *array, size_t at, size_t bytes, void *stream)
{
    return copy_line(of_host(to), of_array(array, at), bytes, stream, false);
}

ENTRY(int, cuMemcpyDtoA_v2, void *array, size_t at, uint64_t from, size_t bytes)
{
    return copy_line(of_array(array, at), of_device(from), bytes, NULL, true);
}

ENTRY(int, cuMemcpyAtoD_v2, uint64_t to, void *array, size_t at, size_t bytes)
{
    return copy_line(of_device(to), of_array(array, at), bytes, NULL, true);
}

ENTRY(int, cuMemcpyAtoA_v2, void *to, size_t to_at, void *from, size_t from_at, size_t bytes)
{
    return copy_line(of_array(to, to_at), of_array(from, from_at), bytes, NULL, true);
}
