/* SPDX-License-Identifier: MIT */
/* Instructions that passes write. */
#include "rewrite/code.h"

static struct ptx_instruction make(struct code_guard guard, enum ptx_opcode opcode, enum ptx_type type)
{
    struct ptx_instruction instruction = ptx_make(opcode, type);
    instruction.guard = guard.predicate;
    instruction.guard_negated = guard.negated;
    return instruction;
}

uint32_t code_register(const struct code *code, const char *name, enum ptx_type type)
{
    return ptx_builder_register(code->builder, code->function, name, type);
}

void code_move(const struct code *code, struct code_guard guard, enum ptx_type type, uint32_t to,
               struct ptx_operand from)
{
    ptx_body_emit(code->builder, make(guard, PTX_OP_MOV, type), 2, (struct ptx_operand[]){ptx_register(to), from});
}

void code_binary(const struct code *code, struct code_guard guard, enum ptx_opcode opcode, enum ptx_type type,
                 uint32_t to, struct ptx_operand left, struct ptx_operand right)
{
    struct ptx_instruction instruction = make(guard, opcode, type);
    if (opcode == PTX_OP_MUL)
        instruction.half = PTX_HALF_LO;
    ptx_body_emit(code->builder, instruction, 3, (struct ptx_operand[]){ptx_register(to), left, right});
}

/* The high 32 bits of a product. */
static void code_high_product(const struct code *code, uint32_t to, uint32_t left, uint32_t right)
{
    struct ptx_instruction product = ptx_make(PTX_OP_MUL, PTX_TYPE_U32);
    product.half = PTX_HALF_HI;
    ptx_body_emit(code->builder, product, 3,
                  (struct ptx_operand[]){ptx_register(to), ptx_register(left), ptx_register(right)});
}

uint32_t code_compare(const struct code *code, const char *name, enum ptx_suffix comparison, enum ptx_type type,
                      struct ptx_operand left, struct ptx_operand right)
{
    struct ptx_instruction compare = ptx_make(PTX_OP_SETP, type);
    uint32_t predicate = code_register(code, name, PTX_TYPE_PRED);
    compare.comparison = (uint8_t)comparison;
    ptx_body_emit(code->builder, compare, 3, (struct ptx_operand[]){ptx_register(predicate), left, right});
    return predicate;
}

void code_load_words(const struct code *code, const struct ptx_variable *parameter, size_t offset, uint32_t count,
                     const uint32_t *registers)
{
    struct ptx_instruction load = ptx_make(PTX_OP_LD, PTX_TYPE_B32);
    struct ptx_operand elements[4], to = ptx_register(registers[0]);
    load.space = PTX_SPACE_PARAM;
    load.vector = count == 4 ? PTX_VECTOR_V4 : count == 2 ? PTX_VECTOR_V2 : PTX_SUFFIX_NONE;
    for (uint32_t i = 0; i < count; i++)
        elements[i] = ptx_register(registers[i]);
    if (count > 1)
        to = ptx_vector(count, elements);
    ptx_body_emit(code->builder, load, 2, (struct ptx_operand[]){to, ptx_address_in(parameter, (int64_t)offset)});
}

void code_jump(const struct code *code, struct code_guard guard, uint32_t label)
{
    ptx_body_emit(code->builder, make(guard, PTX_OP_BRA, PTX_TYPE_NONE), 1,
                  (struct ptx_operand[]){ptx_label_of(label)});
}

/*
 * Since place < 2^32, place / count - place * floor(2^32 / count) / 2^32 lies in [0, 1), so that the product is less than the quotient by
 * at most one. A division would take a GPU some twenty instructions.
 */
void code_carry(const struct code *code, const struct ptx_variable *parameter, size_t reciprocal_offset, uint32_t place,
                uint32_t count, uint32_t next)
{
    const struct ptx_operand of_place = ptx_register(place), of_count = ptx_register(count);
    uint32_t quotient = code_register(code, "quotient", PTX_TYPE_B32);
    code_load_words(code, parameter, reciprocal_offset, 1, &quotient);
    code_high_product(code, quotient, place, quotient);
    code_binary(code, CODE_ALL, PTX_OP_ADD, PTX_TYPE_U32, next, ptx_register(next), ptx_register(quotient));
    code_binary(code, CODE_ALL, PTX_OP_MUL, PTX_TYPE_U32, quotient, ptx_register(quotient), of_count);
    code_binary(code, CODE_ALL, PTX_OP_SUB, PTX_TYPE_U32, place, of_place, ptx_register(quotient));
    uint32_t more = code_compare(code, "carries", PTX_COMPARISON_GE, PTX_TYPE_U32, of_place, of_count);
    code_binary(code, code_if(more), PTX_OP_SUB, PTX_TYPE_U32, place, of_place, of_count);
    code_binary(code, code_if(more), PTX_OP_ADD, PTX_TYPE_U32, next, ptx_register(next), ptx_integer(1));
}
