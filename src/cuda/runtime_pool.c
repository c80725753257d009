/* SPDX-License-Identifier: MIT */
/*
 * Pools of memory, and memory that streams allocate and free: plain allocation now, freed when the stream comes to it.
 */
#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/call.h"
#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/driver_calls.h"
#include "cuda/graph.h"
#include "cuda/graph_memory.h"
#include "cuda/interprocess.h"
#include "cuda/object.h"
#include "cuda/pool.h"
#include "cuda/pool_bytes.h"
#include "cuda/process.h"
#include "cuda/ranges.h"
#include "cuda/runtime_api.h"
#include "cuda/stream.h"
#include "cuda/task.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALLOCATION_PINNED = 1, ALLOCATION_MANAGED }; /* cudaMemAllocationType */

/* cudaMemPoolProps */
struct abi_pool_properties {
    int kind, handle_types;
    struct abi_location location;
    void *other;
    size_t most_bytes; /* since CUDA 12 */
};

struct pool *pool_create(struct process *process, struct device *device, int file)
{
    struct pool *pool = calloc(1, sizeof *pool);
    struct pool_bytes *bytes = calloc(1, sizeof *bytes);
    struct stat about;
    if (pool && bytes && (file < 0 || fstat(file, &about) == 0)) {
        *pool = (struct pool){.object = {OBJECT_POOL}, .device = device, .bytes = bytes, .file = file};
        bytes->references = 1;
        bytes->file = file < 0 ? 0 : about.st_ino;
        if (vector_push(&process->pools, pool)) {
            if (object_add(process, &pool->object))
                return pool;
            process->pools.count--;
        }
    }
    if (file >= 0)
        close(file);
    free(pool);
    free(bytes);
    return NULL;
}

void pool_destroy(struct process *process, struct pool *pool)
{
    size_t i = 0;
    object_remove(process, &pool->object);
    while (process->pools.data[i] != pool)
        i++;
    process->pools.data[i] = process->pools.data[--process->pools.count];
    pool_bytes_release(pool->bytes); /* what it has given out still counts it */
    if (pool->file >= 0)
        close(pool->file);
    free(pool);
}

static struct pool *default_pool(struct process *process, struct device *device)
{
    if (!device->pool)
        device->pool = pool_create(process, device, -1);
    return (struct pool *)device->pool;
}

static struct pool *current_pool(struct process *process, struct device *device)
{
    return device->current_pool ? (struct pool *)device->current_pool : default_pool(process, device);
}

static int get_pool(void **pool, int device, bool current)
{
    struct call call;
    if (runtime_begin_device(&call)) {
        struct device *of = process_device(call.process, device);
        if (!pool || !of)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (!(*pool = (current ? current_pool : default_pool)(call.process, of)))
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaDeviceGetDefaultMemPool, void **pool, int device)
{
    return get_pool(pool, device, false);
}

ENTRY(int, cudaDeviceGetMemPool, void **pool, int device)
{
    return get_pool(pool, device, true);
}

ENTRY(int, cudaDeviceSetMemPool, int device, void *pool)
{
    struct call call;
    if (runtime_begin_device(&call)) {
        struct device *of = process_device(call.process, device);
        const struct pool *named = object_find(call.process, pool, OBJECT_POOL);
        if (!of || !named || named->device != of || named->imported)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else
            of->current_pool = pool;
    }
    return runtime_end(&call);
}

/* Pools by location: those of devices, of memory that stays where it is. */
static struct device *device_of_location(struct call *call, const struct abi_location *location, int kind)
{
    bool there = location && kind >= ALLOCATION_PINNED && kind <= ALLOCATION_MANAGED;
    if (there && (kind != ALLOCATION_PINNED || location->kind != LOCATION_DEVICE)) {
        say("not supported: pools of memory that is not a device's");
        call->error = CUDA_ERROR_NOT_SUPPORTED;
        return NULL;
    }
    struct device *device = there ? process_device(call->process, location->id) : NULL;
    if (!device)
        call->error = CUDA_ERROR_INVALID_VALUE;
    return device;
}

static int get_pool_of_location(void **pool, const struct abi_location *location, int kind, bool current)
{
    struct call call;
    if (runtime_begin_device(&call)) {
        struct device *device = device_of_location(&call, location, kind);
        if (device && !pool)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (device && !(*pool = (current ? current_pool : default_pool)(call.process, device)))
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMemGetDefaultMemPool, void **pool, const struct abi_location *location, int kind)
{
    return get_pool_of_location(pool, location, kind, false);
}

ENTRY(int, cudaMemGetMemPool, void **pool, const struct abi_location *location, int kind)
{
    return get_pool_of_location(pool, location, kind, true);
}

ENTRY(int, cudaMemSetMemPool, const struct abi_location *location, int kind, void *pool)
{
    struct call call;
    if (runtime_begin_device(&call)) {
        struct device *device = device_of_location(&call, location, kind);
        const struct pool *named = object_find(call.process, pool, OBJECT_POOL);
        if (device && named && named->device == device && !named->imported)
            device->current_pool = pool;
        else if (device)
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMemPoolCreate, void **result, const struct abi_pool_properties *properties)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct device *device =
            result && properties ? device_of_location(&call, &properties->location, properties->kind) : NULL;
        int file = -1;
        if (!device)
            call.error = call.error == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : call.error;
        else if (properties->handle_types & ~POOL_HANDLE_FILE)
            call.error = CUDA_ERROR_NOT_SUPPORTED;
        else if (properties->handle_types && (file = interprocess_pool_file()) < 0)
            call.error = CUDA_ERROR_OPERATING_SYSTEM;
        else if (!(*result = pool_create(call.process, device, file)))
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
        else
            ((struct pool *)*result)->most_bytes = properties->most_bytes;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMemPoolDestroy, void *handle)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct pool *pool = object_find(call.process, handle, OBJECT_POOL);
        if (!pool || pool == pool->device->pool) {
            call.error = CUDA_ERROR_INVALID_VALUE;
        } else {
            if (pool->device->current_pool == pool)
                pool->device->current_pool = NULL;
            pool_destroy(call.process, pool);
        }
    }
    return runtime_end(&call);
}

enum { POOL_RELEASE_THRESHOLD = 4, POOL_RESERVED, POOL_MOST_RESERVED, POOL_USED, POOL_MOST_USED };

/* What has been most can be set to 0, which is what there is now. False: there is no such count, or it cannot be set. */
static bool pool_count(struct pool_bytes *bytes, int attribute, uint64_t *value, bool set)
{
    bool most = attribute == POOL_MOST_RESERVED || attribute == POOL_MOST_USED;
    if (attribute < POOL_RESERVED || attribute > POOL_MOST_USED || (set && (!most || *value)))
        return false;
    bool of_use = attribute >= POOL_USED;
    const uint64_t now = of_use ? bytes->used : bytes->reserved;
    uint64_t *at_most = of_use ? &bytes->most_used : &bytes->most_reserved;
    if (set)
        *at_most = now;
    else
        *value = most ? *at_most : now;
    return true;
}

static int pool_attribute(void *handle, int attribute, void *value, bool set)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct pool *pool = object_find(call.process, handle, OBJECT_POOL);
        if (!pool || !value)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (attribute >= 1 && attribute <= 3 && !set)
            *(int *)value = 1; /* what may be used again: everything */
        else if (attribute == POOL_RELEASE_THRESHOLD && set)
            pool->bytes->threshold = *(const uint64_t *)value;
        else if (attribute == POOL_RELEASE_THRESHOLD)
            *(uint64_t *)value = pool->bytes->threshold;
        else if ((attribute < 1 || attribute >= POOL_RELEASE_THRESHOLD) &&
                 !pool_count(pool->bytes, attribute, value, set))
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMemPoolGetAttribute, void *pool, int attribute, void *value)
{
    return pool_attribute(pool, attribute, value, false);
}

ENTRY(int, cudaMemPoolSetAttribute, void *pool, int attribute, void *value)
{
    return pool_attribute(pool, attribute, value, true);
}

ENTRY(int, cudaMemPoolTrimTo, void *handle, size_t bytes)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct pool *pool = object_find(call.process, handle, OBJECT_POOL);
        if (pool)
            pool_bytes_trim(pool->bytes, bytes);
        else
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return runtime_end(&call);
}

static int allocate_in_graph(struct call *call, struct stream *stream, size_t bytes, uint64_t *address)
{
    struct graph_memory *memory;
    int error = graph_memory_create(call->process, stream->context, bytes, &memory);
    if (error != CUDA_SUCCESS)
        return error;
    *address = memory->address;
    error = graph_capture_memory(call->process, stream, memory, false);
    graph_memory_release(call->process, memory); /* the node has its own */
    return error;
}

static int allocate_from(struct call *call, struct pool *pool, size_t bytes, uint64_t *address)
{
    if (pool->most_bytes && (bytes > pool->most_bytes || pool->bytes->used > pool->most_bytes - bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    int error = memory_allocate(call->process, call->context, bytes, address, "cudaMallocAsync");
    if (error == CUDA_SUCCESS)
        memory_count(call->process, *address, pool->bytes);
    return error;
}

/* From the pool `named` with has_name, else from the current one of the device. */
static int allocate_in_stream(void **pointer, size_t bytes, const void *named, bool has_name, void *handle)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct stream *stream;
        uint64_t address = 0;
        struct pool *pool =
            has_name ? object_find(call.process, named, OBJECT_POOL) : current_pool(call.process, call.context->device);
        call.error =
            pointer && pool && !pool->imported ? stream_of_handle(&call, handle, &stream) : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS && bytes)
            call.error = stream->capture ? allocate_in_graph(&call, stream, bytes, &address)
                                         : allocate_from(&call, pool, bytes, &address);
        if (call.error == CUDA_SUCCESS)
            *pointer = (void *)(uintptr_t)address;
    }
    return runtime_end(&call);
}

ENTRY(int, cuMemAllocAsync, void **pointer, size_t bytes, void *stream)
{
    return allocate_in_stream(pointer, bytes, NULL, false, stream);
}

ENTRY(int, cuMemAllocFromPoolAsync, void **pointer, size_t bytes, void *pool, void *stream)
{
    return allocate_in_stream(pointer, bytes, pool, true, stream);
}

ENTRY(int, cuMemFreeAsync, void *pointer, void *handle)
{
    struct call call;
    if (runtime_begin(&call) && pointer) {
        struct stream *stream;
        const struct range *range = ranges_find(call.process, (uint64_t)(uintptr_t)pointer);
        call.error = stream_of_handle(&call, handle, &stream);
        if (call.error == CUDA_SUCCESS && !range)
            api_tell_freed_before(call.context, (uint64_t)(uintptr_t)pointer, "cudaFreeAsync");
        if (call.error == CUDA_SUCCESS && (!range || range->address != (uint64_t)(uintptr_t)pointer))
            call.error = CUDA_ERROR_INVALID_VALUE;
        struct graph_memory *of_graph =
            call.error == CUDA_SUCCESS ? graph_memory_find(call.context, (uint64_t)(uintptr_t)pointer) : NULL;
        bool frees_now = of_graph && !stream->capture;
        bool opened = call.error == CUDA_SUCCESS && interprocess_is_pooled(call.process, range->address);
        struct task *task = call.error == CUDA_SUCCESS && !frees_now && !opened ? task_create(TASK_FREE) : NULL;
        if (opened) { /* waits for what is under way */
            call.error = stream->capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                                         : interprocess_close_memory(&call, (uint64_t)(uintptr_t)pointer);
        } else if (frees_now) {
            call.error = graph_memory_free(call.process, of_graph);
        } else if (task) {
            task->address = (uint64_t)(uintptr_t)pointer;
            call.error = stream_ask(call.process, stream, task);
        } else if (call.error == CUDA_SUCCESS) {
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return runtime_end(&call);
}

/* The runtime's, by way of the driver. */

ENTRY(int, cudaMallocAsync, void **pointer, size_t bytes, void *stream)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct driver_call driver = driver_call_begin(call.process, NULL);
        call.error = driver.calls->cuMemAllocAsync[driver.per_thread](pointer, bytes, stream);
        driver_call_end(call.process, &driver);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMallocFromPoolAsync, void **pointer, size_t bytes, void *pool, void *stream)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct driver_call driver = driver_call_begin(call.process, NULL);
        call.error = driver.calls->cuMemAllocFromPoolAsync[driver.per_thread](pointer, bytes, pool, stream);
        driver_call_end(call.process, &driver);
    }
    return runtime_end(&call);
}

ENTRY(int, cudaFreeAsync, void *pointer, void *stream)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct driver_call driver = driver_call_begin(call.process, NULL);
        call.error = driver.calls->cuMemFreeAsync[driver.per_thread](pointer, stream);
        driver_call_end(call.process, &driver);
    }
    return runtime_end(&call);
}

/* Which devices may use a pool's memory: its own, always. */

struct abi_pool_access {
    int location_kind, location_id, flags;
};
enum { ACCESS_NONE = 0, ACCESS_READ_WRITE = 3 };

ENTRY(int, cudaMemPoolSetAccess, void *handle, const struct abi_pool_access *access, size_t count)
{
    struct call call;
    if (runtime_begin_device(&call)) {
        const struct pool *pool = object_find(call.process, handle, OBJECT_POOL);
        if (!pool || !access)
            call.error = CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < count && call.error == CUDA_SUCCESS; i++) {
            const struct device *device =
                access[i].location_kind == LOCATION_DEVICE ? process_device(call.process, access[i].location_id) : NULL;
            bool own = device && device == pool->device;
            if (!device || (own && access[i].flags != ACCESS_READ_WRITE))
                call.error = CUDA_ERROR_INVALID_DEVICE;
            else if (!own && access[i].flags != ACCESS_NONE)
                call.error = CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
        }
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMemPoolGetAccess, int *flags, void *handle, const struct abi_pool_access *location)
{
    struct call call;
    if (runtime_begin_device(&call)) {
        const struct pool *pool = object_find(call.process, handle, OBJECT_POOL);
        if (!pool || !flags || !location || location->location_kind != LOCATION_DEVICE)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else
            *flags = location->location_id == (int)pool->device->ordinal ? ACCESS_READ_WRITE : ACCESS_NONE;
    }
    return runtime_end(&call);
}
