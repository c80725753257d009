/* SPDX-License-Identifier: MIT */
/*
 *     x = %ctaid.x + first_x                     below 2^32: both are below 2^31
 *     y = first_y, z = first_z                   of those, what is read
 *     if (x >= grid_x)                           the slice has reached another row
 *         q = x * row_reciprocal >> 32           x / grid_x, or one less
 *         y += q, x -= q * grid_x
 *         if (x >= grid_x) y++, x -= grid_x
 *         if (y >= grid_y) …                     another layer: z and y in the same way
 *
 * The reciprocal is floor(2^32 / grid_x), at most 2^32 - 1. Since x < 2^32, x / grid_x - x * reciprocal / 2^32 lies in [0, 1), so that q
 * is less than the quotient by at most one. A division would take a GPU some twenty instructions.
 */
#include "rewrite/block_index.h"

#include "rewrite/slice.h"

#include <stddef.h>

struct block_index_writer {
    struct ptx_builder *builder;
    uint32_t function;
    const struct ptx_variable *slice;
};

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

static uint32_t make_register(const struct block_index_writer *writer, const char *name, enum ptx_type type)
{
    return ptx_builder_register(writer->builder, writer->function, name, type);
}

static struct ptx_operand operand_of(uint32_t register_index)
{
    return ptx_register(register_index);
}

static void emit(const struct block_index_writer *writer, struct ptx_instruction instruction, uint32_t to,
                 struct ptx_operand left, struct ptx_operand right)
{
    ptx_body_emit(writer->builder, instruction, 3, (struct ptx_operand[]){ptx_register(to), left, right});
}

static void emit_u32(const struct block_index_writer *writer, enum ptx_opcode opcode, uint32_t to, uint32_t left,
                     uint32_t right)
{
    emit(writer, ptx_make(opcode, PTX_TYPE_U32), to, operand_of(left), operand_of(right));
}

static void emit_product(const struct block_index_writer *writer, enum ptx_suffix half, uint32_t to, uint32_t left,
                         uint32_t right)
{
    struct ptx_instruction product = ptx_make(PTX_OP_MUL, PTX_TYPE_U32);
    product.half = (uint8_t)half;
    emit(writer, product, to, operand_of(left), operand_of(right));
}

static uint32_t emit_comparison(const struct block_index_writer *writer, enum ptx_suffix comparison, uint32_t left,
                                uint32_t right)
{
    struct ptx_instruction compare = ptx_make(PTX_OP_SETP, PTX_TYPE_U32);
    uint32_t predicate = make_register(writer, "slice_p", PTX_TYPE_PRED);
    compare.comparison = (uint8_t)comparison;
    emit(writer, compare, predicate, operand_of(left), operand_of(right));
    return predicate;
}

/* `count` values that lie one after the other in the parameter, in one load. */
static void emit_load(const struct block_index_writer *writer, size_t offset, uint32_t count, const uint32_t *registers)
{
    struct ptx_instruction load = ptx_make(PTX_OP_LD, PTX_TYPE_B32);
    struct ptx_operand elements[4], to = operand_of(registers[0]);
    load.space = PTX_SPACE_PARAM;
    load.vector = count == 4 ? PTX_VECTOR_V4 : count == 2 ? PTX_VECTOR_V2 : PTX_SUFFIX_NONE;
    for (uint32_t i = 0; i < count; i++)
        elements[i] = operand_of(registers[i]);
    if (count > 1)
        to = ptx_vector(count, elements);
    ptx_body_emit(writer->builder, load, 2, (struct ptx_operand[]){to, ptx_address_in(writer->slice, (int64_t)offset)});
}

static void emit_jump(const struct block_index_writer *writer, uint32_t predicate, uint32_t label)
{
    struct ptx_instruction jump = ptx_make(PTX_OP_BRA, PTX_TYPE_NONE);
    jump.guard = predicate;
    ptx_body_emit(writer->builder, jump, 1, (struct ptx_operand[]){ptx_label_of(label)});
}

/* next += place / count, place %= count. */
static void emit_carry(const struct block_index_writer *writer, uint32_t place, uint32_t count,
                       size_t reciprocal_offset, uint32_t next)
{
    uint32_t quotient = make_register(writer, "slice_q", PTX_TYPE_B32);
    emit_load(writer, reciprocal_offset, 1, &quotient);
    emit_product(writer, PTX_HALF_HI, quotient, place, quotient);
    emit_u32(writer, PTX_OP_ADD, next, next, quotient);
    emit_product(writer, PTX_HALF_LO, quotient, quotient, count);
    emit_u32(writer, PTX_OP_SUB, place, place, quotient);
    uint32_t more = emit_comparison(writer, PTX_COMPARISON_GE, place, count);
    struct ptx_instruction subtract = ptx_make(PTX_OP_SUB, PTX_TYPE_U32), add = ptx_make(PTX_OP_ADD, PTX_TYPE_U32);
    subtract.guard = add.guard = more;
    emit(writer, subtract, place, operand_of(place), operand_of(count));
    emit(writer, add, next, operand_of(next), ptx_integer(1));
}

void block_index_write(struct block_index *index, struct ptx_builder *builder, uint32_t function,
                       const struct ptx_variable *slice)
{
    const struct block_index_writer writer = {builder, function, slice};
    bool reads_z = index->reads & 1u << GRID_CTAID_Z, reads_y = reads_z || index->reads & 1u << GRID_CTAID_Y;
    static const char *const names[] = {"slice_x", "slice_y", "slice_z"};
    for (uint32_t i = 0; i < 1u + reads_y + reads_z; i++)
        if (index->registers[i] == PTX_NONE)
            index->registers[i] = make_register(&writer, names[i], PTX_TYPE_B32);
    const uint32_t x = index->registers[0], y = index->registers[1], z = index->registers[2];
    uint32_t first = make_register(&writer, "slice_first", PTX_TYPE_B32);
    uint32_t row = make_register(&writer, "slice_row", PTX_TYPE_B32);
    uint32_t layer = reads_y ? make_register(&writer, "slice_layer", PTX_TYPE_B32) : PTX_NONE;
    emit_load(&writer, offsetof(struct slice_arguments, first_x), reads_y ? 4 : 2, (uint32_t[]){first, row, y, layer});
    if (reads_z)
        emit_load(&writer, offsetof(struct slice_arguments, first_z), 1, &z);
    ptx_body_emit(builder, ptx_make(PTX_OP_MOV, PTX_TYPE_U32), 2,
                  (struct ptx_operand[]){ptx_register(x), ptx_special(PTX_SPECIAL_CTAID_X)});
    emit_u32(&writer, PTX_OP_ADD, x, x, first);
    uint32_t in_row = ptx_body_label(builder, "slice_in_row");
    emit_jump(&writer, emit_comparison(&writer, PTX_COMPARISON_LT, x, row), in_row);
    if (reads_y) {
        emit_carry(&writer, x, row, offsetof(struct slice_arguments, row_reciprocal), y);
        emit_jump(&writer, emit_comparison(&writer, PTX_COMPARISON_LT, y, layer), in_row);
    } else {
        emit_u32(&writer, PTX_OP_REM, x, x, row);
    }
    if (reads_z)
        emit_carry(&writer, y, layer, offsetof(struct slice_arguments, layer_reciprocal), z);
    else if (reads_y)
        emit_u32(&writer, PTX_OP_REM, y, y, layer);
    ptx_body_place_label(builder, in_row);
}
