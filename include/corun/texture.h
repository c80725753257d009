/* SPDX-License-Identifier: MIT */
/*
 * Textures and surfaces: how a kernel reads and writes memory by coordinates. A description belongs to the memory of an application; the
 * kernel knows it by a handle of 64 bits, as CUDA's texture and surface objects. Texels are kept in rows (pitch linear), whatever they are in
 * a real GPU, so results do not depend on it; `gob_rows` says how a GPU arranges them, which decides what caches and DRAM see.
 */
#ifndef CORUN_TEXTURE_H
#define CORUN_TEXTURE_H

#include "corun/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

enum corun_texel_kind { CORUN_TEXEL_UNSIGNED, CORUN_TEXEL_SIGNED, CORUN_TEXEL_FLOAT };

/* What coordinates outside mean. WRAP and MIRROR need normalized coordinates, else they are CLAMP (CUDA's own rule). */
enum corun_texture_mode {
    CORUN_TEXTURE_WRAP,
    CORUN_TEXTURE_CLAMP,
    CORUN_TEXTURE_MIRROR,
    CORUN_TEXTURE_BORDER /* `border` */
};

struct corun_texture {
    uint64_t address; /* device address of texel (0, 0, 0) */
    uint32_t width;   /* texels, at least 1 */
    uint32_t height;  /* 0: one dimension */
    uint32_t depth;   /* 0: at most two dimensions; `layered`: the number of layers */
    bool layered;
    uint64_t row_bytes, slice_bytes; /* from row to row, and from slice or layer to the next */
    uint8_t channels;                /* 1, 2 or 4 */
    uint8_t channel_bits;            /* 8, 16 or 32; FLOAT: 16 or 32 */
    uint8_t kind;                    /* enum corun_texel_kind */
    uint8_t mode[3];                 /* enum corun_texture_mode of x, y, z */
    bool linear;                     /* interpolates, with weights of 8 bits behind the point */
    bool normalized_coordinates;     /* [0,1) is the whole width */
    bool normalized_values;          /* integers of 8 and 16 bits are read as floats in [0,1] or [-1,1] */
    float border[4];
    /*
     * Rows of the smallest block (GOB: "group of bytes", 64 bytes wide) that caches and DRAM see; 0: rows. 4: its rows one after the other, as
     * before Fermi; 8: in sectors of 16 bytes by 2 rows (NVIDIA, Tegra X1 Technical Reference Manual, block linear). GOBs are stacked to blocks
     * of corun_texture_block_rows. `row_bytes` is a multiple of 64, and slices have whole blocks.
     */
    uint32_t gob_rows;
    /*
     * Mipmaps: texels are read from a level of detail, of which each has half of the width, height and (unless layered) depth of the one before,
     * but at least one texel; corun_texture_level says where. Which level is asked for is clamped, after `level_bias` was added. Between levels:
     * the nearest one, or both weighted.
     */
    uint32_t levels; /* 0 or 1: there is one */
    bool levels_linear;
    float level_bias, level_lowest, level_highest;
};

/*
 * Level `level` of a texture as a texture of its own: behind the levels before, with rows padded to multiples of 256 bytes, and slices to whole
 * blocks where there are blocks. Level 0 is the texture itself.
 */
void corun_texture_level(const struct corun_texture *texture, uint32_t level, struct corun_texture *result);

/* Rows of a block of an array of that height: up to 16 GOBs, no more than half of the last ones empty. */
uint32_t corun_texture_block_rows(uint32_t height, uint32_t gob_rows);

/* Copies the description. ARGUMENT if it makes no sense or texels lie outside of an allocation, MEMORY. */
enum corun_status corun_texture_create(struct corun_memory *memory, const struct corun_texture *texture,
                                       uint64_t *handle);
/* ARGUMENT if there is none of that handle. */
enum corun_status corun_texture_destroy(struct corun_memory *memory, uint64_t handle);

#ifdef __cplusplus
}
#endif
#endif
