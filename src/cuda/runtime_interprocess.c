/* SPDX-License-Identifier: MIT */
/* Handles of memory and events for other processes, of both APIs. */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/interprocess.h"
#include "cuda/object.h"
#include "cuda/runtime_api.h"

#define LAZY_PEER_ACCESS 1u

ENTRY(int, cudaIpcGetMemHandle, struct abi_interprocess_handle *handle, void *pointer)
{
    struct call call;
    if (runtime_begin(&call))
        call.error = interprocess_export_memory(&call, (uint64_t)(uintptr_t)pointer, handle);
    return runtime_end(&call);
}

ENTRY(int, cudaIpcOpenMemHandle, void **pointer, struct abi_interprocess_handle handle, unsigned flags)
{
    struct call call;
    if (runtime_begin(&call)) {
        uint64_t address = 0;
        call.error = pointer && flags == LAZY_PEER_ACCESS ? interprocess_import_memory(&call, &handle, &address)
                                                          : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS)
            *pointer = (void *)(uintptr_t)address;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaIpcCloseMemHandle, void *pointer)
{
    struct call call;
    if (runtime_begin(&call))
        call.error = interprocess_close_memory(&call, (uint64_t)(uintptr_t)pointer);
    return runtime_end(&call);
}

ENTRY(int, cudaIpcGetEventHandle, struct abi_interprocess_handle *handle, void *pointer)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct event *event = object_find(call.process, pointer, OBJECT_EVENT);
        call.error = event ? interprocess_export_event(&call, event, handle) : CUDA_ERROR_INVALID_HANDLE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaIpcOpenEventHandle, void **event, struct abi_interprocess_handle handle)
{
    struct call call;
    if (runtime_begin(&call)) {
        if (event)
            *event = interprocess_import_event(&call, &handle);
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}
