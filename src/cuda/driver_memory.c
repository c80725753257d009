/* Memory and copies of the driver API. */
#include "cuda/api.h"

#include <string.h>

ENTRY(int, cuMemAlloc_v2, uint64_t *address, size_t bytes)
{
    struct call call;
    if (driver_begin(&call)) {
        if (!address || !bytes)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else
            call.error = memory_allocate(call.process, call.context, bytes, address);
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
                             : memory_allocate(call.process, call.context, bytes, address);
        }
    }
    return call_end(&call);
}

ENTRY(int, cuMemFree_v2, uint64_t address)
{
    struct call call;
    if (driver_begin(&call) && address) {
        const struct range *range = ranges_find(call.process, address);
        if (!range || range->address != address || range->kind == RANGE_HOST) {
            call.error = CUDA_ERROR_INVALID_VALUE;
        } else {
            call.error = engine_wait_context(call.process, range->context);
            int released = memory_release(call.process, address);
            call.error = call.error == CUDA_SUCCESS ? released : call.error;
        }
    }
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

static bool side_address(int type, const void *host, uint64_t device, uint64_t *address)
{
    *address = type == MEMORY_HOST ? (uint64_t)(uintptr_t)host : device;
    return type == MEMORY_HOST || type == MEMORY_DEVICE || type == MEMORY_UNIFIED;
}

static int kind_of(int to_type, int from_type)
{
    if (to_type == MEMORY_UNIFIED || from_type == MEMORY_UNIFIED)
        return COPY_DEFAULT;
    if (from_type == MEMORY_HOST)
        return to_type == MEMORY_HOST ? COPY_HOST_TO_HOST : COPY_HOST_TO_DEVICE;
    return to_type == MEMORY_HOST ? COPY_DEVICE_TO_HOST : COPY_DEVICE_TO_DEVICE;
}

static int copy_box(const struct abi_driver_copy_3d *p, void *stream, bool wait)
{
    struct call call;
    if (!driver_begin(&call))
        return call_end(&call);
    struct copy box = {.width_bytes = p->width_bytes, .height = p->height, .depth = p->depth};
    size_t to_pitch = p->to_pitch ? p->to_pitch : p->width_bytes;
    size_t from_pitch = p->from_pitch ? p->from_pitch : p->width_bytes;
    size_t to_slice = to_pitch * (p->to_height ? p->to_height : p->height);
    size_t from_slice = from_pitch * (p->from_height ? p->from_height : p->height);
    uint64_t to, from;
    if (!side_address(p->to_type, p->to_host, p->to_device, &to) ||
        !side_address(p->from_type, p->from_host, p->from_device, &from)) {
        say("not supported: copies from and to arrays");
        call.error = CUDA_ERROR_NOT_SUPPORTED;
    } else if (p->width_bytes > to_pitch || p->width_bytes > from_pitch) {
        call.error = CUDA_ERROR_INVALID_VALUE;
    } else if (copy_bytes(&box)) {
        to += p->to_z * to_slice + p->to_y * to_pitch + p->to_x;
        from += p->from_z * from_slice + p->from_y * from_pitch + p->from_x;
        call.error = api_copy_sides(&call, to, from, kind_of(p->to_type, p->from_type), &box);
        box.to.pitch = to_pitch;
        box.to.slice_bytes = to_slice;
        box.from.pitch = from_pitch;
        box.from.slice_bytes = from_slice;
        if (call.error == CUDA_SUCCESS)
            call.error = api_copy(&call, &box, stream, wait);
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
                                     .from_pitch = p->from_pitch,
                                     .to_x = p->to_x,
                                     .to_y = p->to_y,
                                     .to_type = p->to_type,
                                     .to_host = p->to_host,
                                     .to_device = p->to_device,
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
        if (to % element_bytes || (height > 1 && pitch % element_bytes))
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
        if (range->kind == RANGE_DEVICE || range->kind == RANGE_MODULE)
            return CUDA_ERROR_INVALID_VALUE;
        *(uint64_t *)value = address;
        return CUDA_SUCCESS;
    case ATTRIBUTE_SYNC_MEMOPS:
        *(unsigned char *)value = 0;
        return CUDA_SUCCESS;
    case ATTRIBUTE_BUFFER_ID:
    case ATTRIBUTE_RANGE_START:
        *(uint64_t *)value = range->address;
        return CUDA_SUCCESS;
    case ATTRIBUTE_IS_MANAGED:
        *(unsigned char *)value = range->kind == RANGE_MANAGED;
        return CUDA_SUCCESS;
    case ATTRIBUTE_DEVICE:
        *(int *)value = (int)range->context->device->ordinal;
        return CUDA_SUCCESS;
    case ATTRIBUTE_RANGE_BYTES:
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
