/* SPDX-License-Identifier: MIT */
/*
 * Registers of 128 bits (PTX ISA 8.3). Each is two of .b64, one behind the other; while a body is parsed the type of the first one says that it is
 * such a pair. Loads and stores move a vector of the two at once, atomic operations keep the type .b128 and have vectors as operands.
 */
#include "ptx/parser.h"

void parser_split_registers(struct parser *parser)
{
    for (size_t i = 0; i < parser->registers.count; i++)
        if (parser->registers.data[i].type == PTX_TYPE_B128)
            parser->registers.data[i].type = PTX_TYPE_B64;
}

static bool is_wide(const struct parser *parser, const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REGISTER && !operand->negated &&
           parser->registers.data[operand->index].type == PTX_TYPE_B128;
}

/* The two halves of a register, as a vector. */
static bool split(struct parser *parser, struct parsed_operand *operand)
{
    if (!is_wide(parser, &operand->operand))
        return check_mismatch(parser, operand, "a register of 128 bits for .b128");
    struct ptx_operand halves[2] = {operand->operand, operand->operand};
    halves[1].index++;
    operand->operand = (struct ptx_operand){.kind = PTX_OPERAND_VECTOR, .element_count = 2};
    operand->operand.elements = parser_copy(parser, halves, sizeof halves);
    return true;
}

static const struct ptx_operand *keep(struct parser *parser, const struct parsed_operand *operands, uint32_t count)
{
    struct ptx_operand *kept = parser_allocate(parser, parser->arena, count * sizeof *kept);
    for (uint32_t i = 0; i < count; i++)
        kept[i] = operands[i].operand;
    return kept;
}

/* {a, b} stays, a register becomes its halves. */
static bool take_pair(struct parser *parser, struct parsed_operand *operand)
{
    if (operand->operand.kind != PTX_OPERAND_VECTOR)
        return split(parser, operand);
    return operand->operand.element_count == 2 || check_mismatch(parser, operand, "a vector of 2 elements");
}

/* mov.b64 of each half that goes somewhere. */
static bool parse_move(struct parser *parser, struct ptx_instruction *instruction, struct parsed_operand *operands)
{
    uint32_t moved = 0;
    bool packs = operands[1].operand.kind == PTX_OPERAND_VECTOR,
         unpacks = operands[0].operand.kind == PTX_OPERAND_VECTOR;
    if (packs && unpacks)
        return check_mismatch(parser, &operands[1], "a register of 128 bits for .b128");
    if (!take_pair(parser, &operands[0]) || !take_pair(parser, &operands[1]))
        return false;
    instruction->types[0] = PTX_TYPE_B64;
    instruction->operand_count = 2;
    for (uint32_t half = 0; half < 2; half++) {
        struct parsed_operand single[2] = {operands[0], operands[1]};
        for (uint32_t i = 0; i < 2; i++) {
            bool given = i ? packs : unpacks;
            single[i].operand = operands[i].operand.elements[half];
            if (given && !check_fits(parser, PTX_TYPE_B64, &single[i].operand, i == 0))
                return check_mismatch(parser, &operands[i], "a vector of 2 elements of 64 bits");
        }
        if (single[0].operand.kind == PTX_OPERAND_DISCARD)
            continue;
        if (moved++)
            parser_push(parser, &parser->instructions, *instruction);
        instruction->operands = keep(parser, single, 2);
    }
    return moved || check_mismatch(parser, &operands[0], "a register");
}

bool parse_wide(struct parser *parser, struct ptx_instruction *instruction, struct parsed_operand *operands,
                uint32_t count, const char *mnemonic)
{
    /* As of .b64 with nothing of the program's own: how many operands there are, and the address. */
    struct ptx_instruction narrow = *instruction;
    struct parsed_operand plain[4];
    narrow.types[0] = PTX_TYPE_B64;
    for (uint32_t i = 0; i < count && i < 4; i++) {
        bool address = instruction->opcode != PTX_OP_MOV && i == (instruction->opcode != PTX_OP_ST);
        plain[i] = operands[i];
        if (!address)
            plain[i].operand = (struct ptx_operand){
                .kind = i == 0 && instruction->opcode != PTX_OP_ST ? PTX_OPERAND_DISCARD : PTX_OPERAND_INTEGER};
    }
    if (instruction->opcode == PTX_OP_MOV && count == 2)
        return parse_move(parser, instruction, operands);
    if (!check_operands(parser, &narrow, plain, count < 4 ? count : 4, mnemonic))
        return false;
    bool atomic = instruction->opcode == PTX_OP_ATOM;
    for (uint32_t i = 0; i < count; i++) {
        bool address = i == (instruction->opcode != PTX_OP_ST);
        bool discards = atomic && i == 0 && operands[i].operand.kind == PTX_OPERAND_DISCARD;
        if (!address && !discards && !split(parser, &operands[i]))
            return false;
    }
    instruction->operands = keep(parser, operands, count);
    instruction->operand_count = (uint8_t)count;
    if (!atomic) {
        instruction->types[0] = PTX_TYPE_B64;
        instruction->vector = PTX_VECTOR_V2;
        instruction->whole = true;
    }
    return true;
}
