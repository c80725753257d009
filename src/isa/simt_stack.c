/* SPDX-License-Identifier: MIT */
/* The stack of diverged lanes: what a branch, a call, a return and an exit push, remove and pop, and which path is on top. */
#include "isa/simt_stack.h"

static void push(struct simt_stack *stack, uint32_t pc, uint32_t mask, uint32_t reconverge)
{
    struct simt_entry *top = &stack->entries[stack->depth];
    top->pc = stack->pc;
    top->mask = stack->mask;
    struct simt_entry *entry = &stack->entries[++stack->depth];
    entry->reconverge = stack->reconverge = reconverge;
    entry->call = SIMT_NO_CALL;
    entry->waits = 0;
    entry->passed = SIMT_NOWHERE;
    stack->pc = pc;
    stack->mask = mask;
}

void simt_start(struct simt_stack *stack, uint32_t pc, uint32_t mask)
{
    stack->depth = 0;
    stack->apart = stack->looked_at = 0;
    stack->pc = pc;
    stack->mask = mask;
    stack->reconverge = SIMT_NOWHERE;
    stack->entries[0].reconverge = SIMT_NOWHERE;
    stack->entries[0].call = SIMT_NO_CALL;
    stack->entries[0].waits = 0;
    stack->entries[0].passed = SIMT_NOWHERE;
}

/* A new top that never meets the entry `others`, from which it was taken. Both return from the call that they are in, each by itself. */
static void push_apart(struct simt_stack *stack, uint32_t others, uint32_t target, uint32_t taken)
{
    push(stack, target, taken, SIMT_NOWHERE);
    struct simt_entry *from = &stack->entries[others], *entry = &stack->entries[stack->depth];
    if (from->call == SIMT_NO_CALL)
        return;
    *entry = *from;
    entry->reconverge = SIMT_NOWHERE;
    entry->called = from->called & taken;
    from->called &= ~taken;
}

static void split(struct simt_stack *stack, uint32_t taken, uint32_t target, uint32_t next)
{
    stack->pc = next;
    stack->mask &= ~taken;
    push_apart(stack, stack->depth, target, taken);
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
    if (reconverge == SIMT_NOWHERE) {
        split(stack, taken, target, next);
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
    entry->called = mask;
    entry->saved = SIMT_NOTHING_SAVED;
    return entry;
}

static bool has_all(uint32_t mask, uint32_t lanes)
{
    return (lanes & ~mask) == 0;
}

uint32_t simt_frame(const struct simt_stack *stack)
{
    for (uint32_t i = stack->depth; i > 0; i--) {
        const struct simt_entry *entry = &stack->entries[i];
        if (entry->call != SIMT_NO_CALL && (i == stack->depth || has_all(entry->mask, stack->mask)))
            return i;
    }
    return UINT32_MAX;
}

static uint32_t mask_of(const struct simt_stack *stack, uint32_t index)
{
    return index == stack->depth ? stack->mask : stack->entries[index].mask;
}

uint32_t simt_parent(const struct simt_stack *stack, uint32_t index)
{
    const uint32_t lanes = mask_of(stack, index);
    while (index-- > 0)
        if (has_all(stack->entries[index].mask, lanes))
            return index;
    return UINT32_MAX;
}

bool simt_is_path(const struct simt_stack *stack, uint32_t index)
{
    return index >= stack->depth || !has_all(stack->entries[index].mask, mask_of(stack, index + 1));
}

static void reverse(struct simt_entry *entries, uint32_t from, uint32_t to)
{
    for (; from + 1 < to; from++, to--) {
        struct simt_entry moved = entries[from];
        entries[from] = entries[to - 1];
        entries[to - 1] = moved;
    }
}

/* What lies from `from` on changes places with what lies from `middle` to `end`. */
static void rotate(struct simt_entry *entries, uint32_t from, uint32_t middle, uint32_t end)
{
    reverse(entries, from, middle);
    reverse(entries, middle, end);
    reverse(entries, from, end);
}

/* The top's fields to its entry, and from there. */
static void store_top(struct simt_stack *stack)
{
    stack->entries[stack->depth].pc = stack->pc;
    stack->entries[stack->depth].mask = stack->mask;
}

static void load_top(struct simt_stack *stack)
{
    stack->pc = stack->entries[stack->depth].pc;
    stack->mask = stack->entries[stack->depth].mask;
    stack->reconverge = stack->entries[stack->depth].reconverge;
}

void simt_raise(struct simt_stack *stack, uint32_t path)
{
    struct simt_entry *entries = stack->entries;
    const uint32_t count = stack->depth + 1u;
    store_top(stack);
    for (uint32_t at = path, end = path + 1; end < count;) {
        const uint32_t parent = simt_parent(stack, at), all = parent == UINT32_MAX ? UINT32_MAX : entries[parent].mask;
        uint32_t family = end;
        while (family < count && has_all(all, entries[family].mask))
            family++;
        rotate(entries, at, end, family);
        at = parent;
        end = family;
    }
    load_top(stack);
}

uint32_t simt_waiting(const struct simt_stack *stack, uint32_t index)
{
    uint32_t waiting = mask_of(stack, index);
    if (simt_is_path(stack, index))
        return 0;
    for (uint32_t i = index + 1; i <= stack->depth; i++)
        waiting &= ~mask_of(stack, i);
    return waiting;
}

static void insert(struct simt_stack *stack, uint32_t at, uint32_t pc, uint32_t mask, uint32_t reconverge)
{
    struct simt_entry *entries = stack->entries;
    for (uint32_t i = ++stack->depth; i > at; i--)
        entries[i] = entries[i - 1];
    entries[at] = (struct simt_entry){
        .pc = pc, .mask = mask, .reconverge = reconverge, .call = SIMT_NO_CALL, .passed = SIMT_NOWHERE};
}

void simt_let_go(struct simt_stack *stack, uint32_t index, uint32_t meet)
{
    struct simt_entry *parent = &stack->entries[index], *child = parent + 1;
    const uint32_t waiting = simt_waiting(stack, index), pc = parent->pc, others = parent->mask & ~waiting;
    store_top(stack);
    const uint32_t passed = child->passed == SIMT_NOWHERE ? pc : child->passed;
    /* A child that has all the others and would end where they waited goes on from there by itself. */
    if (child->mask == others && child->reconverge == pc)
        child->reconverge = meet;
    else
        insert(stack, index + 1, pc, others, meet);
    child->passed = passed;
    parent->pc = meet;
    insert(stack, index + 1, pc, waiting, meet);
    load_top(stack);
    simt_raise(stack, index + 1);
}

void simt_take_out(struct simt_stack *stack, uint32_t index)
{
    const uint32_t waiting = simt_waiting(stack, index);
    store_top(stack);
    insert(stack, index, 0, 0, SIMT_NOWHERE);
    struct simt_entry *out = &stack->entries[index], *from = out + 1;
    *out = *from;
    out->mask = waiting;
    out->called &= waiting;
    from->mask &= ~waiting;
    from->called &= ~waiting;
    load_top(stack);
    simt_raise(stack, index);
}

void simt_part(struct simt_stack *stack, uint32_t index)
{
    const uint32_t pc = stack->entries[index].pc, waiting = simt_waiting(stack, index);
    store_top(stack);
    insert(stack, index + 1, pc, waiting, SIMT_NOWHERE);
    load_top(stack);
    simt_raise(stack, index + 1);
}

void simt_remove(struct simt_stack *stack, uint32_t lanes, uint32_t from)
{
    for (uint32_t i = from; i < stack->depth; i++)
        stack->entries[i].mask &= ~lanes;
    stack->mask &= ~lanes;
}

static bool meets_at_one(const struct simt_entry *entry, const uint32_t *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (places[i] == entry->reconverge || places[i] == entry->passed)
            return true;
    return false;
}

/* Entries without lanes, from `from` on, go. */
static void drop_empty(struct simt_stack *stack, uint32_t from)
{
    struct simt_entry *entries = stack->entries;
    uint32_t kept = from;
    for (uint32_t i = from; i <= stack->depth; i++)
        if (entries[i].mask)
            entries[kept++] = entries[i];
    stack->depth = kept - 1;
}

bool simt_leave(struct simt_stack *stack, uint32_t lanes, uint32_t to, const uint32_t *places, uint32_t count)
{
    struct simt_entry *entries = stack->entries;
    const uint32_t meet = places[count];
    uint32_t at = stack->depth;
    while (meets_at_one(&entries[at], places, count) && simt_parent(stack, at) != UINT32_MAX)
        at = simt_parent(stack, at);
    if (at == stack->depth)
        return false;
    store_top(stack);
    for (uint32_t i = at + 1; i <= stack->depth; i++)
        entries[i].mask &= ~lanes;
    drop_empty(stack, at + 1);
    if (entries[at].mask == lanes) {
        entries[at].pc = to;
        load_top(stack);
        return true;
    }
    const uint32_t others = entries[at].mask & ~lanes;
    if (meet == SIMT_NOWHERE || entries[at].reconverge == meet) {
        entries[at].mask = others;
    } else {
        insert(stack, at + 1, entries[at].pc, others, meet);
        entries[at].pc = meet;
    }
    load_top(stack);
    if (meet == SIMT_NOWHERE)
        push_apart(stack, at, to, lanes);
    else if (to != meet)
        push(stack, to, lanes, meet);
    return true;
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
