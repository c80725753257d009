/* SPDX-License-Identifier: MIT */
/* Tensor maps of the driver API: what the documentation asks of their arguments, and our form of them (isa/tensor_map.h). */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/console.h"
#include "cuda/driver_api.h"
#include "isa/tensor_map.h"

/* CUtensorMapDataType → the numbers of PTX. The packed types behind them are of compute capability 10.0. */
static const uint8_t types[] = {TENSOR_U8,      TENSOR_U16,  TENSOR_U32,     TENSOR_S32, TENSOR_U64,
                                TENSOR_S64,     TENSOR_F16,  TENSOR_F32,     TENSOR_F64, TENSOR_BF16,
                                TENSOR_F32_FTZ, TENSOR_TF32, TENSOR_TF32_FTZ};
#define TYPES (sizeof types / sizeof *types)

/* What both kinds of maps say of a tensor. */
struct description {
    const char *call;
    void *to;
    int type;
    unsigned rank;
    uint64_t address;
    const uint64_t *sizes, *strides;
    const unsigned *steps;
    int interleave, swizzle, promotion, fill;
};

static int refuse(const char *call, const char *problem)
{
    say("note: %s: %s", call, problem);
    return CUDA_ERROR_INVALID_VALUE;
}

static int describe(const struct description *from, struct tensor_map *map)
{
    if (!from->to)
        return refuse(from->call, "the tensor map is missing");
    if (from->type < 0 || (size_t)from->type >= TYPES)
        return refuse(from->call, "the type of the elements is none of a GPU of compute capability 9.0");
    if (from->rank < 1 || from->rank > TENSOR_MOST_RANK)
        return refuse(from->call, "a tensor has 1 to 5 dimensions");
    if (!from->sizes || (from->rank > 1 && !from->strides) || !from->steps)
        return refuse(from->call, "sizes, strides or steps are missing");
    *map = (struct tensor_map){.address = from->address,
                               .rank = from->rank,
                               .type = types[from->type],
                               .interleave = (uint32_t)from->interleave,
                               .swizzle = (uint32_t)from->swizzle,
                               .promotion = (uint32_t)from->promotion,
                               .fill = (uint32_t)from->fill};
    for (uint32_t i = 0; i < TENSOR_MOST_RANK; i++) { /* dimensions that are not there have one element */
        bool there = i < from->rank;
        map->size[i] = there ? from->sizes[i] : 1;
        map->step[i] = there ? from->steps[i] : 1;
        map->box[i] = 1;
        if (i && there)
            map->stride[i - 1] = from->strides[i - 1];
    }
    return CUDA_SUCCESS;
}

static int finish(const struct description *from, const struct tensor_map *map)
{
    char text[TENSOR_TEXT];
    if (!tensor_map_check(map, text))
        return refuse(from->call, text);
    tensor_map_pack(map, from->to);
    return CUDA_SUCCESS;
}

ENTRY(int, cuTensorMapEncodeTiled, void *to, int type, unsigned rank, void *address, const uint64_t *sizes,
      const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion,
      int fill)
{
    struct call call;
    if (driver_begin(&call)) {
        const struct description from = {"cuTensorMapEncodeTiled",
                                         to,
                                         type,
                                         rank,
                                         (uintptr_t)address,
                                         sizes,
                                         strides,
                                         steps,
                                         interleave,
                                         swizzle,
                                         promotion,
                                         fill};
        struct tensor_map map;
        call.error = describe(&from, &map);
        if (call.error == CUDA_SUCCESS && !box)
            call.error = refuse(from.call, "the box is missing");
        for (uint32_t i = 0; call.error == CUDA_SUCCESS && i < rank; i++)
            map.box[i] = box[i];
        if (call.error == CUDA_SUCCESS)
            call.error = finish(&from, &map);
    }
    return call_end(&call);
}

ENTRY(int, cuTensorMapEncodeIm2col, void *to, int type, unsigned rank, void *address, const uint64_t *sizes,
      const uint64_t *strides, const int *lower, const int *upper, unsigned channels, unsigned pixels,
      const unsigned *steps, int interleave, int swizzle, int promotion, int fill)
{
    struct call call;
    if (driver_begin(&call)) {
        const struct description from = {"cuTensorMapEncodeIm2col",
                                         to,
                                         type,
                                         rank,
                                         (uintptr_t)address,
                                         sizes,
                                         strides,
                                         steps,
                                         interleave,
                                         swizzle,
                                         promotion,
                                         fill};
        struct tensor_map map;
        call.error = describe(&from, &map);
        if (call.error == CUDA_SUCCESS && (!lower || !upper))
            call.error = refuse(from.call, "a corner of the bounding box is missing");
        for (uint32_t i = 0; call.error == CUDA_SUCCESS && i + 2 < rank; i++) {
            map.lower[i] = lower[i];
            map.upper[i] = upper[i];
        }
        if (call.error == CUDA_SUCCESS) {
            map.im2col = true;
            map.channels = channels;
            map.pixels = pixels;
            call.error = finish(&from, &map);
        }
    }
    return call_end(&call);
}

ENTRY(int, cuTensorMapReplaceAddress, void *to, void *address)
{
    static const char name[] = "cuTensorMapReplaceAddress";
    struct call call;
    if (driver_begin(&call)) {
        const struct description from = {.call = name, .to = to};
        struct tensor_map map;
        char text[TENSOR_TEXT];
        if (!to || (uintptr_t)to % TENSOR_MAP_ALIGN) {
            call.error = refuse(name, "the tensor map is not at an address that is a multiple of 64");
        } else if (!tensor_map_unpack(to, &map, text)) {
            call.error = refuse(name, text);
        } else {
            map.address = (uintptr_t)address;
            call.error = finish(&from, &map);
        }
    }
    return call_end(&call);
}
