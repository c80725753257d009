/* SPDX-License-Identifier: MIT */
/* Two integer operations that the hardware has as one: products with sums, logic functions of three operands. */
#include "assemble/code.h"

#include <stdlib.h>

static bool is_register(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REGISTER;
}

/* The definition of an operand that the reader could compute as well. */
static const struct ptx_instruction *for_reader(const struct code *code, const struct ptx_instruction *reader,
                                                const struct ptx_operand *operand)
{
    const struct ptx_instruction *definition = is_register(operand) ? code_definition(code, operand) : NULL;
    return definition && code_could_compute(code, definition, reader) ? definition : NULL;
}

/* The same, and nothing else reads it. */
static const struct ptx_instruction *only_for(const struct code *code, const struct ptx_instruction *reader,
                                              const struct ptx_operand *operand)
{
    const struct ptx_instruction *definition = for_reader(code, reader, operand);
    return definition && code->definitions[operand->index].reads == 1 ? definition : NULL;
}

/* A product whose sum with another value mad gives: mul.lo of the sum's width, mul.wide of half of it. */
static bool is_product(const struct ptx_instruction *product, uint32_t bits)
{
    if (product->opcode != PTX_OP_MUL || !ptx_type_is_integer(product->types[0]) || product->operand_count != 3)
        return false;
    return (product->half == PTX_HALF_LO && bits == 32 && ptx_types[product->types[0]].bits == 32) ||
           (product->half == PTX_HALF_WIDE && bits == 64 && ptx_types[product->types[0]].bits == 32);
}

static void absorb(struct code *code, struct ptx_instruction *into, const struct ptx_instruction *other)
{
    into->merged += (int16_t)(other->merged + 1);
    code->instructions[other - code->instructions].opcode = PTX_OP_NONE;
    code->changed = true;
}

/* A sum of 32 bits with nothing besides: no carry, no saturation. */
static bool is_plain_sum(const struct ptx_instruction *sum)
{
    return sum->opcode == PTX_OP_ADD && ptx_type_is_integer(sum->types[0]) && ptx_types[sum->types[0]].bits == 32 &&
           !sum->carry && !sum->sat && sum->carry_flag == PTX_NONE && sum->operand_count == 3;
}

/* A shift to the left by a constant, whose sum with another value is a multiply-add. */
static bool is_shift(const struct ptx_instruction *shift)
{
    return shift->opcode == PTX_OP_SHL && ptx_types[shift->types[0]].bits == 32 && shift->operand_count == 3 &&
           is_register(&shift->operands[1]) && shift->operands[2].kind == PTX_OPERAND_INTEGER &&
           shift->operands[2].bits < 32;
}

/* Sums of three, and of a shifted value: IADD3 and LEA. At most one operand may be a constant. */
static bool fuse_three(struct code *code, struct ptx_instruction *sum)
{
    for (uint32_t i = 1; i <= 2; i++) {
        const struct ptx_instruction *inner = only_for(code, sum, &sum->operands[i]);
        const struct ptx_operand *other = &sum->operands[3 - i];
        bool shift = inner && is_shift(inner);
        if (!inner || !(shift || is_plain_sum(inner)) ||
            is_register(other) + is_register(&inner->operands[1]) + is_register(&inner->operands[2]) < 2 ||
            (!is_register(other) && (shift || other->kind != PTX_OPERAND_INTEGER)))
            continue;
        struct ptx_operand *operands = ARENA_ARRAY(code->arena, struct ptx_operand, 4);
        if (!operands)
            return false;
        operands[0] = sum->operands[0];
        operands[1] = inner->operands[1];
        operands[2] = inner->operands[2];
        operands[3] = *other;
        if (shift)
            operands[2].bits = UINT64_C(1) << operands[2].bits;
        sum->opcode = shift ? PTX_OP_MAD : PTX_OP_ADD3;
        sum->half = shift ? PTX_HALF_LO : sum->half;
        sum->operands = operands;
        sum->operand_count = 4;
        absorb(code, sum, inner);
        return true;
    }
    return false;
}

/* A sum has computed a product that others read as well: they may do likewise, and the last one takes it in. */
static void take_copy(struct code *code, const struct ptx_instruction *product, uint32_t factor)
{
    code->definitions[factor].reads--;
    for (uint32_t i = 1; i <= 2; i++)
        if (is_register(&product->operands[i]))
            code->definitions[product->operands[i].index].reads++;
    code->changed = true;
}

static bool is_sum(const struct ptx_instruction *sum)
{
    return sum->opcode == PTX_OP_ADD && sum->guard == PTX_NONE && ptx_type_is_integer(sum->types[0]) && !sum->carry &&
           !sum->sat && sum->carry_flag == PTX_NONE && sum->merged < INT16_MAX / 2;
}

static bool has_one_value(const struct code *code, const struct ptx_operand *operand)
{
    return !is_register(operand) || code->definitions[operand->index].instruction != PTX_NONE;
}

/* The product of 64 bits that an operand is, wherever it is computed: its factors never change. */
static const struct ptx_instruction *product_elsewhere(const struct code *code, const struct ptx_operand *operand)
{
    const struct ptx_instruction *product = is_register(operand) ? code_definition(code, operand) : NULL;
    return product && product->guard == PTX_NONE && is_product(product, 64) &&
                   has_one_value(code, &product->operands[1]) && has_one_value(code, &product->operands[2])
               ? product
               : NULL;
}

/* Per register: reads by sums that could compute the product that it is; of two products a sum takes the first. */
static uint32_t *count_takers(const struct code *code)
{
    uint32_t *takers = calloc((size_t)code->function.register_count + 1, sizeof *takers);
    for (uint32_t i = 0; takers && i < code->function.instruction_count; i++) {
        const struct ptx_instruction *sum = &code->instructions[i];
        if (!is_sum(sum) || !is_register(&sum->operands[1]) || !is_register(&sum->operands[2]))
            continue;
        uint32_t first = product_elsewhere(code, &sum->operands[1]) ? 1 : 2;
        if (product_elsewhere(code, &sum->operands[first]))
            takers[sum->operands[first].index]++;
    }
    return takers;
}

/* The last sum has computed the product itself, which stood in another block: its count stays there. */
static void leave_product(struct code *code, struct ptx_instruction *sum, const struct ptx_instruction *product)
{
    uint32_t index = (uint32_t)(product - code->instructions);
    if (code->flow.block_of[index] == code->flow.block_of[sum - code->instructions])
        absorb(code, sum, product);
    else
        code_remove(code, index);
}

/*
 * Of 64 bits each of a product's sums is one instruction with it, however many there are: IMAD.WIDE. A product of another block, a
 * distance that a loop goes in each turn, is taken in if all that read it do so.
 */
static bool fuse_sum(struct code *code, struct ptx_instruction *sum, uint32_t *takers)
{
    uint32_t bits = ptx_types[sum->types[0]].bits;
    if (!is_sum(sum))
        return false;
    for (uint32_t i = 1; i <= 2; i++) {
        const struct ptx_instruction *product = for_reader(code, sum, &sum->operands[i]);
        if (!product && bits == 64 && is_register(&sum->operands[i]) && takers[sum->operands[i].index] &&
            takers[sum->operands[i].index] == code->definitions[sum->operands[i].index].reads)
            product = product_elsewhere(code, &sum->operands[i]);
        bool shared = product && code->definitions[sum->operands[i].index].reads > 1;
        if (!product || !is_product(product, bits) || !is_register(&sum->operands[3 - i]) ||
            (shared && product->half != PTX_HALF_WIDE))
            continue;
        uint32_t factor = sum->operands[i].index;
        struct ptx_operand *operands = ARENA_ARRAY(code->arena, struct ptx_operand, 4);
        if (!operands)
            return false;
        operands[0] = sum->operands[0];
        operands[1] = product->operands[1];
        operands[2] = product->operands[2];
        operands[3] = sum->operands[3 - i];
        sum->opcode = PTX_OP_MAD;
        sum->half = product->half;
        sum->types[0] = product->types[0];
        sum->operands = operands;
        sum->operand_count = 4;
        if (takers[factor])
            takers[factor]--;
        if (shared)
            take_copy(code, product, factor);
        else
            leave_product(code, sum, product);
        return true;
    }
    return false;
}

/* Truth tables of lop3: bit (a << 2 | b << 1 | c) of the table is f(a, b, c). */
enum { TABLE_A = 0xf0, TABLE_B = 0xcc, TABLE_C = 0xaa };

static uint32_t combine(uint32_t opcode, uint32_t left, uint32_t right)
{
    return opcode == PTX_OP_AND ? left & right : opcode == PTX_OP_OR ? left | right : left ^ right;
}

static bool is_logic(const struct ptx_instruction *instruction)
{
    return (instruction->opcode == PTX_OP_AND || instruction->opcode == PTX_OP_OR ||
            instruction->opcode == PTX_OP_XOR) &&
           instruction->types[0] == PTX_TYPE_B32 && instruction->operand_count == 3;
}

static bool fuse_logic(struct code *code, struct ptx_instruction *outer)
{
    for (uint32_t i = 1; i <= 2; i++) {
        const struct ptx_instruction *inner = only_for(code, outer, &outer->operands[i]);
        if (!inner || !is_logic(inner) || !is_register(&outer->operands[3 - i]) || !is_register(&inner->operands[1]))
            continue;
        struct ptx_operand *operands = ARENA_ARRAY(code->arena, struct ptx_operand, 5);
        if (!operands)
            return false;
        operands[0] = outer->operands[0];
        operands[1] = inner->operands[1];
        operands[2] = inner->operands[2];
        operands[3] = outer->operands[3 - i];
        operands[4] = (struct ptx_operand){.kind = PTX_OPERAND_INTEGER};
        operands[4].bits = combine(outer->opcode, combine(inner->opcode, TABLE_A, TABLE_B), TABLE_C);
        outer->opcode = PTX_OP_LOP3;
        outer->operands = operands;
        outer->operand_count = 5;
        absorb(code, outer, inner);
        return true;
    }
    return false;
}

void code_fuse(struct code *code)
{
    uint32_t *takers = count_takers(code);
    for (uint32_t i = 0; takers && i < code->function.instruction_count; i++) {
        struct ptx_instruction *instruction = &code->instructions[i];
        if (instruction->opcode == PTX_OP_NONE || instruction->guard != PTX_NONE ||
            instruction->merged >= INT16_MAX / 2)
            continue;
        if (instruction->opcode == PTX_OP_ADD)
            fuse_sum(code, instruction, takers);
        else if (is_logic(instruction))
            fuse_logic(code, instruction);
    }
    free(takers);
}

void code_fuse_sums(struct code *code)
{
    for (uint32_t i = 0; i < code->function.instruction_count; i++) {
        struct ptx_instruction *instruction = &code->instructions[i];
        if (instruction->guard == PTX_NONE && instruction->merged < INT16_MAX / 2 && is_plain_sum(instruction))
            fuse_three(code, instruction);
    }
}
