/* SPDX-License-Identifier: MIT */
/* Memory of the runtime API: allocation, addresses, what is known of a pointer. */
#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/driver_calls.h"
#include "cuda/engine.h"
#include "cuda/graph.h"
#include "cuda/image.h"
#include "cuda/process.h"
#include "cuda/ranges.h"
#include "cuda/runtime_api.h"

#define PITCH_BYTES 512u

/* No bytes are no error, and at address 0. */
static int allocate(struct call *call, size_t bytes, const char *name, void **pointer)
{
    uint64_t address = 0;
    if (bytes) {
        const struct driver_call driver = driver_call_begin(call->process, name);
        call->error = driver.calls->cuMemAlloc(&address, bytes);
        driver_call_end(call->process, &driver);
    }
    if (call->error == CUDA_SUCCESS)
        *pointer = (void *)(uintptr_t)address;
    return call->error;
}

ENTRY(int, cudaMalloc, void **pointer, size_t bytes)
{
    struct call call;
    if (runtime_begin(&call))
        call.error = pointer ? allocate(&call, bytes, "cudaMalloc", pointer) : CUDA_ERROR_INVALID_VALUE;
    return runtime_end(&call);
}

static int allocate_pitched(struct call *call, void **pointer, size_t *pitch, size_t width, size_t height, size_t depth)
{
    uint64_t bytes;
    if (!pointer || !pitch || width > SIZE_MAX - PITCH_BYTES)
        return CUDA_ERROR_INVALID_VALUE;
    size_t rows = (width + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;
    if (__builtin_mul_overflow(rows, height, &bytes) || __builtin_mul_overflow(bytes, depth, &bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    int error = allocate(call, bytes, "cudaMallocPitch", pointer);
    if (error == CUDA_SUCCESS)
        *pitch = rows;
    return error;
}

ENTRY(int, cudaMallocPitch, void **pointer, size_t *pitch, size_t width, size_t height)
{
    struct call call;
    if (runtime_begin(&call))
        call.error = allocate_pitched(&call, pointer, pitch, width, height, 1);
    return runtime_end(&call);
}

ENTRY(int, cudaMalloc3D, struct abi_pitched *pitched, struct abi_extent extent)
{
    struct call call;
    if (runtime_begin(&call)) {
        if (!pitched) {
            call.error = CUDA_ERROR_INVALID_VALUE;
        } else {
            call.error =
                allocate_pitched(&call, &pitched->pointer, &pitched->pitch, extent.width, extent.height, extent.depth);
            pitched->width_bytes = extent.width;
            pitched->height = extent.height;
        }
    }
    return runtime_end(&call);
}

static int allocate_host(void **pointer, size_t bytes, enum range_kind kind, unsigned flags)
{
    struct call call;
    if (runtime_begin(&call)) {
        uint64_t address = 0;
        if (!pointer || (kind == RANGE_MANAGED && !bytes))
            call.error = CUDA_ERROR_INVALID_VALUE;
        else
            call.error = graph_refuse_unsafe(call.process, call.thread);
        if (call.error == CUDA_SUCCESS && bytes)
            call.error = memory_allocate_host(call.process, call.context, bytes, kind, flags, &address);
        if (call.error == CUDA_SUCCESS)
            *pointer = (void *)(uintptr_t)address;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMallocHost, void **pointer, size_t bytes)
{
    return allocate_host(pointer, bytes, RANGE_HOST, 0);
}

ENTRY(int, cudaHostAlloc, void **pointer, size_t bytes, unsigned flags)
{
    return allocate_host(pointer, bytes, RANGE_HOST, flags);
}

ENTRY(int, cudaMallocManaged, void **pointer, size_t bytes, unsigned flags)
{
    if (flags != 1 && flags != 2) /* attached globally or to the host */
        return thread_get()->last_error = CUDA_ERROR_INVALID_VALUE;
    return allocate_host(pointer, bytes, RANGE_MANAGED, flags);
}

ENTRY(int, cudaFree, void *pointer)
{
    struct call call;
    if (runtime_begin(&call) && pointer) {
        const struct driver_call driver = driver_call_begin(call.process, "cudaFree");
        call.error = driver.calls->cuMemFree((uint64_t)(uintptr_t)pointer);
        driver_call_end(call.process, &driver);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaFreeHost, void *pointer)
{
    struct call call;
    if (runtime_begin(&call))
        call.error = api_free(&call, (uint64_t)(uintptr_t)pointer, true, "cudaFreeHost");
    return runtime_end(&call);
}

ENTRY(int, cudaHostRegister, void *pointer, size_t bytes, unsigned flags)
{
    struct call call;
    if (runtime_begin(&call))
        call.error = memory_register(call.process, call.context, pointer, bytes, flags);
    return runtime_end(&call);
}

ENTRY(int, cudaHostUnregister, void *pointer)
{
    struct call call;
    if (runtime_begin(&call)) {
        call.error = engine_wait_context(call.process, call.context);
        if (call.error == CUDA_SUCCESS)
            call.error = memory_unregister(call.process, pointer);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaHostGetDevicePointer, void **device, void *host, unsigned flags)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct range *range = ranges_find(call.process, (uint64_t)(uintptr_t)host);
        if (!device || flags || !range || range_of_device(range))
            call.error = CUDA_ERROR_INVALID_VALUE;
        else
            *device = host; /* one address for both */
    }
    return runtime_end(&call);
}

ENTRY(int, cudaHostGetFlags, unsigned *flags, void *host)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct range *range = ranges_find(call.process, (uint64_t)(uintptr_t)host);
        if (!flags || !range || (range->kind != RANGE_HOST && range->kind != RANGE_REGISTERED))
            call.error = CUDA_ERROR_INVALID_VALUE;
        else
            *flags = range->flags | HOST_MAPPED;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMemGetInfo, size_t *available, size_t *total)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct driver_call driver = driver_call_begin(call.process, NULL);
        call.error = driver.calls->cuMemGetInfo(available, total);
        driver_call_end(call.process, &driver);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaPointerGetAttributes, struct abi_pointer_attributes *attributes, const void *pointer)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct range *range = ranges_find(call.process, (uint64_t)(uintptr_t)pointer);
        if (!attributes) {
            call.error = CUDA_ERROR_INVALID_VALUE;
        } else if (!range) {
            *attributes = (struct abi_pointer_attributes){POINTER_UNREGISTERED, -2, NULL, (void *)(uintptr_t)pointer};
        } else {
            void *same = (void *)(uintptr_t)pointer;
            bool device = range_of_device(range);
            *attributes =
                (struct abi_pointer_attributes){device                         ? POINTER_DEVICE
                                                : range->kind == RANGE_MANAGED ? POINTER_MANAGED
                                                                               : POINTER_HOST,
                                                (int)range->context->device->ordinal, same, device ? NULL : same};
        }
    }
    return runtime_end(&call);
}

static int symbol(struct call *call, const void *host, uint64_t *address, uint64_t *bytes)
{
    return variable_of_host(call->process, call->context, host, address, bytes);
}

ENTRY(int, cudaGetSymbolAddress, void **pointer, const void *host)
{
    struct call call;
    if (runtime_begin(&call)) {
        uint64_t address = 0, bytes;
        call.error = pointer ? symbol(&call, host, &address, &bytes) : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS)
            *pointer = (void *)(uintptr_t)address;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGetSymbolSize, size_t *size, const void *host)
{
    struct call call;
    if (runtime_begin(&call)) {
        uint64_t address, bytes = 0;
        call.error = size ? symbol(&call, host, &address, &bytes) : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS)
            *size = bytes;
    }
    return runtime_end(&call);
}
