/* SPDX-License-Identifier: MIT */
/*
 * Green contexts of the driver API: SMs of a device as a resource, which is split, described, and made into contexts. What a program holds of a
 * resource is a row of SMs; a description is a number that names them.
 */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/capture.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/driver_api.h"
#include "cuda/driver_device.h"
#include "cuda/green.h"
#include "cuda/process.h"
#include "cuda/stream.h"

#include <string.h>

enum { RESOURCE_SMS = 1 };                                                     /* CUdevResourceType */
enum { SPLIT_ANY_SM = 1, SPLIT_LARGE_CLUSTERS = 2, GREEN_DEFAULT_STREAM = 1 }; /* flags */

/* CUdevResource. `mark` says that this driver has filled it. */
#define RESOURCE_MARK 0x534d7321u
struct abi_resource {
    _Alignas(8) int kind;
    uint32_t mark, device, first_sm;
    uint8_t internal[80];
    uint32_t sms, least, multiple; /* the last two since CUDA 13 */
    uint8_t more[36];
};
_Static_assert(sizeof(struct abi_resource) == 144, "programs make room for it");

/* A description: mark, device, first SM, SMs, from the top. */
#define DESCRIPTION_MARK UINT64_C(0x534d)
static uint64_t describe(uint32_t device, uint32_t first_sm, uint32_t sms)
{
    return DESCRIPTION_MARK << 48 | (uint64_t)device << 32 | (uint64_t)first_sm << 16 | sms;
}

static struct abi_resource resource_of(const struct device *device, uint32_t first_sm, uint32_t sms)
{
    struct green_grain grain = green_grain_of(device, false);
    return (struct abi_resource){.kind = sms ? RESOURCE_SMS : 0,
                                 .mark = RESOURCE_MARK,
                                 .device = device->ordinal,
                                 .first_sm = first_sm,
                                 .sms = sms,
                                 .least = grain.least,
                                 .multiple = grain.multiple};
}

/* The device of a resource that is one; NULL: it is none. */
static struct device *device_of(const struct call *call, const struct abi_resource *resource)
{
    struct device *device = resource->kind == RESOURCE_SMS && resource->mark == RESOURCE_MARK
                                ? process_device(call->process, (int)resource->device)
                                : NULL;
    bool there = device && resource->sms && resource->sms <= device->config.sms &&
                 resource->first_sm <= device->config.sms - resource->sms;
    return there ? device : NULL;
}

static int give(struct abi_resource *resource, const struct device *device, uint32_t first_sm, uint32_t sms, int kind)
{
    if (!resource)
        return CUDA_ERROR_INVALID_VALUE;
    if (kind != RESOURCE_SMS)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *resource = resource_of(device, first_sm, sms);
    return CUDA_SUCCESS;
}

ENTRY(int, cuDeviceGetDevResource, int device, struct abi_resource *resource, int kind)
{
    struct call call;
    const struct device *of = driver_begin_device(&call, device, resource);
    if (of)
        call.error = give(resource, of, 0, of->config.sms, kind);
    return call_end(&call);
}

ENTRY(int, cuCtxGetDevResource, void *handle, struct abi_resource *resource, int kind)
{
    struct call call;
    if (driver_begin_started(&call)) {
        const struct context *context = object_find(call.process, handle, OBJECT_CONTEXT);
        call.error = context ? give(resource, context->device, 0, context->device->config.sms, kind)
                             : CUDA_ERROR_INVALID_CONTEXT;
    }
    return call_end(&call);
}

ENTRY(int, cuGreenCtxGetDevResource, void *handle, struct abi_resource *resource, int kind)
{
    struct call call;
    if (driver_begin_started(&call)) {
        const struct green *green = object_find(call.process, handle, OBJECT_GREEN);
        call.error = green ? give(resource, green->context->device, green->first_sm, green->sm_count, kind)
                           : CUDA_ERROR_INVALID_CONTEXT;
    }
    return call_end(&call);
}

/* Groups of alike size from the first SM on, and what is left. */
static int split(const struct device *device, struct abi_resource *groups, unsigned *count,
                 const struct abi_resource *from, struct abi_resource *rest, unsigned flags, unsigned least)
{
    struct green_grain grain = green_grain_of(device, flags & SPLIT_ANY_SM);
    uint32_t size = least > grain.least ? least : grain.least;
    if (!grain.least)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (flags & ~(unsigned)(SPLIT_ANY_SM | SPLIT_LARGE_CLUSTERS) || least > from->sms)
        return CUDA_ERROR_INVALID_VALUE;
    size = (size + grain.multiple - 1) / grain.multiple * grain.multiple;
    uint32_t most = from->sms / size, made = groups && *count < most ? *count : most;
    if (!most)
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    uint32_t first = from->first_sm, all = from->sms; /* the places may be one */
    for (uint32_t i = 0; groups && i < made; i++)
        groups[i] = resource_of(device, first + i * size, size);
    if (rest)
        *rest = resource_of(device, first + made * size, all - made * size);
    *count = made;
    return CUDA_SUCCESS;
}

ENTRY(int, cuDevSmResourceSplitByCount, struct abi_resource *groups, unsigned *count, const struct abi_resource *from,
      struct abi_resource *rest, unsigned flags, unsigned least)
{
    struct call call;
    if (driver_begin_started(&call)) {
        const struct device *device = from ? device_of(&call, from) : NULL;
        if (!count || !from)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else
            call.error =
                device ? split(device, groups, count, from, rest, flags, least) : CUDA_ERROR_INVALID_RESOURCE_TYPE;
    }
    return call_end(&call);
}

/* Several are SMs in a row. */
ENTRY(int, cuDevResourceGenerateDesc, uint64_t *description, const struct abi_resource *resources, unsigned count)
{
    struct call call;
    if (driver_begin_started(&call)) {
        uint32_t sms = 0;
        call.error = description && resources && count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < count && call.error == CUDA_SUCCESS; i++) {
            if (!device_of(&call, &resources[i]))
                call.error = CUDA_ERROR_INVALID_RESOURCE_TYPE;
            else if (resources[i].device != resources[0].device || resources[i].first_sm != resources[0].first_sm + sms)
                call.error = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
            sms += resources[i].sms;
        }
        if (call.error == CUDA_SUCCESS)
            *description = describe(resources[0].device, resources[0].first_sm, sms);
    }
    return call_end(&call);
}

static int create(struct call *call, struct device *device, uint64_t description, void **handle)
{
    uint32_t first = (uint32_t)(description >> 16) & 0xffffu, sms = (uint32_t)description & 0xffffu;
    if (description >> 48 != DESCRIPTION_MARK || (description >> 32 & 0xffffu) != device->ordinal)
        return CUDA_ERROR_INVALID_VALUE;
    if (call->process->remote) /* corund has the say there on which SMs a program is */
        return CUDA_ERROR_NOT_SUPPORTED;
    capture_refuse(call->process, "the program uses green contexts");
    struct context *context = cuda_context_primary(call->process, device->ordinal);
    struct green *green = context ? green_create(call->process, context, first, sms) : NULL;
    if (!green)
        return CUDA_ERROR_OUT_OF_MEMORY;
    device->primary_uses++;
    *handle = green;
    return CUDA_SUCCESS;
}

ENTRY(int, cuGreenCtxCreate, void **green, uint64_t description, int device, unsigned flags)
{
    struct call call;
    struct device *of = driver_begin_device(&call, device, green);
    if (of)
        call.error = flags == GREEN_DEFAULT_STREAM ? create(&call, of, description, green) : CUDA_ERROR_INVALID_VALUE;
    return call_end(&call);
}

ENTRY(int, cuGreenCtxDestroy, void *handle)
{
    struct call call;
    int device = -1;
    if (driver_begin_started(&call)) {
        struct green *green = object_find(call.process, handle, OBJECT_GREEN);
        device = green ? (int)green->context->device->ordinal : -1;
        call.error = green ? green_destroy(call.process, green) : CUDA_ERROR_INVALID_CONTEXT;
    }
    int error = call_end(&call), released = device < 0 ? CUDA_SUCCESS : corun_cuDevicePrimaryCtxRelease_v2(device);
    return error != CUDA_SUCCESS ? error : released;
}

ENTRY(int, cuGreenCtxStreamCreate, void **handle, void *green_handle, unsigned flags, int priority)
{
    struct call call;
    if (driver_begin_started(&call)) {
        struct green *green = object_find(call.process, green_handle, OBJECT_GREEN);
        if (!green || !handle || flags != STREAM_NON_BLOCKING) {
            call.error = green ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
        } else {
            struct stream *stream = green_stream_create(call.process, green, stream_priority(priority));
            *handle = stream;
            call.error = stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return call_end(&call);
}

ENTRY(int, cuGreenCtxGetId, void *handle, unsigned long long *id)
{
    struct call call;
    if (driver_begin_started(&call)) {
        const struct green *green = object_find(call.process, handle, OBJECT_GREEN);
        if (!green || !id)
            call.error = green ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
        else
            *id = green->id;
    }
    return call_end(&call);
}

static int on_event(void *green_handle, void *event_handle,
                    int (*what)(struct process *process, struct green *green, struct event *event))
{
    struct call call;
    if (driver_begin_started(&call)) {
        struct green *green = object_find(call.process, green_handle, OBJECT_GREEN);
        struct event *event = object_find(call.process, event_handle, OBJECT_EVENT);
        if (!green || !event)
            call.error = green ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
        else
            call.error = what(call.process, green, event);
    }
    return call_end(&call);
}

ENTRY(int, cuGreenCtxRecordEvent, void *green, void *event)
{
    return on_event(green, event, green_record);
}

ENTRY(int, cuGreenCtxWaitEvent, void *green, void *event)
{
    return on_event(green, event, green_wait);
}
