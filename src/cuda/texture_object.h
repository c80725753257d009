/* SPDX-License-Identifier: MIT */
/* Texture and surface objects of a context, for both APIs. Every function is called with the lock held. */
#ifndef CORUN_CUDA_TEXTURE_OBJECT_H
#define CORUN_CUDA_TEXTURE_OBJECT_H

#include "cuda/texture_view.h"

enum { RESOURCE_ARRAY, RESOURCE_MIPMAPPED, RESOURCE_LINEAR, RESOURCE_PITCHED };

/* cudaResourceDesc */
struct abi_resource {
    int type;
    union {
        void *array;
        struct {
            void *pointer;
            struct abi_channel channel;
            size_t bytes;
        } linear;
        struct {
            void *pointer;
            struct abi_channel channel;
            size_t width, height, pitch;
        } pitched;
        int reserved[32];
    } of;
    unsigned flags; /* since CUDA 13 */
};

/* cudaTextureDesc as far as it is used here; what follows has come with later versions. */
struct abi_texture {
    int mode[3];
    int filter; /* 0 point, 1 linear */
    int read;   /* 0 element type, 1 normalized float */
    int srgb;
    float border[4];
    int normalized_coordinates;
    unsigned anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_lowest, mipmap_highest;
    int no_trilinear;
};

/* What an object was made from, for the calls that ask. */
struct texture_object {
    uint64_t handle;
    struct abi_resource resource;
    struct abi_texture texture;
    struct abi_view view;
    bool surface, has_view;
};

/* A texture; a surface if `texture` is NULL. `view`: of an array or a mipmap; NULL: all of the resource as it is. */
int texture_object_create(struct call *call, const struct abi_resource *resource, const struct abi_texture *texture,
                          const struct abi_view *view, uint64_t *handle);
/* Waits for the kernels under way, which may read it. */
int texture_object_destroy(struct call *call, uint64_t handle, bool surface);
/* NULL if it is none. */
const struct texture_object *texture_object_find(const struct context *context, uint64_t handle, bool surface);

#endif
