/* SPDX-License-Identifier: MIT */
/* What files of the driver API share about arrays. */
#ifndef CORUN_CUDA_DRIVER_ARRAY_H
#define CORUN_CUDA_DRIVER_ARRAY_H

#include "cuda/array.h"

/* CUDA_ARRAY_DESCRIPTOR */
struct abi_array_descriptor {
    size_t width, height;
    int format;
    unsigned channels;
};

/* CUDA_ARRAY3D_DESCRIPTOR */
struct abi_array_3d_descriptor {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};

/* The channels of a CUarray_format. False if there is none such. */
bool channel_of_format(int format, unsigned channels, struct abi_channel *channel);
/* CUarray_format of channels that are known to be right, and their number. */
int format_of_channel(const struct abi_channel *channel, unsigned *channels);

#endif
