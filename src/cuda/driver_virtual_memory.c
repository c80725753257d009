/* SPDX-License-Identifier: MIT */
/* Virtual memory management of the driver API. */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/driver_api.h"
#include "cuda/object.h"
#include "cuda/process.h"
#include "cuda/virtual_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALLOCATION_PINNED = 1 };
enum { HANDLE_NONE = 0, HANDLE_FILE_DESCRIPTOR = 1 };
enum { ACCESS_NONE = 0, ACCESS_READ = 1, ACCESS_READ_WRITE = 3 };

struct abi_allocation_properties {
    int type, handle_types;
    struct abi_location location;
    void *other;
    uint8_t compression, direct;
    uint16_t usage;
    uint8_t reserved[4];
};

struct abi_access {
    struct abi_location location;
    int flags;
};

/* NULL, with the call's error, if that is no device. */
static struct device *device_at(struct call *call, const struct abi_location *location)
{
    if (location->kind == LOCATION_DEVICE && location->id >= 0 && (uint32_t)location->id < call->process->device_count)
        return &call->process->devices[location->id];
    call->error = location->kind == LOCATION_DEVICE ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_NOT_SUPPORTED;
    return NULL;
}

ENTRY(int, cuMemGetAllocationGranularity, size_t *bytes, const struct abi_allocation_properties *properties, int option)
{
    struct call call;
    if (driver_begin_started(&call)) {
        if (!bytes || !properties || option < 0 || option > 1)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (device_at(&call, &properties->location))
            *bytes = GRANULARITY;
    }
    return call_end(&call);
}

ENTRY(int, cuMemCreate, void **handle, size_t bytes, const struct abi_allocation_properties *properties, uint64_t flags)
{
    struct call call;
    if (!driver_begin_started(&call))
        return call_end(&call);
    if (!handle || !properties || flags || !bytes || bytes % GRANULARITY || properties->type != ALLOCATION_PINNED) {
        call.error = CUDA_ERROR_INVALID_VALUE;
        return call_end(&call);
    }
    struct device *device = device_at(&call, &properties->location);
    if (device && (properties->handle_types & ~HANDLE_FILE_DESCRIPTOR || properties->compression))
        call.error = CUDA_ERROR_NOT_SUPPORTED;
    if (device && bytes > device_memory_bytes(device) - device->physical_bytes)
        call.error = CUDA_ERROR_OUT_OF_MEMORY;
    if (call.error == CUDA_SUCCESS) {
        struct physical *physical = physical_create(call.process, device, bytes, -1);
        if (physical) {
            physical->handle_types = properties->handle_types;
            *handle = physical;
        } else {
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return call_end(&call);
}

static struct physical *begin_with_physical(struct call *call, const void *handle)
{
    if (!driver_begin_started(call))
        return NULL;
    struct physical *physical = object_find(call->process, handle, OBJECT_PHYSICAL);
    if (!physical)
        call->error = CUDA_ERROR_INVALID_VALUE;
    return physical;
}

ENTRY(int, cuMemRelease, void *handle)
{
    struct call call;
    struct physical *physical = begin_with_physical(&call, handle);
    if (physical && physical->handles == 0) {
        call.error = CUDA_ERROR_INVALID_VALUE;
    } else if (physical) {
        physical->handles--;
        physical_release(call.process, physical);
    }
    return call_end(&call);
}

ENTRY(int, cuMemGetAllocationPropertiesFromHandle, struct abi_allocation_properties *properties, void *handle)
{
    struct call call;
    const struct physical *physical = begin_with_physical(&call, handle);
    if (physical && properties)
        *properties = (struct abi_allocation_properties){.type = ALLOCATION_PINNED,
                                                         .handle_types = physical->handle_types,
                                                         .location = {LOCATION_DEVICE, (int)physical->device->ordinal}};
    else if (physical)
        call.error = CUDA_ERROR_INVALID_VALUE;
    return call_end(&call);
}

ENTRY(int, cuMemAddressReserve, uint64_t *address, size_t bytes, size_t alignment, uint64_t wish, uint64_t flags)
{
    struct call call;
    (void)wish; /* no more than a hint */
    if (driver_begin_started(&call)) {
        if (alignment < GRANULARITY)
            alignment = alignment & (alignment - 1) ? 0 : GRANULARITY;
        if (!address || !bytes || bytes % GRANULARITY || !alignment || alignment & (alignment - 1) || flags)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (!(*address = virtual_reserve(call.process, bytes, alignment)))
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return call_end(&call);
}

ENTRY(int, cuMemAddressFree, uint64_t address, size_t bytes)
{
    struct call call;
    if (driver_begin_started(&call))
        call.error = virtual_free(call.process, address, bytes);
    return call_end(&call);
}

ENTRY(int, cuMemMap, uint64_t address, size_t bytes, size_t offset, void *handle, uint64_t flags)
{
    struct call call;
    struct physical *physical = begin_with_physical(&call, handle);
    if (physical)
        call.error = flags ? CUDA_ERROR_INVALID_VALUE : virtual_map(call.process, address, bytes, offset, physical);
    return call_end(&call);
}

ENTRY(int, cuMemUnmap, uint64_t address, size_t bytes)
{
    struct call call;
    if (driver_begin_started(&call))
        call.error = virtual_unmap(call.process, address, bytes);
    return call_end(&call);
}

ENTRY(int, cuMemSetAccess, uint64_t address, size_t bytes, const struct abi_access *access, size_t count)
{
    struct call call;
    if (driver_begin_started(&call)) {
        if (!access || !count || count > MAX_DEVICES)
            call.error = CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < count && call.error == CUDA_SUCCESS; i++) {
            const struct device *device = device_at(&call, &access[i].location);
            if (device && access[i].flags != ACCESS_NONE && access[i].flags != ACCESS_READ &&
                access[i].flags != ACCESS_READ_WRITE)
                call.error = CUDA_ERROR_INVALID_VALUE;
            else if (device)
                call.error = virtual_set_access(call.process, address, bytes, device->ordinal, access[i].flags != 0);
        }
    }
    return call_end(&call);
}

ENTRY(int, cuMemGetAccess, uint64_t *flags, const struct abi_location *location, uint64_t address)
{
    struct call call;
    if (driver_begin_started(&call)) {
        const struct mapping *mapping = virtual_find(call.process, address);
        const struct device *device = flags && location && mapping ? device_at(&call, location) : NULL;
        if (device)
            *flags = mapping->devices >> device->ordinal & 1u ? ACCESS_READ_WRITE : ACCESS_NONE;
        else if (call.error == CUDA_SUCCESS)
            call.error = CUDA_ERROR_INVALID_VALUE;
    }
    return call_end(&call);
}

ENTRY(int, cuMemRetainAllocationHandle, void **handle, const void *address)
{
    struct call call;
    if (driver_begin_started(&call)) {
        const struct mapping *mapping = virtual_find(call.process, (uint64_t)(uintptr_t)address);
        if (handle && mapping) {
            mapping->physical->handles++;
            mapping->physical->references++;
            *handle = mapping->physical;
        } else {
            call.error = CUDA_ERROR_INVALID_VALUE;
        }
    }
    return call_end(&call);
}

/* A descriptor of the memory's file, for another process. */
ENTRY(int, cuMemExportToShareableHandle, void *shared, void *handle, int type, uint64_t flags)
{
    struct call call;
    const struct physical *physical = begin_with_physical(&call, handle);
    if (physical && (!shared || flags || !(physical->handle_types & type))) {
        call.error = CUDA_ERROR_INVALID_VALUE;
    } else if (physical) {
        int file = fcntl(physical->file, F_DUPFD_CLOEXEC, 0);
        if (file >= 0)
            *(int *)shared = file;
        else
            call.error = CUDA_ERROR_OPERATING_SYSTEM;
    }
    return call_end(&call);
}

ENTRY(int, cuMemImportFromShareableHandle, void **handle, void *shared, int type)
{
    struct call call;
    if (!driver_begin(&call))
        return call_end(&call);
    struct stat about;
    int file = -1;
    if (type != HANDLE_FILE_DESCRIPTOR)
        call.error = CUDA_ERROR_NOT_SUPPORTED;
    else if (!handle || fstat((int)(intptr_t)shared, &about) || !S_ISREG(about.st_mode) || about.st_size <= 0 ||
             (uint64_t)about.st_size % GRANULARITY)
        call.error = CUDA_ERROR_INVALID_VALUE;
    else if ((file = fcntl((int)(intptr_t)shared, F_DUPFD_CLOEXEC, 0)) < 0)
        call.error = CUDA_ERROR_OPERATING_SYSTEM;
    if (call.error == CUDA_SUCCESS) {
        struct physical *physical = physical_create(call.process, call.context->device, (uint64_t)about.st_size, file);
        if (physical) {
            physical->handle_types = HANDLE_FILE_DESCRIPTOR;
            *handle = physical;
        } else {
            close(file);
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return call_end(&call);
}
