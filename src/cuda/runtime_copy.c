/* SPDX-License-Identifier: MIT */
/* Copies and fills of the runtime API. */
#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/array.h"
#include "cuda/call.h"
#include "cuda/copy.h"
#include "cuda/image.h"
#include "cuda/process.h"
#include "cuda/runtime_api.h"

static int copy_plain(void *to, const void *from, size_t bytes, int kind, void *stream, bool wait)
{
    struct call call;
    if (runtime_begin(&call))
        call.error =
            api_copy_bytes(&call, (uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, bytes, kind, stream, wait);
    return runtime_end(&call);
}

ENTRY(int, cudaMemcpy, void *to, const void *from, size_t bytes, int kind)
{
    return copy_plain(to, from, bytes, kind, NULL, true);
}

ENTRY(int, cudaMemcpyAsync, void *to, const void *from, size_t bytes, int kind, void *stream)
{
    return copy_plain(to, from, bytes, kind, stream, false);
}

/* An address names its device; what the program calls it has to be a device. */
static int copy_peer(void *to, int to_device, const void *from, int from_device, size_t bytes, void *stream, bool wait)
{
    struct call call;
    if (runtime_begin_device(&call) &&
        (!process_device(call.process, to_device) || !process_device(call.process, from_device)))
        call.error = CUDA_ERROR_INVALID_DEVICE;
    int error = runtime_end(&call);
    return error == CUDA_SUCCESS ? copy_plain(to, from, bytes, COPY_DEVICE_TO_DEVICE, stream, wait) : error;
}

ENTRY(int, cudaMemcpyPeer, void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    return copy_peer(to, to_device, from, from_device, bytes, NULL, true);
}

ENTRY(int, cudaMemcpyPeerAsync, void *to, int to_device, const void *from, int from_device, size_t bytes, void *stream)
{
    return copy_peer(to, to_device, from, from_device, bytes, stream, false);
}

static int copy_symbol(const void *symbol, void *other, size_t bytes, size_t offset, int kind, bool to_symbol,
                       void *stream, bool wait)
{
    struct call call;
    if (runtime_begin(&call)) {
        uint64_t address = 0, size = 0, there = (uint64_t)(uintptr_t)other;
        call.error = variable_of_host(call.process, call.context, symbol, &address, &size);
        if (call.error == CUDA_SUCCESS && (offset > size || bytes > size - offset))
            call.error = CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS)
            call.error = api_copy_bytes(&call, to_symbol ? address + offset : there,
                                        to_symbol ? there : address + offset, bytes, kind, stream, wait);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMemcpyToSymbol, const void *symbol, const void *from, size_t bytes, size_t offset, int kind)
{
    return copy_symbol(symbol, (void *)(uintptr_t)from, bytes, offset, kind, true, NULL, true);
}

ENTRY(int, cudaMemcpyFromSymbol, void *to, const void *symbol, size_t bytes, size_t offset, int kind)
{
    return copy_symbol(symbol, to, bytes, offset, kind, false, NULL, true);
}

ENTRY(int, cudaMemcpyToSymbolAsync, const void *symbol, const void *from, size_t bytes, size_t offset, int kind,
      void *stream)
{
    return copy_symbol(symbol, (void *)(uintptr_t)from, bytes, offset, kind, true, stream, false);
}

ENTRY(int, cudaMemcpyFromSymbolAsync, void *to, const void *symbol, size_t bytes, size_t offset, int kind, void *stream)
{
    return copy_symbol(symbol, to, bytes, offset, kind, false, stream, false);
}

static int copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                     int kind, void *stream, bool wait)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct copy copy = {.width_bytes = width, .height = height, .depth = 1};
        if (width > to_pitch || width > from_pitch)
            call.error = CUDA_ERROR_INVALID_PITCH_VALUE;
        else if (width && height)
            call.error = api_copy_sides(&call, (uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, kind, &copy);
        copy.to.pitch = to_pitch;
        copy.from.pitch = from_pitch;
        if (call.error == CUDA_SUCCESS && width && height)
            call.error = api_copy(&call, &copy, stream, wait);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMemcpy2D, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
      int kind)
{
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, NULL, true);
}

ENTRY(int, cudaMemcpy2DAsync, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
      size_t height, int kind, void *stream)
{
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, stream, false);
}

/* Positions and widths are in bytes where no array takes part. */
static int copy_boxes(const struct abi_pitched *to, struct abi_position to_at, const struct abi_pitched *from,
                      struct abi_position from_at, struct abi_extent extent, int kind, void *stream, bool wait)
{
    struct call call;
    if (!runtime_begin(&call))
        return runtime_end(&call);
    struct copy copy = {.width_bytes = extent.width, .height = extent.height, .depth = extent.depth};
    size_t to_slice = to->pitch * to->height, from_slice = from->pitch * from->height;
    uint64_t to_address = (uint64_t)(uintptr_t)to->pointer + to_at.z * to_slice + to_at.y * to->pitch + to_at.x;
    uint64_t from_address =
        (uint64_t)(uintptr_t)from->pointer + from_at.z * from_slice + from_at.y * from->pitch + from_at.x;
    if (!to->pointer || !from->pointer)
        call.error = CUDA_ERROR_INVALID_VALUE;
    else if (extent.width > to->pitch || extent.width > from->pitch)
        call.error = CUDA_ERROR_INVALID_PITCH_VALUE;
    else if (copy_bytes(&copy))
        call.error = api_copy_sides(&call, to_address, from_address, kind, &copy);
    copy.to.pitch = to->pitch;
    copy.to.slice_bytes = to_slice;
    copy.from.pitch = from->pitch;
    copy.from.slice_bytes = from_slice;
    if (call.error == CUDA_SUCCESS && copy_bytes(&copy))
        call.error = api_copy(&call, &copy, stream, wait);
    return runtime_end(&call);
}

static int copy_3d(const struct abi_copy_3d *p, void *stream, bool wait)
{
    if (!p)
        return thread_get()->last_error = CUDA_ERROR_INVALID_VALUE;
    if (p->from_array || p->to_array) {
        struct call call;
        if (runtime_begin(&call))
            call.error = array_copy_3d(&call, p, stream, wait);
        return runtime_end(&call);
    }
    return copy_boxes(&p->to, p->to_position, &p->from, p->from_position, p->extent, p->kind, stream, wait);
}

ENTRY(int, cudaMemcpy3D, const struct abi_copy_3d *p)
{
    return copy_3d(p, NULL, true);
}

ENTRY(int, cudaMemcpy3DAsync, const struct abi_copy_3d *p, void *stream)
{
    return copy_3d(p, stream, false);
}

static int copy_3d_peer(const struct abi_copy_3d_peer *p, void *stream, bool wait)
{
    if (!p)
        return thread_get()->last_error = CUDA_ERROR_INVALID_VALUE;
    /* Memory says whose it is. */
    const struct abi_copy_3d same = {.from_array = p->from_array,
                                     .from_position = p->from_position,
                                     .from = p->from,
                                     .to_array = p->to_array,
                                     .to_position = p->to_position,
                                     .to = p->to,
                                     .extent = p->extent,
                                     .kind = COPY_DEVICE_TO_DEVICE};
    return copy_3d(&same, stream, wait);
}

ENTRY(int, cudaMemcpy3DPeer, const struct abi_copy_3d_peer *p)
{
    return copy_3d_peer(p, NULL, true);
}

ENTRY(int, cudaMemcpy3DPeerAsync, const struct abi_copy_3d_peer *p, void *stream)
{
    return copy_3d_peer(p, stream, false);
}

static int fill_boxes(void *to, size_t pitch, size_t slice, int value, struct abi_extent extent, void *stream,
                      bool wait)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct fill fill = {.address = (uint64_t)(uintptr_t)to,
                            .pitch = pitch,
                            .slice_bytes = slice,
                            .width_bytes = extent.width,
                            .height = extent.height,
                            .depth = extent.depth,
                            .value = (uint8_t)value,
                            .element_bytes = 1};
        call.error = api_fill(&call, &fill, stream, wait);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMemset, void *to, int value, size_t bytes)
{
    return fill_boxes(to, bytes, bytes, value, (struct abi_extent){bytes, 1, 1}, NULL, true);
}

ENTRY(int, cudaMemsetAsync, void *to, int value, size_t bytes, void *stream)
{
    return fill_boxes(to, bytes, bytes, value, (struct abi_extent){bytes, 1, 1}, stream, false);
}

ENTRY(int, cudaMemset2D, void *to, size_t pitch, int value, size_t width, size_t height)
{
    return fill_boxes(to, pitch, pitch * height, value, (struct abi_extent){width, height, 1}, NULL, true);
}

ENTRY(int, cudaMemset2DAsync, void *to, size_t pitch, int value, size_t width, size_t height, void *stream)
{
    return fill_boxes(to, pitch, pitch * height, value, (struct abi_extent){width, height, 1}, stream, false);
}

ENTRY(int, cudaMemset3D, struct abi_pitched to, int value, struct abi_extent extent)
{
    return fill_boxes(to.pointer, to.pitch, to.pitch * to.height, value, extent, NULL, true);
}

ENTRY(int, cudaMemset3DAsync, struct abi_pitched to, int value, struct abi_extent extent, void *stream)
{
    return fill_boxes(to.pointer, to.pitch, to.pitch * to.height, value, extent, stream, false);
}
