/* SPDX-License-Identifier: MIT */
/*
 * Reads an assembler's log for the registers of an entry; without it, estimates them over the functions that the entry
 * may call.
 */
#include "ptx/register_count.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

#define RESERVED_REGISTERS \
    6u /* what an assembler takes beyond the live values: stack pointer, zero offset, temporaries */
#define REGISTERS_OF_A_CALL 24u /* fewest of a kernel that calls: the ABI's argument and scratch registers */
#define MOST_REGISTERS 255u

static const char *find(const char *text, const char *end, const char *wanted)
{
    return end > text ? memmem(text, (size_t)(end - text), wanted, strlen(wanted)) : NULL;
}

/*
 * ptxas info    : Compiling entry function 'NAME' for 'sm_75'
 * ptxas info    : Function properties for NAME
 * ptxas info    : Used 32 registers, 400 bytes cmem[0]
 */
bool ptx_assembler_registers(const char *log, size_t bytes, const char *entry, uint32_t *registers)
{
    static const char opening[] = "entry function '";
    const char *end = log + bytes;
    size_t length = strlen(entry);
    for (const char *at = log; (at = find(at, end, opening));) {
        at += sizeof opening - 1;
        if ((size_t)(end - at) <= length || memcmp(at, entry, length) || at[length] != '\'')
            continue;
        const char *next = find(at, end, opening);
        const char *used = find(at, next ? next : end, "Used ");
        if (!used)
            return false;
        uint32_t value = 0;
        for (used += 5; used < end && *used >= '0' && *used <= '9' && value < 100000; used++)
            value = value * 10 + (uint32_t)(*used - '0');
        if (end - used < 10 || memcmp(used, " registers", 10))
            return false;
        *registers = value;
        return true;
    }
    return false;
}

struct call_walk {
    const struct ptx_module *module;
    const struct ptx_allocation *allocations;
    uint64_t *seen;
    uint32_t *stack;
    uint32_t depth;
    uint32_t most; /* pressure of the functions seen */
    bool calls;
};

static void reach(struct call_walk *walk, const struct ptx_function *function)
{
    if (!function->has_body || bits_test(walk->seen, function->index))
        return;
    bits_set(walk->seen, function->index);
    walk->stack[walk->depth++] = function->index;
}

static void walk_calls(struct call_walk *walk, const struct ptx_function *entry)
{
    reach(walk, entry);
    while (walk->depth) {
        const struct ptx_function *function = walk->module->functions[walk->stack[--walk->depth]];
        uint32_t pressure = walk->allocations[function->index].kept_pressure;
        walk->most = pressure > walk->most ? pressure : walk->most;
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            const struct ptx_call *call = function->instructions[i].call;
            if (!call)
                continue;
            walk->calls = true;
            if (call->function)
                reach(walk, call->function);
            for (uint32_t k = 0; k < call->target_count; k++)
                reach(walk, call->targets[k]);
            for (uint32_t k = 0; !call->function && !call->targets && k < walk->module->function_count; k++)
                if (!walk->module->functions[k]->is_entry) /* through a pointer: it may be any of them */
                    reach(walk, walk->module->functions[k]);
        }
    }
}

enum corun_status ptx_registers_per_thread(const struct ptx_module *module, const struct ptx_function *entry,
                                           const struct ptx_allocation *allocations, const char *log, size_t log_bytes,
                                           uint32_t *registers, enum ptx_registers_from *from)
{
    *from = PTX_REGISTERS_ASSEMBLER;
    if (log && ptx_assembler_registers(log, log_bytes, entry->name, registers))
        return CORUN_OK;
    *from = PTX_REGISTERS_MAXNREG;
    *registers = entry->maxnreg;
    if (entry->maxnreg)
        return CORUN_OK;
    *from = PTX_REGISTERS_ALLOCATION;
    struct call_walk walk = {.module = module, .allocations = allocations};
    walk.seen = calloc(BIT_WORDS((size_t)module->function_count + 1), sizeof *walk.seen);
    walk.stack = calloc((size_t)module->function_count + 1, sizeof *walk.stack);
    bool ok = walk.seen && walk.stack;
    if (ok) {
        walk_calls(&walk, entry);
        uint32_t estimate = walk.most + RESERVED_REGISTERS;
        if (walk.calls && estimate < REGISTERS_OF_A_CALL)
            estimate = REGISTERS_OF_A_CALL;
        *registers = estimate > MOST_REGISTERS ? MOST_REGISTERS : estimate;
    }
    free(walk.seen);
    free(walk.stack);
    return ok ? CORUN_OK : CORUN_MEMORY;
}
