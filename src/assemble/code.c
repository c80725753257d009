/* SPDX-License-Identifier: MIT */
/* A function while it is rewritten: copies that may change, definitions of registers, removal. */
#include "assemble/code.h"

#include "base/bits.h"
#include "ptx/liveness.h"

#include <stdlib.h>
#include <string.h>

const struct ptx_operand *code_copy_operands(struct arena *arena, const struct ptx_operand *from, uint32_t count)
{
    struct ptx_operand *operands = ARENA_ARRAY(arena, struct ptx_operand, count + 1);
    for (uint32_t i = 0; operands && i < count; i++) {
        operands[i] = from[i];
        if (from[i].kind != PTX_OPERAND_VECTOR && from[i].kind != PTX_OPERAND_TEXEL)
            continue;
        operands[i].elements = code_copy_operands(arena, from[i].elements, from[i].element_count);
        if (!operands[i].elements)
            return NULL;
    }
    return operands;
}

enum corun_status code_open(const struct ptx_function *function, struct arena *arena, struct code *code)
{
    *code = (struct code){.arena = arena, .function = *function};
    code->instructions = ARENA_ARRAY(arena, struct ptx_instruction, function->instruction_count + 1);
    code->labels = ARENA_ARRAY(arena, struct ptx_label, function->label_count + 1);
    code->definitions = ARENA_ARRAY(arena, struct definition, function->register_count + 1);
    if (!code->instructions || !code->labels || !code->definitions)
        return CORUN_MEMORY;
    if (function->label_count)
        memcpy(code->labels, function->labels, function->label_count * sizeof *code->labels);
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        code->instructions[i] = function->instructions[i];
        if (function->instructions[i].operands == NULL)
            continue;
        code->instructions[i].operands =
            code_copy_operands(arena, function->instructions[i].operands, function->instructions[i].operand_count);
        if (!code->instructions[i].operands)
            return CORUN_MEMORY;
    }
    code->function.instructions = code->instructions;
    code->function.labels = code->labels;
    return code_refresh(code);
}

/* Calls `visit` with every label operand of an instruction. */
static void each_label(const struct ptx_instruction *instruction, void (*visit)(void *user, struct ptx_operand *label),
                       void *user)
{
    struct ptx_operand *operands = code_operands(instruction);
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        if (operands[i].kind == PTX_OPERAND_LABEL)
            visit(user, &operands[i]);
        for (uint32_t k = 0; operands[i].kind == PTX_OPERAND_TARGETS && k < operands[i].index; k++)
            visit(user, (struct ptx_operand *)(uintptr_t)&operands[i].elements[k]);
    }
}

static void note_label(void *user, struct ptx_operand *label)
{
    bits_set(user, label->index);
}

/* Drops removed instructions; labels follow. */
static void compact(struct code *code)
{
    uint32_t count = 0, *place = calloc((size_t)code->function.instruction_count + 1, sizeof *place);
    if (!place)
        return; /* nothing depends on it: removed instructions stay until the next time */
    for (uint32_t i = 0; i < code->function.instruction_count; i++) {
        place[i] = count;
        if (code->instructions[i].opcode != PTX_OP_NONE)
            code->instructions[count++] = code->instructions[i];
    }
    place[code->function.instruction_count] = count;
    for (uint32_t i = 0; i < code->function.label_count; i++)
        code->labels[i].instruction = place[code->labels[i].instruction];
    code->function.instruction_count = count;
    free(place);
}

/*
 * A label that no branch names would end a block for nothing. Branches name labels by number, so no label goes: one that nobody names
 * moves to where one stands that somebody names.
 */
static void drop_labels(struct code *code)
{
    uint64_t *named = calloc(BIT_WORDS((size_t)code->function.label_count + 1), sizeof *named);
    if (!named)
        return;
    for (uint32_t i = 0; i < code->function.instruction_count; i++)
        each_label(&code->instructions[i], note_label, named);
    uint32_t spare = PTX_NONE; /* a label that somebody names: the others may stand where that one does */
    for (uint32_t i = 0; i < code->function.label_count; i++)
        if (bits_test(named, i))
            spare = i;
    if (spare == PTX_NONE)
        code->function.label_count = 0;
    for (uint32_t i = 0; i < code->function.label_count; i++)
        if (!bits_test(named, i))
            code->labels[i].instruction = code->labels[spare].instruction;
    free(named);
}

bool code_writes_first(const struct ptx_instruction *instruction)
{
    char first = ptx_opcodes[instruction->opcode].operands[0];
    return instruction->operand_count && first && strchr("dDwqlocfgz", first);
}

struct definer {
    struct code *code;
    uint32_t *writes;
    uint32_t instruction;
};

static void note_access(void *user, uint32_t register_index, enum ptx_access access)
{
    struct definer *definer = user;
    struct definition *definition = &definer->code->definitions[register_index];
    if (access == PTX_READ) {
        definition->reads++;
        return;
    }
    bool certain = definer->code->instructions[definer->instruction].guard == PTX_NONE;
    definition->instruction = certain && !definer->writes[register_index]++ ? definer->instruction : PTX_NONE;
}

static void note_unwritten(void *user, const struct ptx_live_range *range)
{
    struct code *code = user;
    if (range->enters && range->first == 0)
        code->definitions[range->register_index].instruction = PTX_NONE;
}

static enum corun_status find_definitions(struct code *code)
{
    struct definer definer = {code, calloc((size_t)code->function.register_count + 1, sizeof(uint32_t)), 0};
    if (!definer.writes)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < code->function.register_count; i++)
        code->definitions[i] = (struct definition){PTX_NONE, 0};
    for (; definer.instruction < code->function.instruction_count; definer.instruction++)
        ptx_instruction_registers(&code->instructions[definer.instruction], note_access, &definer);
    free(definer.writes);
    const struct ptx_signature *signature = &code->function.signature;
    for (uint32_t i = 0; i < signature->parameter_count + signature->return_count; i++) {
        const struct ptx_variable *variable = i < signature->parameter_count
                                                  ? signature->parameters[i]
                                                  : signature->returns[i - signature->parameter_count];
        if (variable->space == PTX_SUFFIX_NONE) /* a register that the caller reads or writes */
            code->definitions[variable->parameter_register] = (struct definition){PTX_NONE, 1};
    }
    return ptx_liveness_ranges(&code->function, &code->flow, note_unwritten, code);
}

enum corun_status code_refresh(struct code *code)
{
    compact(code);
    drop_labels(code);
    code->changed = false;
    enum corun_status status = ptx_control_flow_create(&code->function, code->arena, &code->flow);
    return status == CORUN_OK && code->function.instruction_count ? find_definitions(code) : status;
}

void code_close(const struct code *code, struct ptx_function *function)
{
    *function = code->function;
}

uint32_t code_bits(const struct code *code, uint32_t register_index)
{
    return ptx_types[code->function.registers[register_index].type].bits;
}

const struct ptx_instruction *code_definition(const struct code *code, const struct ptx_operand *operand)
{
    if (operand->kind != PTX_OPERAND_REGISTER && operand->kind != PTX_OPERAND_ADDRESS)
        return NULL;
    uint32_t index = code->definitions[operand->index].instruction;
    return index == PTX_NONE || code->instructions[index].opcode == PTX_OP_NONE ? NULL : &code->instructions[index];
}

struct overlap {
    const struct ptx_instruction *definition;
    bool found;
};

static void note_overlap(void *user, uint32_t register_index, enum ptx_access access)
{
    struct overlap *overlap = user;
    const struct ptx_instruction *definition = overlap->definition;
    for (uint32_t i = 1; access == PTX_WRITE && i < definition->operand_count; i++)
        overlap->found |=
            definition->operands[i].kind == PTX_OPERAND_REGISTER && definition->operands[i].index == register_index;
}

bool code_could_compute(const struct code *code, const struct ptx_instruction *definition,
                        const struct ptx_instruction *reader)
{
    struct overlap overlap = {definition, false};
    if (definition >= reader || definition->guard != PTX_NONE ||
        code->flow.block_of[definition - code->instructions] != code->flow.block_of[reader - code->instructions])
        return false;
    for (const struct ptx_instruction *between = definition; between < reader && !overlap.found; between++)
        if (between->opcode != PTX_OP_NONE)
            ptx_instruction_registers(between, note_overlap, &overlap);
    return !overlap.found;
}

/* Runs for all lanes that come to its block. */
static bool stands_in(const struct code *code, uint32_t index)
{
    const struct ptx_instruction *instruction = &code->instructions[index];
    return instruction->opcode != PTX_OP_NONE && instruction->guard == PTX_NONE;
}

bool code_remove(struct code *code, uint32_t index)
{
    struct ptx_instruction *instruction = &code->instructions[index];
    const struct ptx_block *block = &code->flow.blocks[code->flow.block_of[index]];
    uint32_t other = index + 1;
    while (other < block->end && !stands_in(code, other))
        other++;
    if (other >= block->end)
        for (other = index; other-- > block->first && !stands_in(code, other);)
            ;
    if (other == UINT32_MAX || other < block->first || other >= block->end || !stands_in(code, other) ||
        code->instructions[other].merged + instruction->merged + 1 > INT16_MAX)
        return false;
    code->instructions[other].merged += (int16_t)(instruction->merged + 1);
    instruction->opcode = PTX_OP_NONE;
    code->changed = true;
    return true;
}
