/* SPDX-License-Identifier: MIT */
/*
 * Selectors of the video operations on two halves and four bytes (PTX ISA, "SIMD Video Instructions"): of a and b, which of the halves or bytes of both are taken, .h10 and .h32 or
 * .b3210 and .b7654 where nothing is written; of d, which of them are results, the others being those of c or, with .add, left out of the sum. They become prmt in front of the
 * operation and behind it. GPUs since Maxwell have no such operations, so nobody counts how many instructions that is.
 */
#include "ptx/parser.h"

#include <string.h>

/* What an operand's `bits` hold for a selector: a flag, whether it is of bytes, how many digits, and the digits. */
#define SELECTS 0x100000u
#define OF_BYTES 0x200000u
#define DIGITS_SHIFT 16

bool parse_selector(struct parser *parser, struct ptx_operand *operand)
{
    const char *word = parser->token.name->text;
    uint32_t count = 0, digits = 0;
    if (*word != 'h' && *word != 'b')
        return false;
    for (const char *at = word + 1; *at; at++, count++) {
        if (*at < '0' || *at > '7' || count == 4)
            return false;
        digits = digits << 4 | (uint32_t)(*at - '0');
    }
    if (count < 2)
        return false;
    operand->bits = SELECTS | (*word == 'b' ? OF_BYTES : 0) | count << DIGITS_SHIFT | digits;
    parser_next(parser);
    return true;
}

static bool is_of_bytes(uint32_t opcode)
{
    return opcode >= PTX_OP_VADD4 && opcode <= PTX_OP_VSET4;
}

/* The selector of prmt for the halves or bytes of a source. */
static bool take_source(struct parser *parser, const struct ptx_instruction *instruction,
                        struct parsed_operand *operand, uint32_t without, uint32_t *selector)
{
    bool bytes = is_of_bytes(instruction->opcode), is_register = operand->operand.kind == PTX_OPERAND_REGISTER;
    uint32_t bits = is_register ? (uint32_t)operand->operand.bits : 0, digits = bits & 0xffff;
    *selector = without;
    if (!bits)
        return true;
    if (!(bits & SELECTS) || !(bits & OF_BYTES) != !bytes || (bits >> DIGITS_SHIFT & 7) != (bytes ? 4 : 2) ||
        (!bytes && digits & 0x44))
        return check_mismatch(parser, operand,
                              bytes ? "four bytes of eight, as .b3210" : "two halves of four, as .h10");
    operand->operand.bits = 0;
    uint32_t high = digits >> 4, low = digits & 15;
    *selector = bytes ? digits : (2 * high + 1) << 12 | 2 * high << 8 | (2 * low + 1) << 4 | 2 * low;
    return true;
}

/* A byte of ones for each byte of the result that is one. */
static bool take_mask(struct parser *parser, const struct ptx_instruction *instruction, struct parsed_operand *operand,
                      uint32_t *mask)
{
    bool bytes = is_of_bytes(instruction->opcode), is_register = operand->operand.kind == PTX_OPERAND_REGISTER;
    uint32_t bits = is_register ? (uint32_t)operand->operand.bits : 0, chosen = 0;
    bool good = true;
    if (bits & SELECTS) {
        good = !(bits & OF_BYTES) == !bytes;
        for (uint32_t i = 0, after = 8; i < (bits >> DIGITS_SHIFT & 7); i++) {
            uint32_t digit = bits >> 4 * ((bits >> DIGITS_SHIFT & 7) - 1 - i) & 15;
            good &= digit < after && digit < (bytes ? 4 : 2);
            chosen |= 1u << digit;
            after = digit;
        }
    } else if (bits) {
        good = bytes == (bits <= PTX_PART_B3);
        chosen = 1u << (bytes ? bits - PTX_PART_B0 : bits - PTX_PART_H0);
    }
    if (!good)
        return check_mismatch(parser, operand,
                              bytes ? "bytes of the result, as .b310" : "halves of the result, as .h1");
    if (is_register)
        operand->operand.bits = 0;
    *mask = bits ? 0 : 0xffffffff;
    for (uint32_t i = 0; i < 4 && bits; i++)
        if (chosen >> (bytes ? i : i / 2) & 1)
            *mask |= 0xffu << 8 * i;
    return true;
}

static struct ptx_operand integer(uint32_t value)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_INTEGER, .bits = value};
}

/* An instruction of .b32 under the guard and at the place of this one. */
static struct ptx_instruction beside(struct parser *parser, const struct ptx_instruction *instruction, uint16_t opcode,
                                     const struct ptx_operand *operands, uint32_t count)
{
    return (struct ptx_instruction){.opcode = opcode,
                                    .guard = instruction->guard,
                                    .guard_negated = instruction->guard_negated,
                                    .carry_flag = PTX_NONE,
                                    .place = instruction->place,
                                    .type_count = 1,
                                    .types = {PTX_TYPE_B32},
                                    .operand_count = (uint8_t)count,
                                    .operands = parser_copy(parser, operands, count * sizeof *operands)};
}

/* One more instruction, under the same guard: its result. */
static struct ptx_operand put(struct parser *parser, const struct ptx_instruction *instruction, uint16_t opcode,
                              struct ptx_operand a, struct ptx_operand b, const struct ptx_operand *selector)
{
    struct ptx_operand operands[4] = {{.kind = PTX_OPERAND_REGISTER}, a, b};
    operands[0].index = parser_add_register(parser, "%video", PTX_TYPE_B32);
    if (selector)
        operands[3] = *selector;
    parser_push(parser, &parser->instructions, beside(parser, instruction, opcode, operands, selector ? 4 : 3));
    return operands[0];
}

/* What is left out of a sum adds nothing: 0 and 0, of comparisons two numbers that do not compare so. */
static void leave_out(struct parser *parser, const struct ptx_instruction *instruction, struct parsed_operand *operands,
                      uint32_t mask)
{
    uint32_t ones = ~mask & (is_of_bytes(instruction->opcode) ? 0x01010101u : 0x00010001u);
    bool compares = ptx_is_video_comparison(instruction->opcode);
    bool first = compares && instruction->comparison == PTX_COMPARISON_LE;
    bool second =
        compares && (instruction->comparison == PTX_COMPARISON_EQ || instruction->comparison == PTX_COMPARISON_GE);
    for (uint32_t i = 1; i < 3; i++) {
        operands[i].operand = put(parser, instruction, PTX_OP_AND, operands[i].operand, integer(mask), NULL);
        if (i == 1 ? first : second)
            operands[i].operand = put(parser, instruction, PTX_OP_OR, operands[i].operand, integer(ones), NULL);
    }
}

bool parse_simd_video(struct parser *parser, struct ptx_instruction *instruction, struct parsed_operand *operands,
                      uint32_t count, const char *mnemonic)
{
    uint32_t mask = 0xffffffff, selectors[2] = {0x3210, 0x7654};
    if (count == 4 && (!take_mask(parser, instruction, &operands[0], &mask) ||
                       !take_source(parser, instruction, &operands[1], selectors[0], &selectors[0]) ||
                       !take_source(parser, instruction, &operands[2], selectors[1], &selectors[1])))
        return false;
    if (!check_operands(parser, instruction, operands, count, mnemonic))
        return false;
    struct ptx_operand a = operands[1].operand, b = operands[2].operand, to = operands[0].operand;
    for (uint32_t i = 0; i < 2; i++) {
        struct ptx_operand selector = integer(selectors[i]);
        if (selectors[i] != (i ? 0x7654 : 0x3210))
            operands[i + 1].operand = put(parser, instruction, PTX_OP_PRMT, a, b, &selector);
    }
    bool merges = mask != 0xffffffff && !instruction->atomic;
    if (mask != 0xffffffff && instruction->atomic)
        leave_out(parser, instruction, operands, mask);
    struct ptx_operand all[4] = {to, operands[1].operand, operands[2].operand, operands[3].operand};
    if (merges)
        all[0].index = parser_add_register(parser, "%video", PTX_TYPE_B32);
    instruction->operands = parser_copy(parser, all, sizeof all);
    instruction->operand_count = 4;
    if (!merges)
        return true;
    parser_push(parser, &parser->instructions, *instruction);
    uint32_t merged = 0;
    for (uint32_t i = 0; i < 4; i++)
        merged |= (mask >> 8 * i & 1 ? i : 4 + i) << 4 * i;
    struct ptx_operand last[4] = {to, all[0], all[3], integer(merged)};
    *instruction = beside(parser, instruction, PTX_OP_PRMT, last, 4);
    return true;
}
