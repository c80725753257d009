/* SPDX-License-Identifier: MIT */
/* The linear scan: live intervals in order of their start take the lowest free slot. */
#include "ptx/register_allocation.h"

#include "ptx/liveness.h"

#include <stdlib.h>
#include <string.h>

enum slot_class { CLASS_PAIR, CLASS_SINGLE, CLASS_PREDICATE, CLASS_COUNT };

static enum slot_class class_of(const struct ptx_register *row)
{
    if (row->type == PTX_TYPE_PRED)
        return CLASS_PREDICATE;
    return ptx_types[row->type].bits == 64 ? CLASS_PAIR : CLASS_SINGLE;
}

/* A binary heap of (key, value), smallest key first. */
struct heap {
    struct entry {
        uint32_t key, value;
    } * entries;
    uint32_t count;
};

static void heap_push(struct heap *heap, uint32_t key, uint32_t value)
{
    uint32_t at = heap->count++;
    while (at && heap->entries[(at - 1) / 2].key > key) {
        heap->entries[at] = heap->entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->entries[at] = (struct entry){key, value};
}

static struct entry heap_pop(struct heap *heap)
{
    struct entry top = heap->entries[0], moved = heap->entries[--heap->count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->entries[child + 1].key < heap->entries[child].key)
            child++;
        if (heap->entries[child].key >= moved.key)
            break;
        heap->entries[at] = heap->entries[child];
        at = child;
    }
    heap->entries[at] = moved;
    return top;
}

struct pending {
    uint32_t first, register_index;
};

static int by_start(const void *left, const void *right)
{
    const struct pending *a = left, *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->register_index > b->register_index) - (a->register_index < b->register_index);
}

/* Slots 0, 1, … for the registers of one class; returns how many there are. */
static uint32_t scan(const struct ptx_interval *intervals, const struct pending *pending, uint32_t count,
                     struct heap *active, struct heap *idle, uint32_t *slots)
{
    uint32_t used = 0;
    active->count = idle->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t r = pending[i].register_index;
        while (active->count && active->entries[0].key < intervals[r].first) {
            uint32_t slot = heap_pop(active).value;
            heap_push(idle, slot, slot);
        }
        slots[r] = idle->count ? heap_pop(idle).value : used++;
        heap_push(active, intervals[r].last, slots[r]);
    }
    return used;
}

static void allocate(const struct ptx_function *function, const struct ptx_interval *intervals, struct pending *pending,
                     struct heap *active, struct heap *idle, uint32_t *slots, struct ptx_allocation *allocation)
{
    uint32_t used[CLASS_COUNT];
    for (uint32_t kind = 0; kind < CLASS_COUNT; kind++) {
        uint32_t count = 0;
        for (uint32_t r = 0; r < function->register_count; r++)
            if (intervals[r].first != PTX_NONE && class_of(&function->registers[r]) == kind)
                pending[count++] = (struct pending){intervals[r].first, r};
        qsort(pending, count, sizeof *pending, by_start);
        used[kind] = scan(intervals, pending, count, active, idle, slots);
    }
    for (uint32_t r = 0; r < function->register_count; r++) {
        if (intervals[r].first == PTX_NONE)
            slots[r] = PTX_NONE;
        else if (class_of(&function->registers[r]) == CLASS_PAIR)
            slots[r] *= 2;
        else if (class_of(&function->registers[r]) == CLASS_SINGLE)
            slots[r] += 2 * used[CLASS_PAIR];
    }
    allocation->slots = slots;
    allocation->register_slots = 2 * used[CLASS_PAIR] + used[CLASS_SINGLE];
    allocation->pair_slots = 2 * used[CLASS_PAIR];
    allocation->predicate_slots = used[CLASS_PREDICATE];
}

/*
 * A register that a load writes and nobody reads is taken until the load's data is there, at the latest where another register of the same
 * load is read for the last time: given away at once, the next instruction to write the slot would wait for the load.
 */
static void hold_unread(const struct ptx_function *function, struct ptx_interval *intervals)
{
    for (uint32_t at = 0; at < function->instruction_count; at++) {
        const struct ptx_instruction *row = &function->instructions[at];
        if (row->opcode != PTX_OP_LD || row->operands[0].kind != PTX_OPERAND_VECTOR)
            continue;
        const struct ptx_operand *vector = &row->operands[0];
        uint32_t until = PTX_NONE;
        for (uint32_t i = 0; i < vector->element_count; i++)
            if (vector->elements[i].kind == PTX_OPERAND_REGISTER) {
                uint32_t last = intervals[vector->elements[i].index].last;
                until = last > at && last < until ? last : until;
            }
        for (uint32_t i = 0; i < vector->element_count && until != PTX_NONE; i++)
            if (vector->elements[i].kind == PTX_OPERAND_REGISTER && intervals[vector->elements[i].index].last == at)
                intervals[vector->elements[i].index].last = until;
    }
}

enum corun_status ptx_allocate_registers(const struct ptx_function *function, const struct ptx_control_flow *flow,
                                         struct arena *arena, struct ptx_allocation *allocation)
{
    size_t count = (size_t)function->register_count + 1;
    struct ptx_liveness liveness;
    struct heap active = {calloc(count, sizeof *active.entries), 0}, idle = {calloc(count, sizeof *idle.entries), 0};
    struct pending *pending = calloc(count, sizeof *pending);
    uint32_t *slots = ARENA_ARRAY(arena, uint32_t, count);
    enum corun_status status = CORUN_MEMORY;
    struct ptx_interval *intervals = ARENA_ARRAY(arena, struct ptx_interval, count);
    if (active.entries && idle.entries && pending && slots && intervals)
        status = ptx_liveness_create(function, flow, arena, &liveness);
    if (status == CORUN_OK) {
        memcpy(intervals, liveness.intervals, function->register_count * sizeof *intervals);
        hold_unread(function, intervals);
        allocate(function, intervals, pending, &active, &idle, slots, allocation);
        allocation->pressure = liveness.pressure;
        allocation->kept_pressure = liveness.kept_pressure;
        allocation->reads_unwritten = liveness.reads_unwritten;
    }
    free(active.entries);
    free(idle.entries);
    free(pending);
    return status;
}
