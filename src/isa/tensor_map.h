/* SPDX-License-Identifier: MIT */
/*
 * Tensor maps: what a bulk copy of a tensor knows of the tensor (PTX ISA, "Tensors"; CUDA Driver API, "Tensor Map Object Management").
 *
 * The 128 bytes of a map are opaque to programs. Ours begin with a magic number; fields have places of their own, as tensormap.replace
 * changes one of them by a store. What stands in a map is therefore checked where the map is used. Numbers of types are those of PTX.
 */
#ifndef CORUN_ISA_TENSOR_MAP_H
#define CORUN_ISA_TENSOR_MAP_H

#include <stdbool.h>
#include <stdint.h>

#define TENSOR_MAP_BYTES 128u
#define TENSOR_MAP_ALIGN 64u
#define TENSOR_MOST_RANK 5u
#define TENSOR_TEXT 160u /* bytes of a message */

/* E(NAME, bytes, floating) in the order of PTX's numbers */
#define TENSOR_TYPES(E) \
    E(U8, 1, false) \
    E(U16, 2, false) \
    E(U32, 4, false) \
    E(S32, 4, false) \
    E(U64, 8, false) \
    E(S64, 8, false) \
    E(F16, 2, true) \
    E(F32, 4, true) \
    E(F32_FTZ, 4, true) \
    E(F64, 8, true) \
    E(BF16, 2, true) \
    E(TF32, 4, true) \
    E(TF32_FTZ, 4, true)

/* clang-format off */
enum tensor_type {
#define TENSOR_ENUM(name, bytes, floating) TENSOR_##name,
    TENSOR_TYPES(TENSOR_ENUM)
#undef TENSOR_ENUM
    TENSOR_TYPE_COUNT
};
/* clang-format on */

enum tensor_interleave { TENSOR_INTERLEAVE_NONE, TENSOR_INTERLEAVE_16B, TENSOR_INTERLEAVE_32B, TENSOR_INTERLEAVES };
enum tensor_swizzle {
    TENSOR_SWIZZLE_NONE,
    TENSOR_SWIZZLE_32B,
    TENSOR_SWIZZLE_64B,
    TENSOR_SWIZZLE_128B,
    TENSOR_SWIZZLES
};
#define TENSOR_PROMOTIONS 4u
enum tensor_fill { TENSOR_FILL_ZERO, TENSOR_FILL_NAN, TENSOR_FILLS };

/* Dimension 0 is the one whose elements lie side by side. */
struct tensor_map {
    uint64_t address;
    uint64_t stride[TENSOR_MOST_RANK - 1]; /* bytes, of dimension 1 and up */
    uint64_t size[TENSOR_MOST_RANK];       /* elements, 1 to 2^32 */
    uint32_t box[TENSOR_MOST_RANK];        /* elements of a tile, 1 to 256 */
    uint32_t step[TENSOR_MOST_RANK];       /* 1 to 8; that of dimension 0 has no effect */
    int32_t lower[3], upper[3];            /* im2col: corners of the bounding box, of dimension 1 and up */
    uint32_t channels, pixels;             /* im2col: elements of dimension 0, and pixels, of a copy */
    uint32_t rank, type, interleave, swizzle, promotion, fill;
    bool im2col;
};

/* Where a field begins in the 128 bytes. */
enum tensor_map_place {
    TENSOR_MAP_ADDRESS = 8,
    TENSOR_MAP_STRIDE = 16, /* 4 of 8 bytes */
    TENSOR_MAP_SIZE = 48,   /* 5 of 4 bytes; 0: 2^32 */
    TENSOR_MAP_BOX = 68,    /* 5 of 4 bytes */
    TENSOR_MAP_STEP = 88,   /* 5 of 2 bytes */
    TENSOR_MAP_LOWER = 98,  /* 3 of 2 bytes */
    TENSOR_MAP_UPPER = 104, /* 3 of 2 bytes */
    TENSOR_MAP_CHANNELS = 110,
    TENSOR_MAP_PIXELS = 112,
    TENSOR_MAP_RANK = 114, /* less one */
    TENSOR_MAP_TYPE = 115,
    TENSOR_MAP_INTERLEAVE = 116,
    TENSOR_MAP_SWIZZLE = 117,
    TENSOR_MAP_PROMOTION = 118,
    TENSOR_MAP_FILL = 119,
    TENSOR_MAP_MODE = 120 /* 1: im2col */
};

uint32_t tensor_type_bytes(uint32_t type);

/* What the documentation asks of a map. False: `text` (TENSOR_TEXT bytes) says what is wrong with it. */
bool tensor_map_check(const struct tensor_map *map, char *text);
void tensor_map_pack(const struct tensor_map *map, uint8_t *bytes);
/* The other way round, and checked. */
bool tensor_map_unpack(const uint8_t *bytes, struct tensor_map *map, char *text);
/* These bytes are a map, be it a good one or not. */
bool tensor_map_is(const uint8_t *bytes);

/* Elements of dimension `dimension` that a copy of a tile takes. */
static inline uint32_t tensor_map_count(const struct tensor_map *map, uint32_t dimension)
{
    uint32_t step = dimension ? map->step[dimension] : 1;
    return (map->box[dimension] + step - 1) / step;
}

/* Where a byte of the linear image of a box lies in shared memory, of which `address` is an address. */
static inline uint32_t tensor_swizzled(uint32_t swizzle, uint32_t address)
{
    uint32_t mask = (1u << swizzle) - 1; /* 0, 1, 3, 7 */
    return address ^ (address >> 7 & mask) << 4;
}

#endif
