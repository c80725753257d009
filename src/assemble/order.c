/* SPDX-License-Identifier: MIT */
/* What must stay in front of what within a basic block. */
#include "assemble/order.h"

#include <stdlib.h>
#include <string.h>

/* More accesses than that are not compared with each other: the oldest of them order like a barrier. Bounds the work of huge blocks. */
enum { MOST_ACCESSES = 1024 };

enum corun_status order_create(struct order *order, const struct code *code, uint32_t longest)
{
    *order = (struct order){.code = code};
    order->first = calloc(3 * ((size_t)longest + 1), sizeof *order->first);
    order->registers = calloc((size_t)code->function.register_count + 1, sizeof *order->registers);
    if (!order->first || !order->registers)
        return CORUN_MEMORY;
    order->waits = order->first + longest + 1;
    order->base_writer = order->waits + longest + 1;
    for (uint32_t i = 0; i < code->function.register_count; i++)
        order->registers[i] = (struct order_register){ORDER_END, ORDER_END};
    return CORUN_OK;
}

void order_destroy(struct order *order)
{
    free(order->first);
    free(order->registers);
    vector_free(&order->edges);
    vector_free(&order->readers);
    vector_free(&order->accesses);
    vector_free(&order->touched);
}

static void add_edge(struct order *order, uint32_t from, uint32_t to, bool value)
{
    if (from == ORDER_END || from == to)
        return;
    if (!vector_push(&order->edges, ((struct order_edge){to, order->first[from], value}))) {
        order->failed = true;
        return;
    }
    order->first[from] = (uint32_t)order->edges.count - 1;
    order->waits[to]++;
}

static void touch(struct order *order, uint32_t index)
{
    const struct order_register *row = &order->registers[index];
    if (row->writer == ORDER_END && row->first_reader == ORDER_END && !vector_push(&order->touched, index))
        order->failed = true;
}

static void order_read(struct order *order, uint32_t index)
{
    touch(order, index);
    add_edge(order, order->registers[index].writer, order->instruction, true);
    if (!vector_push(&order->readers,
                     ((struct order_reader){order->instruction, order->registers[index].first_reader}))) {
        order->failed = true;
        return;
    }
    order->registers[index].first_reader = (uint32_t)order->readers.count - 1;
}

static void order_write(struct order *order, uint32_t index)
{
    touch(order, index);
    struct order_register *row = &order->registers[index];
    add_edge(order, row->writer, order->instruction, false);
    for (uint32_t i = row->first_reader; i != ORDER_END; i = order->readers.data[i].next)
        add_edge(order, order->readers.data[i].instruction, order->instruction, false);
    *row = (struct order_register){order->instruction, ORDER_END};
}

static void visit_read(void *user, uint32_t index, enum ptx_access access)
{
    if (access == PTX_READ)
        order_read(user, index);
}

static void visit_write(void *user, uint32_t index, enum ptx_access access)
{
    if (access == PTX_WRITE)
        order_write(user, index);
}

/* Memory */

static const struct ptx_operand *address_of(const struct ptx_instruction *instruction)
{
    for (uint32_t i = 0; i < instruction->operand_count; i++)
        if (instruction->operands[i].kind == PTX_OPERAND_ADDRESS ||
            instruction->operands[i].kind == PTX_OPERAND_ADDRESS_VARIABLE ||
            instruction->operands[i].kind == PTX_OPERAND_ADDRESS_ABSOLUTE)
            return &instruction->operands[i];
    return NULL;
}

static int64_t bytes_of(const struct ptx_instruction *instruction)
{
    int64_t bytes = ptx_types[instruction->types[0]].bits / 8;
    return instruction->vector == PTX_VECTOR_V2 ? 2 * bytes : instruction->vector == PTX_VECTOR_V4 ? 4 * bytes : bytes;
}

static bool apart(const struct ptx_instruction *left, int64_t left_offset, const struct ptx_instruction *right,
                  int64_t right_offset)
{
    return left_offset + bytes_of(left) <= right_offset || right_offset + bytes_of(right) <= left_offset;
}

/* Certainly different memory. */
static bool is_disjoint(const struct order *order, uint32_t first, uint32_t left, uint32_t right)
{
    const struct ptx_instruction *one = &order->code->instructions[first + left];
    const struct ptx_instruction *other = &order->code->instructions[first + right];
    if (one->space != other->space)
        return one->space != PTX_SUFFIX_NONE && other->space != PTX_SUFFIX_NONE;
    const struct ptx_operand *a = address_of(one), *b = address_of(other);
    if (!a || !b || a->kind != b->kind)
        return false;
    switch (a->kind) {
    case PTX_OPERAND_ADDRESS:
        return a->index == b->index && order->base_writer[left] == order->base_writer[right] &&
               apart(one, a->offset, other, b->offset);
    case PTX_OPERAND_ADDRESS_VARIABLE:
        return a->variable != b->variable ? !a->variable->incomplete && !b->variable->incomplete
                                          : apart(one, a->offset, other, b->offset);
    default:
        return false;
    }
}

static void order_access(struct order *order, uint32_t first, bool writes)
{
    const struct ptx_operand *address = address_of(&order->code->instructions[first + order->instruction]);
    order->base_writer[order->instruction] =
        address && address->kind == PTX_OPERAND_ADDRESS ? order->registers[address->index].writer : ORDER_END;
    size_t from = order->accesses.count > MOST_ACCESSES ? order->accesses.count - MOST_ACCESSES : 0;
    for (size_t i = 0; i < order->accesses.count; i++) {
        uint32_t other = order->accesses.data[i];
        bool stores = code_effect(&order->code->instructions[first + other]) == EFFECT_STORE;
        if ((stores || writes) && (i < from || !is_disjoint(order, first, other, order->instruction)))
            add_edge(order, other, order->instruction, stores && !writes);
    }
    add_edge(order, order->last_order, order->instruction, false);
    if (!vector_push(&order->accesses, order->instruction))
        order->failed = true;
}

/* Behind everything of the block that touches memory or that lanes do together. */
static void order_barrier(struct order *order)
{
    for (size_t i = 0; i < order->accesses.count; i++)
        add_edge(order, order->accesses.data[i], order->instruction, false);
    order->accesses.count = 0;
    add_edge(order, order->last_order, order->instruction, false);
    add_edge(order, order->last_warp, order->instruction, false);
    order->last_order = order->instruction;
}

static void order_effect(struct order *order, uint32_t first)
{
    switch (code_effect(&order->code->instructions[first + order->instruction])) {
    case EFFECT_LOAD:
        order_access(order, first, false);
        break;
    case EFFECT_STORE:
        order_access(order, first, true);
        break;
    case EFFECT_ORDER:
        order_barrier(order);
        break;
    case EFFECT_WARP:
        add_edge(order, order->last_order, order->instruction, false);
        add_edge(order, order->last_warp, order->instruction, false);
        order->last_warp = order->instruction;
        break;
    case EFFECT_FIXED:
        for (uint32_t i = order->last_fixed == ORDER_END ? 0 : order->last_fixed; i < order->instruction; i++)
            add_edge(order, i, order->instruction, false);
        order->last_fixed = order->instruction;
        break;
    case EFFECT_NONE:
    case EFFECT_CONSTANT:
        break;
    }
}

enum corun_status order_block(struct order *order, const struct code *code, uint32_t first, uint32_t count)
{
    order->edges.count = order->readers.count = order->accesses.count = order->touched.count = 0;
    order->last_order = order->last_fixed = order->last_warp = ORDER_END;
    order->failed = false;
    for (uint32_t i = 0; i < count; i++) {
        order->first[i] = ORDER_END;
        order->waits[i] = 0;
    }
    for (order->instruction = 0; order->instruction < count && !order->failed; order->instruction++) {
        const struct ptx_instruction *instruction = &code->instructions[first + order->instruction];
        add_edge(order, order->last_fixed, order->instruction, false);
        ptx_instruction_registers(instruction, visit_read, order);
        order_effect(order, first); /* before the writes: a load may write the register of its own address */
        ptx_instruction_registers(instruction, visit_write, order);
    }
    for (size_t i = 0; i < order->touched.count; i++)
        order->registers[order->touched.data[i]] = (struct order_register){ORDER_END, ORDER_END};
    return order->failed ? CORUN_MEMORY : CORUN_OK;
}
