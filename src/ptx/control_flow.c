/* SPDX-License-Identifier: MIT */
/* Basic blocks and edges of a function, and the immediate post-dominators by iteration over the blocks. */
#include "ptx/control_flow.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

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

/*
 * Post-dominators are the dominators of the reversed graph, whose root is the end. Cooper, Harvey and Kennedy, "A Simple,
 * Fast Dominance Algorithm" (2001), figure 3, with order numbers from a depth-first walk along predecessors. Node `count` is the end.
 */
struct post_dominators {
    struct ptx_block *blocks;
    uint32_t count;
    uint32_t *number;    /* per node: 1… in post-order of the walk, 0: not reached */
    uint32_t *order;     /* nodes by number - 1 */
    uint32_t *dominator; /* per node */
    uint32_t *stack, *next_edge;
    uint64_t *leaves; /* blocks with an edge to the end, real or assumed */
    uint32_t numbered;
};

static void walk(struct post_dominators *state, uint32_t start)
{
    uint32_t depth = 0;
    state->stack[depth++] = start;
    state->number[start] = UINT32_MAX; /* on the stack */
    while (depth) {
        uint32_t node = state->stack[depth - 1];
        const struct ptx_block *block = &state->blocks[node];
        if (state->next_edge[node] < block->predecessor_count) {
            uint32_t to = block->predecessors[state->next_edge[node]++];
            if (!state->number[to]) {
                state->number[to] = UINT32_MAX;
                state->stack[depth++] = to;
            }
            continue;
        }
        state->order[state->numbered] = node;
        state->number[node] = ++state->numbered;
        depth--;
    }
}

/* Blocks of a loop without end reach nothing: the last one of each is taken to leave, so that paths in it meet too. */
static void number_nodes(struct post_dominators *state)
{
    for (uint32_t i = 0; i < state->count; i++)
        for (uint32_t k = 0; k < state->blocks[i].successor_count; k++)
            if (state->blocks[i].successors[k] == PTX_EXIT)
                bits_set(state->leaves, i);
    for (uint32_t i = state->count; i-- > 0;)
        if (bits_test(state->leaves, i) && !state->number[i])
            walk(state, i);
    for (uint32_t i = state->count; i-- > 0;) {
        if (!state->number[i]) {
            bits_set(state->leaves, i);
            walk(state, i);
        }
    }
    state->order[state->numbered] = state->count;
    state->number[state->count] = ++state->numbered;
}

static uint32_t intersect(const struct post_dominators *state, uint32_t left, uint32_t right)
{
    while (left != right) {
        while (state->number[left] < state->number[right])
            left = state->dominator[left];
        while (state->number[right] < state->number[left])
            right = state->dominator[right];
    }
    return left;
}

static bool improve(struct post_dominators *state, uint32_t node)
{
    const struct ptx_block *block = &state->blocks[node];
    uint32_t found = bits_test(state->leaves, node) ? state->count : PTX_NONE;
    for (uint32_t k = 0; k < block->successor_count; k++) {
        uint32_t successor = block->successors[k];
        if (successor == PTX_EXIT || state->dominator[successor] == PTX_NONE)
            continue;
        found = found == PTX_NONE ? successor : intersect(state, found, successor);
    }
    if (state->dominator[node] == found)
        return false;
    state->dominator[node] = found;
    return true;
}

static bool find_post_dominators(struct ptx_block *blocks, uint32_t count)
{
    size_t nodes = (size_t)count + 1;
    uint32_t *room = calloc(nodes * 5, sizeof *room);
    uint64_t *leaves = calloc(BIT_WORDS(nodes), sizeof *leaves);
    bool ok = room && leaves;
    if (ok) {
        struct post_dominators state = {
            blocks, count, room, room + nodes, room + 2 * nodes, room + 3 * nodes, room + 4 * nodes, leaves, 0};
        number_nodes(&state);
        memset(state.dominator, 0xff, nodes * sizeof *state.dominator);
        state.dominator[count] = count;
        bool changed;
        do {
            changed = false;
            for (uint32_t i = state.numbered - 1; i-- > 0;) /* from the end towards the entry */
                changed |= improve(&state, state.order[i]);
        } while (changed);
        for (uint32_t i = 0; i < count; i++)
            blocks[i].post_dominator = state.dominator[i] == count ? PTX_EXIT : state.dominator[i];
    }
    free(room);
    free(leaves);
    return ok;
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
    return add_predecessors(arena, blocks, count) && find_post_dominators(blocks, count) ? CORUN_OK : CORUN_MEMORY;
}

uint32_t ptx_control_flow_reconverge(const struct ptx_control_flow *flow, uint32_t instruction)
{
    uint32_t block = flow->blocks[flow->block_of[instruction]].post_dominator;
    return block == PTX_EXIT ? PTX_EXIT : flow->blocks[block].first;
}
