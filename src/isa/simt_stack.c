/* SPDX-License-Identifier: MIT */
/* The stack of diverged lanes: what a branch, a call, a return and an exit push, remove and pop. */
#include "isa/simt_stack.h"

static void push(struct simt_stack *stack, uint32_t pc, uint32_t mask, uint32_t reconverge)
{
    struct simt_entry *top = &stack->entries[stack->depth];
    top->pc = stack->pc;
    top->mask = stack->mask;
    struct simt_entry *entry = &stack->entries[++stack->depth];
    entry->reconverge = stack->reconverge = reconverge;
    entry->call = SIMT_NO_CALL;
    stack->pc = pc;
    stack->mask = mask;
}

void simt_start(struct simt_stack *stack, uint32_t pc, uint32_t mask)
{
    stack->depth = 0;
    stack->pc = pc;
    stack->mask = mask;
    stack->reconverge = SIMT_NOWHERE;
    stack->entries[0].reconverge = SIMT_NOWHERE;
    stack->entries[0].call = SIMT_NO_CALL;
}

void simt_diverge(struct simt_stack *stack, uint32_t taken, uint32_t target, uint32_t next, uint32_t reconverge)
{
    uint32_t others = stack->mask & ~taken;
    /*
     * The entry below is the meeting place already if this one meets there too: a loop that its lanes leave one after the
     * other needs no more room than a branch.
     */
    if (reconverge != stack->reconverge && reconverge != SIMT_NOWHERE) {
        stack->pc = reconverge;
        if (next != reconverge)
            push(stack, next, others, reconverge);
        if (target != reconverge)
            push(stack, target, taken, reconverge);
        return;
    }
    if (reconverge == SIMT_NOWHERE) { /* a group that never meets the other: two entries side by side */
        stack->pc = next;
        stack->mask = others;
        push(stack, target, taken, SIMT_NOWHERE);
        return;
    }
    if (next == reconverge) {
        stack->pc = target;
        stack->mask = taken;
        return;
    }
    stack->pc = next;
    stack->mask = others;
    if (target != reconverge)
        push(stack, target, taken, reconverge);
}

struct simt_entry *simt_call(struct simt_stack *stack, uint32_t pc, uint32_t mask, uint32_t call)
{
    push(stack, pc, mask, SIMT_NOWHERE);
    struct simt_entry *entry = &stack->entries[stack->depth];
    entry->call = call;
    return entry;
}

uint32_t simt_frame(const struct simt_stack *stack)
{
    for (uint32_t i = stack->depth; i > 0; i--)
        if (stack->entries[i].call != SIMT_NO_CALL)
            return i;
    return UINT32_MAX;
}

void simt_remove(struct simt_stack *stack, uint32_t lanes, uint32_t from)
{
    for (uint32_t i = from; i < stack->depth; i++)
        stack->entries[i].mask &= ~lanes;
    stack->mask &= ~lanes;
}

bool simt_pop(struct simt_stack *stack)
{
    if (stack->depth == 0)
        return false;
    const struct simt_entry *top = &stack->entries[--stack->depth];
    stack->pc = top->pc;
    stack->mask = top->mask;
    stack->reconverge = top->reconverge;
    return true;
}
