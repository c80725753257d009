/* SPDX-License-Identifier: MIT */
/* What threads ask bulk copies for, and whether that can be; copies under way. */
#include "isa/bulk.h"

#include "base/bits.h"
#include "isa/bulk_elsewhere.h"
#include "isa/bulk_rows.h"
#include "isa/executor.h"

#include <stdlib.h>
#include <string.h>

#define SHARED_ALIGN 16u
#define TENSOR_SHARED_ALIGN 128u
#define BARRIER_BYTES 8u
#define NONE UINT32_MAX

static uint64_t value_of(const struct corun_warp *warp, uint16_t slot, bool narrow, uint32_t lane)
{
    const void *from = lanes_source(&warp->lanes, slot);
    return narrow ? ((const uint32_t *)from)[lane] : ((const uint64_t *)from)[lane];
}

static uint64_t address_of(const struct corun_warp *warp, const struct bulk_place *place, uint32_t lane)
{
    bool narrow = place->narrow && !(place->slot & OPERAND_CONSTANT); /* constants are always pairs */
    return value_of(warp, place->slot, narrow, lane) + (uint64_t)place->offset;
}

static bool within(uint64_t address, uint64_t bytes, uint64_t limit)
{
    return bytes <= limit && address <= limit - bytes;
}

/* `bytes` of shared memory at an address of that alignment. */
static bool check_shared(struct corun_warp *warp, uint32_t lane, const char *what, uint64_t address, uint64_t bytes,
                         uint32_t align)
{
    uint64_t limit = warp->tb->launch->grid.tb_shared_bytes;
    if (address % align) {
        fault_raise(warp, lane, "misaligned bulk copy: %s at shared address 0x%llx, which is not a multiple of %u",
                    what, (unsigned long long)address, align);
        return false;
    }
    if (within(address, bytes, limit))
        return true;
    fault_raise(
        warp, lane,
        "bulk copy: %s of %llu bytes at shared address 0x%llx is out of bounds: the thread block has %llu bytes", what,
        (unsigned long long)bytes, (unsigned long long)address, (unsigned long long)limit);
    return false;
}

static bool read_map(struct corun_warp *warp, struct bulk_copy *copy, uint32_t lane)
{
    const struct bulk_work *work = copy->work;
    uint64_t address = value_of(warp, work->map, false, lane);
    uint8_t bytes[TENSOR_MAP_BYTES];
    char text[TENSOR_TEXT];
    if (address % TENSOR_MAP_ALIGN) {
        fault_raise(warp, lane, "misaligned tensor map at 0x%llx, which is not a multiple of %u",
                    (unsigned long long)address, TENSOR_MAP_ALIGN);
        return false;
    }
    if (!access_read(warp, lane, address, bytes, sizeof bytes)) {
        fault_access(warp, lane, CORUN_SPACE_GENERIC, "load of a tensor map", address, TENSOR_MAP_BYTES);
        return false;
    }
    bool good = tensor_map_unpack(bytes, &copy->map, text);
    if (!good)
        fault_raise(warp, lane, "bad tensor map at 0x%llx: %s", (unsigned long long)address, text);
    else if (copy->map.rank != work->rank)
        fault_raise(warp, lane, "a tensor map of %u dimensions, and a bulk copy of %u", copy->map.rank, work->rank);
    else if (copy->map.im2col != work->im2col)
        fault_raise(warp, lane, "a tensor map of %s, and a bulk copy of %s", copy->map.im2col ? "im2col" : "tiles",
                    work->im2col ? "im2col" : "tiles");
    else if (copy->map.interleave)
        fault_raise(warp, lane, "not supported: bulk copies of interleaved tensors");
    else
        return true;
    return false;
}

/* The types that PTX has for an operation, of the elements of a tensor. */
static bool reduces(enum atomic_operation change, uint32_t type)
{
    bool words = type == TENSOR_U32 || type == TENSOR_S32, longs = type == TENSOR_U64 || type == TENSOR_S64;
    bool halves = type == TENSOR_F16 || type == TENSOR_BF16;
    switch (change) {
    case ATOMIC_ADD:
        return words || longs || halves || type == TENSOR_F32 || type == TENSOR_F32_FTZ || type == TENSOR_F64;
    case ATOMIC_MINIMUM:
    case ATOMIC_MAXIMUM:
        return words || longs || halves;
    case ATOMIC_INCREMENT:
    case ATOMIC_DECREMENT:
        return type == TENSOR_U32;
    default:
        return words || longs;
    }
}

static bool ask_tensor(struct corun_warp *warp, struct bulk_copy *copy, uint32_t lane)
{
    const struct bulk_work *work = copy->work;
    if (!read_map(warp, copy, lane))
        return false;
    for (uint32_t i = 0; i < work->rank; i++)
        copy->origin[i] = (int32_t)value_of(warp, work->coordinate[i], true, lane);
    for (uint32_t i = 0; work->offsets && i + 2 < work->rank; i++)
        copy->shift[i] = (uint16_t)value_of(warp, work->offset[i], true, lane);
    bulk_rows_of_tensor(copy);
    if (work->kind == BULK_REDUCE && !reduces((enum atomic_operation)work->change, copy->map.type)) {
        fault_raise(warp, lane, "bulk reduction: PTX has none of this kind for the elements of the tensor map");
        return false;
    }
    return work->kind == BULK_PREFETCH ||
           check_shared(warp, lane, "the box", copy->shared, copy->bytes, TENSOR_SHARED_ALIGN);
}

static bool ask_bytes(struct corun_warp *warp, struct bulk_copy *copy, uint32_t lane)
{
    const struct bulk_work *work = copy->work;
    copy->bytes = value_of(warp, work->bytes, true, lane);
    copy->map.type = work->type;
    bulk_rows_of_bytes(copy);
    if (copy->bytes % 16) {
        fault_raise(warp, lane, "cp.async.bulk: %llu bytes, not a multiple of 16", (unsigned long long)copy->bytes);
        return false;
    }
    bool inside = work->kind == BULK_WITHIN || work->kind == BULK_REDUCE_WITHIN;
    if (inside)
        return check_shared(warp, lane, "the source", copy->source, copy->bytes, SHARED_ALIGN) &&
               check_shared(warp, lane, "the destination", copy->shared, copy->bytes, SHARED_ALIGN);
    copy->global = address_of(warp, &work->global, lane);
    if (copy->global % 16) {
        fault_raise(warp, lane, "misaligned bulk copy: global address 0x%llx is not a multiple of 16",
                    (unsigned long long)copy->global);
        return false;
    }
    return work->kind == BULK_PREFETCH ||
           check_shared(warp, lane, "the shared side", copy->shared, copy->bytes, SHARED_ALIGN);
}

/* All rows are in memory that is there. A prefetch need not find any. */
static bool check_global(struct corun_warp *warp, const struct bulk_copy *copy, uint32_t lane)
{
    bool stores = copy->work->kind == BULK_STORE || copy->work->kind == BULK_REDUCE;
    struct memory_cache cache = {0};
    if (!stores && copy->work->kind != BULK_LOAD)
        return true;
    for (uint32_t i = 0; i < copy->rows; i++) {
        struct bulk_row row = bulk_row(copy, i);
        if (!row.bytes || memory_find(warp->tb->sm->memory, &cache, row.address, row.bytes))
            continue;
        fault_access(warp, lane, CORUN_SPACE_GLOBAL, stores ? "bulk store" : "bulk load", row.address, row.bytes);
        return false;
    }
    return true;
}

static bool ask(struct corun_warp *warp, struct bulk_copy *copy, uint32_t lane)
{
    const struct bulk_work *work = copy->work;
    bool barrier = work->kind == BULK_LOAD || work->kind == BULK_WITHIN || work->kind == BULK_REDUCE_WITHIN;
    uint64_t shared = work->kind == BULK_PREFETCH ? 0 : address_of(warp, &work->shared, lane);
    bool inside = work->kind == BULK_WITHIN || work->kind == BULK_REDUCE_WITHIN;
    uint64_t source = inside ? address_of(warp, &work->source, lane) : 0;
    uint64_t told = barrier ? address_of(warp, &work->barrier, lane) : 0;
    uint32_t mask = work->multicast ? (uint16_t)value_of(warp, work->mask, true, lane) : 0;
    copy->lane = lane;
    copy->line = warp->tb->launch->kernel->instructions[warp->stack.pc].line;
    copy->shared = (uint32_t)shared;
    copy->source = (uint32_t)source;
    copy->barrier = (uint32_t)told;
    if (shared >> 32 || source >> 32)
        return check_shared(warp, lane, "it", shared >> 32 ? shared : source, 16, 1);
    if (told >> 32)
        return check_shared(warp, lane, "the barrier", told, BARRIER_BYTES, BARRIER_BYTES);
    if (!bulk_elsewhere_ask(warp, copy, lane, mask) ||
        (barrier && !check_shared(warp, lane, "the barrier", copy->barrier, BARRIER_BYTES, BARRIER_BYTES)))
        return false;
    if (!(work->rank ? ask_tensor(warp, copy, lane) : ask_bytes(warp, copy, lane)))
        return false;
    return check_global(warp, copy, lane);
}

static uint32_t pool_take(struct bulk_pool *pool)
{
    if (pool->free) {
        uint32_t index = pool->free - 1;
        pool->free = pool->copies[index].next;
        pool->used++;
        return index;
    }
    if (pool->count == pool->capacity) {
        uint32_t capacity = pool->capacity ? 2 * pool->capacity : 16;
        struct bulk_copy *copies = realloc(pool->copies, sizeof *copies * capacity);
        if (!copies)
            return NONE;
        pool->copies = copies;
        pool->capacity = capacity;
    }
    pool->used++;
    return pool->count++;
}

static void pool_give(struct bulk_pool *pool, uint32_t index)
{
    free(pool->copies[index].elsewhere.bytes);
    pool->copies[index] = (struct bulk_copy){.next = pool->free};
    pool->free = index + 1;
    pool->used--;
}

bool bulk_copy_is_good(const struct bulk_copy *copy)
{
    const struct bulk_work *work = copy->work;
    uint64_t limit = copy->warp->tb->launch->grid.tb_shared_bytes;
    char text[TENSOR_TEXT];
    struct bulk_copy again = *copy;
    if (work->rank) {
        if (!tensor_map_check(&copy->map, text) || copy->map.rank != work->rank || copy->map.im2col != work->im2col ||
            (work->kind == BULK_REDUCE && !reduces((enum atomic_operation)work->change, copy->map.type)))
            return false;
        bulk_rows_of_tensor(&again);
    } else {
        if (copy->map.type != work->type || copy->map.swizzle || copy->bytes % 16 || copy->bytes > UINT32_MAX)
            return false;
        bulk_rows_of_bytes(&again);
    }
    bool inside = work->kind == BULK_WITHIN || work->kind == BULK_REDUCE_WITHIN;
    bool told = inside || work->kind == BULK_LOAD;
    return again.rows == copy->rows && again.row_bytes == copy->row_bytes && again.bytes == copy->bytes &&
           copy->row <= copy->rows && copy->shared % (work->rank ? TENSOR_SHARED_ALIGN : SHARED_ALIGN) == 0 &&
           (work->kind == BULK_PREFETCH || within(copy->shared, copy->bytes, limit)) &&
           (!inside || within(copy->source, copy->bytes, limit)) &&
           (!told || (copy->barrier % BARRIER_BYTES == 0 && within(copy->barrier, BARRIER_BYTES, limit)));
}

void bulk_pool_free(struct bulk_pool *pool)
{
    for (uint32_t i = 0; i < pool->count; i++)
        free(pool->copies[i].elsewhere.bytes);
    free(pool->copies);
    *pool = (struct bulk_pool){0};
}

void bulk_drop(struct executor_sm *sm, const struct launch *launch)
{
    for (uint32_t i = 0; sm->bulk.used && i < sm->bulk.count; i++)
        if (sm->bulk.copies[i].warp && sm->bulk.copies[i].warp->tb->launch == launch)
            pool_give(&sm->bulk, i);
}

bool bulk_issue(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result,
                bool timed)
{
    struct executor_sm *sm = warp->tb->sm;
    const struct bulk_work *work = &warp->tb->launch->kernel->bulks[op->target];
    uint32_t last = NONE;
    if (timed)
        result->copy = NONE;
    for (; mask; mask &= mask - 1) {
        struct bulk_copy copy = {.work = work, .warp = warp};
        if (!ask(warp, &copy,
                 lowest_bit(mask))) /* the application ends: what other lanes asked for is dropped with it */
            return false;
        if (!timed) {
            bulk_move_untimed(sm, &copy);
            continue;
        }
        uint32_t index = bulk_elsewhere_prepare(&copy) ? pool_take(&sm->bulk) : NONE;
        if (index == NONE) {
            free(copy.elsewhere.bytes);
            fault_raise(warp, lowest_bit(mask), "the host is out of memory");
            return false;
        }
        sm->bulk.copies[index] = copy;
        if (last == NONE)
            result->copy = index;
        else
            sm->bulk.copies[last].next = index + 1;
        last = index;
    }
    return true;
}

/* The elements of a part, as an atomic of so many lanes. False when out of memory. */
static bool reduce_part(struct executor_sm *sm, const struct bulk_copy *copy, const struct bulk_row *row,
                        struct corun_copy_part *part)
{
    const struct operation *op = bulk_reduction(copy->map.type * (ATOMIC_XOR + 1u) + copy->work->change);
    uint32_t ticket_index = atomic_pool_take(&sm->atomics), width = op->width_bytes, count = part->bytes / width;
    if (ticket_index == NONE)
        return false;
    struct atomic_ticket *ticket = &sm->atomics.tickets[ticket_index];
    ticket->op = op;
    ticket->warp = copy->warp;
    ticket->lanes = count >= CORUN_WARP_LANES ? CORUN_FULL_MASK : (1u << count) - 1;
    ticket->remote = 0;
    ticket->performed = 0;
    ticket->barriers_met = copy->warp->tb->barriers_met;
    struct memory_cache cache = {0};
    uint32_t at = row->skip + (uint32_t)(part->address - row->address);
    for (uint32_t i = 0; i < count; i++) {
        ticket->address[i] = part->address + (uint64_t)i * width;
        ticket->host[i] = memory_find(sm->memory, &cache, ticket->address[i], width);
        ticket->b[i] = bulk_element(copy, copy->row, at + i * width, width);
        ticket->c[i] = ticket->old[i] = 0;
        if (!ticket->host[i]) /* freed since */
            ticket->lanes &= ~(1u << i);
    }
    part->ticket = ticket_index;
    part->lanes = ticket->lanes;
    return true;
}

static uint8_t part_kind(const struct bulk_work *work)
{
    return work->kind == BULK_STORE ? CORUN_STORE : work->kind == BULK_REDUCE ? CORUN_ATOMIC : CORUN_LOAD;
}

/* The next part of one lane's copy. */
static bool next_of(struct executor_sm *sm, struct bulk_copy *copy, uint32_t line_bytes, struct corun_copy_part *part)
{
    bool inside = copy->work->kind == BULK_WITHIN || copy->work->kind == BULK_REDUCE_WITHIN;
    for (; !inside && copy->row < copy->rows; copy->row++, copy->at = 0) {
        struct bulk_row row = bulk_row(copy, copy->row);
        if (copy->at >= row.bytes)
            continue;
        uint64_t address = row.address + copy->at, room = line_bytes - address % line_bytes;
        uint32_t bytes = row.bytes - copy->at;
        bytes = bytes < room ? bytes : (uint32_t)room;
        part->kind = part_kind(copy->work);
        uint32_t most = part->kind == CORUN_ATOMIC ? CORUN_WARP_LANES * tensor_type_bytes(copy->map.type) : UINT32_MAX;
        *part = (struct corun_copy_part){
            .address = address, .bytes = bytes < most ? bytes : most, .kind = part->kind, .space = CORUN_SPACE_GLOBAL};
        if (part->kind == CORUN_ATOMIC && !reduce_part(sm, copy, &row, part))
            return false;
        copy->at += part->bytes;
        return true;
    }
    return bulk_elsewhere_next(sm, copy, line_bytes, part);
}

bool bulk_next(struct executor_sm *sm, uint32_t index, uint32_t line_bytes, struct corun_copy_part *part)
{
    for (uint32_t i = index; i != NONE; i = sm->bulk.copies[i].next - 1)
        if (next_of(sm, &sm->bulk.copies[i], line_bytes, part))
            return true;
    for (uint32_t i = index; i != NONE; i = sm->bulk.copies[i].next - 1)
        if (sm->bulk.copies[i].work->kind == BULK_STORE)
            bulk_move(sm, &sm->bulk.copies[i]);
    return false;
}

/* The thread block's own part of a copy whose replies are there. */
static void settle_own(struct executor_sm *sm, struct bulk_copy *copy)
{
    uint8_t kind = copy->work->kind;
    bool tells = kind == BULK_LOAD || kind == BULK_WITHIN || kind == BULK_REDUCE_WITHIN;
    if (tells && !copy->elsewhere.only && !copy->elsewhere.here)
        bulk_move(sm, copy);
    copy->elsewhere.here = true;
}

bool bulk_done(struct executor_sm *sm, uint32_t index)
{
    bool further = false;
    for (uint32_t i = index; i != NONE; i = sm->bulk.copies[i].next - 1) {
        further |= bulk_elsewhere_begin(sm, &sm->bulk.copies[i]);
        settle_own(sm, &sm->bulk.copies[i]);
    }
    for (uint32_t i = further ? NONE : index, next; i != NONE; i = next) {
        next = sm->bulk.copies[i].next - 1;
        pool_give(&sm->bulk, i);
    }
    return !further;
}
