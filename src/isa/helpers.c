/* SPDX-License-Identifier: MIT */
/* Who could end the wait of the top in a loop: a walk over the code that they have before them. */
#include "isa/helpers.h"

#include "isa/meeting.h"

#define MOST_STARTS 32u       /* of a walk: places where branches lead to */
#define MOST_OPERATIONS 4096u /* of a walk */

/* ---- what is before somebody ---- */

struct walk {
    uint32_t starts[MOST_STARTS];
    uint32_t count, steps;
    bool full; /* there is more than is looked at */
};

static void walk_to(struct walk *walk, uint32_t pc)
{
    for (uint32_t i = 0; i < walk->count; i++)
        if (walk->starts[i] == pc)
            return;
    if (walk->count == MOST_STARTS)
        walk->full = true;
    else
        walk->starts[walk->count++] = pc;
}

/* Does the top have to come to this operation before others go on behind it? */
static bool wants_top(const struct corun_warp *warp, const struct operation *op)
{
    const uint16_t names = op->source[op->vector - 1];
    return names & OPERAND_CONSTANT && *(const uint32_t *)lanes_source(&warp->lanes, names) & warp->stack.mask;
}

static bool in_kernel_itself(const struct corun_warp *warp, uint32_t pc)
{
    const struct kernel_function *kernel = &warp->tb->launch->kernel->functions[0];
    return pc - kernel->first_operation < kernel->operation_count;
}

enum sight { SIGHT_CLEAR, SIGHT_CHANGE, SIGHT_END }; /* nothing; memory may change; nobody goes on without the top */

static enum sight look_at(const struct corun_warp *warp, const struct operation *op, uint32_t pc)
{
    switch ((enum operation_kind)op->kind) {
    case OPERATION_STORE:
        return op->space == CORUN_SPACE_LOCAL || op->variant & MEMORY_FRAME ? SIGHT_CLEAR : SIGHT_CHANGE;
    case OPERATION_ATOMIC:
    case OPERATION_BULK:
    case OPERATION_MATRIX_STORE:
    case OPERATION_CALL:
    case OPERATION_BRANCH_TABLE:
        return SIGHT_CHANGE;
    case OPERATION_RETURN:
        if (!in_kernel_itself(warp, pc))
            return SIGHT_CHANGE; /* who knows where to */
        return op->guard == NO_PREDICATE ? SIGHT_END : SIGHT_CLEAR;
    case OPERATION_EXIT:
        return op->guard == NO_PREDICATE ? SIGHT_END : SIGHT_CLEAR;
    case OPERATION_TRAP:
    case OPERATION_BARRIER:
    case OPERATION_CLUSTER_ARRIVE:
    case OPERATION_CLUSTER_WAIT:
    case OPERATION_MATRIX:
    case OPERATION_MATRIX_LOAD:
        return SIGHT_END;
    case OPERATION_MEETING:
        return wants_top(warp, op) ? SIGHT_END : SIGHT_CLEAR;
    default:
        return SIGHT_CLEAR;
    }
}

/* Can lanes that are at `from` change memory before they are at `to`? */
static bool may_change(const struct corun_warp *warp, uint32_t from, uint32_t to)
{
    struct walk walk = {.starts = {from}, .count = 1};
    for (uint32_t start = 0; start < walk.count; start++) {
        for (uint32_t pc = walk.starts[start]; pc != to;) {
            const struct operation *op = &warp->code[pc];
            enum sight sight = look_at(warp, op, pc);
            if (sight == SIGHT_CHANGE || walk.full || ++walk.steps > MOST_OPERATIONS)
                return true;
            if (sight == SIGHT_END)
                break;
            if (op->kind == OPERATION_BRANCH)
                walk_to(&walk, op->target);
            if (op->kind == OPERATION_BRANCH && op->guard == NO_PREDICATE)
                break;
            pc++;
        }
    }
    return false;
}

/* ---- who ---- */

static bool is_helping_path(const struct corun_warp *warp, uint32_t entry)
{
    const struct simt_stack *stack = &warp->stack;
    return entry != stack->depth && simt_is_path(stack, entry) && !stack->entries[entry].waits &&
           may_change(warp, stack->entries[entry].pc, SIMT_NOWHERE);
}

/* Lanes that wait where their entry itself would be gone wait in the one below. */
static void settle_waiting(struct simt_stack *stack, uint32_t index)
{
    struct simt_entry *entry = &stack->entries[index];
    if (entry->pc == entry->reconverge)
        entry->mask &= ~simt_waiting(stack, index);
}

/*
 * How far lanes that wait in an entry are let go: behind the next operation that changes memory, or to the place where the entry is gone if that is
 * nearer. False: they cannot help.
 */
static bool find_place(const struct corun_warp *warp, uint32_t index, uint32_t *place)
{
    const struct simt_stack *stack = &warp->stack;
    const uint32_t first = stack->entries[index].pc;
    uint32_t at = first, nearest = SIMT_NOWHERE;
    for (uint32_t steps = 0; steps < MOST_OPERATIONS; steps++) {
        while (at == stack->entries[index].reconverge) {
            nearest = nearest == SIMT_NOWHERE ? at : nearest;
            index = simt_parent(stack, index);
            if (index == UINT32_MAX || stack->entries[index].pc != at)
                return false;
        }
        const struct operation *op = &warp->code[at];
        if (op->kind == OPERATION_RETURN && op->guard == NO_PREDICATE && !in_kernel_itself(warp, at)) {
            *place = nearest != SIMT_NOWHERE ? nearest : at == first ? SIMT_NOWHERE : at;
            return true;
        }
        const uint32_t next = meeting_next_place(warp, at);
        if (next == MEETING_LEFT) {
            *place = nearest != SIMT_NOWHERE ? nearest : at == first ? MEETING_LEFT : at;
            return may_change(warp, at, SIMT_NOWHERE);
        }
        if (next == SIMT_NOWHERE || look_at(warp, op, at) == SIGHT_END)
            return false;
        if (may_change(warp, at, next)) {
            *place = nearest != SIMT_NOWHERE ? nearest : next;
            return true;
        }
        at = next;
    }
    return false;
}

static bool find_waiting(struct corun_warp *warp, struct helper *helper)
{
    struct simt_stack *stack = &warp->stack;
    if (stack->depth + 2u >= SIMT_ENTRIES(warp->tb->launch->call_depth))
        return false;
    for (uint32_t i = stack->depth; i-- > 0;) {
        uint32_t place;
        settle_waiting(stack, i);
        const uint32_t lanes = simt_waiting(stack, i);
        if (!lanes || !find_place(warp, i, &place))
            continue;
        *helper = (struct helper){.entry = i, .lanes = lanes, .place = place};
        return true;
    }
    return false;
}

/* The one that has waited for the longest time: who had a turn is behind the others. */
static bool find_path(const struct corun_warp *warp, struct helper *helper)
{
    const struct simt_stack *stack = &warp->stack;
    for (uint32_t i = 0; i < stack->depth; i++)
        if (is_helping_path(warp, i)) {
            *helper = (struct helper){.entry = i, .lanes = stack->entries[i].mask, .path = true};
            return true;
        }
    return false;
}

bool helpers_are_there(struct corun_warp *warp)
{
    struct helper helper;
    return find_path(warp, &helper) || find_waiting(warp, &helper);
}

uint32_t helpers_count(const struct corun_warp *warp)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < warp->stack.depth; i++)
        count += is_helping_path(warp, i);
    return count;
}

bool helpers_next(struct corun_warp *warp, bool behind, struct helper *helper)
{
    if (behind)
        return find_waiting(warp, helper) || find_path(warp, helper);
    return find_path(warp, helper) || find_waiting(warp, helper);
}

bool helpers_beside_barrier(const struct corun_warp *warp, struct helper *helper)
{
    const struct simt_stack *stack = &warp->stack;
    for (uint32_t i = 0; i < stack->depth; i++) {
        const struct simt_entry *entry = &stack->entries[i];
        if (!simt_is_path(stack, i) || entry->waits || warp->code[entry->pc].kind == OPERATION_BARRIER ||
            barrier_ends_kernel(warp, entry->pc))
            continue;
        *helper = (struct helper){.entry = i, .lanes = entry->mask, .path = true};
        return true;
    }
    return false;
}

void helpers_run(struct corun_warp *warp, const struct helper *helper)
{
    struct simt_stack *stack = &warp->stack;
    if (helper->path) {
        simt_raise(stack, helper->entry);
    } else if (helper->place == SIMT_NOWHERE) {
        call_leave(warp, helper->entry, helper->lanes);
        simt_part(stack, helper->entry);
    } else {
        meeting_let_go(warp, helper->entry, helper->lanes, helper->place);
    }
    call_settle(warp);
}
