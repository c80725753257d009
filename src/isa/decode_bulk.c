/* SPDX-License-Identifier: MIT */
/* Bulk copies and reductions, those of tensors among them, their groups, and changes of tensor maps. */
#include "isa/bulk.h"
#include "isa/decode.h"
#include "ptx/bulk.h"

#include <string.h>

static struct bulk_place place_of(struct decoder *decoder, const struct ptx_operand *operand, uint8_t space)
{
    struct decoded_place place = decode_place(decoder, operand, space);
    return (struct bulk_place){place.slot, place.variant & MEMORY_ADDRESS_32, place.offset};
}

static void take_tensor(struct decoder *decoder, const struct ptx_operand *operand, struct bulk_work *work)
{
    work->rank = (uint8_t)ptx_bulk_rank(decoder->instruction);
    work->map = decode_source(decoder, &operand->elements[0], 64);
    for (uint32_t i = 0; i < work->rank; i++)
        work->coordinate[i] = decode_source(decoder, &operand->elements[i + 1], 32);
}

/* Offsets and mask, which stand behind operand `index`. */
static void take_extra(struct decoder *decoder, uint32_t index, struct bulk_work *work)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    const struct ptx_operand *operands = instruction->operands;
    work->im2col =
        instruction->copy_mode == PTX_COPY_MODE_IM2COL || instruction->copy_mode == PTX_COPY_MODE_IM2COL_NO_OFFSETS;
    work->offsets = instruction->copy_mode == PTX_COPY_MODE_IM2COL;
    work->multicast = instruction->multicast != PTX_SUFFIX_NONE;
    if (work->offsets) {
        for (uint32_t i = 0; i < operands[index].element_count && i < 3; i++)
            work->offset[i] = decode_source(decoder, &operands[index].elements[i], 16);
        index++;
    }
    if (work->multicast)
        work->mask = decode_source(decoder, &operands[index], 16);
}

static uint8_t type_of(enum ptx_type type)
{
    switch (type) {
    case PTX_TYPE_S32:
        return TENSOR_S32;
    case PTX_TYPE_U64:
    case PTX_TYPE_B64:
        return TENSOR_U64;
    case PTX_TYPE_S64:
        return TENSOR_S64;
    case PTX_TYPE_F16:
        return TENSOR_F16;
    case PTX_TYPE_BF16:
        return TENSOR_BF16;
    case PTX_TYPE_F32:
        return TENSOR_F32;
    case PTX_TYPE_F64:
        return TENSOR_F64;
    default:
        return TENSOR_U32;
    }
}

static void emit(struct decoder *decoder, const struct bulk_work *work, uint32_t flags)
{
    if (!vector_push(&decoder->bulks, *work)) {
        decode_no_memory(decoder);
        return;
    }
    struct operation *op = decode_emit(decoder, OPERATION_BULK);
    op->target = (uint32_t)decoder->bulks.count - 1;
    struct corun_instruction *machine = decode_last(decoder);
    decode_registers(decoder);
    machine->unit = CORUN_UNIT_MEMORY;
    machine->space = CORUN_SPACE_SHARED;
    machine->access_bytes = 1;
    machine->flags = (uint16_t)(CORUN_COPY | flags);
}

/* [to], [from], bytes, and [barrier]: without tensor. */
static void decode_bytes(struct decoder *decoder, enum bulk_kind kind)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    const struct ptx_operand *operands = instruction->operands;
    bool loads = kind == BULK_LOAD, inside = kind == BULK_WITHIN || kind == BULK_REDUCE_WITHIN;
    struct bulk_work work = {.kind = (uint8_t)kind, .type = TENSOR_U8};
    if (inside) {
        work.shared = place_of(decoder, &operands[0], PTX_SPACE_SHARED);
        work.source = place_of(decoder, &operands[1], PTX_SPACE_SHARED);
    } else {
        work.shared = place_of(decoder, &operands[!loads], PTX_SPACE_SHARED);
        work.global = place_of(decoder, &operands[loads], PTX_SPACE_GLOBAL);
    }
    work.bytes = decode_source(decoder, &operands[2], 32);
    if (loads || inside)
        work.barrier = place_of(decoder, &operands[3], PTX_SPACE_SHARED);
    if (loads)
        take_extra(decoder, 4, &work);
    if (kind == BULK_REDUCE || kind == BULK_REDUCE_WITHIN) {
        work.change = (uint8_t)decode_change((enum ptx_suffix)instruction->atomic);
        work.type = type_of((enum ptx_type)instruction->types[0]);
    }
    emit(decoder, &work, loads || inside ? CORUN_LOAD : CORUN_STORE);
}

static void decode_tensor(struct decoder *decoder, enum bulk_kind kind)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    const struct ptx_operand *operands = instruction->operands;
    struct bulk_work work = {.kind = (uint8_t)kind};
    bool loads = kind == BULK_LOAD;
    take_tensor(decoder, &operands[loads], &work);
    if (kind != BULK_PREFETCH)
        work.shared = place_of(decoder, &operands[!loads], PTX_SPACE_SHARED);
    if (loads)
        work.barrier = place_of(decoder, &operands[2], PTX_SPACE_SHARED);
    take_extra(decoder, loads ? 3 : 1, &work);
    if (kind == BULK_REDUCE)
        work.change = (uint8_t)decode_change((enum ptx_suffix)instruction->atomic);
    emit(decoder, &work, kind == BULK_STORE || kind == BULK_REDUCE ? CORUN_STORE : CORUN_LOAD);
}

static void decode_prefetch(struct decoder *decoder)
{
    const struct ptx_operand *operands = decoder->instruction->operands;
    struct bulk_work work = {.kind = BULK_PREFETCH, .type = TENSOR_U8};
    work.global = place_of(decoder, &operands[0], PTX_SPACE_GLOBAL);
    work.bytes = decode_source(decoder, &operands[1], 32);
    emit(decoder, &work, CORUN_LOAD);
}

static void decode_group(struct decoder *decoder)
{
    const struct ptx_instruction *instruction = decoder->instruction;
    bool commits = instruction->opcode == PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP;
    decode_emit(decoder, OPERATION_NOTHING);
    struct corun_instruction *machine = decode_last(decoder);
    machine->unit = CORUN_UNIT_CONTROL;
    machine->flags = commits ? CORUN_COPY_GROUP : CORUN_COPY_WAIT;
    if (instruction->opcode == PTX_OP_CP_ASYNC_BULK_WAIT_GROUP_READ)
        machine->flags |= CORUN_COPY_SOURCE;
    if (!commits)
        machine->access_bytes =
            instruction->operands[0].bits < UINT8_MAX ? (uint8_t)instruction->operands[0].bits : UINT8_MAX;
}

static void describe(struct decoder *decoder, const struct operation *op, uint32_t flags)
{
    struct corun_instruction *machine = decode_last(decoder);
    decode_registers(decoder);
    machine->unit = CORUN_UNIT_MEMORY;
    machine->space = op->space;
    machine->access_bytes = (uint8_t)(op->width_bytes * op->vector);
    machine->flags = flags;
}

/* A field of a tensor map is changed by a store. */
static void decode_replace(struct decoder *decoder)
{
    static const struct {
        uint8_t place, bytes;
    } fields[] = {
        {TENSOR_MAP_ADDRESS, 8}, {TENSOR_MAP_RANK, 1}, {TENSOR_MAP_TYPE, 1}, {TENSOR_MAP_INTERLEAVE, 1},
        {TENSOR_MAP_SWIZZLE, 1}, {TENSOR_MAP_FILL, 1}, {TENSOR_MAP_BOX, 4},  {TENSOR_MAP_SIZE, 4},
        {TENSOR_MAP_STRIDE, 8},  {TENSOR_MAP_STEP, 2},
    };
    const struct ptx_instruction *instruction = decoder->instruction;
    const struct ptx_operand *operands = instruction->operands;
    bool element = instruction->opcode == PTX_OP_TENSORMAP_REPLACE_ELEMENT;
    uint32_t field = (uint32_t)instruction->map_field - PTX_MAP_FIELD_ADDRESS;
    struct decoded_place place = decode_place(decoder, &operands[0], instruction->space);
    place.offset += fields[field].place + (element ? (int64_t)operands[1].bits * fields[field].bytes : 0);
    uint32_t bits = ptx_types[instruction->types[0]].bits;
    uint16_t value = decode_source(decoder, &operands[1 + element], bits);
    struct operation *op = decode_emit_access(decoder, OPERATION_STORE, &place);
    op->width_bytes = fields[field].bytes;
    op->source[1] = value;
    op->extend = bits == 64 ? EXTEND_WIDE : 0;
    describe(decoder, op, CORUN_STORE);
}

/* Every lane copies all of it: they have the same addresses. */
static void decode_map_copy(struct decoder *decoder)
{
    const struct ptx_operand *operands = decoder->instruction->operands;
    struct decoded_place to = decode_place(decoder, &operands[0], PTX_SPACE_GLOBAL);
    struct decoded_place from = decode_place(decoder, &operands[1], PTX_SPACE_SHARED);
    uint16_t low = decode_temporary(decoder), high = decode_temporary(decoder);
    const uint16_t data[] = {low, (uint16_t)(low + 1), high, (uint16_t)(high + 1)};
    for (uint32_t i = 0; i < TENSOR_MAP_BYTES; i += 16, to.offset += 16, from.offset += 16) {
        for (uint32_t store = 0; store < 2; store++) {
            struct operation *op =
                decode_emit_access(decoder, store ? OPERATION_STORE : OPERATION_LOAD, store ? &to : &from);
            op->width_bytes = 4;
            op->vector = 4;
            *(store ? &op->source[1] : &op->destination) = data[0];
            memcpy(op->extra, &data[1], 3 * sizeof *data);
            describe(decoder, op, store ? CORUN_STORE : CORUN_LOAD);
            for (uint32_t k = 0; k < 2; k++)
                (store ? decode_reads : decode_writes)(decode_last(decoder), data[2 * k], true);
        }
    }
}

bool decode_bulk(struct decoder *decoder)
{
    switch (decoder->instruction->opcode) {
    case PTX_OP_CP_ASYNC_BULK_LOAD:
        decode_bytes(decoder, BULK_LOAD);
        return true;
    case PTX_OP_CP_ASYNC_BULK_STORE:
        decode_bytes(decoder, BULK_STORE);
        return true;
    case PTX_OP_CP_ASYNC_BULK_SHARED:
        decode_bytes(decoder, BULK_WITHIN);
        return true;
    case PTX_OP_CP_REDUCE_ASYNC_BULK:
        decode_bytes(decoder, BULK_REDUCE);
        return true;
    case PTX_OP_CP_REDUCE_ASYNC_BULK_SHARED:
        decode_bytes(decoder, BULK_REDUCE_WITHIN);
        return true;
    case PTX_OP_CP_ASYNC_BULK_TENSOR_LOAD:
        decode_tensor(decoder, BULK_LOAD);
        return true;
    case PTX_OP_CP_ASYNC_BULK_TENSOR_STORE:
        decode_tensor(decoder, BULK_STORE);
        return true;
    case PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR:
        decode_tensor(decoder, BULK_REDUCE);
        return true;
    case PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR:
        decode_tensor(decoder, BULK_PREFETCH);
        return true;
    case PTX_OP_CP_ASYNC_BULK_PREFETCH:
        decode_prefetch(decoder);
        return true;
    case PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP:
    case PTX_OP_CP_ASYNC_BULK_WAIT_GROUP:
    case PTX_OP_CP_ASYNC_BULK_WAIT_GROUP_READ:
        decode_group(decoder);
        return true;
    case PTX_OP_TENSORMAP_REPLACE:
    case PTX_OP_TENSORMAP_REPLACE_ELEMENT:
        decode_replace(decoder);
        return true;
    case PTX_OP_TENSORMAP_CP_FENCEPROXY:
        decode_map_copy(decoder);
        return true;
    default:
        return false;
    }
}
