/* SPDX-License-Identifier: MIT */
/*
 * The control-flow graph without what leads back is walked from the end: how long is the longest way from behind each block? Where that
 * passes WANTED within a block outside of loops, there is a point; and at the beginning of blocks that threads may come to from a loop, or
 * from where the way was still long.
 */
#include "rewrite/worker_points.h"

#include "ptx/control_flow.h"

#define WANTED 40u /* instructions: about a round trip to the L2 cache */
#define LOADED 30u /* a load takes as long as so many */
#define TRIVIAL 2u /* a way that is not worth asking on */

struct walk {
    const struct ptx_function *function;
    struct ptx_control_flow flow;
    uint32_t *behind; /* per block: the longest way from its end */
    uint32_t *whole;  /* per block: from its beginning */
    int32_t *loops;   /* per block: of how many ways back it lies within */
    uint32_t *points;
    uint32_t count;
};

static bool loads(const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_LD:
        return instruction->space != PTX_SPACE_PARAM && instruction->space != PTX_SPACE_SHARED &&
               instruction->space != PTX_SPACE_CONST;
    case PTX_OP_WMMA_LOAD_A_SYNC:
    case PTX_OP_WMMA_LOAD_B_SYNC:
    case PTX_OP_WMMA_LOAD_C_SYNC:
        return instruction->space != PTX_SPACE_SHARED;
    case PTX_OP_LDU:
    case PTX_OP_TEX:
    case PTX_OP_TEX_LEVEL:
    case PTX_OP_TEX_GRAD:
    case PTX_OP_TLD4:
    case PTX_OP_SULD_B:
    case PTX_OP_ATOM:
        return true;
    default:
        return false;
    }
}

static uint32_t sum(uint32_t left, uint32_t right)
{
    return left > UINT32_MAX - right ? UINT32_MAX : left + right;
}

/* Blocks between a jump back and its target, in the order of the program. */
static void mark_loops(struct walk *walk)
{
    const struct ptx_control_flow *flow = &walk->flow;
    for (uint32_t i = 0; i < flow->block_count; i++)
        for (uint32_t k = 0; k < flow->blocks[i].successor_count; k++) {
            uint32_t to = flow->blocks[i].successors[k];
            if (to == PTX_EXIT || to > i)
                continue;
            walk->loops[to]++;
            walk->loops[i + 1]--;
        }
    for (uint32_t i = 1; i < flow->block_count; i++)
        walk->loops[i] += walk->loops[i - 1];
}

/* Loads that follow each other are under way together: the last one of a block counts. */
static void measure(struct walk *walk, uint32_t block)
{
    const struct ptx_block *row = &walk->flow.blocks[block];
    uint32_t behind = 0, whole = row->end - row->first;
    for (uint32_t k = 0; k < row->successor_count; k++) {
        uint32_t to = row->successors[k];
        if (to != PTX_EXIT && to > block && walk->whole[to] > behind)
            behind = walk->whole[to];
    }
    for (uint32_t i = row->first; i < row->end; i++)
        if (loads(&walk->function->instructions[i])) {
            whole += LOADED;
            break;
        }
    walk->behind[block] = behind;
    walk->whole[block] = sum(behind, whole);
}

static bool is_come_to_from_afar(const struct walk *walk, uint32_t block)
{
    const struct ptx_block *row = &walk->flow.blocks[block];
    bool any = block == 0;
    for (uint32_t k = 0; k < row->predecessor_count; k++)
        any |= walk->loops[row->predecessors[k]] || walk->behind[row->predecessors[k]] >= WANTED;
    return any;
}

static void find_point(struct walk *walk, uint32_t block)
{
    const struct ptx_block *row = &walk->flow.blocks[block];
    uint32_t way = walk->behind[block];
    bool loaded = false;
    if (walk->loops[block] || way >= WANTED)
        return;
    for (uint32_t i = row->end; i-- > row->first;) {
        bool load = loads(&walk->function->instructions[i]) && !loaded;
        loaded |= load;
        way += load ? 1 + LOADED : 1;
        if (way < WANTED)
            continue;
        walk->points[walk->count++] = i;
        return;
    }
    if (way > TRIVIAL && is_come_to_from_afar(walk, block))
        walk->points[walk->count++] = row->first;
}

enum corun_status worker_points_create(const struct ptx_function *function, struct arena *arena,
                                       struct worker_points *points)
{
    struct walk walk = {.function = function};
    *points = (struct worker_points){0};
    enum corun_status status = ptx_control_flow_create(function, arena, &walk.flow);
    if (status != CORUN_OK)
        return status;
    uint32_t count = walk.flow.block_count;
    walk.behind = ARENA_ARRAY(arena, uint32_t, count + 1u);
    walk.whole = ARENA_ARRAY(arena, uint32_t, count + 1u);
    walk.loops = ARENA_ARRAY(arena, int32_t, count + 2u);
    walk.points = ARENA_ARRAY(arena, uint32_t, count + 1u);
    if (!walk.behind || !walk.whole || !walk.loops || !walk.points)
        return CORUN_MEMORY;
    mark_loops(&walk);
    for (uint32_t i = count; i-- > 0;)
        measure(&walk, i);
    for (uint32_t i = 0; i < count; i++)
        find_point(&walk, i);
    *points = (struct worker_points){walk.points, walk.count};
    return CORUN_OK;
}
