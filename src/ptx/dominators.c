/* SPDX-License-Identifier: MIT */
/*
 * Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001), figure 3. Post-dominators are the dominators of the reversed graph. Node
 * `count` is the root: what is before block 0, or behind the end.
 */
#include "ptx/dominators.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

struct search {
    const struct ptx_block *blocks;
    uint32_t count;
    bool reversed;
    uint32_t *number;    /* per node: 1… in post-order of a depth-first walk away from the root, 0: not reached */
    uint32_t *order;     /* nodes by number - 1 */
    uint32_t *dominator; /* per node */
    uint32_t *stack, *next_edge;
    uint64_t *roots; /* blocks with an edge to the root, real or assumed */
    uint32_t numbered;
};

struct edges {
    const uint32_t *to;
    uint32_t count;
};

static struct edges edges_of(const struct search *search, uint32_t node, bool towards_root)
{
    const struct ptx_block *block = &search->blocks[node];
    return towards_root == search->reversed ? (struct edges){block->successors, block->successor_count}
                                            : (struct edges){block->predecessors, block->predecessor_count};
}

static void walk(struct search *search, uint32_t start)
{
    uint32_t depth = 0;
    search->stack[depth++] = start;
    search->number[start] = UINT32_MAX; /* on the stack */
    while (depth) {
        uint32_t node = search->stack[depth - 1];
        const struct edges edges = edges_of(search, node, false);
        if (search->next_edge[node] < edges.count) {
            uint32_t to = edges.to[search->next_edge[node]++];
            if (to != PTX_EXIT && !search->number[to]) {
                search->number[to] = UINT32_MAX;
                search->stack[depth++] = to;
            }
            continue;
        }
        search->order[search->numbered] = node;
        search->number[node] = ++search->numbered;
        depth--;
    }
}

static void walk_from(struct search *search, uint32_t block)
{
    bits_set(search->roots, block);
    if (!search->number[block])
        walk(search, block);
}

static void number_nodes(struct search *search)
{
    if (!search->reversed) {
        walk_from(search, 0);
    } else {
        for (uint32_t i = search->count; i-- > 0;)
            for (uint32_t k = 0; k < search->blocks[i].successor_count; k++)
                if (search->blocks[i].successors[k] == PTX_EXIT)
                    walk_from(search, i);
        for (uint32_t i = search->count; i-- > 0;)
            if (!search->number[i])
                walk_from(search, i);
    }
    search->order[search->numbered] = search->count;
    search->number[search->count] = ++search->numbered;
}

static uint32_t intersect(const struct search *search, uint32_t left, uint32_t right)
{
    while (left != right) {
        while (search->number[left] < search->number[right])
            left = search->dominator[left];
        while (search->number[right] < search->number[left])
            right = search->dominator[right];
    }
    return left;
}

static bool improve(struct search *search, uint32_t node)
{
    const struct edges edges = edges_of(search, node, true);
    uint32_t found = bits_test(search->roots, node) ? search->count : PTX_NONE;
    for (uint32_t k = 0; k < edges.count; k++) {
        uint32_t to = edges.to[k];
        if (to != PTX_EXIT && search->dominator[to] != PTX_NONE)
            found = found == PTX_NONE ? to : intersect(search, found, to);
    }
    if (search->dominator[node] == found)
        return false;
    search->dominator[node] = found;
    return true;
}

bool ptx_dominators_find(const struct ptx_block *blocks, uint32_t count, enum ptx_dominance dominance,
                         struct ptx_dominators *dominators)
{
    size_t nodes = (size_t)count + 1;
    uint32_t *room = calloc(nodes * 5, sizeof *room);
    uint64_t *roots = calloc(BIT_WORDS(nodes), sizeof *roots);
    bool ok = room && roots;
    if (ok) {
        struct search search = {.blocks = blocks,
                                .count = count,
                                .reversed = dominance == PTX_TO_END,
                                .number = room,
                                .order = room + nodes,
                                .dominator = room + 2 * nodes,
                                .stack = room + 3 * nodes,
                                .next_edge = room + 4 * nodes,
                                .roots = roots};
        number_nodes(&search);
        memset(search.dominator, 0xff, nodes * sizeof *search.dominator);
        search.dominator[count] = count;
        bool changed;
        do {
            changed = false;
            for (uint32_t i = search.numbered - 1; i-- > 0;) /* from the root on */
                changed |= improve(&search, search.order[i]);
        } while (changed);
        for (uint32_t i = 0; i < count; i++)
            dominators->dominator[i] = search.dominator[i] == count ? PTX_EXIT : search.dominator[i];
        memcpy(dominators->number, search.number, count * sizeof *search.number);
    }
    free(room);
    free(roots);
    return ok;
}
