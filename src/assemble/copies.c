/* SPDX-License-Identifier: MIT */
/* Registers that only copy: what reads them reads the original. And results that nobody reads. */
#include "assemble/code.h"

#include <string.h>

enum { LONGEST_CHAIN = 16 };

/* A plain copy of one register or immediate; cvta of global memory is one, because generic addresses of global memory are its own. */
static bool is_copy(const struct code *code, const struct ptx_instruction *instruction)
{
    bool moves = instruction->opcode == PTX_OP_MOV && instruction->types[0] != PTX_TYPE_PRED;
    bool same_address = instruction->opcode == PTX_OP_CVTA && instruction->space == PTX_SPACE_GLOBAL;
    if ((!moves && !same_address) || instruction->guard != PTX_NONE || instruction->operand_count != 2 ||
        instruction->operands[0].kind != PTX_OPERAND_REGISTER)
        return false;
    const struct ptx_operand *from = &instruction->operands[1];
    uint32_t bits = code_bits(code, instruction->operands[0].index);
    switch (from->kind) {
    case PTX_OPERAND_REGISTER:
        return bits == code_bits(code, from->index) && bits == ptx_types[instruction->types[0]].bits && bits >= 32;
    case PTX_OPERAND_INTEGER:
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64:
        return bits == ptx_types[instruction->types[0]].bits && bits >= 32;
    default:
        return false;
    }
}

/* What a register copies, through any number of copies: a register or an immediate; NULL if it is no copy. */
static const struct ptx_operand *original(const struct code *code, const struct ptx_operand *operand)
{
    const struct ptx_operand *found = NULL;
    for (uint32_t i = 0; i < LONGEST_CHAIN; i++) {
        const struct ptx_instruction *definition = code_definition(code, operand);
        if (!definition || !is_copy(code, definition))
            break;
        const struct ptx_operand *from = &definition->operands[1];
        if (from->kind != PTX_OPERAND_REGISTER)
            return from;
        if (code->definitions[from->index].instruction == PTX_NONE)
            break; /* it may hold something else by then */
        operand = found = from;
    }
    return found;
}

static bool is_immediate(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_INTEGER || operand->kind == PTX_OPERAND_F32 || operand->kind == PTX_OPERAND_F64;
}

/* An instruction of the hardware has one immediate, and it is not where results of memory or texture coordinates come from. */
static bool takes_immediate(const struct ptx_instruction *instruction, uint32_t at, const struct ptx_operand *value)
{
    char letters[PTX_MAX_LETTERS];
    uint32_t count = ptx_operand_letters(instruction->opcode, instruction->operand_count, letters);
    enum ptx_type type = instruction->types[0];
    if (code_effect(instruction) != EFFECT_NONE || at >= count || instruction->opcode == PTX_OP_MOV ||
        instruction->opcode == PTX_OP_CVT || instruction->opcode == PTX_OP_CVTA)
        return false;
    for (uint32_t i = code_writes_first(instruction); i < instruction->operand_count; i++)
        if (is_immediate(&instruction->operands[i]))
            return false;
    bool integer = value->kind == PTX_OPERAND_INTEGER;
    if (letters[at] == 'u')
        return integer;
    if (letters[at] == 'b')
        type = instruction->types[1];
    else if (letters[at] != 'a')
        return false; /* `A` has twice the width */
    if (ptx_types[type].bits < 32)
        return false;
    if (ptx_types[type].kind == PTX_KIND_FLOAT)
        return value->kind == (ptx_types[type].bits == 32 ? PTX_OPERAND_F32 : PTX_OPERAND_F64);
    return integer && (ptx_types[type].kind == PTX_KIND_SIGNED || ptx_types[type].kind == PTX_KIND_UNSIGNED ||
                       ptx_types[type].kind == PTX_KIND_BITS);
}

static void replace(struct code *code, struct ptx_operand *operand)
{
    const struct ptx_operand *from = original(code, operand);
    if (!from || from->kind != PTX_OPERAND_REGISTER)
        return;
    operand->index = from->index;
    code->changed = true;
}

static void replace_reads(struct code *code, struct ptx_instruction *instruction)
{
    struct ptx_operand *operands = code_operands(instruction);
    for (uint32_t i = code_writes_first(instruction); i < instruction->operand_count; i++) {
        struct ptx_operand *operand = &operands[i];
        struct ptx_operand *elements = (struct ptx_operand *)(uintptr_t)operand->elements;
        const struct ptx_operand *from;
        switch (operand->kind) {
        case PTX_OPERAND_REGISTER:
            from = original(code, operand);
            if (from && is_immediate(from) && takes_immediate(instruction, i, from)) {
                *operand = *from;
                code->changed = true;
            } else {
                replace(code, operand);
            }
            break;
        case PTX_OPERAND_ADDRESS:
            replace(code, operand);
            break;
        case PTX_OPERAND_VECTOR:
        case PTX_OPERAND_TEXEL:
            for (uint32_t k = 0; k < operand->element_count; k++)
                if (elements[k].kind == PTX_OPERAND_REGISTER)
                    replace(code, &elements[k]);
            break;
        default:
            break;
        }
    }
}

void code_propagate(struct code *code)
{
    for (uint32_t i = 0; i < code->function.instruction_count; i++)
        if (code->instructions[i].opcode != PTX_OP_NONE && code->instructions[i].opcode != PTX_OP_CALL)
            replace_reads(code, &code->instructions[i]);
}

struct reader {
    struct code *code;
    bool wanted;
};

static void note_wanted(void *user, uint32_t register_index, enum ptx_access access)
{
    struct reader *reader = user;
    reader->wanted |= access == PTX_WRITE && reader->code->definitions[register_index].reads != 0;
}

static void forget(void *user, uint32_t register_index, enum ptx_access access)
{
    struct code *code = user;
    if (access == PTX_READ && code->definitions[register_index].reads)
        code->definitions[register_index].reads--;
}

/* From the end: what only dead instructions read is dead when its turn comes, except around loops. */
void code_remove_dead(struct code *code)
{
    for (uint32_t i = code->function.instruction_count; i-- > 0;) {
        const struct ptx_instruction *instruction = &code->instructions[i];
        enum effect effect = instruction->opcode == PTX_OP_NONE ? EFFECT_FIXED : code_effect(instruction);
        bool parameter = effect == EFFECT_LOAD && instruction->space == PTX_SPACE_PARAM && code->function.is_entry;
        if ((effect != EFFECT_NONE && !parameter) || !code_writes_first(instruction))
            continue;
        struct reader reader = {code, false};
        ptx_instruction_registers(instruction, note_wanted, &reader);
        struct ptx_instruction gone = *instruction;
        if (!reader.wanted && code_remove(code, i))
            ptx_instruction_registers(&gone, forget, code);
    }
}
