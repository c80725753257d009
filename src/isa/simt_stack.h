/* SPDX-License-Identifier: MIT */
/*
 * The stack of a warp whose lanes went different ways: each entry is a group of lanes with its next instruction and the
 * instruction where it meets the entry below (the immediate post-dominator of the branch that parted them).
 *
 * A call puts an entry of its own on the stack, without a meeting point: it goes when its last lane has returned. The top
 * entry lives in the fields pc, mask and reconverge while the warp runs. Depth is bounded: masks of nested entries shrink with each
 * divergence, so that there are at most 64 entries and one per active call.
 */
#ifndef CORUN_ISA_SIMT_STACK_H
#define CORUN_ISA_SIMT_STACK_H

#include <stdbool.h>
#include <stdint.h>

#define SIMT_NOWHERE UINT32_MAX
#define SIMT_NO_CALL UINT32_MAX
#define SIMT_ENTRIES(call_depth) (68u + (call_depth))

struct simt_entry {
    uint32_t pc, mask, reconverge;
    uint32_t call;                          /* index of the call site that made this entry; SIMT_NO_CALL for others */
    uint32_t function, frame, caller_frame; /* calls: what was called, its frame of local memory, and the caller's */
};

struct simt_stack {
    uint32_t pc, mask, reconverge; /* of the top entry; its own copies of pc and mask are stale */
    uint32_t depth;                /* index of the top entry */
    struct simt_entry *entries;
};

void simt_start(struct simt_stack *stack, uint32_t pc, uint32_t mask);
/*
 * The lanes `taken` (a proper part of the active ones) go to `target`, the others to `next`; they meet at `reconverge`
 * (SIMT_NOWHERE: never).
 */
void simt_diverge(struct simt_stack *stack, uint32_t taken, uint32_t target, uint32_t next, uint32_t reconverge);
/* A new top entry for a call by the lanes `mask`; the caller's entry continues at its pc. */
struct simt_entry *simt_call(struct simt_stack *stack, uint32_t pc, uint32_t mask, uint32_t call);
/* Index of the entry of the innermost call, UINT32_MAX if the kernel itself runs. */
uint32_t simt_frame(const struct simt_stack *stack);
/* Takes lanes out of all entries from `from` to the top. The top may be empty then: see simt_pop. */
void simt_remove(struct simt_stack *stack, uint32_t lanes, uint32_t from);
/* Drops the top entry. False if it was the last one. */
bool simt_pop(struct simt_stack *stack);

/* To be called after every change of pc: groups that have reached their meeting point wait in the entry below. */
static inline void simt_settle(struct simt_stack *stack)
{
    while (stack->pc == stack->reconverge)
        simt_pop(stack);
}

#endif
