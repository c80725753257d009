/* SPDX-License-Identifier: MIT */
/*
 * CUDA arrays, texture and surface objects. An array is memory with rows of a fixed pitch; its GPU's caches and DRAM see it
 * in blocks (corun/texture.h). Objects are descriptions in the memory of their context (corun/texture.h), and their handles
 * are those.
 */
#ifndef CORUN_CUDA_ARRAY_H
#define CORUN_CUDA_ARRAY_H

#include "corun/texture.h"
#include "cuda/abi.h"
#include "cuda/object.h"

struct call;
struct context;
struct copy;
struct copy_side;
struct process;

/* Bits of each channel, and what they are. */
struct abi_channel {
    int bits[4];
    int kind;
};
enum { CHANNEL_SIGNED, CHANNEL_UNSIGNED, CHANNEL_FLOAT, CHANNEL_NONE };

enum { ARRAY_LAYERED = 1, ARRAY_SURFACE = 2, ARRAY_CUBE = 4, ARRAY_GATHER = 8, ARRAY_SPARSE = 64 };

struct array {
    struct object object;
    struct context *context;
    struct abi_channel channel;
    struct abi_extent extent; /* in texels, as it was asked for: 0 where there is no such dimension */
    unsigned flags;
    uint64_t address;
    uint32_t element_bytes;
    size_t pitch, slice_bytes;
    bool owned; /* a level of a mipmapped array, in whose memory it lies */
};

/* Bytes of a texel; 0 if there is no such format. */
uint32_t channel_bytes(const struct abi_channel *channel);
/* What an array is like that has no memory yet. */
int array_shape(struct context *context, const struct abi_channel *channel, struct abi_extent extent, unsigned flags,
                struct array *array);
int array_create(struct call *call, const struct abi_channel *channel, struct abi_extent extent, unsigned flags,
                 struct array **array);
int array_destroy(struct call *call, void *handle);
/* An array at the address of what `texture` describes, as a part of another one; not known by its handle yet. NULL when out of memory. */
struct array *array_of_level(const struct array *first, const struct corun_texture *texture);
/* NULL if it is none. */
struct array *array_find(struct process *process, const void *handle);
/* One side of a copy: from texel (x, y, z) on, x in bytes. */
void array_side(const struct array *array, size_t x_bytes, size_t y, size_t z, struct copy_side *side);
/* The same of a box of texels; CUDA_ERROR_INVALID_VALUE where it goes beyond the array. */
int array_part(const struct array *array, struct abi_position at, struct abi_extent extent, struct copy_side *side);
/* Where rows and texels lie, without how they are read. */
int array_describe(const struct array *array, struct corun_texture *texture);
/* The array that is one side of a copy, and the texel that it begins with; NULL: that side is other memory. */
struct array *array_of_side(struct process *process, const struct copy_side *side, struct abi_position *at);
/* What is copied by cudaMemcpy3D where an array takes part; it may be nothing. */
int array_copy_of(struct call *call, const struct abi_copy_3d *p, struct copy *copy);
int array_copy_3d(struct call *call, const struct abi_copy_3d *p, void *stream, bool wait);
int channel_describe(const struct abi_channel *channel, struct corun_texture *texture);

#endif
