/* SPDX-License-Identifier: MIT */
/* What differs between threads, where they part because of that, and whether one way then ends and another one acts as a warp. */
#include "rewrite/endings.h"

#include "ptx/control_flow.h"
#include "ptx/matrix.h"

#include <string.h>

struct endings {
    const struct ptx_function *function;
    struct ptx_control_flow flow;
    acts_as_warp *test;
    void *user;
    bool *differs;  /* per register */
    bool *parted;   /* per block: not all threads come to it together */
    bool *ends;     /* per block: a way from its beginning to the end acts as no warp */
    uint32_t *acts; /* per block: the first instruction to which a way from its beginning leads; PTX_NONE: to none */
    uint32_t *visited, *stack; /* per block: of mark_parted */
    bool calls;                /* functions: what they return is loaded like a parameter */
    bool changed;
};

static bool special_differs(uint32_t special)
{
    switch (special) {
    case PTX_SPECIAL_TID_X:
    case PTX_SPECIAL_TID_Y:
    case PTX_SPECIAL_TID_Z:
    case PTX_SPECIAL_LANEID:
    case PTX_SPECIAL_WARPID:
    case PTX_SPECIAL_LANEMASK_EQ:
    case PTX_SPECIAL_LANEMASK_LE:
    case PTX_SPECIAL_LANEMASK_LT:
    case PTX_SPECIAL_LANEMASK_GE:
    case PTX_SPECIAL_LANEMASK_GT:
        return true;
    default:
        return ptx_special_is_clock(special);
    }
}

static bool operand_differs(const struct endings *endings, const struct ptx_operand *operand)
{
    switch (operand->kind) {
    case PTX_OPERAND_REGISTER:
    case PTX_OPERAND_ADDRESS:
        return endings->differs[operand->index];
    case PTX_OPERAND_SPECIAL:
        return special_differs(operand->index);
    case PTX_OPERAND_VECTOR:
        for (uint32_t i = 0; i < operand->element_count; i++)
            if (operand_differs(endings, &operand->elements[i]))
                return true;
        return false;
    default:
        return false;
    }
}

/* What it gives is another value for each thread, whatever it is given. */
static bool makes_differences(const struct endings *endings, const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_LD:
        return instruction->space == PTX_SPACE_PARAM ? endings->calls : instruction->space != PTX_SPACE_CONST;
    case PTX_OP_LDU:
    case PTX_OP_ATOM:
    case PTX_OP_TEX:
    case PTX_OP_TEX_LEVEL:
    case PTX_OP_TEX_GRAD:
    case PTX_OP_TLD4:
    case PTX_OP_SULD_B:
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
    case PTX_OP_ACTIVEMASK:
    case PTX_OP_MATCH_ANY_SYNC:
    case PTX_OP_MATCH_ALL_SYNC:
    case PTX_OP_REDUX_SYNC:
    case PTX_OP_ELECT_SYNC:
    case PTX_OP_CALL:
        return true;
    default:
        return ptx_is_of_matrices(instruction->opcode);
    }
}

static bool instruction_differs(const struct endings *endings, const struct ptx_instruction *instruction)
{
    if (makes_differences(endings, instruction) ||
        (instruction->guard != PTX_NONE && endings->differs[instruction->guard]) ||
        (instruction->carry_flag != PTX_NONE && endings->differs[instruction->carry_flag]))
        return true;
    for (uint32_t i = 0; i < instruction->operand_count; i++)
        if (operand_differs(endings, &instruction->operands[i]))
            return true;
    return false;
}

static void note(struct endings *endings, bool *where)
{
    endings->changed |= !*where;
    *where = true;
}

static void note_written(void *user, uint32_t register_index, enum ptx_access access)
{
    struct endings *endings = user;
    if (access == PTX_WRITE)
        note(endings, &endings->differs[register_index]);
}

/* Threads go different ways at the end of a block. */
static bool parts_threads(const struct endings *endings, const struct ptx_block *block)
{
    const struct ptx_instruction *last = &endings->function->instructions[block->end - 1];
    return block->successor_count > 1 && ((last->guard != PTX_NONE && endings->differs[last->guard]) ||
                                          (last->operand_count && operand_differs(endings, &last->operands[0])));
}

static void visit(struct endings *endings, uint32_t block, uint32_t from, uint32_t *depth)
{
    if (block == PTX_EXIT || block == endings->flow.blocks[from].post_dominator || endings->visited[block] == from + 1)
        return;
    endings->visited[block] = from + 1;
    endings->stack[(*depth)++] = block;
    note(endings, &endings->parted[block]);
}

/* Blocks to which ways lead from a block in which threads part, until they meet again. */
static void mark_parted(struct endings *endings, uint32_t from)
{
    const struct ptx_block *blocks = endings->flow.blocks;
    uint32_t depth = 0;
    memset(endings->visited, 0, endings->flow.block_count * sizeof *endings->visited);
    for (uint32_t k = 0; k < blocks[from].successor_count; k++)
        visit(endings, blocks[from].successors[k], from, &depth);
    while (depth) {
        const struct ptx_block *block = &blocks[endings->stack[--depth]];
        for (uint32_t k = 0; k < block->successor_count; k++)
            visit(endings, block->successors[k], from, &depth);
    }
}

static void follow(struct endings *endings)
{
    do {
        endings->changed = false;
        for (uint32_t b = 0; b < endings->flow.block_count; b++) {
            const struct ptx_block *block = &endings->flow.blocks[b];
            for (uint32_t i = block->first; i < block->end; i++)
                if (endings->parted[b] || instruction_differs(endings, &endings->function->instructions[i]))
                    ptx_instruction_registers(&endings->function->instructions[i], note_written, endings);
            if (parts_threads(endings, block))
                mark_parted(endings, b);
        }
    } while (endings->changed);
}

static uint32_t first_act(const struct endings *endings, const struct ptx_block *block)
{
    for (uint32_t i = block->first; i < block->end; i++)
        if (endings->test(endings->user, &endings->function->instructions[i]))
            return i;
    return PTX_NONE;
}

/* Of the ways behind a block: whether one ends without an act, and the first instruction that another one comes to; PTX_NONE: to none. */
static bool look_behind(const struct endings *endings, const struct ptx_block *block, uint32_t *acts)
{
    bool ends = false;
    *acts = PTX_NONE;
    for (uint32_t k = 0; k < block->successor_count; k++) {
        uint32_t to = block->successors[k];
        ends |= to == PTX_EXIT || endings->ends[to];
        if (to != PTX_EXIT && *acts == PTX_NONE)
            *acts = endings->acts[to];
    }
    return ends;
}

/* Backwards from the end until nothing changes. */
static void find_ways(struct endings *endings)
{
    do {
        endings->changed = false;
        for (uint32_t b = endings->flow.block_count; b-- > 0;) {
            const struct ptx_block *block = &endings->flow.blocks[b];
            uint32_t here = first_act(endings, block), behind;
            if (look_behind(endings, block, &behind) && here == PTX_NONE)
                note(endings, &endings->ends[b]);
            uint32_t acts = here != PTX_NONE ? here : behind;
            endings->changed |= acts != endings->acts[b];
            endings->acts[b] = acts;
        }
    } while (endings->changed);
}

/* Threads that part meet again before they act as a warp: none of them has ended by then because of that. */
static bool meet_before_acts(const struct endings *endings, const struct ptx_block *block)
{
    return block->post_dominator != PTX_EXIT && endings->acts[block->post_dominator] != PTX_NONE;
}

static const struct ptx_instruction *find(const struct endings *endings)
{
    for (uint32_t b = 0; b < endings->flow.block_count; b++) {
        const struct ptx_block *block = &endings->flow.blocks[b];
        uint32_t acts;
        if (look_behind(endings, block, &acts) && acts != PTX_NONE && parts_threads(endings, block) &&
            !meet_before_acts(endings, block))
            return &endings->function->instructions[acts];
    }
    return NULL;
}

enum corun_status endings_before_warp_acts(const struct ptx_function *kernel, acts_as_warp *test, void *user,
                                           struct arena *arena, const struct ptx_instruction **acts)
{
    struct endings endings = {.function = kernel, .test = test, .user = user};
    *acts = NULL;
    enum corun_status status = ptx_control_flow_create(kernel, arena, &endings.flow);
    if (status != CORUN_OK)
        return status;
    size_t blocks = endings.flow.block_count + 1u;
    endings.differs = ARENA_ARRAY(arena, bool, kernel->register_count + 1u);
    endings.parted = ARENA_ARRAY(arena, bool, blocks);
    endings.ends = ARENA_ARRAY(arena, bool, blocks);
    endings.acts = ARENA_ARRAY(arena, uint32_t, blocks);
    endings.visited = ARENA_ARRAY(arena, uint32_t, blocks);
    endings.stack = ARENA_ARRAY(arena, uint32_t, blocks);
    if (!endings.differs || !endings.parted || !endings.ends || !endings.acts || !endings.visited || !endings.stack)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < kernel->instruction_count; i++)
        endings.calls |= kernel->instructions[i].opcode == PTX_OP_CALL;
    memset(endings.acts, 0xff, blocks * sizeof *endings.acts);
    follow(&endings);
    find_ways(&endings);
    *acts = find(&endings);
    return CORUN_OK;
}
