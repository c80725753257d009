/* SPDX-License-Identifier: MIT */
/* CUDA arrays of the runtime API: allocation, and copies from and to them. */
#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/array.h"
#include "cuda/call.h"
#include "cuda/copy.h"
#include "cuda/driver_array.h"
#include "cuda/driver_calls.h"
#include "cuda/process.h"
#include "cuda/runtime_api.h"

ENTRY(struct abi_channel, cudaCreateChannelDesc, int x, int y, int z, int w, int kind)
{
    return (struct abi_channel){{x, y, z, w}, kind};
}

static int create(void **handle, const struct abi_channel *channel, struct abi_extent extent, unsigned flags)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct array shape;
        struct abi_array_3d_descriptor described = {
            .width = extent.width, .height = extent.height, .depth = extent.depth, .flags = flags};
        call.error =
            handle && channel ? array_shape(call.context, channel, extent, flags, &shape) : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS) {
            described.format = format_of_channel(channel, &described.channels);
            const struct driver_call driver = driver_call_begin(call.process, NULL);
            call.error = driver.calls->cuArray3DCreate(handle, &described);
            driver_call_end(call.process, &driver);
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMallocArray, void **handle, const struct abi_channel *channel, size_t width, size_t height,
      unsigned flags)
{
    return create(handle, channel, (struct abi_extent){width, height, 0}, flags);
}

ENTRY(int, cudaMalloc3DArray, void **handle, const struct abi_channel *channel, struct abi_extent extent,
      unsigned flags)
{
    return create(handle, channel, extent, flags);
}

ENTRY(int, cudaFreeArray, void *handle)
{
    struct call call;
    if (runtime_begin(&call) && handle) {
        const struct driver_call driver = driver_call_begin(call.process, NULL);
        call.error = driver.calls->cuArrayDestroy(handle);
        driver_call_end(call.process, &driver);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaArrayGetInfo, struct abi_channel *channel, struct abi_extent *extent, unsigned *flags, void *handle)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct array *array = array_find(call.process, handle);
        if (!array) {
            call.error = CUDA_ERROR_INVALID_HANDLE;
        } else {
            if (channel)
                *channel = array->channel;
            if (extent)
                *extent = array->extent;
            if (flags)
                *flags = array->flags;
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGetChannelDesc, struct abi_channel *channel, const void *handle)
{
    if (!channel)
        return thread_get()->last_error = CUDA_ERROR_INVALID_VALUE;
    return corun_cudaArrayGetInfo(channel, NULL, NULL, (void *)(uintptr_t)handle);
}

/* Rows of bytes between an array and plain memory: widths and x in bytes, as these calls have them. */
struct rows {
    const void *array, *memory;
    size_t x, y, pitch, width, height;
    bool to_array;
    int kind;
};

static bool rows_inside(const struct array *array, const struct rows *rows)
{
    size_t width = array->extent.width * array->element_bytes, height = array->extent.height ? array->extent.height : 1;
    return rows->x <= width && rows->width <= width - rows->x && rows->y <= height && rows->height <= height - rows->y;
}

/* Does a direction fit an array, as the one side or both, and what the other side is? */
static int check_kind(int kind, bool to_array, bool from_array, const struct copy *copy)
{
    if (kind < COPY_HOST_TO_HOST || kind > COPY_DEFAULT)
        return CUDA_ERROR_INVALID_MEMCPY_DIRECTION;
    if (kind == COPY_DEFAULT)
        return CUDA_SUCCESS;
    bool to_device = kind == COPY_HOST_TO_DEVICE || kind == COPY_DEVICE_TO_DEVICE;
    bool from_device = kind == COPY_DEVICE_TO_HOST || kind == COPY_DEVICE_TO_DEVICE;
    bool to_fits = to_array ? to_device : to_device || copy->to.host;
    bool from_fits = from_array ? from_device : from_device || copy->from.host;
    return to_fits && from_fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static int copy_rows_of(struct call *call, const struct rows *rows, void *stream, bool wait)
{
    const struct array *array = array_find(call->process, rows->array);
    struct copy copy = {.width_bytes = rows->width, .height = rows->height, .depth = 1};
    if (!array)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!rows->width || !rows->height)
        return CUDA_SUCCESS;
    if (!rows->memory || !rows_inside(array, rows))
        return CUDA_ERROR_INVALID_VALUE;
    if (rows->height > 1 && rows->pitch < rows->width)
        return CUDA_ERROR_INVALID_PITCH_VALUE;
    struct copy_side inside, outside = {0};
    array_side(array, rows->x, rows->y, 0, &inside);
    bool device = rows->kind == COPY_DEVICE_TO_DEVICE;
    int error = copy_resolve(call->process, (uint64_t)(uintptr_t)rows->memory, device, &outside);
    if (error != CUDA_SUCCESS)
        return error;
    outside.pitch = rows->pitch;
    copy.to = rows->to_array ? inside : outside;
    copy.from = rows->to_array ? outside : inside;
    /* Measured on an H100 with CUDA 13.0 (docs/conformance.md): from the array to memory of the host is no way into the array. */
    if (rows->to_array && rows->kind == COPY_DEVICE_TO_HOST)
        return CUDA_ERROR_INVALID_MEMCPY_DIRECTION;
    error = check_kind(rows->kind, rows->to_array, !rows->to_array, &copy);
    return error == CUDA_SUCCESS ? api_copy(call, &copy, stream, wait) : error;
}

static int copy_rows(const struct rows *rows, void *stream, bool wait)
{
    struct call call;
    if (runtime_begin(&call))
        call.error = copy_rows_of(&call, rows, stream, wait);
    return runtime_end(&call);
}

ENTRY(int, cudaMemcpy2DToArray, void *array, size_t x, size_t y, const void *from, size_t pitch, size_t width,
      size_t height, int kind)
{
    return copy_rows(&(struct rows){array, from, x, y, pitch, width, height, true, kind}, NULL, true);
}

ENTRY(int, cudaMemcpy2DToArrayAsync, void *array, size_t x, size_t y, const void *from, size_t pitch, size_t width,
      size_t height, int kind, void *stream)
{
    return copy_rows(&(struct rows){array, from, x, y, pitch, width, height, true, kind}, stream, false);
}

ENTRY(int, cudaMemcpy2DFromArray, void *to, size_t pitch, const void *array, size_t x, size_t y, size_t width,
      size_t height, int kind)
{
    return copy_rows(&(struct rows){array, to, x, y, pitch, width, height, false, kind}, NULL, true);
}

ENTRY(int, cudaMemcpy2DFromArrayAsync, void *to, size_t pitch, const void *array, size_t x, size_t y, size_t width,
      size_t height, int kind, void *stream)
{
    return copy_rows(&(struct rows){array, to, x, y, pitch, width, height, false, kind}, stream, false);
}

/* `bytes` bytes that run over from row to row: the rest of the first row, whole rows, the beginning of the last. */
static int copy_line(const void *handle, size_t x, size_t y, const void *memory, size_t bytes, bool to_array, int kind,
                     void *stream, bool wait)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct array *array = array_find(call.process, handle);
        size_t row = array ? array->extent.width * array->element_bytes : 0;
        if (!array)
            call.error = CUDA_ERROR_INVALID_HANDLE;
        else if (x > row)
            call.error = CUDA_ERROR_INVALID_VALUE;
        while (call.error == CUDA_SUCCESS && bytes) {
            bool whole = x == 0 && bytes >= row;
            size_t width = bytes < row - x ? bytes : row - x, height = whole ? bytes / row : 1;
            call.error = copy_rows_of(&call, &(struct rows){handle, memory, x, y, width, width, height, to_array, kind},
                                      stream, wait);
            memory = (const char *)memory + width * height;
            bytes -= width * height;
            y += height;
            x = 0;
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMemcpyToArray, void *array, size_t x, size_t y, const void *from, size_t bytes, int kind)
{
    return copy_line(array, x, y, from, bytes, true, kind, NULL, true);
}

ENTRY(int, cudaMemcpyToArrayAsync, void *array, size_t x, size_t y, const void *from, size_t bytes, int kind,
      void *stream)
{
    return copy_line(array, x, y, from, bytes, true, kind, stream, false);
}

ENTRY(int, cudaMemcpyFromArray, void *to, const void *array, size_t x, size_t y, size_t bytes, int kind)
{
    return copy_line(array, x, y, to, bytes, false, kind, NULL, true);
}

ENTRY(int, cudaMemcpyFromArrayAsync, void *to, const void *array, size_t x, size_t y, size_t bytes, int kind,
      void *stream)
{
    return copy_line(array, x, y, to, bytes, false, kind, stream, false);
}

ENTRY(int, cudaMemcpy2DArrayToArray, void *to, size_t to_x, size_t to_y, const void *from, size_t from_x, size_t from_y,
      size_t width, size_t height, int kind)
{
    struct call call;
    (void)kind;
    if (runtime_begin(&call)) {
        const struct array *target = array_find(call.process, to), *source = array_find(call.process, from);
        struct copy copy = {.width_bytes = width, .height = height, .depth = 1};
        if (!target || !source)
            call.error = CUDA_ERROR_INVALID_HANDLE;
        else if (!rows_inside(target, &(struct rows){.x = to_x, .y = to_y, .width = width, .height = height}) ||
                 !rows_inside(source, &(struct rows){.x = from_x, .y = from_y, .width = width, .height = height}))
            call.error = CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS && width && height) {
            array_side(target, to_x, to_y, 0, &copy.to);
            array_side(source, from_x, from_y, 0, &copy.from);
            call.error = api_copy(&call, &copy, NULL, true);
        }
    }
    return runtime_end(&call);
}

/* One side of cudaMemcpy3D. `element` is the size of what positions and extents of arrays count. */
static int side_3d(struct call *call, const void *handle, struct abi_position at, const struct abi_pitched *memory,
                   int device, struct abi_extent extent, struct copy_side *side)
{
    if (handle) {
        const struct array *array = array_find(call->process, handle);
        return array ? array_part(array, at, extent, side) : CUDA_ERROR_INVALID_HANDLE;
    }
    if (!memory->pointer)
        return CUDA_ERROR_INVALID_VALUE;
    size_t slice = memory->pitch * memory->height;
    uint64_t address = (uint64_t)(uintptr_t)memory->pointer + at.z * slice + at.y * memory->pitch + at.x;
    int error = copy_resolve(call->process, address, device, side);
    side->pitch = memory->pitch;
    side->slice_bytes = slice;
    return error;
}

int array_copy_of(struct call *call, const struct abi_copy_3d *p, struct copy *copy)
{
    const struct array *any = array_find(call->process, p->to_array ? p->to_array : p->from_array);
    const struct array *other = p->to_array && p->from_array ? array_find(call->process, p->from_array) : any;
    if (!any || !other)
        return CUDA_ERROR_INVALID_HANDLE;
    if (any->element_bytes != other->element_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    *copy = (struct copy){
        .width_bytes = p->extent.width * any->element_bytes, .height = p->extent.height, .depth = p->extent.depth};
    if (!copy_bytes(copy))
        return CUDA_SUCCESS;
    int error =
        side_3d(call, p->to_array, p->to_position, &p->to, p->kind == COPY_DEVICE_TO_DEVICE, p->extent, &copy->to);
    if (error == CUDA_SUCCESS)
        error = side_3d(call, p->from_array, p->from_position, &p->from, p->kind == COPY_DEVICE_TO_DEVICE, p->extent,
                        &copy->from);
    return error == CUDA_SUCCESS ? check_kind(p->kind, p->to_array != NULL, p->from_array != NULL, copy) : error;
}

int array_copy_3d(struct call *call, const struct abi_copy_3d *p, void *stream, bool wait)
{
    struct copy copy;
    int error = array_copy_of(call, p, &copy);
    return error == CUDA_SUCCESS && copy_bytes(&copy) ? api_copy(call, &copy, stream, wait) : error;
}
