/* SPDX-License-Identifier: MIT */
/* Views of resources. */
#include "cuda/texture_view.h"

#include "cuda/abi.h"
#include "cuda/console.h"

/* Formats are numbered from 1: three of each kind, with 1, 2 and 4 channels; behind them are compressed blocks. */
static const struct {
    int bits, kind;
} kinds[] = {{8, CHANNEL_UNSIGNED},  {8, CHANNEL_SIGNED},  {16, CHANNEL_UNSIGNED}, {16, CHANNEL_SIGNED},
             {32, CHANNEL_UNSIGNED}, {32, CHANNEL_SIGNED}, {16, CHANNEL_FLOAT},    {32, CHANNEL_FLOAT}};
enum { PLAIN_FORMATS = 3 * sizeof kinds / sizeof *kinds, FORMATS = 0x22 };

int texture_view_channel(const struct abi_view *view, struct abi_channel *channel)
{
    if (!view->format)
        return CUDA_SUCCESS;
    if (view->format < 0 || view->format > FORMATS)
        return CUDA_ERROR_INVALID_VALUE;
    if (view->format > PLAIN_FORMATS) {
        say("not supported: resource views of compressed blocks");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    int which = (view->format - 1) / 3, channels = 1 << (view->format - 1) % 3;
    *channel = (struct abi_channel){.kind = kinds[which].kind};
    for (int i = 0; i < channels; i++)
        channel->bits[i] = kinds[which].bits;
    return CUDA_SUCCESS;
}

static int narrow_levels(const struct abi_view *view, struct corun_texture *texture)
{
    uint32_t levels = texture->levels ? texture->levels : 1;
    if (view->first_level > view->last_level || view->last_level >= levels)
        return CUDA_ERROR_INVALID_VALUE;
    struct corun_texture first;
    corun_texture_level(texture, view->first_level, &first);
    first.levels = texture->levels ? view->last_level - view->first_level + 1 : 0;
    *texture = first;
    return CUDA_SUCCESS;
}

static int narrow_layers(const struct abi_view *view, unsigned flags, struct corun_texture *texture)
{
    uint32_t layers = flags & ARRAY_LAYERED ? texture->depth : 1;
    if (view->first_layer > view->last_layer || view->last_layer >= layers)
        return CUDA_ERROR_INVALID_VALUE;
    uint32_t count = view->last_layer - view->first_layer + 1;
    if (count == layers)
        return CUDA_SUCCESS;
    if (flags & ARRAY_CUBE || texture->levels > 1) {
        say("not supported: resource views of some of the cubes of an array, or of some layers of a mipmapped array");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    texture->address += view->first_layer * texture->slice_bytes;
    texture->depth = count;
    return CUDA_SUCCESS;
}

int texture_view_apply(const struct abi_view *view, unsigned flags, struct corun_texture *texture)
{
    if (view->width != texture->width || view->height != texture->height || view->depth != texture->depth)
        return CUDA_ERROR_INVALID_VALUE;
    uint32_t texel_bytes = texture->channels * texture->channel_bits;
    struct abi_channel channel;
    int error = texture_view_channel(view, &channel);
    if (error == CUDA_SUCCESS && view->format)
        error = channel_describe(&channel, texture);
    if (error == CUDA_SUCCESS && texture->channels * texture->channel_bits != (int)texel_bytes)
        error = CUDA_ERROR_INVALID_VALUE;
    if (error == CUDA_SUCCESS)
        error = narrow_levels(view, texture);
    return error == CUDA_SUCCESS ? narrow_layers(view, flags, texture) : error;
}
