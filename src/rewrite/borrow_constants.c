/* SPDX-License-Identifier: MIT */
/*
 * Registers are marked that may hold an address within constant memory, for the whole function: every instruction that computes marks its results when it reads a
 * marked register, until nothing changes. What computes from an address and an index that was loaded is an address, as in C.
 */
#include "rewrite/borrow_constants.h"

#include <stdlib.h>

#define MOST_PASSES 64u /* addresses need a few; a text made to need thousands is refused */

struct following {
    const struct ptx_function *function;
    bool *marked; /* by register */
    bool reads, changed;
    struct constant_addresses *row;
};

static void obstruct(struct following *following, const struct ptx_instruction *instruction, const char *why)
{
    if (following->row->obstacle)
        return;
    following->row->obstacle = why;
    following->row->place = instruction->place;
}

static void mark(struct following *following, uint32_t index)
{
    following->changed |= !following->marked[index];
    following->marked[index] = true;
}

static void look_at_read(void *user, uint32_t register_index, enum ptx_access access)
{
    struct following *following = user;
    following->reads |= access == PTX_READ && following->marked[register_index];
}

static void mark_written(void *user, uint32_t register_index, enum ptx_access access)
{
    if (access == PTX_WRITE)
        mark(user, register_index);
}

static bool reads_marked(struct following *following, const struct ptx_instruction *instruction)
{
    following->reads = false;
    ptx_instruction_registers(instruction, look_at_read, following);
    for (uint32_t i = 0; instruction->call && i < instruction->call->argument_count; i++)
        following->reads |= instruction->call->arguments[i].kind == PTX_OPERAND_REGISTER &&
                            following->marked[instruction->call->arguments[i].index];
    return following->reads;
}

/* What addresses are computed with. */
static bool computes(enum ptx_opcode opcode)
{
    switch (opcode) {
    case PTX_OP_MOV:
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_MUL:
    case PTX_OP_MAD:
    case PTX_OP_AND:
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_SHL:
    case PTX_OP_SHR:
    case PTX_OP_SELP:
    case PTX_OP_SLCT:
    case PTX_OP_MIN:
    case PTX_OP_MAX:
    case PTX_OP_CVT:
        return true;
    default:
        return false;
    }
}

static bool names_constant(const struct ptx_instruction *instruction)
{
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        const struct ptx_operand *operand = &instruction->operands[i];
        if (operand->kind == PTX_OPERAND_VARIABLE && operand->variable->space == PTX_SPACE_CONST)
            return true;
    }
    return false;
}

static bool is_conversion(const struct ptx_instruction *instruction, bool to)
{
    return instruction->opcode == PTX_OP_CVTA && instruction->space == PTX_SPACE_CONST &&
           (instruction->to != PTX_SUFFIX_NONE) == to;
}

static void propagate(struct following *following, const struct ptx_instruction *instruction)
{
    if (is_conversion(instruction, true) ||
        (computes(instruction->opcode) && (names_constant(instruction) || reads_marked(following, instruction))))
        ptx_instruction_registers(instruction, mark_written, following);
}

static bool is_marked(const struct following *following, const struct ptx_operand *operand)
{
    return (operand->kind == PTX_OPERAND_REGISTER || operand->kind == PTX_OPERAND_ADDRESS) &&
           following->marked[operand->index];
}

/* Its address is what it says it is of constant memory. */
static void look_at_load(struct following *following, const struct ptx_instruction *instruction)
{
    const struct ptx_operand *address = &instruction->operands[1];
    bool constant = instruction->space == PTX_SPACE_CONST;
    if (address->kind == PTX_OPERAND_ADDRESS_ABSOLUTE && constant)
        obstruct(following, instruction, "reads constant memory at a place that no variable has");
    if (address->kind != PTX_OPERAND_ADDRESS)
        return;
    following->row->computes |= constant;
    if (constant != is_marked(following, address))
        obstruct(following, instruction,
                 constant ? "reads constant memory where it cannot be foreseen"
                          : "takes an address within constant memory for another one");
}

static void look_at(struct following *following, const struct ptx_instruction *instruction)
{
    bool constant = instruction->space == PTX_SPACE_CONST, reads = reads_marked(following, instruction);
    following->row->computes |= names_constant(instruction) && !is_conversion(instruction, false);
    if (instruction->opcode == PTX_OP_LD) {
        look_at_load(following, instruction);
    } else if (instruction->opcode == PTX_OP_CVTA) {
        bool of_register = instruction->operands[1].kind == PTX_OPERAND_REGISTER;
        following->row->computes |= is_conversion(instruction, true);
        following->row->converts |= is_conversion(instruction, true) || (constant && of_register);
        if (of_register && !is_conversion(instruction, true)) {
            following->row->computes |= constant;
            if (constant != reads)
                obstruct(following, instruction, "has an address within constant memory that cannot be foreseen");
        }
    } else if (constant) {
        obstruct(following, instruction,
                 "asks whether an address is of constant memory, or uses such memory in a way that is not followed");
    } else if (reads && instruction->opcode != PTX_OP_SETP && !computes(instruction->opcode)) {
        following->row->leaks = true;
        obstruct(following, instruction, "lets an address within constant memory go where others may use it");
    }
}

static bool has_pointer_parameter(const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->signature.parameter_count; i++)
        if (function->signature.parameters[i]->pointer_space == PTX_SPACE_CONST)
            return true;
    return false;
}

static enum corun_status follow(const struct ptx_function *function, struct constant_addresses *row)
{
    struct following following = {.function = function, .row = row, .changed = true};
    following.marked = calloc(function->register_count + 1u, sizeof *following.marked);
    if (!following.marked)
        return CORUN_MEMORY;
    for (uint32_t pass = 0; following.changed && pass < MOST_PASSES; pass++) {
        following.changed = false;
        for (uint32_t i = 0; i < function->instruction_count; i++)
            propagate(&following, &function->instructions[i]);
    }
    for (uint32_t i = 0; i < function->instruction_count; i++)
        look_at(&following, &function->instructions[i]);
    if (following.changed) {
        row->leaks = row->computes = true;
        obstruct(&following, &function->instructions[0], "computes addresses in too many steps");
    }
    if (row->computes && has_pointer_parameter(function))
        obstruct(&following, &function->instructions[0], "has a parameter that is an address within constant memory");
    free(following.marked);
    return CORUN_OK;
}

/* An initial value is one: whoever reads it takes it for that. */
static bool is_in_memory(const struct ptx_module *module)
{
    for (uint32_t i = 0; i < module->variable_count; i++)
        for (uint32_t k = 0; k < module->variables[i]->relocation_count; k++) {
            const struct ptx_relocation *relocation = &module->variables[i]->relocations[k];
            if (relocation->variable && relocation->variable->space == PTX_SPACE_CONST && !relocation->generic)
                return true;
        }
    return false;
}

enum corun_status constant_addresses_create(const struct ptx_module *module, struct arena *arena,
                                            const struct constant_addresses **rows)
{
    struct constant_addresses *made = ARENA_ARRAY(arena, struct constant_addresses, module->function_count + 1u);
    bool leaks = is_in_memory(module);
    *rows = made;
    if (!made)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < module->function_count; i++) {
        if (module->functions[i]->has_body && follow(module->functions[i], &made[i]) != CORUN_OK)
            return CORUN_MEMORY;
        leaks |= made[i].leaks;
    }
    for (uint32_t i = 0; i < module->function_count; i++)
        if (leaks && made[i].computes && !made[i].obstacle) {
            made[i].obstacle = "computes addresses within constant memory, of which some are in memory";
            made[i].place = module->functions[i]->place;
        }
    return CORUN_OK;
}
