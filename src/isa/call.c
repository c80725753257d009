/* SPDX-License-Identifier: MIT */
/*
 * Calls and returns. A function has registers of its own (disjoint slots) and a frame of local memory above its caller's. Arguments and
 * results are copied between caller and callee here, so that lanes that return at different times each bring their own
 * result. A function that may be active already has its registers kept and put back.
 */
#include "base/kernel_name.h"
#include "isa/stack.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

#define SAVED_LIMIT (256u << 20) /* per warp: of 64 slots each in as many frames as a thread can have */

static uint8_t *frame_byte(const struct corun_warp *warp, uint32_t lane, uint32_t address)
{
    return warp->local + (size_t)(address >> 2) * (CORUN_WARP_LANES * 4) + lane * 4 + (address & 3);
}

void call_value_read(const struct corun_warp *warp, const struct call_value *value, uint32_t frame, uint32_t lane,
                     uint8_t *to)
{
    if (value->in_register) {
        const uint8_t *from = lanes_source(&warp->lanes, value->operand);
        memcpy(to, from + (size_t)lane * (value->wide ? 8 : 4), value->bytes);
        return;
    }
    for (uint32_t i = 0; i < value->bytes; i += 4)
        memcpy(to + i, frame_byte(warp, lane, frame + value->offset + i), value->bytes - i < 4 ? value->bytes - i : 4);
}

void call_value_write(const struct corun_warp *warp, const struct call_value *value, uint32_t frame, uint32_t lane,
                      const uint8_t *from)
{
    if (value->in_register) {
        uint8_t *to = lanes_destination(&warp->lanes, value->operand);
        uint64_t wide = 0;
        memcpy(&wide, from, value->bytes);
        memcpy(to + (size_t)lane * (value->wide ? 8 : 4), &wide, value->wide ? 8 : 4);
        return;
    }
    for (uint32_t i = 0; i < value->bytes; i += 4)
        memcpy(frame_byte(warp, lane, frame + value->offset + i), from + i,
               value->bytes - i < 4 ? value->bytes - i : 4);
}

/* The value of one lane after the other, from one side to the other. */
static void transfer(const struct corun_warp *warp, uint32_t mask, const struct call_value *from, uint32_t from_frame,
                     const struct call_value *to, uint32_t to_frame)
{
    uint8_t small[64];
    if (from->bytes <= sizeof small) {
        for (; mask; mask &= mask - 1) {
            call_value_read(warp, from, from_frame, lowest_bit(mask), small);
            call_value_write(warp, to, to_frame, lowest_bit(mask), small);
        }
        return;
    }
    /* Large structures are in frames on both sides: word by word. */
    for (; mask; mask &= mask - 1)
        for (uint32_t i = 0; i < from->bytes; i++)
            *frame_byte(warp, lowest_bit(mask), to_frame + to->offset + i) =
                *frame_byte(warp, lowest_bit(mask), from_frame + from->offset + i);
}

static size_t saved_size(const struct kernel_function *function)
{
    return (size_t)function->slot_count * SLOT_BYTES + function->predicate_count * sizeof(uint32_t);
}

static bool save_registers(struct corun_warp *warp, const struct kernel_function *function)
{
    size_t bytes = saved_size(function);
    if (bytes == 0)
        return true;
    if (warp->saved_bytes + bytes > warp->saved_capacity) {
        size_t capacity = 2 * (warp->saved_bytes + bytes);
        uint8_t *saved = capacity > SAVED_LIMIT ? NULL : realloc(warp->saved, capacity);
        if (!saved)
            return false;
        warp->saved = saved;
        warp->saved_capacity = (uint32_t)capacity;
    }
    uint8_t *to = warp->saved + warp->saved_bytes;
    size_t slots = (size_t)function->slot_count * SLOT_BYTES;
    memcpy(to, warp->lanes.registers + (size_t)function->first_slot * SLOT_BYTES, slots);
    memcpy(to + slots, warp->lanes.predicates + function->first_predicate, bytes - slots);
    warp->saved_bytes += (uint32_t)bytes;
    return true;
}

/* `bytes` of each lane of `slots` slots that lie side by side, as pairs or as single ones. */
static void restore_slots(uint8_t *to, const uint8_t *from, uint32_t slots, size_t bytes, uint32_t lanes)
{
    const size_t step = bytes * CORUN_WARP_LANES;
    for (size_t at = 0; at < (size_t)slots * SLOT_BYTES; at += step)
        for (uint32_t rest = lanes; rest; rest &= rest - 1)
            memcpy(to + at + lowest_bit(rest) * bytes, from + at + lowest_bit(rest) * bytes, bytes);
}

/* What a call kept goes when no other entry, made of that call where its lanes parted, needs it. */
static void forget_registers(struct corun_warp *warp, uint32_t saved, uint32_t bytes)
{
    struct simt_stack *stack = &warp->stack;
    for (uint32_t i = 0; i <= stack->depth; i++)
        if (stack->entries[i].call != SIMT_NO_CALL && stack->entries[i].saved == saved)
            return;
    warp->saved_bytes -= bytes;
    memmove(warp->saved + saved, warp->saved + saved + bytes, warp->saved_bytes - saved);
    for (uint32_t i = 0; i <= stack->depth; i++) {
        struct simt_entry *entry = &stack->entries[i];
        if (entry->call != SIMT_NO_CALL && entry->saved != SIMT_NOTHING_SAVED && entry->saved > saved)
            entry->saved -= bytes;
    }
}

/* Lanes that a call is over for get back what they had: others may be elsewhere in that function. */
static void restore_registers(struct corun_warp *warp, const struct kernel_function *function,
                              const struct simt_entry *call, uint32_t lanes)
{
    const uint8_t *from = warp->saved + call->saved;
    uint8_t *to = warp->lanes.registers + (size_t)function->first_slot * SLOT_BYTES;
    const size_t pairs = (size_t)function->pair_slots * SLOT_BYTES;
    restore_slots(to, from, function->pair_slots, 8, lanes);
    restore_slots(to + pairs, from + pairs, function->slot_count - function->pair_slots, 4, lanes);
    const uint8_t *kept = from + (size_t)function->slot_count * SLOT_BYTES;
    for (uint32_t i = 0; i < function->predicate_count; i++) {
        uint32_t old, *predicate = &warp->lanes.predicates[function->first_predicate + i];
        memcpy(&old, kept + i * sizeof old, sizeof old);
        *predicate = (*predicate & ~lanes) | (old & lanes);
    }
}

void call_leave(struct corun_warp *warp, uint32_t index, uint32_t lanes)
{
    struct simt_stack *stack = &warp->stack;
    for (uint32_t i = index + 1; i <= stack->depth; i++) {
        struct simt_entry *entry = &stack->entries[i];
        if (entry->call == SIMT_NO_CALL || entry->saved == SIMT_NOTHING_SAVED || !(entry->called & lanes))
            continue;
        restore_registers(warp, &warp->tb->launch->kernel->functions[entry->function], entry, entry->called & lanes);
        entry->called &= ~lanes;
    }
}

/* Is there room for one more call? Where paths wait for each other, each of them may be as deep as the kernel goes. */
static bool has_room(const struct corun_warp *warp)
{
    const struct simt_stack *stack = &warp->stack;
    const uint32_t call_depth = warp->tb->launch->call_depth;
    uint32_t calls = 0;
    if (!stack->apart)
        return stack->depth + 2u < SIMT_ENTRIES(call_depth);
    for (uint32_t i = 0; i <= stack->depth; i++)
        calls += stack->entries[i].call != SIMT_NO_CALL;
    return calls < SIMT_CALLS(call_depth);
}

/* Has the call what the function takes and gives? Where the call is direct, the parser has seen to it. */
static bool fits(const struct kernel_function *function, const struct call_site *site)
{
    uint32_t missing = function->argument_count - site->argument_count;
    if (function->result_count != site->result_count || (missing && !(missing == 1 && function->is_open)))
        return false;
    for (uint32_t i = 0; i < site->argument_count; i++) {
        uint32_t here = site->arguments[i].bytes, there = function->arguments[i].bytes;
        bool open = function->is_open && i + 1 == function->argument_count;
        if (open ? here > there : here != there)
            return false;
    }
    for (uint32_t i = 0; i < site->result_count; i++)
        if (site->results[i].bytes != function->results[i].bytes && !site->results[i].discarded)
            return false;
    return true;
}

/* Starts one function for the lanes `mask`; the caller's frame is `frame` of function `caller`. */
static bool enter(struct corun_warp *warp, const struct operation *op, uint32_t mask, uint32_t index, uint32_t caller,
                  uint32_t frame)
{
    const struct corun_kernel *kernel = warp->tb->launch->kernel;
    const struct kernel_function *function = &kernel->functions[index];
    const struct call_site *site = &kernel->calls[op->target];
    uint32_t callee_frame = frame + kernel->functions[caller].frame_bytes;
    uint32_t lane = lowest_bit(mask);
    if ((uint64_t)callee_frame + function->frame_bytes > stack_limit(warp, mask) || !has_room(warp)) {
        fault_raise(warp, lane, "stack overflow: a call of %s needs more than %u bytes of local memory",
                    KERNEL_NAME(function->ptx->name), warp->tb->launch->local_bytes);
        return false;
    }
    if (!fits(function, site)) {
        fault_raise(warp, lane, "indirect call of %s with other parameters than it has", function->ptx->name);
        return false;
    }
    /* Decode refuses recursive functions with .reg parameters: so no argument or result is in a register that is put back. */
    const uint32_t saved = warp->saved_bytes;
    if (function->recursive && !save_registers(warp, function)) {
        fault_raise(warp, lane, "stack overflow: too many active calls of %s", KERNEL_NAME(function->ptx->name));
        return false;
    }
    if (callee_frame + function->frame_bytes > warp->local_used)
        warp->local_used = callee_frame + function->frame_bytes;
    for (uint32_t i = 0; i < site->argument_count; i++) {
        struct call_value there = function->arguments[i];
        there.bytes = site->arguments[i].bytes;
        transfer(warp, mask, &site->arguments[i], frame, &there, callee_frame);
    }
    if (function->frees && !free_check(warp, mask, function, callee_frame))
        return false;
    struct simt_entry *entry = simt_call(&warp->stack, function->first_operation, mask, op->target);
    entry->function = index;
    entry->frame = callee_frame;
    entry->caller_frame = frame;
    if (warp->saved_bytes != saved)
        entry->saved = saved;
    warp->function = index;
    warp->frame = callee_frame;
    return true;
}

static uint32_t indirect_target(const struct corun_warp *warp, const struct call_site *site, uint32_t lane,
                                uint64_t *address)
{
    const struct corun_kernel *kernel = warp->tb->launch->kernel;
    const void *slot = lanes_source(&warp->lanes, site->target);
    *address = site->target_bytes == 8 ? ((const uint64_t *)slot)[lane] : ((const uint32_t *)slot)[lane];
    uint32_t index = function_index_at(*address);
    return index < kernel->module->ptx->function_count ? kernel->function_of_index[index] : NO_FUNCTION;
}

/* The fault is the call's, though the pc was behind it. */
static bool failed_at(struct corun_warp *warp, uint32_t pc)
{
    warp->stack.pc = pc;
    warp->tb->fault_line = warp->tb->launch->kernel->instructions[pc].line;
    return false;
}

bool call_enter(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    const struct call_site *site = &warp->tb->launch->kernel->calls[op->target];
    uint32_t caller = warp->function, frame = warp->frame;
    if (site->function != NO_FUNCTION) {
        warp->stack.pc++;
        if (enter(warp, op, mask, site->function, caller, frame))
            return true;
        return failed_at(warp, warp->stack.pc - 1);
    }
    uint32_t targets[CORUN_WARP_LANES];
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        uint64_t address;
        targets[lane] = indirect_target(warp, site, lane, &address);
        if (targets[lane] == NO_FUNCTION) {
            fault_raise(warp, lane, "indirect call of address 0x%llx, which is not a function that can be called here",
                        (unsigned long long)address);
            return false;
        }
    }
    /* Lanes may call different functions: a group for each, one on top of the other. */
    uint32_t pc = warp->stack.pc++;
    while (mask) {
        uint32_t target = targets[lowest_bit(mask)], group = 0;
        for (uint32_t rest = mask; rest; rest &= rest - 1)
            if (targets[lowest_bit(rest)] == target)
                group |= 1u << lowest_bit(rest);
        if (!enter(warp, op, group, target, caller, frame)) {
            return failed_at(warp, pc);
        }
        mask &= ~group;
    }
    return true;
}

void call_return(struct corun_warp *warp, uint32_t mask)
{
    const struct corun_kernel *kernel = warp->tb->launch->kernel;
    uint32_t at = simt_frame(&warp->stack);
    struct simt_entry *frame = &warp->stack.entries[at];
    const struct kernel_function *function = &kernel->functions[warp->function];
    const struct call_site *site = &kernel->calls[frame->call];
    for (uint32_t i = 0; i < site->result_count; i++)
        if (!site->results[i].discarded)
            transfer(warp, mask, &function->results[i], warp->frame, &site->results[i], frame->caller_frame);
    simt_remove(&warp->stack, mask, at);
    call_unwind(warp);
}

void call_settle(struct corun_warp *warp)
{
    const struct simt_stack *stack = &warp->stack;
    uint32_t at = simt_frame(stack);
    warp->function = at == UINT32_MAX ? 0 : stack->entries[at].function;
    warp->frame = at == UINT32_MAX ? 0 : stack->entries[at].frame;
}

bool call_unwind(struct corun_warp *warp)
{
    const struct corun_kernel *kernel = warp->tb->launch->kernel;
    struct simt_stack *stack = &warp->stack;
    while (stack->mask == 0) {
        const struct simt_entry *top = &stack->entries[stack->depth];
        if (!simt_pop(stack))
            return false;
        if (top->call == SIMT_NO_CALL)
            continue;
        const struct kernel_function *left = &kernel->functions[top->function];
        if (left->recursive && top->saved != SIMT_NOTHING_SAVED) {
            restore_registers(warp, left, top, top->called);
            forget_registers(warp, top->saved, (uint32_t)saved_size(left));
        }
        call_settle(warp); /* what is below may be the caller, or another group of the same indirect call */
    }
    return true;
}
