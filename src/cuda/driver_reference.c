/* SPDX-License-Identifier: MIT */
/* Texture and surface references of the driver API. */
#include "cuda/abi.h"
#include "cuda/array.h"
#include "cuda/call.h"
#include "cuda/driver_api.h"
#include "cuda/driver_array.h"
#include "cuda/module.h"
#include "cuda/object.h"
#include "cuda/texture_object.h"
#include "cuda/texture_reference.h"

enum { READ_AS_INTEGER = 1, NORMALIZED_COORDINATES = 2 };

static int get(void **handle, void *module_handle, const char *name, bool surface)
{
    struct call call;
    if (driver_begin(&call)) {
        struct module *module = object_find(call.process, module_handle, OBJECT_MODULE);
        struct texture_reference *reference = NULL;
        if (!module)
            call.error = CUDA_ERROR_INVALID_HANDLE;
        else if (!handle || !name)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else
            call.error = texture_reference_get(&call, module, name, surface, &reference);
        if (call.error == CUDA_SUCCESS)
            *handle = reference;
    }
    return call_end(&call);
}

ENTRY(int, cuModuleGetTexRef, void **handle, void *module, const char *name)
{
    return get(handle, module, name, false);
}

ENTRY(int, cuModuleGetSurfRef, void **handle, void *module, const char *name)
{
    return get(handle, module, name, true);
}

/* NULL with the error in the call if it is none of this context. */
static struct texture_reference *begin(struct call *call, void *handle, bool surface)
{
    if (!driver_begin(call))
        return NULL;
    struct texture_reference *reference = object_find(call->process, handle, OBJECT_TEXTURE_REFERENCE);
    if (reference && reference->surface == surface && !reference->module->unloaded &&
        reference->module->context == call->context)
        return reference;
    call->error = CUDA_ERROR_INVALID_HANDLE;
    return NULL;
}

/* Integers of 32 bits are read as such whatever the flags say. */
static int bind(struct call *call, struct texture_reference *reference)
{
    bool wide = reference->channel.bits[0] == 32 && reference->channel.kind != CHANNEL_FLOAT;
    reference->reading.read = !(reference->flags & READ_AS_INTEGER) && !wide;
    reference->reading.normalized_coordinates = (reference->flags & NORMALIZED_COORDINATES) != 0;
    return texture_reference_bind(call, reference);
}

/*
 * How it is read has changed. What lies between calls need not make sense together: then nothing is bound, and
 * a kernel that fetches says so.
 */
static void changed(struct call *call, struct texture_reference *reference)
{
    if (reference->bound)
        call->error = bind(call, reference);
    if (call->error == CUDA_ERROR_INVALID_VALUE)
        call->error = CUDA_SUCCESS;
}

static int set_array(void *handle, void *array_handle, unsigned flags, unsigned wanted, bool surface)
{
    struct call call;
    struct texture_reference *reference = begin(&call, handle, surface);
    if (reference) {
        const struct array *array = array_find(call.process, array_handle);
        if (!array || flags != wanted) {
            call.error = array ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
        } else {
            reference->resource = (struct abi_resource){.type = RESOURCE_ARRAY, .of.array = array_handle};
            reference->channel = array->channel;
            reference->bound = true;
            call.error = bind(&call, reference);
        }
    }
    return call_end(&call);
}

/* The flag says that the format is the array's. */
ENTRY(int, cuTexRefSetArray, void *handle, void *array, unsigned flags)
{
    return set_array(handle, array, flags, 1, false);
}

ENTRY(int, cuSurfRefSetArray, void *handle, void *array, unsigned flags)
{
    return set_array(handle, array, flags, 0, true);
}

ENTRY(int, cuTexRefSetAddress_v2, size_t *offset, void *handle, uint64_t address, size_t bytes)
{
    struct call call;
    struct texture_reference *reference = begin(&call, handle, false);
    if (reference) {
        reference->resource = (struct abi_resource){.type = RESOURCE_LINEAR};
        reference->resource.of.linear.pointer = (void *)(uintptr_t)address;
        reference->resource.of.linear.channel = reference->channel;
        reference->resource.of.linear.bytes = bytes;
        reference->bound = address != 0;
        call.error = bind(&call, reference);
        if (offset)
            *offset = 0;
    }
    return call_end(&call);
}

ENTRY(int, cuTexRefSetAddress2D_v3, void *handle, const struct abi_array_descriptor *picture, uint64_t address,
      size_t pitch)
{
    struct call call;
    struct texture_reference *reference = begin(&call, handle, false);
    struct abi_channel channel;
    if (reference && (!picture || !channel_of_format(picture->format, picture->channels, &channel))) {
        call.error = CUDA_ERROR_INVALID_VALUE;
    } else if (reference) {
        reference->channel = channel;
        reference->resource = (struct abi_resource){.type = RESOURCE_PITCHED};
        reference->resource.of.pitched.pointer = (void *)(uintptr_t)address;
        reference->resource.of.pitched.channel = channel;
        reference->resource.of.pitched.width = picture->width;
        reference->resource.of.pitched.height = picture->height;
        reference->resource.of.pitched.pitch = pitch;
        reference->bound = address != 0;
        call.error = bind(&call, reference);
    }
    return call_end(&call);
}

ENTRY(int, cuTexRefSetFormat, void *handle, int format, int channels)
{
    struct call call;
    struct texture_reference *reference = begin(&call, handle, false);
    struct abi_channel channel;
    if (reference && (channels < 1 || !channel_of_format(format, (unsigned)channels, &channel)))
        call.error = CUDA_ERROR_INVALID_VALUE;
    else if (reference)
        reference->channel = channel; /* for the address that comes */
    return call_end(&call);
}

ENTRY(int, cuTexRefSetAddressMode, void *handle, int dimension, int mode)
{
    struct call call;
    struct texture_reference *reference = begin(&call, handle, false);
    if (reference && (dimension < 0 || dimension > 2 || mode < CORUN_TEXTURE_WRAP || mode > CORUN_TEXTURE_BORDER)) {
        call.error = CUDA_ERROR_INVALID_VALUE;
    } else if (reference) {
        reference->reading.mode[dimension] = mode;
        changed(&call, reference);
    }
    return call_end(&call);
}

ENTRY(int, cuTexRefSetFilterMode, void *handle, int filter)
{
    struct call call;
    struct texture_reference *reference = begin(&call, handle, false);
    if (reference && filter != 0 && filter != 1) {
        call.error = CUDA_ERROR_INVALID_VALUE;
    } else if (reference) {
        reference->reading.filter = filter;
        changed(&call, reference);
    }
    return call_end(&call);
}

ENTRY(int, cuTexRefSetFlags, void *handle, unsigned flags)
{
    struct call call;
    struct texture_reference *reference = begin(&call, handle, false);
    if (reference && flags & ~(unsigned)(READ_AS_INTEGER | NORMALIZED_COORDINATES)) {
        call.error = CUDA_ERROR_INVALID_VALUE;
    } else if (reference) {
        reference->flags = flags;
        changed(&call, reference);
    }
    return call_end(&call);
}
