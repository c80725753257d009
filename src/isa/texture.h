/* SPDX-License-Identifier: MIT */
/* Reads and addresses by coordinates (include/corun/texture.h). */
#ifndef CORUN_ISA_TEXTURE_H
#define CORUN_ISA_TEXTURE_H

#include "isa/executor.h"

/* operation.variant of TEXTURE and SURFACE */
enum texture_variant {
    TEXTURE_WHOLE = 1 << 0,     /* coordinates are integers */
    TEXTURE_SIGNED = 1 << 1,    /* results are s32 */
    TEXTURE_WORDS = 1 << 2,     /* results are u32 or s32, else f32 */
    TEXTURE_GATHER = 1 << 3,    /* tld4: operation.extend is the channel */
    TEXTURE_REFERENCE = 1 << 4, /* the handle is what lies at the address in the first source */
    TEXTURE_LEVEL = 1 << 5,     /* textures: the level of detail is in detail slot 0 */
    TEXTURE_GRADIENT = 1 << 6,  /* textures: dx/dPx is in detail slots 0 to 2, dx/dPy in 3 to 5, an axis each */
    TEXTURE_OUTSIDE = 3 << 5    /* surfaces: enum surface_outside, shifted by 5 */
};
enum surface_outside { SURFACE_TRAP, SURFACE_CLAMP, SURFACE_ZERO };

/* What txq and suq ask for. */
enum texture_query { QUERY_WIDTH, QUERY_HEIGHT, QUERY_DEPTH, QUERY_LAYERS, QUERY_NORMALIZED, QUERY_LEVELS };

#define TEXTURE_DETAILS 6u

/* An operation on textures has four sources and goes nowhere: slots of the level of detail are where others have an offset and a target. */
static inline uint16_t texture_detail(const struct operation *op, uint32_t i)
{
    return (uint16_t)(i < 4 ? (uint64_t)op->offset >> 16 * i : op->target >> 16 * (i - 4));
}

/* operation.space of TEXTURE and SURFACE */
enum texture_geometry { TEXTURE_1D, TEXTURE_2D, TEXTURE_3D, TEXTURE_A1D, TEXTURE_A2D, TEXTURE_CUBE, TEXTURE_ACUBE };

/* Texels into registers. False: a fault was raised. */
bool texture_fetch(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result,
                   bool timed);
/*
 * An attribute into a register: with TEXTURE_LEVEL that of the level in source 1, of which there is nothing beyond the last one. What a texture has not is 0. False: a
 * fault was raised.
 */
bool texture_answer(struct corun_warp *warp, const struct operation *op, uint32_t mask);
/* Addresses of what a surface has at the coordinates into a register, and a predicate: it is inside. False: a fault was raised. */
bool surface_address(struct corun_warp *warp, const struct operation *op, uint32_t mask);
/* The access behind it has put addresses into `result`: now they are those where the GPU has these bytes. */
void surface_arrange(struct corun_warp *warp, struct corun_issue *result);

#endif
