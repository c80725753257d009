/* SPDX-License-Identifier: MIT */
/* Rows of boxes and of pixels; bytes from global to shared memory and back. */
#include "isa/bulk_rows.h"

#include "isa/bulk_elsewhere.h"
#include "isa/executor.h"
#include "isa/half.h"

#include <string.h>

#define PLAIN_ROW_BYTES BULK_ROW_BYTES /* no tensor: as much as the widest row of one */

void bulk_rows_of_bytes(struct bulk_copy *copy)
{
    copy->row_bytes = PLAIN_ROW_BYTES;
    copy->rows = (uint32_t)((copy->bytes + PLAIN_ROW_BYTES - 1) / PLAIN_ROW_BYTES);
}

void bulk_rows_of_tensor(struct bulk_copy *copy)
{
    const struct tensor_map *map = &copy->map;
    uint32_t element = tensor_type_bytes(map->type);
    copy->row_bytes = (map->im2col ? map->channels : map->box[0]) * element;
    copy->rows = map->im2col ? map->pixels : 1;
    for (uint32_t i = 1; !map->im2col && i < map->rank; i++)
        copy->rows *= tensor_map_count(map, i);
    copy->bytes = (uint64_t)copy->rows * copy->row_bytes;
}

/* Places of a row in dimension 1 and up; false: one of them is outside. */
static bool place_tile(const struct bulk_copy *copy, uint32_t index, int64_t *place)
{
    const struct tensor_map *map = &copy->map;
    bool inside = true;
    for (uint32_t i = 1; i < map->rank; i++) {
        uint32_t count = tensor_map_count(map, i);
        place[i] = copy->origin[i] + (int64_t)(index % count) * map->step[i];
        index /= count;
        inside &= place[i] >= 0 && (uint64_t)place[i] < map->size[i];
    }
    return inside;
}

/* Steps from `from` to beyond `last`. */
static uint64_t steps_beyond(int64_t from, int64_t last, uint32_t step)
{
    return from > last ? 1 : (uint64_t)(last - from) / step + 1;
}

/*
 * Pixel `index`: as a number whose digits are the places in the bounding box. In a dimension the first round begins at the coordinate, the
 * others at the lower corner.
 */
static bool place_pixel(const struct bulk_copy *copy, uint64_t index, int64_t *place)
{
    const struct tensor_map *map = &copy->map;
    uint32_t image = map->rank - 1;
    bool inside = true;
    for (uint32_t i = 1; i < image; i++) {
        int64_t lower = map->lower[i - 1], last = (int64_t)map->size[i] - 1 + map->upper[i - 1];
        uint64_t first = steps_beyond(copy->origin[i], last, map->step[i]),
                 more = steps_beyond(lower, last, map->step[i]);
        if (index < first) {
            place[i] = copy->origin[i] + (int64_t)index * map->step[i];
            index = 0;
        } else {
            place[i] = lower + (int64_t)((index - first) % more) * map->step[i];
            index = 1 + (index - first) / more;
        }
        place[i] += copy->shift[i - 1];
        inside &= place[i] >= 0 && (uint64_t)place[i] < map->size[i];
    }
    place[image] = copy->origin[image] + (int64_t)index * map->step[image];
    return inside && place[image] >= 0 && (uint64_t)place[image] < map->size[image];
}

struct bulk_row bulk_row(const struct bulk_copy *copy, uint32_t index)
{
    const struct tensor_map *map = &copy->map;
    if (!copy->work->rank) {
        uint64_t at = (uint64_t)index * PLAIN_ROW_BYTES, left = copy->bytes - at;
        return (struct bulk_row){copy->global + at, 0, left < PLAIN_ROW_BYTES ? (uint32_t)left : PLAIN_ROW_BYTES};
    }
    int64_t place[TENSOR_MOST_RANK];
    if (!(map->im2col ? place_pixel(copy, index, place) : place_tile(copy, index, place)))
        return (struct bulk_row){0};
    uint32_t element = tensor_type_bytes(map->type), count = copy->row_bytes / element;
    int64_t first = copy->origin[0] < 0 ? 0 : copy->origin[0], end = copy->origin[0] + count;
    end = (uint64_t)(end < 0 ? 0 : end) > map->size[0] ? (int64_t)map->size[0] : end;
    if (first >= end)
        return (struct bulk_row){0};
    uint64_t address = map->address + (uint64_t)first * element;
    for (uint32_t i = 1; i < map->rank; i++)
        address += (uint64_t)place[i] * map->stride[i - 1];
    return (struct bulk_row){address, (uint32_t)(first - copy->origin[0]) * element, (uint32_t)(end - first) * element};
}

uint8_t *bulk_unit(const struct bulk_copy *copy, const struct corun_tb *tb, uint32_t row, uint32_t at)
{
    uint32_t address = copy->shared + row * copy->row_bytes + at;
    return tb->shared + tensor_swizzled(copy->map.swizzle, address);
}

/* In the thread block itself. */
static uint8_t *unit_of(const struct bulk_copy *copy, uint32_t row, uint32_t at)
{
    return bulk_unit(copy, copy->warp->tb, row, at);
}

uint64_t bulk_element(const struct bulk_copy *copy, uint32_t row, uint32_t at, uint32_t width)
{
    uint64_t value = 0;
    memcpy(&value, unit_of(copy, row, at / BULK_UNIT_BYTES * BULK_UNIT_BYTES) + at % BULK_UNIT_BYTES, width);
    return value;
}

static uint64_t fill_of(const struct tensor_map *map)
{
    if (map->fill != TENSOR_FILL_NAN)
        return 0;
    return HALF_OOB * (UINT64_MAX / UINT16_MAX) >> (64 - 8 * tensor_type_bytes(map->type));
}

/* What loads make of single precision: subnormal numbers become zeros, fractions are rounded to 10 bits, to nearest even. */
static uint32_t converted(uint32_t type, uint32_t bits)
{
    uint32_t magnitude = bits & 0x7fffffffu;
    if ((type == TENSOR_F32_FTZ || type == TENSOR_TF32_FTZ) && magnitude < 0x00800000u)
        return bits & 0x80000000u;
    if (type == TENSOR_F32_FTZ)
        return bits;
    if (magnitude > 0x7f800000u)
        return bits | 0x00400000u;
    return (bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu;
}

static bool converts(uint32_t type)
{
    return type == TENSOR_F32_FTZ || type == TENSOR_TF32 || type == TENSOR_TF32_FTZ;
}

/* Bytes of the row that are in the tensor; what was freed since reads as zero. */
static void read_row(struct executor_sm *sm, const struct bulk_copy *copy, const struct bulk_row *row, uint8_t *to)
{
    struct memory_cache cache = {0};
    const uint8_t *host = memory_find(sm->memory, &cache, row->address, row->bytes);
    if (!host) {
        memset(to, 0, row->bytes);
        return;
    }
    memcpy(to, host, row->bytes);
    if (store_buffer_may_hold(&sm->stores, row->address, row->bytes))
        store_buffer_overlay(&sm->stores, row->address, to, row->bytes);
    for (uint32_t i = 0; copy->work->rank && converts(copy->map.type) && i < row->bytes; i += 4) {
        uint32_t bits;
        memcpy(&bits, to + i, sizeof bits);
        bits = converted(copy->map.type, bits);
        memcpy(to + i, &bits, sizeof bits);
    }
}

static uint32_t bytes_of_row(const struct bulk_copy *copy, uint32_t row)
{
    uint64_t left = copy->bytes - (uint64_t)row * copy->row_bytes;
    return left < copy->row_bytes ? (uint32_t)left : copy->row_bytes;
}

uint32_t bulk_read_row(struct executor_sm *sm, const struct bulk_copy *copy, uint32_t index, uint8_t *bytes)
{
    struct bulk_row row = bulk_row(copy, index);
    uint32_t count = bytes_of_row(copy, index), element = tensor_type_bytes(copy->map.type);
    if (row.bytes < count) {
        uint64_t fill = fill_of(&copy->map);
        for (uint32_t i = 0; i < count; i += element)
            memcpy(bytes + i, &fill, element);
    }
    if (row.bytes)
        read_row(sm, copy, &row, bytes + row.skip);
    return count;
}

static void load_row(struct executor_sm *sm, const struct bulk_copy *copy, uint32_t index)
{
    uint8_t bytes[BULK_ROW_BYTES];
    uint32_t count = bulk_read_row(sm, copy, index, bytes);
    for (uint32_t i = 0; i < count; i += BULK_UNIT_BYTES)
        memcpy(unit_of(copy, index, i), bytes + i, BULK_UNIT_BYTES);
}

static void store_row(struct executor_sm *sm, const struct bulk_copy *copy, uint32_t index)
{
    uint8_t bytes[PLAIN_ROW_BYTES];
    struct bulk_row row = bulk_row(copy, index);
    struct memory_cache cache = {0};
    uint8_t *host = row.bytes ? memory_find(sm->memory, &cache, row.address, row.bytes) : NULL;
    if (!host)
        return;
    for (uint32_t i = 0; i < bytes_of_row(copy, index); i += BULK_UNIT_BYTES)
        memcpy(bytes + i, unit_of(copy, index, i), BULK_UNIT_BYTES);
    if (sm->direct || !store_buffer_write(&sm->stores, row.address, host, bytes + row.skip, row.bytes))
        memcpy(host, bytes + row.skip, row.bytes);
}

static void reduce_row(struct executor_sm *sm, const struct bulk_copy *copy, uint32_t index)
{
    struct bulk_row row = bulk_row(copy, index);
    struct memory_cache cache = {0};
    const struct operation *op = bulk_reduction(copy->map.type * (ATOMIC_XOR + 1u) + copy->work->change);
    uint8_t *host = row.bytes ? memory_find(sm->memory, &cache, row.address, row.bytes) : NULL;
    for (uint32_t i = 0; host && i < row.bytes; i += op->width_bytes)
        atomic_apply(op, host + i, bulk_element(copy, index, row.skip + i, op->width_bytes), 0, true);
}

static void move_within(const struct bulk_copy *copy)
{
    uint8_t *shared = copy->warp->tb->shared;
    if (copy->work->kind == BULK_WITHIN) {
        memmove(shared + copy->shared, shared + copy->source, copy->bytes);
        return;
    }
    const struct operation *op = bulk_reduction(copy->work->type * (ATOMIC_XOR + 1u) + copy->work->change);
    for (uint64_t i = 0; i < copy->bytes; i += op->width_bytes) {
        uint64_t b = 0;
        memcpy(&b, shared + copy->source + i, op->width_bytes);
        atomic_apply(op, shared + copy->shared + i, b, 0, false);
    }
}

static void tell_barrier(const struct bulk_copy *copy)
{
    static const struct operation complete = {.width_bytes = 8, .extra = {ATOMIC_BARRIER_COMPLETE}};
    atomic_apply(&complete, copy->warp->tb->shared + copy->barrier, copy->bytes, 0, false);
}

void bulk_move(struct executor_sm *sm, const struct bulk_copy *copy)
{
    switch ((enum bulk_kind)copy->work->kind) {
    case BULK_LOAD:
        for (uint32_t i = 0; i < copy->rows; i++)
            load_row(sm, copy, i);
        tell_barrier(copy);
        break;
    case BULK_STORE:
        for (uint32_t i = 0; i < copy->rows; i++)
            store_row(sm, copy, i);
        break;
    case BULK_WITHIN:
    case BULK_REDUCE_WITHIN:
        move_within(copy);
        tell_barrier(copy);
        break;
    default:
        break;
    }
}

void bulk_move_untimed(struct executor_sm *sm, const struct bulk_copy *copy)
{
    bool reduces = copy->work->kind == BULK_REDUCE, stores = reduces || copy->work->kind == BULK_STORE;
    bool global = stores || copy->work->kind == BULK_LOAD;
    for (uint32_t i = 0; global && i < copy->rows; i++) {
        struct bulk_row row = bulk_row(copy, i);
        sm->global_bytes += (uint64_t)row.bytes * (reduces ? 2 : 1);
        if (sm->touch && row.bytes)
            sm->touch(sm->touch_user, row.address, row.bytes, stores);
        if (reduces)
            reduce_row(sm, copy, i);
    }
    if (!copy->elsewhere.only)
        bulk_move(sm, copy);
    bulk_elsewhere_now(sm, copy);
}

/* ---- reductions ---- */

#define SIGN(type) ((type) == TENSOR_S32 || (type) == TENSOR_S64 ? EXTEND_SIGN : 0)
#define ADDED(type) \
    ((type) == TENSOR_F16    ? PTX_TYPE_F16 \
     : (type) == TENSOR_BF16 ? PTX_TYPE_BF16 \
     : (type) == TENSOR_F64  ? PTX_TYPE_F64 \
                             : PTX_TYPE_F32)
#define REDUCTION(type, bytes, floating, change) \
    [(type) * (ATOMIC_XOR + 1) + (change)] = {.kind = OPERATION_ATOMIC, \
                                              .destination = OPERAND_DISCARD, \
                                              .width_bytes = (bytes), \
                                              .space = CORUN_SPACE_GLOBAL, \
                                              .extend = (floating) ? EXTEND_FLOAT : SIGN(type), \
                                              .extra = {(change), ADDED(type)}},
#define TYPE_ROWS(name, bytes, floating) \
    REDUCTION(TENSOR_##name, bytes, floating, ATOMIC_ADD) \
    REDUCTION(TENSOR_##name, bytes, floating, ATOMIC_INCREMENT) \
    REDUCTION(TENSOR_##name, bytes, floating, ATOMIC_DECREMENT) \
    REDUCTION(TENSOR_##name, bytes, floating, ATOMIC_MINIMUM) \
    REDUCTION(TENSOR_##name, bytes, floating, ATOMIC_MAXIMUM) \
    REDUCTION(TENSOR_##name, bytes, floating, ATOMIC_AND) \
    REDUCTION(TENSOR_##name, bytes, floating, ATOMIC_OR) \
    REDUCTION(TENSOR_##name, bytes, floating, ATOMIC_XOR)

static const struct operation reductions[BULK_REDUCTIONS] = {TENSOR_TYPES(TYPE_ROWS)};

const struct operation *bulk_reduction(uint32_t number)
{
    return number < BULK_REDUCTIONS && reductions[number].width_bytes ? &reductions[number] : NULL;
}

uint32_t bulk_reduction_number(const struct operation *op)
{
    return op >= reductions && op < reductions + BULK_REDUCTIONS ? (uint32_t)(op - reductions) : BULK_REDUCTIONS;
}
