/* SPDX-License-Identifier: MIT */
/* Basic blocks and edges of a function, the immediate post-dominators by iteration over the blocks, and where threads meet behind a branch. */
#include "ptx/control_flow.h"

#include "base/bits.h"
#include "ptx/matrix.h"

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
    const uint64_t
        *doomed; /* from here every way ends in a trap, which no thread leaves: nobody waits for who goes there */
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

static bool is_doomed(const struct post_dominators *state, uint32_t node)
{
    return state->doomed && bits_test(state->doomed, node);
}

/* Those without a number that are `among` these (NULL: all) are taken to leave. */
static void number_leaving(struct post_dominators *state, const uint64_t *among, bool doomed)
{
    for (uint32_t i = state->count; i-- > 0;) {
        if (state->number[i] || (among && !bits_test(among, i)) || (!doomed && is_doomed(state, i)))
            continue;
        bits_set(state->leaves, i);
        walk(state, i);
    }
}

/*
 * Blocks of a loop without end reach nothing: the last one of each is taken to leave, so that paths in it meet too. If blocks are `preferred`, the last one
 * of these. Blocks that are doomed come behind all others.
 */
static void number_nodes(struct post_dominators *state, const uint64_t *preferred)
{
    for (uint32_t i = 0; i < state->count; i++)
        for (uint32_t k = 0; k < state->blocks[i].successor_count; k++)
            if (state->blocks[i].successors[k] == PTX_EXIT)
                bits_set(state->leaves, i);
    number_leaving(state, state->leaves, false);
    if (preferred)
        number_leaving(state, preferred, false);
    number_leaving(state, NULL, false);
    number_leaving(state, state->leaves, true);
    number_leaving(state, NULL, true);
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
        if (successor == PTX_EXIT || state->dominator[successor] == PTX_NONE ||
            (is_doomed(state, successor) && !is_doomed(state, node)))
            continue;
        found = found == PTX_NONE ? successor : intersect(state, found, successor);
    }
    if (state->dominator[node] == found)
        return false;
    state->dominator[node] = found;
    return true;
}

/* With `preferred` blocks to leave a loop from, those of them that do are looked at as if they did not: where all successors meet. */
static bool find_post_dominators(struct ptx_block *blocks, uint32_t count, const uint64_t *preferred,
                                 const uint64_t *doomed)
{
    size_t nodes = (size_t)count + 1;
    uint32_t *room = calloc(nodes * 5, sizeof *room);
    uint64_t *leaves = calloc(BIT_WORDS(nodes), sizeof *leaves);
    bool ok = room && leaves;
    if (ok) {
        struct post_dominators state = {
            blocks, count, room, room + nodes, room + 2 * nodes, room + 3 * nodes, room + 4 * nodes, leaves, doomed, 0};
        number_nodes(&state, preferred);
        memset(state.dominator, 0xff, nodes * sizeof *state.dominator);
        state.dominator[count] = count;
        bool changed;
        do {
            changed = false;
            for (uint32_t i = state.numbered - 1; i-- > 0;) /* from the end towards the entry */
                changed |= improve(&state, state.order[i]);
        } while (changed);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t found = state.dominator[i];
            if (preferred && found == count && blocks[i].successors[0] != PTX_EXIT) {
                found = blocks[i].successors[0];
                for (uint32_t k = 1; k < blocks[i].successor_count; k++)
                    found = intersect(&state, found, blocks[i].successors[k]);
            }
            blocks[i].post_dominator = found == count ? PTX_EXIT : found;
        }
    }
    free(room);
    free(leaves);
    return ok;
}

/* The threads of a warp come to such an instruction together, or the result depends on which of them do. */
static bool acts_together(const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_BAR_SYNC:
    case PTX_OP_BAR_ARRIVE:
    case PTX_OP_BAR_RED:
    case PTX_OP_BARRIER_SYNC:
    case PTX_OP_BARRIER_ARRIVE:
    case PTX_OP_BARRIER_RED:
    case PTX_OP_BARRIER_CLUSTER_ARRIVE:
    case PTX_OP_BARRIER_CLUSTER_WAIT:
    case PTX_OP_BAR_WARP_SYNC:
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
    case PTX_OP_ACTIVEMASK:
    case PTX_OP_MATCH_ANY_SYNC:
    case PTX_OP_MATCH_ALL_SYNC:
    case PTX_OP_REDUX_SYNC:
    case PTX_OP_ELECT_SYNC:
        return true;
    default:
        return ptx_is_of_matrices(instruction->opcode);
    }
}

enum {
    MOST_CALLS = 8,
    MOST_LOOKED_AT = 4096
}; /* calls within each other, and instructions of them all, that are looked at for a call */

/* Such an instruction, or a call of a function in which there is one. */
static bool leads_together(const struct ptx_instruction *instruction, uint32_t depth, uint32_t *left)
{
    const struct ptx_function *called = instruction->opcode == PTX_OP_CALL ? instruction->call->function : NULL;
    if (!called)
        return acts_together(instruction);
    for (uint32_t i = 0; i < called->instruction_count && depth < MOST_CALLS && *left; i++) {
        --*left;
        if (leads_together(&called->instructions[i], depth + 1, left))
            return true;
    }
    return false;
}

/* Blocks that have such an instruction are `together`, and `acting` are also those from which a way leads to one. */
static void mark_acting(const struct ptx_function *function, struct ptx_block *blocks, uint32_t count,
                        uint64_t *together, uint64_t *acting, uint32_t *stack)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool found = false;
        for (uint32_t k = blocks[i].first; k < blocks[i].end && !found; k++) {
            uint32_t left = MOST_LOOKED_AT;
            found = leads_together(&function->instructions[k], 0, &left);
        }
        if (found) {
            bits_set(together, i);
            bits_set(acting, i);
            stack[depth++] = i;
        }
    }
    while (depth) {
        const struct ptx_block *block = &blocks[stack[--depth]];
        for (uint32_t k = 0; k < block->predecessor_count; k++) {
            if (bits_test(acting, block->predecessors[k]))
                continue;
            bits_set(acting, block->predecessors[k]);
            stack[depth++] = block->predecessors[k];
        }
    }
}

static uint32_t count_acting(const struct ptx_block *block, const uint64_t *acting)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < block->successor_count; k++)
        count += block->successors[k] != PTX_EXIT && bits_test(acting, block->successors[k]);
    return count;
}

/* The same blocks without the edges to where nobody acts together any more. Where there is no other edge, the function ends. */
static bool copy_acting(const struct ptx_block *blocks, uint32_t count, const uint64_t *acting, struct arena *arena,
                        struct ptx_block *copies)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_block *block = &blocks[i];
        struct ptx_block *copy = &copies[i];
        uint32_t *successors = ARENA_ARRAY(arena, uint32_t, block->successor_count + 1);
        if (!successors)
            return false;
        copy->successors = successors;
        for (uint32_t k = 0; k < block->successor_count && bits_test(acting, i); k++)
            if (block->successors[k] != PTX_EXIT && bits_test(acting, block->successors[k]))
                successors[copy->successor_count++] = block->successors[k];
        if (!copy->successor_count)
            successors[copy->successor_count++] = PTX_EXIT;
    }
    return add_predecessors(arena, copies, count);
}

/* What is known of a function while places to meet are looked for. */
struct meetings {
    struct ptx_block *blocks, *copies; /* copies: as copy_acting() makes them */
    uint32_t count;
    uint64_t *together, *acting;
    uint32_t *stack;
    uint32_t *visited; /* per block: 1 + the branch from which it was come to last */
};

/* Do all ways meet only where nobody acts together any more? */
static bool meets_late(const struct meetings *meetings, uint32_t block)
{
    uint32_t place = meetings->blocks[block].post_dominator;
    return bits_test(meetings->acting, block) && (place == PTX_EXIT || !bits_test(meetings->acting, place));
}

static bool parts_acting(const struct meetings *meetings, uint32_t block)
{
    return meets_late(meetings, block) && count_acting(&meetings->blocks[block], meetings->acting) > 1;
}

/* The place of a branch, and those of the branches on the ways there. */
static void set_places(const struct meetings *meetings, uint32_t from)
{
    uint32_t depth = 0, place = meetings->copies[from].post_dominator;
    meetings->stack[depth++] = from;
    meetings->visited[from] = from + 1;
    while (depth) {
        uint32_t block = meetings->stack[--depth];
        const struct ptx_block *copy = &meetings->copies[block];
        if (meets_late(meetings, block) && copy->post_dominator != PTX_EXIT)
            meetings->blocks[block].meets = copy->post_dominator;
        for (uint32_t k = 0; k < copy->successor_count; k++) {
            uint32_t to = copy->successors[k];
            if (to == PTX_EXIT || to == place || meetings->visited[to] == from + 1)
                continue;
            meetings->visited[to] = from + 1;
            meetings->stack[depth++] = to;
        }
    }
}

static bool set_all_places(struct meetings *meetings, struct arena *arena)
{
    bool wanted = false;
    for (uint32_t i = 0; i < meetings->count; i++)
        wanted |= parts_acting(meetings, i);
    if (!wanted)
        return true;
    meetings->copies = ARENA_ARRAY(arena, struct ptx_block, meetings->count);
    if (!meetings->copies ||
        !copy_acting(meetings->blocks, meetings->count, meetings->acting, arena, meetings->copies) ||
        !find_post_dominators(meetings->copies, meetings->count, meetings->together, NULL))
        return false;
    for (uint32_t i = 0; i < meetings->count; i++)
        if (parts_acting(meetings, i) && meetings->copies[i].post_dominator != PTX_EXIT)
            set_places(meetings, i);
    return true;
}

/*
 * `if (a) { if (b) return; … } __syncthreads();`: the branch for a has no post-dominator but the end, since some threads return; the others meet before
 * the barrier all the same. So where threads have something to do together on both sides, and the post-dominator lies behind all of that, they
 * meet where all ways meet that do not leave the part of the function in which threads act together. On these ways that holds for every branch: at
 * the one for b, those that go on wait behind it for those that leave, and then run up to where the others wait.
 */
static bool find_meetings(const struct ptx_function *function, struct ptx_block *blocks, uint32_t count,
                          struct arena *arena)
{
    struct meetings meetings = {.blocks = blocks,
                                .count = count,
                                .together = calloc(BIT_WORDS(count), sizeof(uint64_t)),
                                .acting = calloc(BIT_WORDS(count), sizeof(uint64_t)),
                                .stack = calloc(count, sizeof(uint32_t)),
                                .visited = calloc(count, sizeof(uint32_t))};
    bool ok = meetings.together && meetings.acting && meetings.stack && meetings.visited;
    for (uint32_t i = 0; i < count; i++)
        blocks[i].meets = blocks[i].post_dominator;
    if (ok) {
        mark_acting(function, blocks, count, meetings.together, meetings.acting, meetings.stack);
        ok = set_all_places(&meetings, arena);
    }
    free(meetings.together);
    free(meetings.acting);
    free(meetings.stack);
    free(meetings.visited);
    return ok;
}

static bool traps(const struct ptx_function *function, const struct ptx_block *block)
{
    const struct ptx_instruction *last = &function->instructions[block->end - 1];
    return last->opcode == PTX_OP_TRAP && last->guard == PTX_NONE;
}

/* Blocks that end in a trap, and those from which every way leads to one; `list` and `left` have a word for each block. */
static void mark_doomed(const struct ptx_function *function, const struct ptx_block *blocks, uint32_t count,
                        uint32_t *list, uint32_t *left, uint64_t *doomed)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        left[i] = blocks[i].successor_count; /* ways that are not known to lead to a trap */
        if (traps(function, &blocks[i])) {
            bits_set(doomed, i);
            list[found++] = i;
        }
    }
    for (uint32_t next = 0; next < found; next++) {
        const struct ptx_block *block = &blocks[list[next]];
        for (uint32_t k = 0; k < block->predecessor_count; k++) {
            const uint32_t before = block->predecessors[k];
            if (bits_test(doomed, before) || --left[before])
                continue;
            bits_set(doomed, before);
            list[found++] = before;
        }
    }
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
    uint64_t *doomed = calloc(BIT_WORDS(count), sizeof *doomed);
    uint32_t *list = malloc((size_t)count * sizeof *list), *left = malloc((size_t)count * sizeof *left);
    bool ok = doomed && list && left && add_predecessors(arena, blocks, count);
    if (ok) {
        mark_doomed(function, blocks, count, list, left, doomed);
        ok = find_post_dominators(blocks, count, NULL, doomed) && find_meetings(function, blocks, count, arena);
    }
    free(doomed);
    free(list);
    free(left);
    return ok ? CORUN_OK : CORUN_MEMORY;
}

uint32_t ptx_control_flow_reconverge(const struct ptx_control_flow *flow, uint32_t instruction)
{
    uint32_t block = flow->blocks[flow->block_of[instruction]].meets;
    return block == PTX_EXIT ? PTX_EXIT : flow->blocks[block].first;
}
