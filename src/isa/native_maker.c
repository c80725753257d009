/* SPDX-License-Identifier: MIT */
/* Which part of a warp's registers is in which vector register, and what blocks have besides their operations' own code. */
#include "isa/native_maker.h"

static operand home_of(int32_t part)
{
    return part >= 0 ? at_memory(ALL_REGISTERS, (int64_t)part * PART_BYTES, PART_BYTES)
                     : at_memory(ALL_CONSTANTS, (int64_t)(-1 - part) * SLOT_BYTES, PART_BYTES);
}

static uint32_t find_part(const struct block_maker *maker, int32_t part)
{
    uint32_t vector = 0;
    while (vector < VECTOR_REGISTERS && maker->held[vector].part != part)
        vector++;
    return vector;
}

/* A free one, else the one that was used longest ago. */
static uint32_t take_vector(struct block_maker *maker)
{
    uint32_t best = VECTOR_REGISTERS;
    for (uint32_t i = 0; i < VECTOR_REGISTERS; i++) {
        const struct held *held = &maker->held[i];
        if (held->pinned)
            continue;
        if (held->part == NO_PART) {
            best = i;
            break;
        }
        if (best == VECTOR_REGISTERS || held->used < maker->held[best].used)
            best = i;
    }
    if (best == VECTOR_REGISTERS) { /* no operation needs so many */
        maker->to->failed = true;
        return 0;
    }
    struct held *held = &maker->held[best];
    if (held->dirty)
        assemble_two(maker->to, ZYDIS_MNEMONIC_VMOVDQA32, home_of(held->part), at_zmm(best));
    *held = (struct held){NO_PART, false, true, ++maker->clock};
    return best;
}

uint32_t maker_get(struct block_maker *maker, int32_t part)
{
    uint32_t vector = find_part(maker, part);
    if (vector == VECTOR_REGISTERS) {
        vector = take_vector(maker);
        maker_load(maker, vector, part);
        maker->held[vector].part = part;
    }
    maker->held[vector].pinned = true;
    maker->held[vector].used = ++maker->clock;
    return vector;
}

uint32_t maker_new(struct block_maker *maker)
{
    return take_vector(maker);
}

void maker_bind(struct block_maker *maker, uint32_t vector, int32_t part)
{
    uint32_t old = find_part(maker, part);
    if (old < VECTOR_REGISTERS)
        maker->held[old] = (struct held){NO_PART, false, maker->held[old].pinned, 0};
    maker->held[vector] = (struct held){part, true, true, ++maker->clock};
}

void maker_unpin(struct block_maker *maker)
{
    for (uint32_t i = 0; i < VECTOR_REGISTERS; i++)
        maker->held[i].pinned = false;
}

void maker_store(struct block_maker *maker)
{
    const struct held *held = maker->held;
    for (uint32_t i = 0; i < VECTOR_REGISTERS; i++)
        if (held[i].dirty)
            assemble_two(maker->to, ZYDIS_MNEMONIC_VMOVDQA32, home_of(held[i].part), at_zmm(i));
}

void maker_store_operand(struct block_maker *maker, const struct held *held, uint16_t source, uint32_t parts)
{
    for (uint32_t part = 0; part < parts; part++)
        for (uint32_t i = 0; i < VECTOR_REGISTERS; i++)
            if (held[i].dirty && held[i].part == part_of(source, part))
                assemble_two(maker->to, ZYDIS_MNEMONIC_VMOVDQA32, home_of(held[i].part), at_zmm(i));
}

void maker_load(struct block_maker *maker, uint32_t vector, int32_t part)
{
    assemble_two(maker->to, ZYDIS_MNEMONIC_VMOVDQA32, at_zmm(vector), home_of(part));
}

void maker_forget(struct block_maker *maker)
{
    for (uint32_t i = 0; i < VECTOR_REGISTERS; i++)
        maker->held[i] = (struct held){NO_PART, false, false, 0};
}

/* ---- lanes ---- */

bool maker_is_masked(const struct block_maker *maker, const struct operation *op)
{
    return maker->masked || op->guard != NO_PREDICATE;
}

void maker_lanes_to_eax(struct block_maker *maker, const struct operation *op)
{
    struct assembler *to = maker->to;
    const operand lanes = at_register(ZYDIS_REGISTER_EAX);
    const operand running = at_memory(FRAME, offsetof(struct native_frame, mask), 4);
    if (op->guard == NO_PREDICATE) {
        ASSEMBLE(to, MOV, lanes, running);
        return;
    }
    ASSEMBLE(to, MOV, lanes, at_memory(ALL_PREDICATES, (int64_t)op->guard * 4, 4));
    if (op->guard_negated)
        ASSEMBLE(to, NOT, lanes);
    if (maker->masked)
        ASSEMBLE(to, AND, lanes, running);
}

void maker_count_guard(struct block_maker *maker, const struct operation *op)
{
    maker_lanes_to_eax(maker, op);
    ASSEMBLE(maker->to, POPCNT, at_register(ZYDIS_REGISTER_EAX), at_register(ZYDIS_REGISTER_EAX));
    ASSEMBLE(maker->to, ADD, at_memory(FRAME, offsetof(struct native_frame, guarded_threads), 8),
             at_register(ZYDIS_REGISTER_RAX));
    if (!op->merged)
        return;
    ASSEMBLE(maker->to, IMUL, at_register(ZYDIS_REGISTER_RAX), at_register(ZYDIS_REGISTER_RAX), at_number(op->merged));
    ASSEMBLE(maker->to, ADD, at_memory(FRAME, offsetof(struct native_frame, guarded_merged), 8),
             at_register(ZYDIS_REGISTER_RAX));
}

void maker_cut_mask(struct block_maker *maker, bool wide, uint32_t part)
{
    ASSEMBLE(maker->to, KSHIFTRD, at_mask(MASK_PART), at_mask(MASK_ALL), at_number(part * (wide ? 8 : 16)));
}

void maker_blend(struct block_maker *maker, bool wide, uint32_t part, uint32_t vector, uint32_t old)
{
    maker_cut_mask(maker, wide, part);
    assemble(maker->to, wide ? ZYDIS_MNEMONIC_VPBLENDMQ : ZYDIS_MNEMONIC_VPBLENDMD, 4,
             (operand[]){at_zmm(vector), at_mask(MASK_PART), at_zmm(old), at_zmm(vector)});
}

/* ---- the way on ---- */

/* A jump to the end of all blocks, from where the next operation is that one. */
static void leave_to(struct block_maker *maker, uint32_t next, ZydisMnemonic jump)
{
    ASSEMBLE(maker->to, MOV, at_register(ZYDIS_REGISTER_ECX), at_number(next));
    assemble_jump_back(maker->to, jump, maker->exit);
}

static void add(struct block_maker *maker, size_t offset, int64_t number)
{
    if (number)
        ASSEMBLE(maker->to, ADD, at_memory(FRAME, (int64_t)offset, 8), at_number(number));
}

/* The block's operations before `end` have been run. */
static void count_operations(struct block_maker *maker, uint32_t end)
{
    int64_t unguarded = 0, merged = 0;
    for (uint32_t i = maker->first; i < end; i++) {
        const struct operation *op = &maker->kernel->code[i];
        unguarded += op->guard == NO_PREDICATE;
        merged += op->guard == NO_PREDICATE ? op->merged : 0;
    }
    add(maker, offsetof(struct native_frame, left), -(int64_t)(end - maker->first));
    add(maker, offsetof(struct native_frame, unguarded), unguarded);
    add(maker, offsetof(struct native_frame, unguarded_merged), merged);
}

/* To the block that begins there, unless it has no code yet or more operations than may be run, or lanes meet there. */
static void go_on(struct block_maker *maker, uint32_t next)
{
    struct assembler *to = maker->to;
    uint32_t operations = next < maker->kernel->code_length ? maker->blocks[next].operations : 0;
    ASSEMBLE(to, MOV, at_register(ZYDIS_REGISTER_ECX), at_number(next));
    if (!operations) {
        assemble_jump_back(to, ZYDIS_MNEMONIC_JMP, maker->exit);
        return;
    }
    ASSEMBLE(to, CMP, at_memory(FRAME, offsetof(struct native_frame, left), 8), at_number(operations));
    assemble_jump_back(to, ZYDIS_MNEMONIC_JB, maker->exit);
    if (maker->meets[next]) {
        ASSEMBLE(to, CMP, at_register(ZYDIS_REGISTER_ECX),
                 at_memory(FRAME, offsetof(struct native_frame, reconverge), 4));
        assemble_jump_back(to, ZYDIS_MNEMONIC_JZ, maker->exit);
    }
    ASSEMBLE(to, MOV, at_register(ZYDIS_REGISTER_RAX), at_number((int64_t)(uintptr_t)&maker->blocks[next].code));
    ASSEMBLE(to, MOV, at_register(ZYDIS_REGISTER_RAX), at_memory(ZYDIS_REGISTER_RAX, 0, 8));
    ASSEMBLE(to, TEST, at_register(ZYDIS_REGISTER_RAX), at_register(ZYDIS_REGISTER_RAX));
    assemble_jump_back(to, ZYDIS_MNEMONIC_JZ, maker->exit);
    ASSEMBLE(to, JMP, at_register(ZYDIS_REGISTER_RAX));
}

/* ---- functions of C ---- */

/* The operation's lanes into edx. Gives the jump that is taken where there are none; 0: there is no such jump. */
static size_t prepare_lanes(struct block_maker *maker, const struct operation *op)
{
    struct assembler *to = maker->to;
    const operand lanes = at_register(ZYDIS_REGISTER_EDX);
    if (!maker_is_masked(maker, op)) {
        ASSEMBLE(to, MOV, lanes, at_number(-1));
        return 0;
    }
    maker_lanes_to_eax(maker, op);
    ASSEMBLE(to, MOV, lanes, at_register(ZYDIS_REGISTER_EAX));
    if (op->guard == NO_PREDICATE)
        return 0;
    ASSEMBLE(to, TEST, lanes, lanes);
    return assemble_jump(to, ZYDIS_MNEMONIC_JZ);
}

void maker_call_function(struct block_maker *maker, const struct operation *op)
{
    struct assembler *to = maker->to;
    maker_store(maker);
    if (op->guard != NO_PREDICATE)
        maker_count_guard(maker, op);
    size_t none = prepare_lanes(maker, op);
    ASSEMBLE(to, MOV, at_register(ZYDIS_REGISTER_RDI), at_number((int64_t)(uintptr_t)op));
    ASSEMBLE(to, MOV, at_register(ZYDIS_REGISTER_RSI), at_memory(FRAME, offsetof(struct native_frame, warp), 8));
    _Static_assert(offsetof(struct corun_warp, lanes) == 0, "a warp is its lanes");
    assemble_call(to, (const void *)(uintptr_t)op->run);
    if (none)
        assemble_target(to, none);
    maker_forget(maker);
}

void maker_call_executor(struct block_maker *maker, uint32_t at, bool keep)
{
    struct assembler *to = maker->to;
    const struct operation *op = &maker->kernel->code[at];
    size_t none = prepare_lanes(maker, op);
    if (keep) {
        ASSEMBLE(to, MOV, at_register(ZYDIS_REGISTER_ESI), at_number(at));
        assemble_jump_back(to, ZYDIS_MNEMONIC_CALL, maker->carry_out);
    } else {
        ASSEMBLE(to, MOV, at_register(ZYDIS_REGISTER_RDI), at_memory(FRAME, offsetof(struct native_frame, warp), 8));
        ASSEMBLE(to, MOV, at_memory(ZYDIS_REGISTER_RDI, offsetof(struct corun_warp, stack.pc), 4), at_number(at));
        ASSEMBLE(to, MOV, at_register(ZYDIS_REGISTER_RSI), at_number((int64_t)(uintptr_t)op));
        assemble_call(to, (const void *)(uintptr_t)executor_carry_out);
        ASSEMBLE(to, TEST, at_register(ZYDIS_REGISTER_AL), at_register(ZYDIS_REGISTER_AL));
    }
    size_t done = assemble_jump(to, ZYDIS_MNEMONIC_JNZ);
    ASSEMBLE(to, MOV, at_memory(FRAME, offsetof(struct native_frame, faulted), 4), at_number(1));
    count_operations(maker, at);
    leave_to(maker, at, ZYDIS_MNEMONIC_JMP);
    assemble_target(to, done);
    if (none)
        assemble_target(to, none);
}

/* ---- the end of a block ---- */

void maker_end(struct block_maker *maker, uint32_t end)
{
    maker_store(maker);
    count_operations(maker, end);
    go_on(maker, end);
}

/* Behind the branch at `end`. Where lanes on that way leave places at which others wait for them, executor_run does what there is to do. */
static void go_way(struct block_maker *maker, uint32_t end, uint32_t way, uint32_t next)
{
    const bool leaves = kernel_leaves_places(maker->kernel, &maker->kernel->code[end], way);
    count_operations(maker, leaves ? end : end + 1);
    if (leaves)
        leave_to(maker, end, ZYDIS_MNEMONIC_JMP);
    else
        go_on(maker, next);
}

/*
 * Where all lanes take it or none, the way goes on by itself; where they part, executor_run does what there is to do. A branch without a guard is
 * taken by all.
 */
void maker_end_with_branch(struct block_maker *maker, uint32_t end)
{
    struct assembler *to = maker->to;
    const struct operation *op = &maker->kernel->code[end];
    maker_store(maker);
    if (op->guard != NO_PREDICATE) {
        maker_lanes_to_eax(maker, op);
        ASSEMBLE(to, TEST, at_register(ZYDIS_REGISTER_EAX), at_register(ZYDIS_REGISTER_EAX));
        size_t none = assemble_jump(to, ZYDIS_MNEMONIC_JZ);
        ASSEMBLE(to, CMP, at_register(ZYDIS_REGISTER_EAX), at_memory(FRAME, offsetof(struct native_frame, mask), 4));
        size_t all = assemble_jump(to, ZYDIS_MNEMONIC_JZ);
        count_operations(maker, end);
        leave_to(maker, end, ZYDIS_MNEMONIC_JMP);
        assemble_target(to, none);
        go_way(maker, end, 1, end + 1);
        assemble_target(to, all);
        if (!kernel_leaves_places(maker->kernel, op, 0))
            maker_count_guard(maker, op);
    }
    go_way(maker, end, 0, op->target);
}
