/* SPDX-License-Identifier: MIT */
/*
 *     x = %ctaid.x + first_x                     below 2^32: both are below 2^31
 *     y = first_y, z = first_z                   of those, what is read
 *     if (x >= grid_x)                           the slice has reached another row
 *         y += x / grid_x, x %= grid_x           without a division: code_carry
 *         if (y >= grid_y) …                     another layer: z and y in the same way
 */
#include "rewrite/block_index.h"

#include "rewrite/slice.h"

#include <stddef.h>

/* How often a register is written and read. */
struct accesses {
    uint32_t register_index, writes, reads;
};

static void count_access(void *user, uint32_t register_index, enum ptx_access access)
{
    struct accesses *accesses = user;
    accesses->writes += register_index == accesses->register_index && access == PTX_WRITE;
    accesses->reads += register_index == accesses->register_index && access == PTX_READ;
}

/* Nothing else writes what the instruction writes, and nothing above it reads that. */
static bool is_only_definition(const struct ptx_function *function, uint32_t instruction)
{
    struct accesses accesses = {.register_index = function->instructions[instruction].operands[0].index};
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        ptx_instruction_registers(&function->instructions[i], count_access, &accesses);
        if (i < instruction && accesses.reads)
            return false;
    }
    return accesses.writes == 1;
}

/* mov.u32 %r, %ctaid.x, by all threads: %r can be the register in which the block index is computed. */
static bool is_plain_move(const struct ptx_function *function, const struct ptx_instruction *instruction)
{
    const struct ptx_operand *to = instruction->operands;
    enum ptx_type type = to->kind == PTX_OPERAND_REGISTER ? function->registers[to->index].type : PTX_TYPE_NONE;
    return instruction->opcode == PTX_OP_MOV && instruction->guard == PTX_NONE && ptx_types[type].bits == 32 &&
           (ptx_types[type].kind == PTX_KIND_BITS || ptx_type_is_integer(type));
}

static bool leaves(const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_BRA:
    case PTX_OP_BRX_IDX:
    case PTX_OP_RET:
    case PTX_OP_EXIT:
        return true;
    default:
        return instruction->call != NULL;
    }
}

struct block_index block_index_plan(const struct ptx_function *function, uint32_t reads)
{
    struct block_index index = {reads, 0, {PTX_NONE, PTX_NONE, PTX_NONE}, {PTX_NONE, PTX_NONE, PTX_NONE}};
    bool found = false;
    uint32_t end = function->label_count ? function->labels[0].instruction : function->instruction_count;
    for (uint32_t i = 0; i < end; i++) { /* all threads come to these, once, and in this order */
        const struct ptx_instruction *instruction = &function->instructions[i];
        enum grid_value value = grid_value_read(instruction);
        bool wants = value <= GRID_CTAID_Z;
        if ((wants || instruction->call) && !found) {
            found = true;
            index.position = i;
        }
        if (leaves(instruction))
            break;
        uint32_t place = (uint32_t)value - GRID_CTAID_X;
        if (!wants || index.moves[place] != PTX_NONE || !is_plain_move(function, instruction) ||
            !is_only_definition(function, i))
            continue;
        index.moves[place] = i;
        index.registers[place] = instruction->operands[0].index;
    }
    return index;
}

bool block_index_says(const struct block_index *index, uint32_t instruction)
{
    return instruction == index->moves[0] || instruction == index->moves[1] || instruction == index->moves[2];
}

/* Makes registers for what has none yet: x, what is read, and what lies between. */
static void block_index_registers(struct block_index *index, const struct code *code)
{
    static const char *const names[] = {"block_x", "block_y", "block_z"};
    bool reads_z = index->reads & 1u << GRID_CTAID_Z, reads_y = reads_z || index->reads & 1u << GRID_CTAID_Y;
    for (uint32_t i = 0; i < 1u + reads_y + reads_z; i++)
        if (index->registers[i] == PTX_NONE)
            index->registers[i] = code_register(code, names[i], PTX_TYPE_B32);
}

/* place %= count */
static void write_rest(const struct code *code, uint32_t place, uint32_t count)
{
    code_binary(code, CODE_ALL, PTX_OP_REM, PTX_TYPE_U32, place, ptx_register(place), ptx_register(count));
}

/* Jumps if place < count. */
static void write_jump_below(const struct code *code, uint32_t place, uint32_t count, uint32_t label)
{
    uint32_t below =
        code_compare(code, "slice_p", PTX_COMPARISON_LT, PTX_TYPE_U32, ptx_register(place), ptx_register(count));
    code_jump(code, code_if(below), label);
}

void block_index_write(struct block_index *index, const struct code *code, const struct ptx_variable *slice)
{
    bool reads_z = index->reads & 1u << GRID_CTAID_Z, reads_y = reads_z || index->reads & 1u << GRID_CTAID_Y;
    block_index_registers(index, code);
    const uint32_t x = index->registers[0], y = index->registers[1], z = index->registers[2];
    uint32_t first = code_register(code, "slice_first", PTX_TYPE_B32);
    uint32_t row = code_register(code, "slice_row", PTX_TYPE_B32);
    uint32_t layer = reads_y ? code_register(code, "slice_layer", PTX_TYPE_B32) : PTX_NONE;
    code_load_words(code, slice, offsetof(struct slice_arguments, first_x), reads_y ? 4 : 2,
                    (uint32_t[]){first, row, y, layer});
    if (reads_z)
        code_load_words(code, slice, offsetof(struct slice_arguments, first_z), 1, &z);
    code_move(code, CODE_ALL, PTX_TYPE_U32, x, ptx_special(PTX_SPECIAL_CTAID_X));
    code_binary(code, CODE_ALL, PTX_OP_ADD, PTX_TYPE_U32, x, ptx_register(x), ptx_register(first));
    uint32_t in_row = ptx_body_label(code->builder, "slice_in_row");
    write_jump_below(code, x, row, in_row);
    if (reads_y) {
        code_carry(code, slice, offsetof(struct slice_arguments, row_reciprocal), x, row, y);
        write_jump_below(code, y, layer, in_row);
    } else {
        write_rest(code, x, row);
    }
    if (reads_z)
        code_carry(code, slice, offsetof(struct slice_arguments, layer_reciprocal), y, layer, z);
    else if (reads_y)
        write_rest(code, y, layer);
    ptx_body_place_label(code->builder, in_row);
}
