/* SPDX-License-Identifier: MIT */
/* Operands of bulk copies of tensors and of changes of tensor maps. */
#include "ptx/bulk.h"
#include "ptx/parser.h"

#include <stdio.h>
#include <string.h>

#define MAP_BYTES 128u

/* A tensor map in a register, and a coordinate for each dimension. */
static bool check_tensor(struct parser *parser, const struct ptx_instruction *instruction,
                         struct parsed_operand *operand)
{
    uint32_t rank = ptx_bulk_rank(instruction), count = operand->operand.element_count;
    if (operand->operand.kind != PTX_OPERAND_TEXEL || count != rank + 1) {
        char text[64];
        snprintf(text, sizeof text, "[tensor map, {%u coordinate%s}]", rank, rank == 1 ? "" : "s");
        return check_mismatch(parser, operand, text);
    }
    struct ptx_operand elements[1 + MAX_VECTOR];
    memcpy(elements, operand->operand.elements, count * sizeof *elements);
    if (elements[0].kind != PTX_OPERAND_REGISTER || !check_fits(parser, PTX_TYPE_U64, &elements[0], false))
        return check_mismatch(parser, operand, "the address of a tensor map in a 64-bit register");
    for (uint32_t i = 1; i < count; i++)
        if (!check_fits(parser, PTX_TYPE_S32, &elements[i], false))
            return check_mismatch(parser, operand, "coordinates that are registers of 32 bits or constants");
    return true;
}

/* Offsets in a bounding box, or the thread blocks of a cluster. */
static bool check_extra(struct parser *parser, const struct ptx_instruction *instruction,
                        struct parsed_operand *operand)
{
    struct ptx_operand element = operand->operand;
    if (operand->operand.kind != PTX_OPERAND_VECTOR)
        return check_fits(parser, PTX_TYPE_U16, &element, false) ||
               check_mismatch(parser, operand, "a mask of thread blocks in a 16-bit register or a constant");
    bool fits = operand->operand.element_count + 2u == ptx_bulk_rank(instruction);
    for (uint32_t i = 0; fits && i < operand->operand.element_count; i++) {
        element = operand->operand.elements[i];
        fits = check_fits(parser, PTX_TYPE_U16, &element, false);
    }
    return fits || check_mismatch(parser, operand,
                                  "a vector with an offset of 16 bits for each dimension but the first and the last");
}

bool check_bulk_operand(struct parser *parser, const struct ptx_instruction *instruction, char letter,
                        struct parsed_operand *operand)
{
    return letter == 'X' ? check_tensor(parser, instruction, operand) : check_extra(parser, instruction, operand);
}

/* Offsets stand where the mode has them, and a mask behind them. */
static bool check_order(struct parser *parser, const struct ptx_instruction *instruction,
                        const struct parsed_operand *operands, uint32_t count)
{
    const char *letters = ptx_opcodes[instruction->opcode].operands;
    const char *first = strchr(letters, 'e');
    uint32_t offsets = instruction->copy_mode == PTX_COPY_MODE_IM2COL ? (uint32_t)(first - letters) : count;
    for (uint32_t i = (uint32_t)(first - letters); i < count; i++)
        if ((operands[i].operand.kind == PTX_OPERAND_VECTOR) != (i == offsets))
            return check_mismatch(parser, &operands[i],
                                  i == offsets ? "a vector of offsets" : "a mask of thread blocks");
    return true;
}

bool check_bulk_operands(struct parser *parser, const struct ptx_instruction *instruction,
                         const struct parsed_operand *operands, uint32_t count)
{
    uint64_t most = instruction->map_field == PTX_MAP_FIELD_STRIDE ? 3 : 4;
    switch (instruction->opcode) {
    case PTX_OP_TENSORMAP_CP_FENCEPROXY:
    case PTX_OP_FENCE_PROXY_TENSORMAP:
        return !count || operands[count - 1].operand.bits == MAP_BYTES ||
               check_mismatch(parser, &operands[count - 1], "128 bytes");
    case PTX_OP_TENSORMAP_REPLACE_ELEMENT:
        return operands[1].operand.bits <= most || check_mismatch(parser, &operands[1], "a dimension of a tensor");
    default:
        return !strchr(ptx_opcodes[instruction->opcode].operands, 'e') ||
               check_order(parser, instruction, operands, count);
    }
}
