/* SPDX-License-Identifier: MIT */
/* Look-up in modules, and which registers an instruction touches. */
#include "ptx/module.h"

#include <string.h>

const struct ptx_function *ptx_module_function(const struct ptx_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->function_count; i++)
        if (!strcmp(module->functions[i]->name, name))
            return module->functions[i];
    return NULL;
}

const struct ptx_variable *ptx_module_variable(const struct ptx_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->variable_count; i++)
        if (module->variables[i]->declared == PTX_DECLARED_MODULE && !strcmp(module->variables[i]->name, name))
            return module->variables[i];
    return NULL;
}

uint32_t ptx_operand_letters(uint16_t opcode, uint32_t count, char *letters)
{
    const char *all = ptx_opcodes[opcode].operands;
    uint32_t needed = 0, filled = 0;
    for (const char *letter = all; *letter; letter++)
        needed += *letter == '?' ? 0u - 1u : *letter != '|';
    uint32_t optional = count > needed ? count - needed : 0;
    for (const char *letter = all; *letter && filled < count && filled < PTX_MAX_LETTERS; letter++) {
        if (*letter == '|' || *letter == '?')
            continue;
        bool is_optional = letter > all && letter[-1] == '?';
        if (is_optional && !optional)
            continue;
        optional -= is_optional;
        letters[filled++] = *letter;
    }
    return filled;
}

typedef void visitor(void *user, uint32_t register_index, enum ptx_access access);

static void visit_operand(const struct ptx_operand *operand, enum ptx_access access, visitor *visit, void *user)
{
    if (operand->kind == PTX_OPERAND_REGISTER)
        visit(user, operand->index, access);
    else if (operand->kind == PTX_OPERAND_ADDRESS)
        visit(user, operand->index, PTX_READ);
    else if (operand->kind == PTX_OPERAND_VECTOR || operand->kind == PTX_OPERAND_TEXEL)
        for (uint32_t i = 0; i < operand->element_count; i++)
            visit_operand(&operand->elements[i], access, visit, user);
}

static bool first_is_destination(const struct ptx_instruction *instruction)
{
    char first = ptx_opcodes[instruction->opcode].operands[0];
    return first && strchr("dDwqlocfgz", first);
}

void ptx_instruction_registers(const struct ptx_instruction *instruction, visitor *visit, void *user)
{
    bool has_destination = first_is_destination(instruction);
    bool reads_destination = has_destination && ptx_opcodes[instruction->opcode].operands[0] == 'g';
    if (instruction->guard != PTX_NONE)
        visit(user, instruction->guard, PTX_READ);
    if (instruction->carry_flag != PTX_NONE &&
        (instruction->opcode == PTX_OP_ADDC || instruction->opcode == PTX_OP_SUBC ||
         instruction->opcode == PTX_OP_MADC))
        visit(user, instruction->carry_flag, PTX_READ);
    for (uint32_t i = has_destination && !reads_destination; i < instruction->operand_count; i++)
        visit_operand(&instruction->operands[i], PTX_READ, visit, user);
    const struct ptx_call *call = instruction->call;
    if (call) {
        if (call->target != PTX_NONE)
            visit(user, call->target, PTX_READ);
        for (uint32_t i = 0; i < call->argument_count; i++)
            visit_operand(&call->arguments[i], PTX_READ, visit, user);
        for (uint32_t i = 0; i < call->result_count; i++)
            visit_operand(&call->results[i], PTX_WRITE, visit, user);
    }
    if (has_destination && instruction->operand_count)
        visit_operand(&instruction->operands[0], PTX_WRITE, visit, user);
    if (instruction->pair.kind == PTX_OPERAND_REGISTER)
        visit(user, instruction->pair.index, PTX_WRITE);
    if (instruction->carry_flag != PTX_NONE && instruction->carry)
        visit(user, instruction->carry_flag, PTX_WRITE);
}
