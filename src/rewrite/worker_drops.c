/* SPDX-License-Identifier: MIT */
/* Loops are found by their jumps back, in the order of the program; of loops within loops the innermost ones count. */
#include "rewrite/worker_drops.h"

#include "ptx/control_flow.h"
#include "rewrite/worker_barriers.h"

struct loops {
    const struct ptx_function *function;
    struct ptx_control_flow flow;
    uint32_t *ends; /* by block: the last block that jumps back to it, and one; 0: none does */
};

static void find_ends(struct loops *loops)
{
    for (uint32_t i = 0; i < loops->flow.block_count; i++) {
        const struct ptx_block *block = &loops->flow.blocks[i];
        for (uint32_t k = 0; k < block->successor_count; k++)
            if (block->successors[k] <= i) /* which PTX_EXIT is not */
                loops->ends[block->successors[k]] = i + 1;
    }
}

static bool is_innermost(const struct loops *loops, uint32_t head)
{
    for (uint32_t i = head + 1; i < loops->ends[head]; i++)
        if (loops->ends[i])
            return false;
    return true;
}

static bool is_in_loop(const struct loops *loops, uint32_t block)
{
    for (uint32_t head = 0; head <= block; head++)
        if (loops->ends[head] > block)
            return true;
    return false;
}

static bool touches_shared(const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        if (instruction->space == PTX_SPACE_SHARED)
            return true;
        for (uint32_t k = 0; k < instruction->operand_count; k++) {
            const struct ptx_operand *operand = &instruction->operands[k];
            bool names = operand->kind == PTX_OPERAND_VARIABLE || operand->kind == PTX_OPERAND_ADDRESS_VARIABLE;
            if (names && operand->variable->space == PTX_SPACE_SHARED)
                return true;
        }
    }
    return false;
}

static bool has_barriers(const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (worker_barrier_is_any(&function->instructions[i]))
            return true;
    return false;
}

/* Barriers in loops, for all threads, that give nothing back. */
static void find_barriers(const struct loops *loops, uint32_t *points, struct worker_drops *drops)
{
    for (uint32_t i = 0; i < loops->function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &loops->function->instructions[i];
        bool plain = instruction->opcode == PTX_OP_BAR_SYNC || instruction->opcode == PTX_OP_BARRIER_SYNC;
        if (plain && worker_barrier_is_for_all(instruction) && instruction->guard == PTX_NONE &&
            is_in_loop(loops, loops->flow.block_of[i]))
            points[drops->count++] = i;
    }
    drops->kind = drops->count ? REWRITTEN_DROPS_AT_BARRIERS : REWRITTEN_DROPS_NOWHERE;
    drops->reason = drops->count ? NULL : "its threads meet, but at no barrier in a loop";
}

static void find_heads(const struct loops *loops, uint32_t *points, struct worker_drops *drops)
{
    for (uint32_t i = 0; i < loops->flow.block_count; i++)
        if (loops->ends[i] && is_innermost(loops, i))
            points[drops->count++] = loops->flow.blocks[i].first;
    drops->kind = drops->count ? REWRITTEN_DROPS_IN_LOOPS : REWRITTEN_DROPS_NOWHERE;
    drops->reason = drops->count ? NULL : "it has no loop";
}

enum corun_status worker_drops_create(const struct ptx_function *function, const struct worker_drops_about *about,
                                      struct arena *arena, struct worker_drops *drops)
{
    struct loops loops = {.function = function};
    *drops = (struct worker_drops){.kind = REWRITTEN_DROPS_NOWHERE};
    enum corun_status status = ptx_idempotence_create(function, arena, &drops->idempotence);
    if (status == CORUN_OK)
        status = ptx_control_flow_create(function, arena, &loops.flow);
    if (status != CORUN_OK)
        return status;
    loops.ends = ARENA_ARRAY(arena, uint32_t, loops.flow.block_count + 1u);
    uint32_t *points = ARENA_ARRAY(arena, uint32_t, function->instruction_count + 1u);
    if (!loops.ends || !points)
        return CORUN_MEMORY;
    find_ends(&loops);
    drops->instructions = points;
    if (drops->idempotence.reason || ptx_idempotence_never(&drops->idempotence))
        drops->reason = ptx_idempotence_text(&drops->idempotence);
    else if (has_barriers(function) && !about->ends_early)
        find_barriers(&loops, points, drops);
    else if (has_barriers(function))
        drops->reason = "threads may have ended when others come to a barrier";
    else if (about->acts || touches_shared(function))
        drops->reason = "its threads know of each other without a barrier";
    else
        find_heads(&loops, points, drops);
    return CORUN_OK;
}

static bool has_between(const struct worker_drops *drops, uint32_t first, uint32_t end)
{
    for (uint32_t i = 0; i < drops->count; i++)
        if (drops->instructions[i] >= first && drops->instructions[i] < end)
            return true;
    return false;
}

/* Marks the blocks from which a way leads to a place to leave, that in the block itself included. */
static void mark_before(const struct ptx_control_flow *flow, const struct worker_drops *drops, bool *before)
{
    bool changed = true;
    for (uint32_t i = 0; i < flow->block_count; i++)
        before[i] = has_between(drops, flow->blocks[i].first, flow->blocks[i].end);
    while (changed) {
        changed = false;
        for (uint32_t i = flow->block_count; i-- > 0;)
            for (uint32_t k = 0; k < flow->blocks[i].successor_count && !before[i]; k++) {
                uint32_t to = flow->blocks[i].successors[k];
                before[i] = to != PTX_EXIT && before[to];
                changed |= before[i];
            }
    }
}

enum corun_status worker_drops_keep_points(const struct ptx_function *function, const struct worker_drops *drops,
                                           struct arena *arena, struct worker_points *points)
{
    struct ptx_control_flow flow;
    enum corun_status status = ptx_control_flow_create(function, arena, &flow);
    bool *before = status == CORUN_OK ? ARENA_ARRAY(arena, bool, flow.block_count + 1u) : NULL;
    uint32_t *kept = ARENA_ARRAY(arena, uint32_t, points->count + 1u), count = 0;
    if (!before || !kept)
        return CORUN_MEMORY;
    mark_before(&flow, drops, before);
    for (uint32_t i = 0; i < points->count; i++) {
        uint32_t point = points->instructions[i];
        const struct ptx_block *block = &flow.blocks[flow.block_of[point]];
        bool leads = has_between(drops, point, block->end);
        for (uint32_t k = 0; k < block->successor_count; k++)
            leads |= block->successors[k] != PTX_EXIT && before[block->successors[k]];
        if (!leads)
            kept[count++] = point;
    }
    *points = (struct worker_points){kept, count};
    return CORUN_OK;
}
