/* SPDX-License-Identifier: MIT */
/*
 * Atomics whose lanes certainly go to one address: ptxas has the lanes counted (or their values summed), lets one of them go to memory, and
 * gives each its part of what comes back. The instruction stays and is marked; what it costs is the machine's to know.
 *
 * Which ones: what ptxas 13.0 writes for sm_75, sm_80 and sm_90 of atom and red with each operation, type and kind of address. Of 32
 * bits add, and without a result min, max, and, or and xor as well; of 64 bits add of one value. Floats, exchanges, comparisons, inc and
 * dec stay lane by lane.
 */
#include "assemble/code.h"

enum { LONGEST_PROOF = 16 };

/* The same for all threads of a thread block. */
static bool is_of_block(uint32_t special)
{
    switch (special) {
    case PTX_SPECIAL_NTID_X:
    case PTX_SPECIAL_NTID_Y:
    case PTX_SPECIAL_NTID_Z:
    case PTX_SPECIAL_CTAID_X:
    case PTX_SPECIAL_CTAID_Y:
    case PTX_SPECIAL_CTAID_Z:
    case PTX_SPECIAL_NCTAID_X:
    case PTX_SPECIAL_NCTAID_Y:
    case PTX_SPECIAL_NCTAID_Z:
        return true;
    default:
        return false;
    }
}

/* A variable of the whole thread block, or a parameter of the kernel; those of functions may differ from lane to lane. */
static bool is_shared_variable(const struct code *code, const struct ptx_variable *variable)
{
    const struct ptx_signature *signature = &code->function.signature;
    if (variable->space == PTX_SPACE_GLOBAL || variable->space == PTX_SPACE_SHARED ||
        variable->space == PTX_SPACE_CONST)
        return true;
    for (uint32_t i = 0; code->function.is_entry && i < signature->parameter_count; i++)
        if (signature->parameters[i] == variable)
            return true;
    return false;
}

static bool is_uniform(const struct code *code, const struct ptx_operand *operand, uint32_t depth);

/* What it writes is the same for all lanes that run it together. */
static bool gives_one_value(const struct code *code, const struct ptx_instruction *definition, uint32_t depth)
{
    enum effect effect = code_effect(definition);
    if (definition->vector != PTX_SUFFIX_NONE || definition->operands[0].kind != PTX_OPERAND_REGISTER ||
        (effect != EFFECT_NONE && effect != EFFECT_LOAD && effect != EFFECT_CONSTANT))
        return false;
    if ((effect != EFFECT_NONE && definition->opcode != PTX_OP_LD) || definition->space == PTX_SPACE_LOCAL)
        return false;
    for (uint32_t i = 1; i < definition->operand_count; i++)
        if (!is_uniform(code, &definition->operands[i], depth))
            return false;
    return definition->carry == PTX_SUFFIX_NONE;
}

static bool is_uniform(const struct code *code, const struct ptx_operand *operand, uint32_t depth)
{
    switch (operand->kind) {
    case PTX_OPERAND_INTEGER:
    case PTX_OPERAND_ADDRESS_ABSOLUTE:
        return true;
    case PTX_OPERAND_ADDRESS_VARIABLE:
    case PTX_OPERAND_VARIABLE:
        return is_shared_variable(code, operand->variable);
    case PTX_OPERAND_SPECIAL:
        return is_of_block(operand->index);
    default: {
        const struct ptx_instruction *definition = depth ? code_definition(code, operand) : NULL;
        return definition && gives_one_value(code, definition, depth - 1);
    }
    }
}

/* The assembler knows how lanes are put together: without a result more than with one. */
static bool can_gather(const struct ptx_instruction *instruction, bool has_result, bool one_value)
{
    enum ptx_type type = instruction->types[0];
    uint32_t bits = ptx_types[type].bits;
    if (ptx_type_is_float(type) || ptx_type_is_half(type) || instruction->vector != PTX_SUFFIX_NONE)
        return false;
    if (instruction->atomic == PTX_ATOMIC_ADD)
        return bits == 32 || (bits == 64 && one_value);
    if (has_result || bits != 32)
        return false;
    switch (instruction->atomic) {
    case PTX_ATOMIC_MIN:
    case PTX_ATOMIC_MAX:
    case PTX_ATOMIC_AND:
    case PTX_ATOMIC_OR:
    case PTX_ATOMIC_XOR:
        return true;
    default:
        return false;
    }
}

void code_gather(struct code *code)
{
    for (uint32_t i = 0; i < code->function.instruction_count; i++) {
        struct ptx_instruction *instruction = &code->instructions[i];
        bool has_result = instruction->opcode == PTX_OP_ATOM;
        if ((!has_result && instruction->opcode != PTX_OP_RED) || code_effect(instruction) != EFFECT_STORE)
            continue;
        const struct ptx_operand *operands = instruction->operands + has_result;
        bool one_value = is_uniform(code, &operands[1], LONGEST_PROOF);
        bool used = has_result && instruction->operands[0].kind == PTX_OPERAND_REGISTER &&
                    code->definitions[instruction->operands[0].index].reads;
        if (can_gather(instruction, used, one_value) && is_uniform(code, &operands[0], LONGEST_PROOF))
            instruction->gathered = one_value ? PTX_GATHER_COUNT : PTX_GATHER_VALUES;
    }
}
