/* SPDX-License-Identifier: MIT */
/* Sums of a register and an immediate that are addresses: the immediate goes into the access. */
#include "assemble/code.h"

enum { LONGEST_CHAIN = 16 };

/* base = other register + *offset, as one instruction computes it. */
static bool is_sum(const struct ptx_instruction *instruction, uint32_t bits, uint32_t *base, int64_t *offset)
{
    bool add = instruction->opcode == PTX_OP_ADD, sub = instruction->opcode == PTX_OP_SUB;
    if ((!add && !sub) || !ptx_type_is_integer(instruction->types[0]) ||
        ptx_types[instruction->types[0]].bits != bits || instruction->guard != PTX_NONE || instruction->carry ||
        instruction->sat || instruction->carry_flag != PTX_NONE || instruction->operand_count != 3)
        return false;
    const struct ptx_operand *left = &instruction->operands[1], *right = &instruction->operands[2];
    if (add && left->kind == PTX_OPERAND_INTEGER) {
        const struct ptx_operand *swapped = left;
        left = right;
        right = swapped;
    }
    if (left->kind != PTX_OPERAND_REGISTER || right->kind != PTX_OPERAND_INTEGER)
        return false;
    *base = left->index;
    *offset = bits == 32 ? (int32_t)right->bits : (int64_t)right->bits;
    if (*offset <= -CODE_MOST_OFFSET || *offset >= CODE_MOST_OFFSET)
        return false;
    *offset = sub ? -*offset : *offset;
    return true;
}

/* Addresses of 32 bits wrap before the offset is added: only where both are within shared or local memory does it not matter. */
static bool may_fold(const struct ptx_instruction *access, uint32_t bits)
{
    return bits == 64 || access->space == PTX_SPACE_SHARED || access->space == PTX_SPACE_LOCAL;
}

static void fold(struct code *code, const struct ptx_instruction *access, struct ptx_operand *address)
{
    uint32_t bits = code_bits(code, address->index);
    for (uint32_t i = 0; i < LONGEST_CHAIN && may_fold(access, bits); i++) {
        const struct ptx_instruction *definition = code_definition(code, address);
        uint32_t base;
        int64_t offset;
        if (!definition || !is_sum(definition, bits, &base, &offset) || code_bits(code, base) != bits ||
            code->definitions[base].instruction == PTX_NONE || address->offset + offset <= -CODE_MOST_OFFSET ||
            address->offset + offset >= CODE_MOST_OFFSET || (bits == 32 && offset < 0))
            return;
        address->index = base;
        address->offset += offset;
        code->changed = true;
    }
}

/* [register] with the address of a variable of shared or local memory: known when the kernel is loaded. */
static void fold_variable(struct code *code, const struct ptx_instruction *access, struct ptx_operand *address)
{
    const struct ptx_instruction *definition = code_definition(code, address);
    if (!definition || definition->opcode != PTX_OP_MOV || definition->guard != PTX_NONE ||
        definition->operand_count != 2)
        return;
    const struct ptx_operand *from = &definition->operands[1];
    if (from->kind != PTX_OPERAND_VARIABLE || from->variable->space != access->space ||
        (access->space != PTX_SPACE_SHARED && access->space != PTX_SPACE_LOCAL))
        return;
    struct ptx_operand folded = {.kind = PTX_OPERAND_ADDRESS_VARIABLE, .variable = from->variable};
    folded.offset = from->offset + address->offset;
    *address = folded;
    code->changed = true;
}

void code_fold_addresses(struct code *code)
{
    for (uint32_t i = 0; i < code->function.instruction_count; i++) {
        const struct ptx_instruction *instruction = &code->instructions[i];
        if (instruction->opcode != PTX_OP_LD && instruction->opcode != PTX_OP_ST &&
            instruction->opcode != PTX_OP_ATOM && instruction->opcode != PTX_OP_RED &&
            instruction->opcode != PTX_OP_LDU)
            continue;
        struct ptx_operand *operands = code_operands(instruction);
        for (uint32_t k = 0; k < instruction->operand_count; k++) {
            if (operands[k].kind == PTX_OPERAND_ADDRESS)
                fold(code, instruction, &operands[k]);
            if (operands[k].kind == PTX_OPERAND_ADDRESS)
                fold_variable(code, instruction, &operands[k]);
        }
    }
}
