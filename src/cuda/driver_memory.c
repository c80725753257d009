/* SPDX-License-Identifier: MIT */
/* Memory of the driver API: allocation, addresses, what is known of a pointer. */
#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/driver_api.h"
#include "cuda/driver_calls.h"
#include "cuda/graph.h"
#include "cuda/pool_bytes.h"
#include "cuda/process.h"
#include "cuda/ranges.h"
#include "cuda/runtime_api.h"

#include <string.h>

ENTRY(int, cuMemAlloc_v2, uint64_t *address, size_t bytes)
{
    struct call call;
    if (driver_begin(&call)) {
        if (!address || !bytes)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else
            call.error = graph_refuse_unsafe(call.process, call.thread);
        if (call.error == CUDA_SUCCESS)
            call.error = memory_allocate(call.process, call.context, bytes, address, driver_call_name("cuMemAlloc"));
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
            call.error = graph_refuse_unsafe(call.process, call.thread);
        }
        if (call.error == CUDA_SUCCESS) {
            call.error =
                __builtin_mul_overflow(*pitch, height, &bytes)
                    ? CUDA_ERROR_OUT_OF_MEMORY
                    : memory_allocate(call.process, call.context, bytes, address, driver_call_name("cuMemAlloc"));
        }
    }
    return call_end(&call);
}

ENTRY(int, cuMemFree_v2, uint64_t address)
{
    struct call call;
    if (driver_begin(&call)) {
        call.error = graph_refuse_unsafe(call.process, call.thread);
        if (call.error == CUDA_SUCCESS)
            call.error = api_free(&call, address, false, driver_call_name("cuMemFree"));
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
    case ATTRIBUTE_INTERPROCESS:
        *(unsigned char *)value = range->kind == RANGE_DEVICE && !range->pool && !process->remote;
        return CUDA_SUCCESS;
    case ATTRIBUTE_SYNC_MEMOPS:
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

ENTRY(int, cuMemGetInfo_v2, size_t *available, size_t *total)
{
    struct call call;
    if (driver_begin(&call)) {
        size_t all = device_memory_bytes(call.context->device);
        size_t used = call.context->allocated_bytes + call.context->device->physical_bytes +
                      pool_bytes_idle(call.process, call.context->device);
        if (available)
            *available = used < all ? all - used : 0;
        if (total)
            *total = all;
    }
    return call_end(&call);
}

/* Of CUDA before 3.2. */
ENTRY(int, cuMemGetInfo, unsigned *available, unsigned *total)
{
    size_t left = 0, all = 0;
    int error = corun_cuMemGetInfo_v2(&left, &all);
    if (error == CUDA_SUCCESS && available)
        *available = abi_size_of_32_bits(left);
    if (error == CUDA_SUCCESS && total)
        *total = abi_size_of_32_bits(all);
    return error;
}
