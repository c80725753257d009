/* SPDX-License-Identifier: MIT */
/* Loops, merges, their regions, and which of them threads leave on which way. */
#include "ptx/convergence.h"

#include "base/bits.h"
#include "base/vector.h"
#include "ptx/dominators.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_VISITS = 1 << 26 }; /* of blocks; regions that are not looked at have no merge */
enum {
    MOST_CALLS = 8,
    MOST_LOOKED_AT = 4096
}; /* calls within each other, and instructions of them all, that are looked at for a call */

struct merge {
    uint32_t block;
    uint32_t before; /* the last block that all ways have in common, PTX_EXIT: the entry has */
    uint32_t depth;  /* of that block among dominators */
    bool latch;
    bool none; /* it is one no more */
};

struct builder {
    const struct ptx_function *function;
    const struct ptx_block *blocks;
    uint32_t count;
    uint32_t end; /* a block that counts as the end, PTX_EXIT */
    struct ptx_dominators dominators;
    uint32_t *depth;       /* [block]: dominators of it, 0: it is not reached */
    uint32_t *loop;        /* [block]: the first block of the innermost loop that it is in, PTX_NONE */
    uint32_t *loop_around; /* [first block of a loop]: that of the next outer one, PTX_NONE */
    uint32_t *stack;
    uint32_t *stamp; /* [block]: of the last walk that came here */
    uint32_t walks;
    uint32_t *within;
    uint64_t *dropped; /* blocks that are no merges although ways from a loop lead there */
    uint64_t *waits;   /* blocks in which threads wait for all others of their thread block */
    uint32_t *region;
    struct merge *merges;
    uint32_t merge_count;
    uint64_t visits;
};

/* ---- loops ---- */

static bool dominates(const uint32_t *dominator, const uint32_t *number, uint32_t block, uint32_t other)
{
    while (other != PTX_EXIT && number[other] < number[block])
        other = dominator[other];
    return other == block;
}

static bool leads_back(const uint32_t *dominator, const uint32_t *number, uint32_t from, uint32_t to)
{
    return number[to] >= number[from] && dominates(dominator, number, to, from);
}

static bool is_back(const struct builder *builder, uint32_t from, uint32_t to)
{
    return leads_back(builder->dominators.dominator, builder->dominators.number, from, to);
}

static bool is_reached(const struct builder *builder, uint32_t block)
{
    return builder->dominators.number[block] != 0;
}

static void push_predecessors(struct builder *builder, uint32_t block, uint32_t *depth)
{
    for (uint32_t k = 0; k < builder->blocks[block].predecessor_count; k++) {
        uint32_t from = builder->blocks[block].predecessors[k];
        if (!is_reached(builder, from) || builder->stamp[from] == builder->walks)
            continue;
        builder->stamp[from] = builder->walks;
        builder->stack[(*depth)++] = from;
    }
}

/* Inner loops have been found: they are in this one as a whole. */
static void fill_loop(struct builder *builder, uint32_t first)
{
    uint32_t depth = 0;
    builder->stamp[first] = ++builder->walks;
    for (uint32_t k = 0; k < builder->blocks[first].predecessor_count; k++) {
        uint32_t from = builder->blocks[first].predecessors[k];
        if (!is_reached(builder, from) || !is_back(builder, from, first))
            continue;
        builder->loop[first] = first;
        if (builder->stamp[from] != builder->walks) {
            builder->stamp[from] = builder->walks;
            builder->stack[depth++] = from;
        }
    }
    while (depth) {
        uint32_t block = builder->stack[--depth], inner = builder->loop[block];
        if (inner == PTX_NONE) {
            builder->loop[block] = first;
        } else {
            while (builder->loop_around[inner] != PTX_NONE && builder->loop_around[inner] != first)
                inner = builder->loop_around[inner];
            if (inner != first)
                builder->loop_around[inner] = first;
        }
        push_predecessors(builder, block, &depth);
    }
}

static bool is_in_loop(const struct builder *builder, uint32_t block, uint32_t first)
{
    uint32_t loop = builder->loop[block];
    while (loop != PTX_NONE && loop != first)
        loop = builder->loop_around[loop];
    return loop == first;
}

static int by_number(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Blocks that are reached, the ones that dominate others behind those. Gives how many. */
static uint32_t sort_blocks(const struct builder *builder, uint64_t *sorted)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < builder->count; i++)
        if (is_reached(builder, i))
            sorted[count++] = (uint64_t)builder->dominators.number[i] << 32 | i;
    qsort(sorted, count, sizeof *sorted, by_number);
    return count;
}

static bool find_loops(struct builder *builder)
{
    uint64_t *sorted = calloc(builder->count, sizeof *sorted);
    if (!sorted)
        return false;
    const uint32_t count = sort_blocks(builder, sorted);
    for (uint32_t i = 0; i < builder->count; i++)
        builder->loop[i] = builder->loop_around[i] = PTX_NONE;
    for (uint32_t i = 0; i < count; i++)
        fill_loop(builder, (uint32_t)sorted[i]);
    for (uint32_t i = count; i-- > 0;) {
        const uint32_t block = (uint32_t)sorted[i], dominator = builder->dominators.dominator[block];
        builder->depth[block] = dominator == PTX_EXIT ? 1 : builder->depth[dominator] + 1;
    }
    free(sorted);
    return true;
}

/* ---- ways out of loops ---- */

/* Loop << 32 | block outside that a way out of it leads to. */
typedef VECTOR(uint64_t) ways_out;

static bool find_ways_out(const struct builder *builder, ways_out *ways)
{
    for (uint32_t i = 0; i < builder->count; i++)
        for (uint32_t k = 0; is_reached(builder, i) && k < builder->blocks[i].successor_count; k++) {
            const uint32_t to = builder->blocks[i].successors[k];
            for (uint32_t loop = builder->loop[i]; to != PTX_EXIT && loop != PTX_NONE && !is_in_loop(builder, to, loop);
                 loop = builder->loop_around[loop])
                if (!vector_push(ways, (uint64_t)loop << 32 | to))
                    return false;
        }
    if (ways->count)
        qsort(ways->data, ways->count, sizeof *ways->data, by_number);
    size_t kept = 0;
    for (size_t i = 0; i < ways->count; i++)
        if (!kept || ways->data[kept - 1] != ways->data[i])
            ways->data[kept++] = ways->data[i];
    ways->count = kept;
    return true;
}

/* Nothing but an end: machine code has a copy on each way. */
static bool is_end(const struct builder *builder, uint32_t block)
{
    const struct ptx_instruction *last = &builder->function->instructions[builder->blocks[block].end - 1];
    return block == builder->end ||
           (builder->blocks[block].end - builder->blocks[block].first == 1 && last->guard == PTX_NONE &&
            (last->opcode == PTX_OP_RET || last->opcode == PTX_OP_EXIT || last->opcode == PTX_OP_TRAP));
}

static bool traps(const struct builder *builder, const struct ptx_block *block)
{
    const struct ptx_instruction *last = &builder->function->instructions[block->end - 1];
    return last->opcode == PTX_OP_TRAP && last->guard == PTX_NONE;
}

/*
 * What is come to from a block on without another one. Gives the number of instructions; 0 if all of that leads to a trap alone, where nobody goes on
 * together.
 */
static uint64_t reach(struct builder *builder, uint32_t from, uint32_t without, uint64_t *reached)
{
    uint64_t instructions = 0;
    uint32_t depth = 0;
    bool goes_on = false, doomed = false;
    builder->stack[depth++] = from;
    bits_set(reached, from);
    while (depth) {
        const uint32_t block = builder->stack[--depth];
        const struct ptx_block *row = &builder->blocks[block];
        instructions += row->end - row->first;
        builder->visits++;
        doomed |= traps(builder, row);
        goes_on |= block == builder->end;
        for (uint32_t k = 0; k < row->successor_count && block != builder->end; k++) {
            const uint32_t to = row->successors[k];
            if (to == PTX_EXIT || to == without) {
                goes_on |= !traps(builder, row);
            } else if (!bits_test(reached, to)) {
                bits_set(reached, to);
                builder->stack[depth++] = to;
            }
        }
    }
    return doomed && !goes_on ? 0 : instructions;
}

static bool come_together(const struct builder *builder, const uint64_t *left, const uint64_t *right)
{
    for (uint32_t i = 0; i < builder->count; i++)
        if (bits_test(left, i) && bits_test(right, i) && !is_end(builder, i))
            return true;
    return false;
}

/* Two blocks outside a loop, neither of which leads to the other. */
static void choose(struct builder *builder, const uint32_t block[2], uint64_t *const reached[2],
                   const uint64_t instructions[2])
{
    if (bits_test(reached[0], block[1]) || bits_test(reached[1], block[0]))
        return;
    const bool both = come_together(builder, reached[0], reached[1]);
    const bool first = instructions[0] != instructions[1]
                           ? instructions[0] < instructions[1]
                           : builder->dominators.number[block[0]] < builder->dominators.number[block[1]];
    for (uint32_t i = 0; i < 2; i++)
        if (both || first == (i == 0))
            bits_set(builder->dropped, block[i]);
}

/* All blocks that ways out of one loop lead to. */
static bool choose_among(struct builder *builder, const uint64_t *ways, size_t count)
{
    const uint32_t without = builder->dominators.dominator[ways[0] >> 32];
    const size_t words = BIT_WORDS(builder->count);
    uint64_t *reached = calloc(2 * words, sizeof *reached);
    if (!reached)
        return false;
    for (size_t i = 0; i < count && builder->visits < MOST_VISITS; i++)
        for (size_t k = i + 1; k < count && builder->visits < MOST_VISITS; k++) {
            uint64_t *const sets[2] = {reached, reached + words};
            const uint32_t blocks[2] = {(uint32_t)ways[i], (uint32_t)ways[k]};
            memset(reached, 0, 2 * words * sizeof *reached);
            const uint64_t instructions[2] = {reach(builder, blocks[0], without, sets[0]),
                                              reach(builder, blocks[1], without, sets[1])};
            builder->visits += words;
            choose(builder, blocks, sets, instructions);
        }
    free(reached);
    return true;
}

static bool choose_ways_out(struct builder *builder)
{
    ways_out ways = {NULL, 0, 0};
    bool ok = find_ways_out(builder, &ways);
    for (size_t from = 0, to = 0; ok && from < ways.count; from = to) {
        while (to < ways.count && ways.data[to] >> 32 == ways.data[from] >> 32)
            to++;
        ok = to - from < 2 || choose_among(builder, ways.data + from, to - from);
    }
    vector_free(&ways);
    return ok;
}

/* ---- merges ---- */

static void add_merge(struct builder *builder, uint32_t block, uint32_t before, bool latch)
{
    builder->merges[builder->merge_count++] =
        (struct merge){block, before, before == PTX_EXIT ? 0 : builder->depth[before], latch, false};
}

/* Ways that part within a loop and meet behind it part in different rounds, too: all of the loop is between. */
static uint32_t block_before(const struct builder *builder, uint32_t block)
{
    uint32_t before = builder->dominators.dominator[block];
    while (before != PTX_EXIT && builder->loop[before] != PTX_NONE &&
           !is_in_loop(builder, block, builder->loop[before]))
        before = builder->dominators.dominator[builder->loop[before]];
    return before;
}

static int inner_last(const void *left, const void *right)
{
    const struct merge *a = left, *b = right;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->block != b->block)
        return a->block > b->block ? -1 : 1;
    return (int)a->latch - (int)b->latch;
}

static void find_merges(struct builder *builder)
{
    for (uint32_t i = 0; i < builder->count; i++) {
        const struct ptx_block *block = &builder->blocks[i];
        uint32_t forward = 0, back = 0;
        bool leaves_loop = false;
        for (uint32_t k = 0; is_reached(builder, i) && k < block->predecessor_count; k++) {
            const uint32_t from = block->predecessors[k];
            if (!is_reached(builder, from))
                continue;
            if (is_back(builder, from, i)) {
                back++;
                continue;
            }
            forward++;
            leaves_loop |= builder->loop[from] != PTX_NONE && !is_in_loop(builder, i, builder->loop[from]);
        }
        if ((forward > 1 || leaves_loop) && !bits_test(builder->dropped, i))
            add_merge(builder, i, block_before(builder, i), false);
        if (back > 1)
            add_merge(builder, i, i, true);
    }
    if (builder->merge_count)
        qsort(builder->merges, builder->merge_count, sizeof *builder->merges, inner_last);
}

/* ---- regions ---- */

/* [merge]: the number of the merge whose outer ones have been marked last, and the same of their blocks. */
struct marks {
    uint32_t *merge, *block;
};

static void mark_outer(const struct builder *builder, const struct marks *marks, uint32_t merge)
{
    for (uint32_t at = merge; at != PTX_NONE; at = builder->within[builder->merges[at].block]) {
        marks->merge[at] = merge + 1;
        marks->block[builder->merges[at].block] = merge + 1;
    }
}

/* The innermost of regions that are nested. One that overlaps another without being in that gets what is left. */
static void put_in(struct builder *builder, const struct marks *marks, uint32_t merge, uint32_t block)
{
    const uint32_t now = builder->within[block];
    if (marks->block[block] != merge + 1 && (now == PTX_NONE || marks->merge[now] == merge + 1))
        builder->within[block] = merge;
}

/* Do all ways from where threads part lead to the merge? */
static bool is_on_all_ways(const struct builder *builder, const struct merge *merge)
{
    uint32_t block = merge->before == PTX_EXIT ? 0 : merge->before;
    while (block != PTX_EXIT && block != merge->block)
        block = builder->blocks[block].post_dominator;
    return block == merge->block || merge->latch;
}

/*
 * Where some threads do not come to a merge, and in its region threads wait for all others, those at the merge would keep them waiting: it is none. ptxas
 * has no barrier for it either.
 */
static void fill_region(struct builder *builder, const struct marks *marks, uint32_t index)
{
    struct merge *merge = &builder->merges[index];
    uint32_t depth = 0, blocks = 0;
    bool waits = false;
    ++builder->walks;
    builder->stamp[merge->block] = builder->walks;
    if (merge->before != PTX_EXIT)
        builder->stamp[merge->before] = builder->walks;
    for (uint32_t k = 0; k < builder->blocks[merge->block].predecessor_count; k++) {
        const uint32_t from = builder->blocks[merge->block].predecessors[k];
        if (!is_reached(builder, from) || builder->stamp[from] == builder->walks ||
            is_back(builder, from, merge->block) != merge->latch)
            continue;
        builder->stamp[from] = builder->walks;
        builder->stack[depth++] = from;
    }
    while (depth) {
        const uint32_t block = builder->stack[--depth];
        builder->visits++;
        builder->region[blocks++] = block;
        waits |= bits_test(builder->waits, block);
        push_predecessors(builder, block, &depth);
    }
    merge->none = waits && !is_on_all_ways(builder, merge);
    if (merge->none)
        return;
    mark_outer(builder, marks, index);
    for (uint32_t i = 0; i < blocks; i++)
        put_in(builder, marks, index, builder->region[i]);
}

static bool fill_regions(struct builder *builder)
{
    struct marks marks = {calloc((size_t)builder->merge_count + 1, sizeof(uint32_t)),
                          calloc(builder->count, sizeof(uint32_t))};
    const bool ok = marks.merge && marks.block;
    for (uint32_t i = 0; ok && i < builder->merge_count && builder->visits < MOST_VISITS; i++)
        fill_region(builder, &marks, i);
    free(marks.merge);
    free(marks.block);
    return ok;
}

/* ---- who waits for all ---- */

static bool waits_for_all(const struct ptx_instruction *instruction, uint32_t depth, uint32_t *left)
{
    const struct ptx_function *called = instruction->opcode == PTX_OP_CALL ? instruction->call->function : NULL;
    switch (instruction->opcode) {
    case PTX_OP_BAR_SYNC:
    case PTX_OP_BAR_RED:
    case PTX_OP_BARRIER_SYNC:
    case PTX_OP_BARRIER_RED:
    case PTX_OP_BARRIER_CLUSTER_WAIT:
        return true;
    default:
        break;
    }
    for (uint32_t i = 0; called && i < called->instruction_count && depth < MOST_CALLS && *left; i++) {
        --*left;
        if (waits_for_all(&called->instructions[i], depth + 1, left))
            return true;
    }
    return false;
}

static void mark_waits(struct builder *builder)
{
    for (uint32_t i = 0; i < builder->count; i++) {
        bool found = false;
        for (uint32_t k = builder->blocks[i].first; k < builder->blocks[i].end && !found; k++) {
            uint32_t left = MOST_LOOKED_AT;
            found = waits_for_all(&builder->function->instructions[k], 0, &left);
        }
        if (found)
            bits_set(builder->waits, i);
    }
}

/* ---- the result ---- */

static void set_depth(struct ptx_merge *merges, uint32_t index)
{
    uint32_t depth = 0;
    for (uint32_t at = merges[index].outer; at != PTX_NONE; at = merges[at].outer)
        depth++;
    merges[index].depth = depth;
}

static bool keep(const struct builder *builder, struct arena *arena, struct ptx_convergence *convergence)
{
    const uint32_t count = builder->count;
    struct ptx_merge *merges = ARENA_ARRAY(arena, struct ptx_merge, builder->merge_count + 1);
    uint32_t *rows = ARENA_ARRAY(arena, uint32_t, 5 * (size_t)count);
    if (!merges || !rows)
        return false;
    uint32_t *within = rows, *forward = rows + count, *latch = forward + count, *number = latch + count;
    memcpy(within, builder->within, count * sizeof *within);
    memset(forward, 0xff, 2 * (size_t)count * sizeof *forward);
    memcpy(number, builder->dominators.number, count * sizeof *number);
    memcpy(number + count, builder->dominators.dominator, count * sizeof *number);
    for (uint32_t i = 0; i < builder->merge_count; i++) {
        const struct merge *merge = &builder->merges[i];
        merges[i] = (struct ptx_merge){merge->block, within[merge->block], 0};
        if (!merge->none)
            *(merge->latch ? &latch[merge->block] : &forward[merge->block]) = i;
    }
    for (uint32_t i = 0; i < builder->merge_count; i++)
        set_depth(merges, i);
    convergence->merges = merges;
    convergence->merge_count = builder->merge_count;
    convergence->within = within;
    convergence->forward = forward;
    convergence->latch = latch;
    convergence->number = number;
    convergence->dominator = number + count;
    return true;
}

/* ---- ways ---- */

static uint32_t outer_of(const struct ptx_convergence *convergence, uint32_t merge)
{
    return convergence->merges[merge].outer;
}

/* The innermost merge of threads that go from one block to another: where they are if that is one. */
static uint32_t on_the_way(const struct ptx_convergence *convergence, uint32_t from, uint32_t to)
{
    if (to == PTX_EXIT)
        return PTX_NONE;
    const bool back = leads_back(convergence->dominator, convergence->number, from, to);
    const uint32_t merge = back ? convergence->latch[to] : convergence->forward[to];
    return merge != PTX_NONE ? merge : convergence->within[to];
}

static bool is_around(const struct ptx_convergence *convergence, uint32_t merge, uint32_t inner)
{
    while (inner != PTX_NONE && convergence->merges[inner].depth > convergence->merges[merge].depth)
        inner = outer_of(convergence, inner);
    return inner == merge;
}

static uint32_t in_common(const struct ptx_convergence *convergence, uint32_t left, uint32_t right)
{
    while (left != PTX_NONE && !is_around(convergence, left, right))
        left = outer_of(convergence, left);
    return left;
}

static uint32_t depth_of(const struct ptx_convergence *convergence, uint32_t merge)
{
    return merge == PTX_NONE ? 0 : convergence->merges[merge].depth + 1;
}

/* The innermost merge that at least two ways from a block lead to. [merge]: in `seen`, the number of the block that looked at it last. */
static uint32_t met_by_two(const struct ptx_convergence *convergence, uint32_t block, uint32_t *seen)
{
    const struct ptx_block *row = &convergence->flow->blocks[block];
    uint32_t found = PTX_NONE;
    for (uint32_t i = 0; i < row->successor_count; i++) {
        uint32_t place = on_the_way(convergence, block, row->successors[i]);
        for (; place != PTX_NONE && seen[place] != block + 1; place = outer_of(convergence, place))
            seen[place] = block + 1;
        if (depth_of(convergence, place) > depth_of(convergence, found))
            found = place;
    }
    return found;
}

/* Blocks that lead into a loop at several places have merges that a post-dominator is not among: then that is the place. */
static bool misses_post_dominator(const struct ptx_convergence *convergence, uint32_t block, uint32_t merge)
{
    const uint32_t place = convergence->flow->blocks[block].post_dominator;
    if (place == PTX_EXIT)
        return false;
    while (merge != PTX_NONE && convergence->merges[merge].block != place)
        merge = outer_of(convergence, merge);
    return merge == PTX_NONE;
}

static uint32_t nearest(const struct ptx_convergence *convergence, uint32_t block, uint32_t *seen)
{
    const uint32_t within = convergence->within[block], met = met_by_two(convergence, block, seen);
    const bool inner = depth_of(convergence, met) > depth_of(convergence, within) &&
                       (within == PTX_NONE || is_around(convergence, within, met));
    const uint32_t found = inner ? met : within;
    return misses_post_dominator(convergence, block, found) ? PTX_NONE : found;
}

static bool find_nearest(struct ptx_convergence *convergence, struct arena *arena)
{
    uint32_t *found = ARENA_ARRAY(arena, uint32_t, convergence->flow->block_count);
    uint32_t *seen = calloc((size_t)convergence->merge_count + 1, sizeof *seen);
    for (uint32_t i = 0; found && seen && i < convergence->flow->block_count; i++)
        found[i] = nearest(convergence, i, seen);
    convergence->nearest = found;
    const bool ok = found && seen;
    free(seen);
    return ok;
}

uint32_t ptx_convergence_left(const struct ptx_convergence *convergence, uint32_t block, uint32_t to)
{
    const uint32_t first = convergence->nearest[block];
    const uint32_t common = in_common(convergence, first, on_the_way(convergence, block, to));
    return depth_of(convergence, first) - depth_of(convergence, common);
}

uint32_t ptx_convergence_meets(const struct ptx_convergence *convergence, uint32_t block)
{
    const struct ptx_block *row = &convergence->flow->blocks[block];
    uint32_t place = convergence->nearest[block];
    if (misses_post_dominator(convergence, block, place))
        return convergence->flow->blocks[row->post_dominator].first;
    for (uint32_t i = 0; i < row->successor_count; i++)
        place = in_common(convergence, place, on_the_way(convergence, block, row->successors[i]));
    return place == PTX_NONE ? PTX_EXIT : convergence->flow->blocks[convergence->merges[place].block].first;
}

/* ---- all of it ---- */

enum corun_status ptx_convergence_create(const struct ptx_function *function, const struct ptx_control_flow *flow,
                                         uint32_t end, struct arena *arena, struct ptx_convergence *convergence)
{
    const uint32_t count = flow->block_count;
    *convergence = (struct ptx_convergence){.flow = flow};
    if (!count)
        return CORUN_OK;
    uint32_t *rows = calloc(9 * (size_t)count, sizeof *rows);
    struct builder builder = {.function = function,
                              .blocks = flow->blocks,
                              .count = count,
                              .end = end < function->instruction_count ? flow->block_of[end] : PTX_EXIT,
                              .dropped = calloc(BIT_WORDS(count), sizeof(uint64_t)),
                              .waits = calloc(BIT_WORDS(count), sizeof(uint64_t)),
                              .merges = calloc(2 * (size_t)count, sizeof(struct merge))};
    bool ok = rows && builder.dropped && builder.waits && builder.merges;
    if (ok) {
        builder.dominators = (struct ptx_dominators){rows, rows + count};
        builder.depth = rows + 2 * (size_t)count;
        builder.loop = rows + 3 * (size_t)count;
        builder.loop_around = rows + 4 * (size_t)count;
        builder.stack = rows + 5 * (size_t)count;
        builder.stamp = rows + 6 * (size_t)count;
        builder.within = rows + 7 * (size_t)count;
        builder.region = rows + 8 * (size_t)count;
        memset(builder.within, 0xff, count * sizeof *builder.within);
        ok = ptx_dominators_find(flow->blocks, count, PTX_FROM_ENTRY, &builder.dominators) && find_loops(&builder) &&
             choose_ways_out(&builder);
    }
    if (ok) {
        find_merges(&builder);
        mark_waits(&builder);
        ok = fill_regions(&builder) && keep(&builder, arena, convergence) && find_nearest(convergence, arena);
    }
    free(rows);
    free(builder.dropped);
    free(builder.waits);
    free(builder.merges);
    return ok ? CORUN_OK : CORUN_MEMORY;
}
