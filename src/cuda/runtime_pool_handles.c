/* SPDX-License-Identifier: MIT */
/* Handles of pools for other processes, and of what pools have given out. */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/interprocess.h"
#include "cuda/object.h"
#include "cuda/pool.h"
#include "cuda/process.h"
#include "cuda/ranges.h"
#include "cuda/runtime_api.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

ENTRY(int, cudaMemPoolExportToShareableHandle, void *handle, void *pool_handle, int type, unsigned flags)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct pool *pool = object_find(call.process, pool_handle, OBJECT_POOL);
        if (!handle || !pool || pool->imported || pool->file < 0 || type != POOL_HANDLE_FILE || flags)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (interprocess_allowed(&call) && (*(int *)handle = fcntl(pool->file, F_DUPFD_CLOEXEC, 0)) < 0)
            call.error = CUDA_ERROR_OPERATING_SYSTEM;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMemPoolImportFromShareableHandle, void **result, void *handle, int type, unsigned flags)
{
    struct call call;
    if (runtime_begin(&call)) {
        int given = (int)(intptr_t)handle, file = -1;
        struct pool *pool = NULL;
        if (!result || type != POOL_HANDLE_FILE || flags || !interprocess_is_pool(given))
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (interprocess_allowed(&call) && (file = fcntl(given, F_DUPFD_CLOEXEC, 0)) < 0)
            call.error = CUDA_ERROR_OPERATING_SYSTEM;
        else if (call.error == CUDA_SUCCESS && !(pool = pool_create(call.process, call.context->device, file)))
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
        if (pool) {
            pool->imported = true;
            *result = pool;
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMemPoolExportPointer, struct abi_interprocess_handle *handle, const void *pointer)
{
    struct call call;
    if (runtime_begin(&call))
        call.error = interprocess_export_pooled(&call, (uint64_t)(uintptr_t)pointer, handle);
    return runtime_end(&call);
}

ENTRY(int, cudaMemPoolImportPointer, void **pointer, void *pool_handle, const struct abi_interprocess_handle *handle)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct pool *pool = object_find(call.process, pool_handle, OBJECT_POOL);
        struct stat about;
        uint64_t address = 0;
        if (!pointer || !handle || !pool || !pool->imported)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (fstat(pool->file, &about))
            call.error = CUDA_ERROR_OPERATING_SYSTEM;
        else
            call.error = interprocess_import_pooled(&call, handle, about.st_ino, &address);
        if (call.error == CUDA_SUCCESS)
            *pointer = (void *)(uintptr_t)address;
    }
    return runtime_end(&call);
}
