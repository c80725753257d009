/* SPDX-License-Identifier: MIT */
/* Basic blocks and edges of a function, and the immediate post-dominators. */
#include "ptx/control_flow.h"

#include "base/bits.h"
#include "ptx/dominators.h"

#include <stdlib.h>

static bool ends_block(const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_BRA:
    case PTX_OP_BRX_IDX:
    case PTX_OP_RET:
    case PTX_OP_EXIT:
    case PTX_OP_TRAP:
        return true;
    default:
        return false;
    }
}

static bool mark_leaders(const struct ptx_function *function, uint64_t *leaders)
{
    bits_set(leaders, 0);
    for (uint32_t i = 0; i < function->label_count; i++)
        bits_set(leaders, function->labels[i].instruction);
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (ends_block(&function->instructions[i]))
            bits_set(leaders, i + 1);
    return true;
}

static void add_successor(uint32_t *successors, struct ptx_block *block, uint32_t successor)
{
    for (uint32_t i = 0; i < block->successor_count; i++)
        if (successors[i] == successor)
            return;
    successors[block->successor_count++] = successor;
}

static bool connect(const struct ptx_function *function, const struct ptx_control_flow *flow, struct ptx_block *block,
                    uint32_t next, struct arena *arena)
{
    const struct ptx_instruction *last = &function->instructions[block->end - 1];
    bool table = last->opcode == PTX_OP_BRX_IDX;
    uint32_t labels = table ? last->operands[1].index : last->opcode == PTX_OP_BRA;
    uint32_t *successors = ARENA_ARRAY(arena, uint32_t, labels + 2);
    if (!successors)
        return false;
    block->successors = successors;
    for (uint32_t i = 0; i < labels; i++) {
        const struct ptx_operand *label = table ? &last->operands[1].elements[i] : &last->operands[0];
        uint32_t target = function->labels[label->index].instruction;
        add_successor(successors, block, target < function->instruction_count ? flow->block_of[target] : PTX_EXIT);
    }
    if (!labels && ends_block(last))
        add_successor(successors, block, PTX_EXIT);
    if (!ends_block(last) || last->guard != PTX_NONE)
        add_successor(successors, block, next < flow->block_count ? next : PTX_EXIT);
    return true;
}

static bool add_predecessors(struct arena *arena, struct ptx_block *blocks, uint32_t count)
{
    uint64_t edges = 0;
    for (uint32_t i = 0; i < count; i++) {
        edges += blocks[i].successor_count;
        for (uint32_t k = 0; k < blocks[i].successor_count; k++)
            if (blocks[i].successors[k] != PTX_EXIT)
                blocks[blocks[i].successors[k]].predecessor_count++;
    }
    uint32_t *room = ARENA_ARRAY(arena, uint32_t, edges + 1);
    if (!room)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        blocks[i].predecessors = room;
        room += blocks[i].predecessor_count;
        blocks[i].predecessor_count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < blocks[i].successor_count; k++) {
            if (blocks[i].successors[k] == PTX_EXIT)
                continue;
            struct ptx_block *successor = &blocks[blocks[i].successors[k]];
            uint32_t *list = (uint32_t *)(uintptr_t)successor->predecessors; /* still being filled */
            list[successor->predecessor_count++] = i;
        }
    }
    return true;
}

enum corun_status ptx_control_flow_create(const struct ptx_function *function, struct arena *arena,
                                          struct ptx_control_flow *flow)
{
    uint32_t length = function->instruction_count;
    *flow = (struct ptx_control_flow){NULL, 0, NULL};
    if (!length)
        return CORUN_OK;
    uint64_t *leaders = calloc(BIT_WORDS((size_t)length + 1), sizeof *leaders);
    uint32_t *block_of = ARENA_ARRAY(arena, uint32_t, length);
    if (!leaders || !block_of) {
        free(leaders);
        return CORUN_MEMORY;
    }
    mark_leaders(function, leaders);
    uint32_t count = 0;
    for (uint32_t i = 0; i < length; i++) {
        count += bits_test(leaders, i);
        block_of[i] = count - 1;
    }
    free(leaders);
    struct ptx_block *blocks = ARENA_ARRAY(arena, struct ptx_block, count);
    if (!blocks)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < length; i++) {
        struct ptx_block *block = &blocks[block_of[i]];
        if (!block->end)
            block->first = i;
        block->end = i + 1;
    }
    *flow = (struct ptx_control_flow){blocks, count, block_of};
    for (uint32_t i = 0; i < count; i++)
        if (!connect(function, flow, &blocks[i], i + 1, arena))
            return CORUN_MEMORY;
    uint32_t *found = malloc(2 * (size_t)count * sizeof *found);
    const bool ok = found && add_predecessors(arena, blocks, count) &&
                    ptx_dominators_find(blocks, count, PTX_TO_END, &(struct ptx_dominators){found, found + count});
    for (uint32_t i = 0; ok && i < count; i++)
        blocks[i].post_dominator = found[i];
    free(found);
    return ok ? CORUN_OK : CORUN_MEMORY;
}
