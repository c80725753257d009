/* SPDX-License-Identifier: MIT */
/* Mipmapped arrays: levels of detail, each an array, one behind the other in memory (corun_texture_level). */
#ifndef CORUN_CUDA_MIPMAP_H
#define CORUN_CUDA_MIPMAP_H

#include "cuda/array.h"

#define MIPMAP_LEVELS 32u

struct mipmap {
    struct object object;
    struct context *context;
    unsigned levels;
    uint64_t address;
    struct array *level[MIPMAP_LEVELS];
};

/* More levels than there are sizes become as many as there are. Errors of CUDA. */
int mipmap_create(struct call *call, const struct abi_channel *channel, struct abi_extent extent, unsigned flags,
                  unsigned levels, struct mipmap **mipmap);
int mipmap_destroy(struct call *call, void *handle);
/* NULL if it is none. */
struct mipmap *mipmap_find(struct process *process, const void *handle);
/* The array of a level, which is the mipmap's; NULL: there is none. */
struct array *mipmap_level(const struct mipmap *mipmap, unsigned level);
/* When its context is destroyed, with its memory and the arrays. */
void mipmap_forget(struct process *process, struct mipmap *mipmap);

#endif
