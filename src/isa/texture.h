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
    TEXTURE_OUTSIDE = 3 << 5    /* surfaces: enum surface_outside, shifted by 5 */
};
enum surface_outside { SURFACE_TRAP, SURFACE_CLAMP, SURFACE_ZERO };

/* operation.space of TEXTURE and SURFACE */
enum texture_geometry { TEXTURE_1D, TEXTURE_2D, TEXTURE_3D, TEXTURE_A1D, TEXTURE_A2D, TEXTURE_CUBE, TEXTURE_ACUBE };

/* Texels into registers. False: a fault was raised. */
bool texture_fetch(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result,
                   bool timed);
/* Addresses of what a surface has at the coordinates into a register, and a predicate: it is inside. False: a fault was raised. */
bool surface_address(struct corun_warp *warp, const struct operation *op, uint32_t mask);
/* The access behind it has put addresses into `result`: now they are those where the GPU has these bytes. */
void surface_arrange(struct corun_warp *warp, struct corun_issue *result);

#endif
