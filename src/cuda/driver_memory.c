/* Memory and copies of the driver API. */
#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/array.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/copy.h"
#include "cuda/device.h"
#include "cuda/driver_api.h"
#include "cuda/graph_node.h"
#include "cuda/process.h"
#include "cuda/ranges.h"

#include <string.h>

ENTRY(int, cuMemAlloc_v2, uint64_t *address, size_t bytes)
{
    struct call call;
    if (driver_begin(&call)) {
        if (!address || !bytes)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else
            call.error = memory_allocate(call.process, call.context, bytes, address, "cuMemAlloc");
    }
    return call_end(&call);
}

ENTRY(int, cuMemAllocPitch_v2, uint64_t *address, size_t *pitch, size_t width, size_t height, unsigned element_bytes)
{
    struct call call;
    if (driver_begin(&call)) {
        uint64_t bytes;
        if (!address || !pitch || !width || !height || width > SIZE_MAX - 512 ||
            (element_bytes != 4 && element_bytes != 8 && element_bytes != 16)) {
            call.error = CUDA_ERROR_INVALID_VALUE;
        } else {
            *pitch = (width + 511) / 512 * 512;
            call.error = __builtin_mul_overflow(*pitch, height, &bytes)
                             ? CUDA_ERROR_OUT_OF_MEMORY
                             : memory_allocate(call.process, call.context, bytes, address, "cuMemAlloc");
        }
    }
    return call_end(&call);
}

ENTRY(int, cuMemFree_v2, uint64_t address)
{
    struct call call;
    if (driver_begin(&call))
        call.error = api_free(&call, address, false, "cuMemFree");
    return call_end(&call);
}

ENTRY(int, cuMemGetAddressRange_v2, uint64_t *base, size_t *bytes, uint64_t address)
{
    struct call call;
    if (driver_begin(&call)) {
        const struct range *range = ranges_find(call.process, address);
        if (!range) {
            call.error = CUDA_ERROR_NOT_FOUND;
        } else {
            if (base)
                *base = range->address;
            if (bytes)
                *bytes = range->bytes;
        }
    }
    return call_end(&call);
}

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

/* CUmemorytype */
enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2, MEMORY_ARRAY = 3, MEMORY_UNIFIED = 4 };

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
                     void *stream)
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
            call.error = api_fill(&call, &fill, stream, false);
    }
    return call_end(&call);
}

/*
 * F(name, type of the value, bytes): one element after the other, with and without a stream, in one row and in several.
 */
#define F(bits, type, bytes) \
    ENTRY(int, cuMemsetD##bits##_v2, uint64_t to, type value, size_t count) \
    { \
        return fill_rows(to, count * (bytes), value, bytes, count, 1, NULL); \
    } \
    ENTRY(int, cuMemsetD##bits##Async, uint64_t to, type value, size_t count, void *stream) \
    { \
        return fill_rows(to, count * (bytes), value, bytes, count, 1, stream); \
    } \
    ENTRY(int, cuMemsetD2D##bits##_v2, uint64_t to, size_t pitch, type value, size_t width, size_t height) \
    { \
        return fill_rows(to, pitch, value, bytes, width, height, NULL); \
    } \
    ENTRY(int, cuMemsetD2D##bits##Async, uint64_t to, size_t pitch, type value, size_t width, size_t height, \
          void *stream) \
    { \
        return fill_rows(to, pitch, value, bytes, width, height, stream); \
    }
F(8, unsigned char, 1)
F(16, unsigned short, 2)
F(32, unsigned, 4)
#undef F

/* CUpointer_attribute */
enum {
    ATTRIBUTE_CONTEXT = 1,
    ATTRIBUTE_MEMORY_TYPE = 2,
    ATTRIBUTE_DEVICE_POINTER = 3,
    ATTRIBUTE_HOST_POINTER = 4,
    ATTRIBUTE_SYNC_MEMOPS = 6,
    ATTRIBUTE_BUFFER_ID = 7,
    ATTRIBUTE_IS_MANAGED = 8,
    ATTRIBUTE_DEVICE = 9,
    ATTRIBUTE_RANGE_START = 11,
    ATTRIBUTE_RANGE_BYTES = 12,
    ATTRIBUTE_MAPPED = 13,
    ATTRIBUTE_INTERPROCESS = 10,
    ATTRIBUTE_HANDLE_TYPES = 14,
    ATTRIBUTE_DIRECT = 15,
    ATTRIBUTE_ACCESS = 16,
    ATTRIBUTE_POOL = 17,
    ATTRIBUTE_MAPPING_BYTES = 18,
    ATTRIBUTE_MAPPING_BASE = 19,
};

static int pointer_attribute(const struct process *process, void *value, int attribute, uint64_t address)
{
    const struct range *range = ranges_find(process, address);
    if (!range)
        return CUDA_ERROR_INVALID_VALUE;
    bool host = range->kind == RANGE_HOST || range->kind == RANGE_REGISTERED;
    switch (attribute) {
    case ATTRIBUTE_CONTEXT:
        *(void **)value = range->context;
        return CUDA_SUCCESS;
    case ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)value = host ? MEMORY_HOST : MEMORY_DEVICE;
        return CUDA_SUCCESS;
    case ATTRIBUTE_DEVICE_POINTER:
        *(uint64_t *)value = address;
        return CUDA_SUCCESS;
    case ATTRIBUTE_HOST_POINTER:
        if (range_of_device(range))
            return CUDA_ERROR_INVALID_VALUE;
        *(uint64_t *)value = address;
        return CUDA_SUCCESS;
    case ATTRIBUTE_SYNC_MEMOPS:
    case ATTRIBUTE_INTERPROCESS:
    case ATTRIBUTE_DIRECT:
        *(unsigned char *)value = 0;
        return CUDA_SUCCESS;
    case ATTRIBUTE_HANDLE_TYPES:
    case ATTRIBUTE_POOL:
        *(uint64_t *)value = 0;
        return CUDA_SUCCESS;
    case ATTRIBUTE_ACCESS:
        *(unsigned *)value = 3; /* reading and writing */
        return CUDA_SUCCESS;
    case ATTRIBUTE_BUFFER_ID:
    case ATTRIBUTE_RANGE_START:
    case ATTRIBUTE_MAPPING_BASE:
        *(uint64_t *)value = range->address;
        return CUDA_SUCCESS;
    case ATTRIBUTE_IS_MANAGED:
        *(unsigned char *)value = range->kind == RANGE_MANAGED;
        return CUDA_SUCCESS;
    case ATTRIBUTE_DEVICE:
        *(int *)value = (int)range->context->device->ordinal;
        return CUDA_SUCCESS;
    case ATTRIBUTE_RANGE_BYTES:
    case ATTRIBUTE_MAPPING_BYTES:
        *(size_t *)value = range->bytes;
        return CUDA_SUCCESS;
    case ATTRIBUTE_MAPPED:
        *(unsigned char *)value = 1;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

ENTRY(int, cuPointerGetAttribute, void *value, int attribute, uint64_t address)
{
    struct call call;
    if (driver_begin_started(&call))
        call.error = value ? pointer_attribute(call.process, value, attribute, address) : CUDA_ERROR_INVALID_VALUE;
    return call_end(&call);
}

/* What is not known of an address is zero here, and no error. */
ENTRY(int, cuPointerGetAttributes, unsigned count, int *attributes, void **values, uint64_t address)
{
    struct call call;
    if (driver_begin_started(&call)) {
        if (!attributes || !values)
            call.error = CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < count && call.error == CUDA_SUCCESS; i++)
            if (values[i] && pointer_attribute(call.process, values[i], attributes[i], address) != CUDA_SUCCESS)
                memset(values[i], 0,
                       attributes[i] == ATTRIBUTE_IS_MANAGED || attributes[i] == ATTRIBUTE_SYNC_MEMOPS ? 1 : 4);
    }
    return call_end(&call);
}

/* Synchronous copies are synchronous with all memory already: there is nothing to switch on. */
ENTRY(int, cuPointerSetAttribute, const void *value, int attribute, uint64_t address)
{
    struct call call;
    if (driver_begin_started(&call) &&
        (!value || attribute != ATTRIBUTE_SYNC_MEMOPS || !ranges_find(call.process, address)))
        call.error = CUDA_ERROR_INVALID_VALUE;
    return call_end(&call);
}
