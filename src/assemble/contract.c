/* SPDX-License-Identifier: MIT */
/*
 * Products and sums of floats: FFMA and DFMA, whose operands may be negated.
 *
 * ptxas makes one instruction of a product and the sum that alone reads it, where neither says how it rounds (`mul.f32`, not `mul.rn.f32`); nvcc
 * leaves those to it whose product is subtracted. That instruction rounds once. Here it is an instruction that rounds twice (muladd and
 * its kin), so that results stay as they are. Negations become those of operands.
 */
#include "assemble/code.h"

static bool is_float(const struct ptx_instruction *instruction)
{
    return (instruction->types[0] == PTX_TYPE_F32 || instruction->types[0] == PTX_TYPE_F64) && !instruction->sat &&
           instruction->vector == PTX_SUFFIX_NONE;
}

/* The definition of an operand that its reader could compute as well. */
static const struct ptx_instruction *definition_of(const struct code *code, const struct ptx_instruction *reader,
                                                   const struct ptx_operand *operand)
{
    const struct ptx_instruction *definition =
        operand->kind == PTX_OPERAND_REGISTER ? code_definition(code, operand) : NULL;
    return definition && is_float(definition) && code_could_compute(code, definition, reader) ? definition : NULL;
}

/* What an operand is the negative of, NULL: not known. Without .ftz the negation of a subnormal is one; its reader may take that for zero all the same. */
static const struct ptx_operand *negated(const struct code *code, const struct ptx_instruction *reader, uint32_t index)
{
    const struct ptx_instruction *definition = definition_of(code, reader, &reader->operands[index]);
    if (!definition || definition->opcode != PTX_OP_NEG || definition->types[0] != reader->types[0] ||
        (definition->ftz && !reader->ftz) || definition->operands[1].kind != PTX_OPERAND_REGISTER)
        return NULL;
    return &definition->operands[1];
}

static void replace(struct code *code, struct ptx_instruction *reader, uint32_t index, const struct ptx_operand *by)
{
    code->definitions[reader->operands[index].index].reads--;
    code->definitions[by->index].reads++;
    code_operands(reader)[index] = *by;
    code->changed = true;
}

static void swap_factors(struct ptx_instruction *reader, uint32_t left, uint32_t right)
{
    struct ptx_operand *operands = code_operands(reader), kept = operands[left];
    operands[left] = operands[right];
    operands[right] = kept;
}

/* fma: of f64 a NaN keeps its bits, which depend on the order of operands, so that only the first factor may be negated. */
static void negate_product(struct code *code, struct ptx_instruction *fma)
{
    bool single = fma->types[0] == PTX_TYPE_F32;
    if (fma->rounding != PTX_ROUNDING_RN || fma->relu)
        return;
    const struct ptx_operand *a = negated(code, fma, 1), *b = single ? negated(code, fma, 2) : NULL;
    const struct ptx_operand *c = negated(code, fma, 3);
    if (a && b) {
        replace(code, fma, 1, a);
        replace(code, fma, 2, b);
    } else if (a || b) {
        replace(code, fma, a ? 1 : 2, a ? a : b);
        if (b)
            swap_factors(fma, 1, 2);
        fma->opcode = PTX_OP_FNMA;
    } else if (c) {
        replace(code, fma, 3, c);
        fma->opcode = PTX_OP_FMS;
    }
}

/* x + (-y), (-x) + y and x - (-y); of f64 see above. */
static void negate_sum(struct code *code, struct ptx_instruction *sum)
{
    bool add = sum->opcode == PTX_OP_ADD;
    if (sum->types[0] != PTX_TYPE_F32)
        return;
    const struct ptx_operand *left = add ? negated(code, sum, 1) : NULL, *right = negated(code, sum, 2);
    if (right) {
        replace(code, sum, 2, right);
    } else if (left) {
        replace(code, sum, 1, left);
        swap_factors(sum, 1, 2);
    } else {
        return;
    }
    sum->opcode = add ? PTX_OP_SUB : PTX_OP_ADD;
}

/* The product that an operand is, if nothing else reads it and it runs for the same lanes. */
static const struct ptx_instruction *product_of(const struct code *code, const struct ptx_instruction *sum,
                                                uint32_t index)
{
    const struct ptx_instruction *product = definition_of(code, sum, &sum->operands[index]);
    if (!product || product->opcode != PTX_OP_MUL || product->types[0] != sum->types[0] ||
        product->rounding != PTX_SUFFIX_NONE || product->ftz != sum->ftz || product->operand_count != 3 ||
        code->definitions[sum->operands[index].index].reads != 1)
        return NULL;
    return product;
}

static void contract(struct code *code, struct ptx_instruction *sum)
{
    bool add = sum->opcode == PTX_OP_ADD;
    if (sum->rounding != PTX_SUFFIX_NONE || sum->operand_count != 3 || sum->merged >= INT16_MAX / 2)
        return;
    for (uint32_t i = 1; i <= 2; i++) {
        const struct ptx_instruction *product = product_of(code, sum, i);
        struct ptx_operand *operands = product ? ARENA_ARRAY(code->arena, struct ptx_operand, 4) : NULL;
        if (!operands)
            continue;
        operands[0] = sum->operands[0];
        operands[1] = product->operands[1];
        operands[2] = product->operands[2];
        operands[3] = sum->operands[3 - i];
        sum->opcode = i == 1 ? (add ? PTX_OP_MULADD : PTX_OP_MULSUB) : (add ? PTX_OP_ADDMUL : PTX_OP_SUBMUL);
        sum->operands = operands;
        sum->operand_count = 4;
        sum->merged += (int16_t)(product->merged + 1);
        code->instructions[product - code->instructions].opcode = PTX_OP_NONE;
        code->changed = true;
        return;
    }
}

void code_contract(struct code *code)
{
    for (uint32_t i = 0; i < code->function.instruction_count; i++) {
        struct ptx_instruction *instruction = &code->instructions[i];
        if (!is_float(instruction))
            continue;
        if (instruction->opcode == PTX_OP_FMA)
            negate_product(code, instruction);
        else if (instruction->opcode == PTX_OP_ADD || instruction->opcode == PTX_OP_SUB)
            negate_sum(code, instruction);
        if ((instruction->opcode == PTX_OP_ADD || instruction->opcode == PTX_OP_SUB) && instruction->guard == PTX_NONE)
            contract(code, instruction);
    }
}
