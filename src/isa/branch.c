/* SPDX-License-Identifier: MIT */
/* Branches: which lanes go where, where they meet again, and whom they do not wait for. */
#include "isa/executor.h"

#include "base/bits.h"

/* For each way how many places are left; NULL: none are on any. */
static const uint32_t *left_on_ways(const struct corun_warp *warp, const struct operation *op)
{
    return branch_leavings(op) ? warp->tb->launch->kernel->leavings + branch_leavings(op) : NULL;
}

/* Of the top's lanes these go to `to`, and leave places where others wait for them. False: there are none, and nothing has been done. */
static bool leave_places(struct corun_warp *warp, const struct operation *op, uint32_t lanes, uint32_t to,
                         uint32_t left)
{
    const uint32_t *leavings = warp->tb->launch->kernel->leavings;
    return left && simt_leave(&warp->stack, lanes, to, leavings + branch_places(op), left);
}

/* The lanes `taken` part from the others of the top: some leave places where others wait for them. */
static void part_and_leave(struct corun_warp *warp, const struct operation *op, uint32_t taken, uint32_t target,
                           uint32_t next, const uint32_t left[2])
{
    struct simt_stack *stack = &warp->stack;
    const uint32_t *places = warp->tb->launch->kernel->leavings + branch_places(op);
    const uint32_t others = stack->mask & ~taken, both = left[0] < left[1] ? left[0] : left[1];
    leave_places(warp, op, stack->mask, stack->pc, both);
    const bool first = left[0] >= left[1];
    stack->pc = first ? next : target;
    if (!leave_places(warp, op, first ? taken : others, first ? target : next, left[!first]))
        simt_diverge(stack, taken, target, next, places[left[!first]]);
}

void branch_run(struct corun_warp *warp, const struct operation *op, uint32_t taken, struct corun_issue *result)
{
    struct simt_stack *stack = &warp->stack;
    const uint32_t next = stack->pc + 1;
    const uint32_t *left = left_on_ways(warp, op);
    result->diverged = taken && taken != stack->mask;
    if (result->diverged && left) {
        part_and_leave(warp, op, taken, op->target, next, left);
    } else if (result->diverged) {
        simt_diverge(stack, taken, op->target, next, op->reconverge);
    } else {
        if (taken && stack->depth && op->target <= stack->pc && ++warp->turns.rounds >= warp->turns.period)
            turns_look(warp);
        const uint32_t to = taken ? op->target : next;
        if (!left || !leave_places(warp, op, stack->mask, to, left[!taken]))
            stack->pc = to;
    }
    simt_settle(stack);
}

/*
 * The lanes that want the first lane's target go there; the others, and those that the guard holds back, are at this operation again and
 * come next. False: a fault.
 */
bool branch_table_run(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result)
{
    struct simt_stack *stack = &warp->stack;
    result->diverged = false;
    const uint32_t *left = left_on_ways(warp, op);
    if (!mask) {
        if (!left || !leave_places(warp, op, stack->mask, stack->pc + 1, left[branch_table_targets(op)]))
            stack->pc++;
        simt_settle(stack);
        return true;
    }
    const uint32_t *index = lanes_source(&warp->lanes, op->source[0]);
    const uint32_t *targets = warp->tb->launch->kernel->branch_targets + op->target;
    uint32_t first = lowest_bit(mask), taken = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        if (index[lane] >= branch_table_targets(op)) {
            fault_raise(warp, lane, "brx.idx: index %u of a table of %u", index[lane], branch_table_targets(op));
            return false;
        }
        if (targets[index[lane]] == targets[index[first]])
            taken |= 1u << lane;
    }
    const uint32_t target = targets[index[first]];
    result->diverged = taken != stack->mask;
    if (!left && result->diverged)
        simt_diverge(stack, taken, target, stack->pc, op->reconverge);
    else if (left && result->diverged)
        part_and_leave(warp, op, taken, target, stack->pc, (const uint32_t[]){left[index[first]], 0});
    else if (!left || !leave_places(warp, op, taken, target, left[index[first]]))
        stack->pc = target;
    simt_settle(stack);
    return true;
}
