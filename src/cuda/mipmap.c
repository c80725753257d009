/* SPDX-License-Identifier: MIT */
/* Mipmapped arrays of both APIs: made, and taken apart into arrays. */
#include "cuda/mipmap.h"

#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/driver_api.h"
#include "cuda/driver_array.h"
#include "cuda/engine.h"
#include "cuda/process.h"
#include "cuda/ranges.h"
#include "cuda/runtime_api.h"

#include <stdlib.h>

/* Halved until one texel is left. */
static unsigned levels_of(struct abi_extent extent, bool layered)
{
    size_t longest = extent.width > extent.height ? extent.width : extent.height;
    unsigned levels = 1;
    if (!layered && extent.depth > longest)
        longest = extent.depth;
    while (longest >>= 1)
        levels++;
    return levels < MIPMAP_LEVELS ? levels : MIPMAP_LEVELS;
}

static void free_levels(struct process *process, struct mipmap *mipmap)
{
    for (unsigned i = 0; i < mipmap->levels; i++)
        if (mipmap->level[i]) {
            object_remove(process, &mipmap->level[i]->object);
            free(mipmap->level[i]);
        }
}

/* All levels in one piece of memory; `shape` is the first one without an address. */
static int make_levels(struct call *call, const struct array *shape, const struct corun_texture *texture,
                       struct mipmap *mipmap)
{
    struct corun_texture level;
    corun_texture_level(texture, mipmap->levels - 1, &level);
    uint64_t bytes = level.address + (level.depth ? level.depth : 1) * level.slice_bytes;
    int error = memory_allocate(call->process, call->context, bytes, &mipmap->address, "a mipmapped array");
    for (unsigned i = 0; i < mipmap->levels && error == CUDA_SUCCESS; i++) {
        corun_texture_level(texture, i, &level);
        level.address += mipmap->address;
        mipmap->level[i] = array_of_level(shape, &level);
        if (!mipmap->level[i] || !object_add(call->process, &mipmap->level[i]->object))
            error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return error;
}

int mipmap_create(struct call *call, const struct abi_channel *channel, struct abi_extent extent, unsigned flags,
                  unsigned levels, struct mipmap **result)
{
    struct array shape;
    struct corun_texture texture;
    int error = array_shape(call->context, channel, extent, flags, &shape);
    if (error == CUDA_SUCCESS)
        error = array_describe(&shape, &texture);
    if (error == CUDA_SUCCESS && !levels)
        error = CUDA_ERROR_INVALID_VALUE;
    if (error != CUDA_SUCCESS)
        return error;
    struct mipmap *mipmap = calloc(1, sizeof *mipmap);
    if (!mipmap)
        return CUDA_ERROR_OUT_OF_MEMORY;
    unsigned most = levels_of(extent, texture.layered);
    *mipmap = (struct mipmap){
        .object = {OBJECT_MIPMAPPED_ARRAY}, .context = call->context, .levels = levels < most ? levels : most};
    error = make_levels(call, &shape, &texture, mipmap);
    if (error == CUDA_SUCCESS && !object_add(call->process, &mipmap->object))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (error != CUDA_SUCCESS) {
        free_levels(call->process, mipmap);
        if (mipmap->address)
            memory_release(call->process, mipmap->address, "the end of the mipmapped array");
        free(mipmap);
        return error;
    }
    *result = mipmap;
    return CUDA_SUCCESS;
}

struct mipmap *mipmap_find(struct process *process, const void *handle)
{
    struct mipmap *mipmap = object_find(process, handle, OBJECT_MIPMAPPED_ARRAY);
    return mipmap && !mipmap->context->destroyed ? mipmap : NULL;
}

struct array *mipmap_level(const struct mipmap *mipmap, unsigned level)
{
    return level < mipmap->levels ? mipmap->level[level] : NULL;
}

void mipmap_forget(struct process *process, struct mipmap *mipmap)
{
    object_remove(process, &mipmap->object);
    free(mipmap);
}

int mipmap_destroy(struct call *call, void *handle)
{
    struct mipmap *mipmap = mipmap_find(call->process, handle);
    if (!handle)
        return CUDA_SUCCESS;
    if (!mipmap)
        return CUDA_ERROR_INVALID_HANDLE;
    int error = engine_wait_context(call->process, mipmap->context);
    free_levels(call->process, mipmap);
    memory_release(call->process, mipmap->address, "the end of the mipmapped array");
    mipmap_forget(call->process, mipmap);
    return error;
}

/* ---- entry points ---- */

ENTRY(int, cudaMallocMipmappedArray, void **handle, const struct abi_channel *channel, struct abi_extent extent,
      unsigned levels, unsigned flags)
{
    struct call call;
    if (runtime_begin(&call)) {
        struct mipmap *mipmap = NULL;
        call.error = handle && channel ? mipmap_create(&call, channel, extent, flags, levels, &mipmap)
                                       : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS)
            *handle = mipmap;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaGetMipmappedArrayLevel, void **array, const void *handle, unsigned level)
{
    struct call call;
    if (runtime_begin(&call)) {
        const struct mipmap *mipmap = mipmap_find(call.process, handle);
        struct array *found = mipmap ? mipmap_level(mipmap, level) : NULL;
        call.error = !mipmap ? CUDA_ERROR_INVALID_HANDLE : !found || !array ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
        if (call.error == CUDA_SUCCESS)
            *array = found;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaFreeMipmappedArray, void *handle)
{
    struct call call;
    if (runtime_begin(&call))
        call.error = mipmap_destroy(&call, handle);
    return runtime_end(&call);
}

ENTRY(int, cuMipmappedArrayCreate, void **handle, const struct abi_array_3d_descriptor *from, unsigned levels)
{
    struct call call;
    if (driver_begin(&call)) {
        struct abi_channel channel;
        struct mipmap *mipmap = NULL;
        if (!handle || !from || !channel_of_format(from->format, from->channels, &channel))
            call.error = CUDA_ERROR_INVALID_VALUE;
        else
            call.error = mipmap_create(&call, &channel, (struct abi_extent){from->width, from->height, from->depth},
                                       from->flags, levels, &mipmap);
        if (call.error == CUDA_SUCCESS)
            *handle = mipmap;
    }
    return call_end(&call);
}
