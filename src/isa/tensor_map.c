/* SPDX-License-Identifier: MIT */
/* What is asked of a tensor map, and how one is written into 128 bytes. */
#include "isa/tensor_map.h"

#include <stdio.h>
#include <string.h>

static const uint8_t magic[8] = {'c', 'o', 'r', 'u', 'n', 'T', 'M', '1'};

static const struct {
    uint8_t bytes;
    bool floating;
} types[TENSOR_TYPE_COUNT] = {
#define TENSOR_ROW(name, bytes, floating) [TENSOR_##name] = {bytes, floating},
    TENSOR_TYPES(TENSOR_ROW)
#undef TENSOR_ROW
};

uint32_t tensor_type_bytes(uint32_t type)
{
    return types[type].bytes;
}

#define WRONG(...) (snprintf(text, TENSOR_TEXT, __VA_ARGS__), false)

static bool check_words(const struct tensor_map *map, char *text)
{
    if (map->type >= TENSOR_TYPE_COUNT)
        return WRONG("the type of its elements is not known (%u)", map->type);
    if (map->interleave >= TENSOR_INTERLEAVES)
        return WRONG("its interleaved layout is not known (%u)", map->interleave);
    if (map->swizzle >= TENSOR_SWIZZLES)
        return WRONG("its swizzle is not known (%u)", map->swizzle);
    if (map->promotion >= TENSOR_PROMOTIONS)
        return WRONG("its L2 promotion is not known (%u)", map->promotion);
    if (map->fill >= TENSOR_FILLS)
        return WRONG("what it fills with is not known (%u)", map->fill);
    uint32_t least = map->im2col || map->interleave ? 3 : 1;
    if (map->rank < least || map->rank > TENSOR_MOST_RANK)
        return WRONG("it has %u dimensions, not %u to 5%s", map->rank, least,
                     map->im2col       ? " as im2col wants"
                     : map->interleave ? " as an interleaved layout wants"
                                       : "");
    if (map->fill == TENSOR_FILL_NAN && !types[map->type].floating)
        return WRONG("it fills with NaN, and its elements are no floats");
    return true;
}

static bool check_tensor(const struct tensor_map *map, char *text)
{
    uint32_t unit = map->interleave == TENSOR_INTERLEAVE_32B ? 32 : 16;
    if (map->address % unit)
        return WRONG("its address 0x%llx is not a multiple of %u", (unsigned long long)map->address, unit);
    for (uint32_t i = 0; i < map->rank; i++) {
        if (map->size[i] < 1 || map->size[i] > UINT64_C(1) << 32)
            return WRONG("dimension %u has %llu elements, not 1 to 2^32", i, (unsigned long long)map->size[i]);
        if (map->step[i] < 1 || map->step[i] > 8)
            return WRONG("the step of dimension %u is %u, not 1 to 8", i, map->step[i]);
    }
    for (uint32_t i = 0; i + 1 < map->rank; i++)
        if (map->stride[i] % unit || map->stride[i] >> 40)
            return WRONG("the stride of dimension %u is %llu bytes, not a multiple of %u below 2^40", i + 1,
                         (unsigned long long)map->stride[i], unit);
    return true;
}

/* A row of the box in shared memory. */
static bool check_row(const struct tensor_map *map, uint32_t elements, char *text)
{
    uint32_t bytes = elements * types[map->type].bytes;
    if (map->interleave)
        return true;
    if (bytes % 16)
        return WRONG("a row of its box has %u bytes, not a multiple of 16", bytes);
    if (map->swizzle && bytes > 16u << map->swizzle)
        return WRONG("a row of its box has %u bytes, more than the %u of its swizzle", bytes, 16u << map->swizzle);
    return true;
}

static bool check_pixels(const struct tensor_map *map, char *text)
{
    int32_t most = map->rank == 3 ? 32767 : map->rank == 4 ? 127 : 15;
    for (uint32_t i = 0; i + 2 < map->rank; i++) {
        int32_t lower = map->lower[i], upper = map->upper[i];
        if (lower < -most - 1 || lower > most || upper < -most - 1 || upper > most)
            return WRONG("a corner of its bounding box is at %d and %d of dimension %u, not within %d to %d", lower,
                         upper, i + 1, -most - 1, most);
        if (map->size[i + 1] > INT32_MAX)
            return WRONG("dimension %u has %llu pixels, more than a bounding box can have", i + 1,
                         (unsigned long long)map->size[i + 1]);
        if ((int64_t)map->size[i + 1] - 1 + upper < lower)
            return WRONG("its bounding box is empty in dimension %u", i + 1);
    }
    if (map->channels < 1 || map->channels > 256)
        return WRONG("a pixel has %u channels, not 1 to 256", map->channels);
    if (map->pixels < 1 || map->pixels > 1024)
        return WRONG("a column has %u pixels, not 1 to 1024", map->pixels);
    return check_row(map, map->channels, text);
}

bool tensor_map_check(const struct tensor_map *map, char *text)
{
    if (!check_words(map, text) || !check_tensor(map, text))
        return false;
    if (map->im2col)
        return check_pixels(map, text);
    for (uint32_t i = 0; i < map->rank; i++)
        if (map->box[i] < 1 || map->box[i] > 256)
            return WRONG("its box has %u elements of dimension %u, not 1 to 256", map->box[i], i);
    return check_row(map, map->box[0], text);
}

static void put(uint8_t *bytes, uint32_t place, uint64_t value, uint32_t width)
{
    for (uint32_t i = 0; i < width; i++)
        bytes[place + i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *bytes, uint32_t place, uint32_t width)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < width; i++)
        value |= (uint64_t)bytes[place + i] << 8 * i;
    return value;
}

static int32_t get_signed(const uint8_t *bytes, uint32_t place)
{
    return (int16_t)get(bytes, place, 2);
}

void tensor_map_pack(const struct tensor_map *map, uint8_t *bytes)
{
    memset(bytes, 0, TENSOR_MAP_BYTES);
    memcpy(bytes, magic, sizeof magic);
    put(bytes, TENSOR_MAP_ADDRESS, map->address, 8);
    for (uint32_t i = 0; i < TENSOR_MOST_RANK; i++) {
        if (i + 1 < TENSOR_MOST_RANK)
            put(bytes, TENSOR_MAP_STRIDE + 8 * i, map->stride[i], 8);
        put(bytes, TENSOR_MAP_SIZE + 4 * i, map->size[i], 4);
        put(bytes, TENSOR_MAP_BOX + 4 * i, map->box[i], 4);
        put(bytes, TENSOR_MAP_STEP + 2 * i, map->step[i], 2);
    }
    for (uint32_t i = 0; i < 3; i++) {
        put(bytes, TENSOR_MAP_LOWER + 2 * i, (uint64_t)(int64_t)map->lower[i], 2);
        put(bytes, TENSOR_MAP_UPPER + 2 * i, (uint64_t)(int64_t)map->upper[i], 2);
    }
    put(bytes, TENSOR_MAP_CHANNELS, map->channels, 2);
    put(bytes, TENSOR_MAP_PIXELS, map->pixels, 2);
    bytes[TENSOR_MAP_RANK] = (uint8_t)(map->rank - 1);
    bytes[TENSOR_MAP_TYPE] = (uint8_t)map->type;
    bytes[TENSOR_MAP_INTERLEAVE] = (uint8_t)map->interleave;
    bytes[TENSOR_MAP_SWIZZLE] = (uint8_t)map->swizzle;
    bytes[TENSOR_MAP_PROMOTION] = (uint8_t)map->promotion;
    bytes[TENSOR_MAP_FILL] = (uint8_t)map->fill;
    bytes[TENSOR_MAP_MODE] = map->im2col;
}

bool tensor_map_is(const uint8_t *bytes)
{
    return !memcmp(bytes, magic, sizeof magic) && bytes[TENSOR_MAP_MODE] <= 1;
}

bool tensor_map_unpack(const uint8_t *bytes, struct tensor_map *map, char *text)
{
    *map = (struct tensor_map){0};
    if (!tensor_map_is(bytes))
        return WRONG("no call of CUDA has made it");
    map->address = get(bytes, TENSOR_MAP_ADDRESS, 8);
    for (uint32_t i = 0; i < TENSOR_MOST_RANK; i++) {
        uint64_t size = get(bytes, TENSOR_MAP_SIZE + 4 * i, 4);
        if (i + 1 < TENSOR_MOST_RANK)
            map->stride[i] = get(bytes, TENSOR_MAP_STRIDE + 8 * i, 8);
        map->size[i] = size ? size : UINT64_C(1) << 32;
        map->box[i] = (uint32_t)get(bytes, TENSOR_MAP_BOX + 4 * i, 4);
        map->step[i] = (uint32_t)get(bytes, TENSOR_MAP_STEP + 2 * i, 2);
    }
    for (uint32_t i = 0; i < 3; i++) {
        map->lower[i] = get_signed(bytes, TENSOR_MAP_LOWER + 2 * i);
        map->upper[i] = get_signed(bytes, TENSOR_MAP_UPPER + 2 * i);
    }
    map->channels = (uint32_t)get(bytes, TENSOR_MAP_CHANNELS, 2);
    map->pixels = (uint32_t)get(bytes, TENSOR_MAP_PIXELS, 2);
    map->rank = bytes[TENSOR_MAP_RANK] + 1u;
    map->type = bytes[TENSOR_MAP_TYPE];
    map->interleave = bytes[TENSOR_MAP_INTERLEAVE];
    map->swizzle = bytes[TENSOR_MAP_SWIZZLE];
    map->promotion = bytes[TENSOR_MAP_PROMOTION];
    map->fill = bytes[TENSOR_MAP_FILL];
    map->im2col = bytes[TENSOR_MAP_MODE];
    return tensor_map_check(map, text);
}
