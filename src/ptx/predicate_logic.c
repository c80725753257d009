/* SPDX-License-Identifier: MIT */
/*
 * lop3.or and lop3.and: a logic function, and a predicate of whether its result is not 0, combined with another predicate. They are lop3 and the setp that says the same; NVIDIA's
 * assembler has one instruction for both.
 */
#include "ptx/parser.h"

static struct ptx_operand *keep(struct parser *parser, const struct ptx_operand *operands, uint32_t count)
{
    return parser_copy(parser, operands, count * sizeof *operands);
}

bool parse_predicate_logic(struct parser *parser, struct ptx_instruction *instruction, struct parsed_operand *operands,
                           uint32_t count, const char *mnemonic)
{
    struct ptx_operand predicate = instruction->pair;
    bool both = instruction->opcode == PTX_OP_LOP3_AND, discards = operands[0].operand.kind == PTX_OPERAND_DISCARD;
    if (predicate.kind != PTX_OPERAND_REGISTER)
        return check_mismatch(parser, &operands[0], "a register, '|' and a predicate register");
    if (discards)
        operands[0].operand = (struct ptx_operand){.kind = PTX_OPERAND_REGISTER,
                                                   .index = parser_add_register(parser, "%logic", PTX_TYPE_B32)};
    struct ptx_instruction logic = *instruction;
    logic.opcode = PTX_OP_LOP3;
    logic.pair = (struct ptx_operand){0};
    if (!check_operands(parser, instruction, operands, count, mnemonic) ||
        !check_operands(parser, &logic, operands, count - 1, mnemonic))
        return false;
    struct ptx_operand all[6];
    for (uint32_t i = 0; i < count; i++)
        all[i] = operands[i].operand;
    logic.operands = keep(parser, all, count - 1);
    logic.operand_count = (uint8_t)(count - 1);
    parser_push(parser, &parser->instructions, logic);
    struct ptx_operand compared[4] = {predicate, all[0], {.kind = PTX_OPERAND_INTEGER}, all[count - 1]};
    instruction->opcode = PTX_OP_SETP;
    instruction->pair = (struct ptx_operand){0};
    instruction->comparison = PTX_COMPARISON_NE;
    instruction->boolean = both ? PTX_BOOLEAN_AND : PTX_BOOLEAN_OR;
    instruction->operands = keep(parser, compared, 4);
    instruction->operand_count = 4;
    return true;
}
