/* SPDX-License-Identifier: MIT */
/* Which suffixes of bulk copies, bulk reductions and changes of tensor maps belong together. */
#include "ptx/bulk.h"

uint16_t ptx_bulk_opcode(const struct ptx_instruction *instruction)
{
    bool to_global = instruction->copy_to == PTX_COPY_TO_GLOBAL;
    switch (instruction->opcode) {
    case PTX_OP_CP_ASYNC_BULK_TENSOR_LOAD:
        return to_global ? PTX_OP_CP_ASYNC_BULK_TENSOR_STORE : instruction->opcode;
    case PTX_OP_CP_REDUCE_ASYNC_BULK:
        return to_global ? instruction->opcode : PTX_OP_CP_REDUCE_ASYNC_BULK_SHARED;
    case PTX_OP_TENSORMAP_REPLACE:
        return instruction->map_field >= PTX_MAP_FIELD_BOX ? PTX_OP_TENSORMAP_REPLACE_ELEMENT : instruction->opcode;
    default:
        return instruction->opcode;
    }
}

bool ptx_is_bulk(uint32_t opcode)
{
    switch (opcode) {
    case PTX_OP_CP_ASYNC_BULK_TENSOR_STORE:
    case PTX_OP_CP_ASYNC_BULK_TENSOR_LOAD:
    case PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR:
    case PTX_OP_CP_REDUCE_ASYNC_BULK_SHARED:
    case PTX_OP_CP_REDUCE_ASYNC_BULK:
    case PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR:
    case PTX_OP_TENSORMAP_REPLACE_ELEMENT:
    case PTX_OP_TENSORMAP_REPLACE:
        return true;
    default:
        return false;
    }
}

static const char *wrong_way(const struct ptx_instruction *instruction)
{
    uint8_t to = instruction->copy_to, from = instruction->copy_from, completion = instruction->completion;
    switch (instruction->opcode) {
    case PTX_OP_CP_ASYNC_BULK_TENSOR_LOAD:
        if ((to != PTX_COPY_TO_CLUSTER && to != PTX_COPY_TO_SHARED) || from != PTX_COPY_FROM_GLOBAL)
            return "copies from .global to .shared::cluster or .shared::cta, or from .shared::cta to .global";
        return completion == PTX_COMPLETION_COMPLETE_TX ? NULL : "needs .mbarrier::complete_tx::bytes";
    case PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR:
        return to == PTX_COPY_TO_L2 && from == PTX_COPY_FROM_GLOBAL && !completion ? NULL : "needs .L2.global";
    case PTX_OP_CP_REDUCE_ASYNC_BULK_SHARED:
        if (to != PTX_COPY_TO_CLUSTER || from != PTX_COPY_FROM_SHARED)
            return "reduces from .shared::cta to .global or .shared::cluster";
        return completion == PTX_COMPLETION_COMPLETE_TX ? NULL : "needs .mbarrier::complete_tx::bytes";
    default:
        if (to != PTX_COPY_TO_GLOBAL || from != PTX_COPY_FROM_SHARED)
            return "needs .global.shared::cta";
        return completion == PTX_COMPLETION_GROUP ? NULL : "needs .bulk_group";
    }
}

static const char *wrong_mode(const struct ptx_instruction *instruction)
{
    bool loads = instruction->opcode == PTX_OP_CP_ASYNC_BULK_TENSOR_LOAD ||
                 instruction->opcode == PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR;
    uint8_t mode = instruction->copy_mode;
    if (!instruction->rank)
        return "needs a number of dimensions such as .2d";
    if (mode && mode != PTX_COPY_MODE_TILE && mode != (loads ? PTX_COPY_MODE_IM2COL : PTX_COPY_MODE_IM2COL_NO_OFFSETS))
        return loads ? "has .im2col_no_offs, which is for stores" : "has .im2col, which is for loads";
    if (mode && mode != PTX_COPY_MODE_TILE && ptx_bulk_rank(instruction) < 3)
        return "has .im2col with fewer than three dimensions";
    return NULL;
}

/* The types that a bulk reduction has for an operation. */
static bool reduces_type(uint8_t operation, enum ptx_type type, bool shared)
{
    bool words = type == PTX_TYPE_U32 || type == PTX_TYPE_S32, longs = type == PTX_TYPE_U64 || type == PTX_TYPE_S64;
    bool halves = type == PTX_TYPE_F16 || type == PTX_TYPE_BF16;
    switch (operation) {
    case PTX_ATOMIC_ADD:
        return words || type == PTX_TYPE_U64 || (!shared && (halves || type == PTX_TYPE_F32 || type == PTX_TYPE_F64));
    case PTX_ATOMIC_MIN:
    case PTX_ATOMIC_MAX:
        return words || (!shared && (longs || halves));
    case PTX_ATOMIC_INC:
    case PTX_ATOMIC_DEC:
        return type == PTX_TYPE_U32;
    default:
        return type == PTX_TYPE_B32 || (!shared && type == PTX_TYPE_B64);
    }
}

static const char *wrong_reduction(const struct ptx_instruction *instruction)
{
    uint8_t operation = instruction->atomic;
    if (!operation || operation == PTX_ATOMIC_EXCH || operation == PTX_ATOMIC_CAS)
        return "needs .add, .min, .max, .inc, .dec, .and, .or or .xor";
    if (instruction->opcode == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR)
        return NULL;
    enum ptx_type type = instruction->types[0];
    bool rounds = operation == PTX_ATOMIC_ADD && (type == PTX_TYPE_F16 || type == PTX_TYPE_BF16);
    if (!reduces_type(operation, type, instruction->opcode == PTX_OP_CP_REDUCE_ASYNC_BULK_SHARED))
        return "does not do this with this type";
    if (rounds != (instruction->noftz != PTX_SUFFIX_NONE))
        return rounds ? "needs .noftz with this type" : "has .noftz, which is for sums of .f16 and .bf16";
    return NULL;
}

static const char *wrong_map(const struct ptx_instruction *instruction)
{
    if (!instruction->map_mode || !instruction->map_bits)
        return "needs .tile and .b1024";
    if (!instruction->map_field)
        return "needs a field such as .global_address";
    if (instruction->space && instruction->space != PTX_SPACE_GLOBAL && instruction->space != PTX_SPACE_SHARED)
        return "works on .global and .shared::cta only";
    bool wide = instruction->map_field == PTX_MAP_FIELD_ADDRESS || instruction->map_field == PTX_MAP_FIELD_STRIDE;
    if (wide != (instruction->types[0] == PTX_TYPE_B64))
        return wide ? "needs .b64 with this field" : "needs .b32 with this field";
    return NULL;
}

const char *ptx_bulk_problem(const struct ptx_instruction *instruction)
{
    if (instruction->opcode == PTX_OP_TENSORMAP_REPLACE || instruction->opcode == PTX_OP_TENSORMAP_REPLACE_ELEMENT)
        return wrong_map(instruction);
    const char *problem = wrong_way(instruction);
    if (!problem && ptx_opcodes[instruction->opcode].fields >> PTX_FIELD_RANK & 1)
        problem = wrong_mode(instruction);
    if (!problem && ptx_opcodes[instruction->opcode].fields >> PTX_FIELD_ATOMIC & 1)
        problem = wrong_reduction(instruction);
    if (!problem && instruction->multicast && instruction->copy_to != PTX_COPY_TO_CLUSTER)
        problem = "has .multicast::cluster without .shared::cluster";
    return problem;
}

uint32_t ptx_bulk_spare_operands(const struct ptx_instruction *instruction)
{
    bool offsets = instruction->copy_mode == PTX_COPY_MODE_IM2COL, mask = instruction->multicast != PTX_SUFFIX_NONE;
    switch (instruction->opcode) {
    case PTX_OP_CP_ASYNC_BULK_LOAD:
        return !mask;
    case PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR:
        return !offsets;
    case PTX_OP_CP_ASYNC_BULK_TENSOR_LOAD:
        return !offsets + !mask;
    case PTX_OP_FENCE_PROXY_TENSORMAP: /* .release has none */
        return instruction->semantics == PTX_SEMANTICS_ACQUIRE ? 0 : 2;
    default:
        return 0;
    }
}
