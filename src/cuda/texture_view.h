/* SPDX-License-Identifier: MIT */
/* Views of resources: an array read as texels of another format of the same size, some of its layers, some levels of a mipmap. */
#ifndef CORUN_CUDA_TEXTURE_VIEW_H
#define CORUN_CUDA_TEXTURE_VIEW_H

#include "cuda/array.h"

/* cudaResourceViewDesc, CUDA_RESOURCE_VIEW_DESC */
struct abi_view {
    int format; /* 0: the resource's */
    size_t width, height, depth;
    unsigned first_level, last_level, first_layer, last_layer;
    unsigned reserved[16];
};

/* The channels of the view's texels; as they are where it names no format. CUDA_ERROR_NOT_SUPPORTED for compressed blocks, after saying so. */
int texture_view_channel(const struct abi_view *view, struct abi_channel *channel);
/* `texture` describes all of an array (flags ARRAY_…) or of a mipmap; becomes what the view has of it. */
int texture_view_apply(const struct abi_view *view, unsigned flags, struct corun_texture *texture);

#endif
