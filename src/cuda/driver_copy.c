/* SPDX-License-Identifier: MIT */
/* Copies and fills of the driver API. */
#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/array.h"
#include "cuda/call.h"
#include "cuda/copy.h"
#include "cuda/driver_api.h"
#include "cuda/graph_node.h"

static int copy(uint64_t to, uint64_t from, size_t bytes, int kind, void *stream, bool wait)
{
    struct call call;
    if (driver_begin(&call))
        call.error = api_copy_bytes(&call, to, from, bytes, kind, stream, wait);
    return call_end(&call);
}

ENTRY(int, cuMemcpy, uint64_t to, uint64_t from, size_t bytes)
{
    return copy(to, from, bytes, COPY_DEFAULT, NULL, true);
}

ENTRY(int, cuMemcpyAsync, uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    return copy(to, from, bytes, COPY_DEFAULT, stream, false);
}

ENTRY(int, cuMemcpyHtoD_v2, uint64_t to, const void *from, size_t bytes)
{
    return copy(to, (uint64_t)(uintptr_t)from, bytes, COPY_HOST_TO_DEVICE, NULL, true);
}

ENTRY(int, cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t bytes, void *stream)
{
    return copy(to, (uint64_t)(uintptr_t)from, bytes, COPY_HOST_TO_DEVICE, stream, false);
}

ENTRY(int, cuMemcpyDtoH_v2, void *to, uint64_t from, size_t bytes)
{
    return copy((uint64_t)(uintptr_t)to, from, bytes, COPY_DEVICE_TO_HOST, NULL, true);
}

ENTRY(int, cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t bytes, void *stream)
{
    return copy((uint64_t)(uintptr_t)to, from, bytes, COPY_DEVICE_TO_HOST, stream, false);
}

ENTRY(int, cuMemcpyDtoD_v2, uint64_t to, uint64_t from, size_t bytes)
{
    return copy(to, from, bytes, COPY_DEVICE_TO_DEVICE, NULL, true);
}

ENTRY(int, cuMemcpyDtoDAsync_v2, uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    return copy(to, from, bytes, COPY_DEVICE_TO_DEVICE, stream, false);
}

ENTRY(int, cuMemcpyPeer, uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes)
{
    (void)to_context, (void)from_context;
    return copy(to, from, bytes, COPY_DEVICE_TO_DEVICE, NULL, true);
}

ENTRY(int, cuMemcpyPeerAsync, uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes,
      void *stream)
{
    (void)to_context, (void)from_context;
    return copy(to, from, bytes, COPY_DEVICE_TO_DEVICE, stream, false);
}

/* One side of a box: an array, or memory with rows of a pitch. */
struct box_side {
    int type;
    uint64_t host, device;
    const void *array;
    size_t x, y, z, pitch, height; /* 0: no more than what is copied */
};

static int resolve_array(struct call *call, const struct box_side *box, const struct copy *copy, struct copy_side *side)
{
    const struct array *array = array_find(call->process, box->array);
    if (!array)
        return CUDA_ERROR_INVALID_HANDLE;
    size_t width = array->extent.width * array->element_bytes, height = array->extent.height ? array->extent.height : 1;
    size_t depth = array->extent.depth ? array->extent.depth : 1;
    if (box->x > width || copy->width_bytes > width - box->x || box->y > height || copy->height > height - box->y ||
        box->z > depth || copy->depth > depth - box->z)
        return CUDA_ERROR_INVALID_VALUE;
    array_side(array, box->x, box->y, box->z, side);
    return CUDA_SUCCESS;
}

static int resolve_box(struct call *call, const struct box_side *box, const struct copy *copy, struct copy_side *side)
{
    if (box->type == MEMORY_ARRAY)
        return resolve_array(call, box, copy, side);
    if (box->type != MEMORY_HOST && box->type != MEMORY_DEVICE && box->type != MEMORY_UNIFIED)
        return CUDA_ERROR_INVALID_VALUE;
    size_t pitch = box->pitch ? box->pitch : copy->width_bytes;
    size_t slice = pitch * (box->height ? box->height : copy->height);
    if (copy->width_bytes > pitch)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t address = box->type == MEMORY_HOST ? box->host : box->device;
    if (!address)
        return CUDA_ERROR_INVALID_VALUE;
    int error = copy_resolve(call->process, address + box->z * slice + box->y * pitch + box->x,
                             box->type == MEMORY_DEVICE, side);
    if (error == CUDA_SUCCESS && box->type == MEMORY_HOST) {
        if (!side->host)
            return CUDA_ERROR_INVALID_VALUE;
        side->context = NULL; /* managed memory, from the host's side */
    }
    side->pitch = pitch;
    side->slice_bytes = slice;
    return error;
}

int driver_copy_of(struct call *call, const struct abi_driver_copy_3d *p, struct copy *copy)
{
    *copy = (struct copy){.width_bytes = p->width_bytes, .height = p->height, .depth = p->depth};
    struct box_side to = {
        p->to_type,  (uint64_t)(uintptr_t)p->to_host, p->to_device, p->to_array, p->to_x, p->to_y, p->to_z, p->to_pitch,
        p->to_height};
    struct box_side from = {p->from_type,   (uint64_t)(uintptr_t)p->from_host,
                            p->from_device, p->from_array,
                            p->from_x,      p->from_y,
                            p->from_z,      p->from_pitch,
                            p->from_height};
    int error = resolve_box(call, &to, copy, &copy->to);
    return error == CUDA_SUCCESS ? resolve_box(call, &from, copy, &copy->from) : error;
}

static int copy_box(const struct abi_driver_copy_3d *p, void *stream, bool wait)
{
    struct call call;
    struct copy copy;
    if (!driver_begin(&call))
        return call_end(&call);
    if (p->width_bytes && p->height && p->depth) {
        call.error = driver_copy_of(&call, p, &copy);
        if (call.error == CUDA_SUCCESS)
            call.error = api_copy(&call, &copy, stream, wait);
    }
    return call_end(&call);
}

static int copy_rectangle(const struct abi_driver_copy_2d *p, void *stream, bool wait)
{
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    struct abi_driver_copy_3d box = {.from_x = p->from_x,
                                     .from_y = p->from_y,
                                     .from_type = p->from_type,
                                     .from_host = p->from_host,
                                     .from_device = p->from_device,
                                     .from_array = p->from_array,
                                     .from_pitch = p->from_pitch,
                                     .to_x = p->to_x,
                                     .to_y = p->to_y,
                                     .to_type = p->to_type,
                                     .to_host = p->to_host,
                                     .to_device = p->to_device,
                                     .to_array = p->to_array,
                                     .to_pitch = p->to_pitch,
                                     .width_bytes = p->width_bytes,
                                     .height = p->height,
                                     .depth = 1};
    return copy_box(&box, stream, wait);
}

ENTRY(int, cuMemcpy2D_v2, const struct abi_driver_copy_2d *p)
{
    return copy_rectangle(p, NULL, true);
}

ENTRY(int, cuMemcpy2DUnaligned_v2, const struct abi_driver_copy_2d *p)
{
    return copy_rectangle(p, NULL, true);
}

ENTRY(int, cuMemcpy2DAsync_v2, const struct abi_driver_copy_2d *p, void *stream)
{
    return copy_rectangle(p, stream, false);
}

ENTRY(int, cuMemcpy3D_v2, const struct abi_driver_copy_3d *p)
{
    return p ? copy_box(p, NULL, true) : CUDA_ERROR_INVALID_VALUE;
}

ENTRY(int, cuMemcpy3DAsync_v2, const struct abi_driver_copy_3d *p, void *stream)
{
    return p ? copy_box(p, stream, false) : CUDA_ERROR_INVALID_VALUE;
}

static int fill_rows(uint64_t to, size_t pitch, uint32_t value, uint32_t element_bytes, size_t width, size_t height,
                     void *stream, bool wait)
{
    struct call call;
    if (driver_begin(&call)) {
        struct fill fill = {.address = to,
                            .pitch = pitch,
                            .slice_bytes = pitch * height,
                            .width_bytes = width * element_bytes,
                            .height = height,
                            .depth = 1,
                            .value = value,
                            .element_bytes = element_bytes};
        if (to % element_bytes || width > SIZE_MAX / element_bytes || (height > 1 && pitch % element_bytes))
            call.error = CUDA_ERROR_INVALID_VALUE;
        else
            call.error = api_fill(&call, &fill, stream, wait);
    }
    return call_end(&call);
}

/*
 * F(name, type of the value, bytes): one element after the other, with and without a stream, in one row and in several.
 */
#define F(bits, type, bytes) \
    ENTRY(int, cuMemsetD##bits##_v2, uint64_t to, type value, size_t count) \
    { \
        return fill_rows(to, count * (bytes), value, bytes, count, 1, NULL, true); \
    } \
    ENTRY(int, cuMemsetD##bits##Async, uint64_t to, type value, size_t count, void *stream) \
    { \
        return fill_rows(to, count * (bytes), value, bytes, count, 1, stream, false); \
    } \
    ENTRY(int, cuMemsetD2D##bits##_v2, uint64_t to, size_t pitch, type value, size_t width, size_t height) \
    { \
        return fill_rows(to, pitch, value, bytes, width, height, NULL, true); \
    } \
    ENTRY(int, cuMemsetD2D##bits##Async, uint64_t to, size_t pitch, type value, size_t width, size_t height, \
          void *stream) \
    { \
        return fill_rows(to, pitch, value, bytes, width, height, stream, false); \
    }
F(8, unsigned char, 1)
F(16, unsigned short, 2)
F(32, unsigned, 4)
#undef F
