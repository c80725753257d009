/* SPDX-License-Identifier: MIT */
/*
 * List scheduling of basic blocks (Gibbons and Muchnick, "Efficient Instruction Scheduling for a Pipelined Architecture", 1986, with
 * latencies as priorities): of the instructions whose operands are there, the one with the longest way to the end of its block goes first, as
 * long as the registers last. Beyond the target the one that frees most registers goes first.
 *
 * The target is the most registers that cost no occupancy against the source order: registers are handed out in steps, and each
 * step fewer warps fit an SM. It is those of half occupancy at least (docs/fidelity.md says what this was decided on).
 */
#include "assemble/code.h"
#include "assemble/order.h"
#include "base/bits.h"
#include "ptx/liveness.h"

#include <stdlib.h>
#include <string.h>

/* What an assembler expects, in cycles: between the generations that are simulated; only their order matters. */
enum {
    LATENCY_ARITHMETIC = 5,
    LATENCY_SPECIAL = 20,
    LATENCY_DIVISION = 40,
    LATENCY_SHARED = 25,
    LATENCY_CONSTANT = 25,
    LATENCY_GLOBAL = 250
};

/* Live registers that take occupancy from a kernel of 2048 threads per SM and 65536 registers, less the assembler's own. */
static const uint32_t steps[] = {26, 34, 42, 50, 58, 66, 74, 90, 106, 122, 162, 249};
#define FULL_OCCUPANCY 26u /* of these the one at which all of the warps fit */
#define HALF_OCCUPANCY 58u /* and half of them */

/* Where a block does not keep to its target: how far an instruction may come before its place in the source. */
static const uint32_t windows[] = {UINT32_MAX, 128, 96, 64, 48, 32, 24, 16, 12, 8};
#define ROOM \
    4u /* for loads that come early where occupancy is lost already: the assembler would compute some values again, not keep them */

static uint32_t latency_of(const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_ATOM:
    case PTX_OP_LDMATRIX_SYNC:
    case PTX_OP_WMMA_LOAD_A_SYNC:
    case PTX_OP_WMMA_LOAD_B_SYNC:
    case PTX_OP_WMMA_LOAD_C_SYNC:
        switch (instruction->space) {
        case PTX_SPACE_SHARED:
            return LATENCY_SHARED;
        case PTX_SPACE_CONST:
        case PTX_SPACE_PARAM:
            return LATENCY_CONSTANT;
        default:
            return LATENCY_GLOBAL;
        }
    case PTX_OP_TEX:
    case PTX_OP_TEX_LEVEL:
    case PTX_OP_TEX_GRAD:
    case PTX_OP_TLD4:
        return LATENCY_GLOBAL;
    case PTX_OP_DIV:
    case PTX_OP_REM:
    case PTX_OP_SQRT:
        return LATENCY_DIVISION;
    case PTX_OP_RCP:
    case PTX_OP_RSQRT:
    case PTX_OP_SIN:
    case PTX_OP_COS:
    case PTX_OP_LG2:
    case PTX_OP_EX2:
    case PTX_OP_TANH:
    case PTX_OP_SHFL:
    case PTX_OP_MOVMATRIX_SYNC:
    case PTX_OP_MMA_SYNC:
    case PTX_OP_MMA_SP_SYNC:
    case PTX_OP_WMMA_MMA_SYNC:
    case PTX_OP_WMMA_MMA_XOR_POPC_SYNC:
    case PTX_OP_WMMA_MMA_AND_POPC_SYNC:
        return LATENCY_SPECIAL;
    default:
        return LATENCY_ARITHMETIC;
    }
}

#define NO_VALUE UINT32_MAX

/* What an instruction that is not placed yet will write to a register without a guard, so that the value before ends with its last read. */
struct later_value {
    uint32_t reads; /* of it, in the block */
    uint32_t next;  /* what is written to the register after it; or NO_VALUE */
};

/* Registers of one block: those that are live behind it, and what the instructions not yet placed still read. */
struct registers {
    const struct code *code;
    const bool *constants; /* per register: takes none, because its value need not be kept; NULL: all take one */
    uint32_t *reads;       /* per register: reads of the value that it holds, by instructions that are not placed */
    uint32_t *later;       /* per register: the value that is written to it next; or NO_VALUE */
    uint32_t *last;        /* per register: the last value that is written to it in the block; or NO_VALUE */
    VECTOR(struct later_value) values;
    uint64_t *live;    /* holds a value that is needed now */
    uint64_t *outlive; /* needed behind the block */
    uint32_t pressure; /* 32-bit registers live now */
    uint32_t peak;     /* the most of them since the block began */
    int32_t change;    /* of the pressure, by the instruction that is looked at */
    bool guarded;      /* that instruction */
    bool commit, failed;
};

static int32_t words(const struct registers *registers, uint32_t index)
{
    uint32_t bits = code_bits(registers->code, index);
    return registers->constants && registers->constants[index] ? 0 : (int32_t)(bits + 31) / 32 * (bits > 1);
}

/* Whether somebody still needs what the register holds. */
static bool is_needed(const struct registers *registers, uint32_t index)
{
    return registers->reads[index] || (registers->later[index] == NO_VALUE && bits_test(registers->outlive, index));
}

static void visit_read(struct registers *registers, uint32_t index)
{
    registers->reads[index]--;
    if (!bits_test(registers->live, index) || is_needed(registers, index))
        return;
    registers->change -= words(registers, index);
    if (registers->commit)
        bits_clear(registers->live, index);
}

static void visit_write(struct registers *registers, uint32_t index)
{
    uint32_t later = registers->later[index];
    if (registers->guarded || later == NO_VALUE) {
        if (bits_test(registers->live, index) || !is_needed(registers, index))
            return;
    } else {
        const struct later_value *value = &registers->values.data[later];
        if (registers->commit) {
            registers->reads[index] = value->reads;
            registers->later[index] = value->next;
        }
        if (!value->reads && (value->next != NO_VALUE || !bits_test(registers->outlive, index)))
            return;
    }
    registers->change += words(registers, index);
    if (registers->commit)
        bits_set(registers->live, index);
}

/* Every read of a register in an instruction is visited, then every write; the last read that is left frees it. */
static void visit_register(void *user, uint32_t index, enum ptx_access access)
{
    if (access == PTX_READ)
        visit_read(user, index);
    else
        visit_write(user, index);
}

static void restore_reads(void *user, uint32_t index, enum ptx_access access)
{
    struct registers *registers = user;
    registers->reads[index] += access == PTX_READ;
}

static int32_t pressure_change(struct registers *registers, const struct ptx_instruction *instruction)
{
    registers->change = 0;
    registers->guarded = instruction->guard != PTX_NONE;
    registers->commit = false;
    ptx_instruction_registers(instruction, visit_register, registers);
    ptx_instruction_registers(instruction, restore_reads, registers);
    return registers->change;
}

static void place(struct registers *registers, const struct ptx_instruction *instruction)
{
    registers->change = 0;
    registers->guarded = instruction->guard != PTX_NONE;
    registers->commit = true;
    ptx_instruction_registers(instruction, visit_register, registers);
    registers->pressure = (uint32_t)((int32_t)registers->pressure + registers->change);
    registers->peak = registers->pressure > registers->peak ? registers->pressure : registers->peak;
}

#define PLACED UINT32_MAX /* of an instruction that waits for nothing any more */

struct scheduler {
    struct code *code;
    struct registers registers;
    struct order order;
    struct ptx_instruction *placed; /* the block in its new order */
    uint32_t *height, *waits, *ready;
    uint32_t *available; /* earliest cycle, counted from the block's begin, at which what it needs is there */
    uint32_t ready_count, target, cycle;
    uint32_t window,
        next; /* only instructions before next + window are looked at; next: the first that is not placed */
    uint32_t source, more; /* registers of the source order that stay, and those that it has besides */
    bool spare;            /* registers that save no cycle are not taken */
    bool occupancy;        /* full occupancy is the first aim, and targets are kept */
    /* Per block: the registers live into it and out of it, as ranges were visited. */
    VECTOR(struct ptx_live_range) ranges;
    bool failed;
};

/* The longest way from an instruction to the end, in cycles; later ones are known already. */
static void find_heights(struct scheduler *scheduler, uint32_t first, uint32_t count)
{
    for (uint32_t i = count; i-- > 0;) {
        uint32_t latency = latency_of(&scheduler->code->instructions[first + i]), height = latency;
        for (uint32_t e = scheduler->order.first[i]; e != ORDER_END; e = scheduler->order.edges.data[e].next) {
            const struct order_edge *edge = &scheduler->order.edges.data[e];
            uint32_t way = scheduler->height[edge->to] + (edge->value ? latency : 1);
            height = way > height ? way : height;
        }
        scheduler->height[i] = height;
    }
}

/* Cycles that an instruction would wait for if it came next. */
static uint32_t wait_of(const struct scheduler *scheduler, uint32_t one)
{
    return scheduler->available[one] > scheduler->cycle ? scheduler->available[one] - scheduler->cycle : 0;
}

static bool is_near(const struct scheduler *scheduler, uint32_t one)
{
    return one - scheduler->next < scheduler->window;
}

static bool goes_before(const struct scheduler *scheduler, uint32_t one, uint32_t other)
{
    if (is_near(scheduler, one) != is_near(scheduler, other))
        return is_near(scheduler, one);
    uint32_t wait = wait_of(scheduler, one), other_wait = wait_of(scheduler, other);
    if (wait != other_wait)
        return wait < other_wait;
    if (scheduler->height[one] != scheduler->height[other])
        return scheduler->height[one] > scheduler->height[other];
    return one < other;
}

/* Of the ready ones: the one that waits least, the highest of several, then the first in the source of several; out of registers, the one that frees most. */
static uint32_t choose(struct scheduler *scheduler, uint32_t first)
{
    uint32_t best = 0, least = 0;
    int32_t least_change = INT32_MAX;
    for (uint32_t i = 1; i < scheduler->ready_count; i++)
        if (goes_before(scheduler, scheduler->ready[i], scheduler->ready[best]))
            best = i;
    struct registers *registers = &scheduler->registers;
    const struct ptx_instruction *instructions = scheduler->code->instructions + first;
    int32_t change = pressure_change(registers, &instructions[scheduler->ready[best]]);
    if (change <= 0 || (uint32_t)((int32_t)registers->pressure + change) <= scheduler->target)
        return best;
    for (uint32_t i = 0; i < scheduler->ready_count; i++) {
        uint32_t one = scheduler->ready[i];
        if (!is_near(scheduler, one))
            continue;
        change = pressure_change(registers, &instructions[one]);
        bool higher = scheduler->height[one] > scheduler->height[scheduler->ready[least]];
        bool earlier =
            scheduler->height[one] == scheduler->height[scheduler->ready[least]] && one < scheduler->ready[least];
        if (change < least_change || (change == least_change && (higher || earlier))) {
            least_change = change;
            least = i;
        }
    }
    return least;
}

static void run_list(struct scheduler *scheduler, uint32_t first, uint32_t count)
{
    scheduler->ready_count = scheduler->cycle = scheduler->next = 0;
    for (uint32_t i = 0; i < count; i++) {
        scheduler->available[i] = 0;
        scheduler->waits[i] = scheduler->order.waits[i];
        if (!scheduler->waits[i])
            scheduler->ready[scheduler->ready_count++] = i;
    }
    for (uint32_t n = 0; n < count; n++) {
        uint32_t at = choose(scheduler, first), one = scheduler->ready[at];
        scheduler->ready[at] = scheduler->ready[--scheduler->ready_count];
        scheduler->waits[one] = PLACED;
        while (scheduler->next < count && scheduler->waits[scheduler->next] == PLACED)
            scheduler->next++;
        place(&scheduler->registers, &scheduler->code->instructions[first + one]);
        scheduler->placed[n] = scheduler->code->instructions[first + one];
        uint32_t issued = scheduler->cycle + wait_of(scheduler, one), latency = latency_of(&scheduler->placed[n]);
        scheduler->cycle = issued + 1;
        for (uint32_t e = scheduler->order.first[one]; e != ORDER_END; e = scheduler->order.edges.data[e].next) {
            const struct order_edge *edge = &scheduler->order.edges.data[e];
            uint32_t there = issued + (edge->value ? latency : 1);
            if (scheduler->available[edge->to] < there)
                scheduler->available[edge->to] = there;
            if (!--scheduler->waits[edge->to])
                scheduler->ready[scheduler->ready_count++] = edge->to;
        }
    }
}

static void count_access(void *user, uint32_t index, enum ptx_access access)
{
    struct registers *registers = user;
    uint32_t last = registers->last[index], next = (uint32_t)registers->values.count;
    if (access == PTX_READ) {
        ++*(last == NO_VALUE ? &registers->reads[index] : &registers->values.data[last].reads);
    } else if (!registers->guarded) {
        if (!vector_push(&registers->values, ((struct later_value){0, NO_VALUE}))) {
            registers->failed = true;
            return;
        }
        *(last == NO_VALUE ? &registers->later[index] : &registers->values.data[last].next) = next;
        registers->last[index] = next;
    }
}

static void forget_access(void *user, uint32_t index, enum ptx_access access)
{
    struct registers *registers = user;
    (void)access;
    registers->reads[index] = 0;
    registers->later[index] = registers->last[index] = NO_VALUE;
}

/* Live registers at the start of a block from its ranges, which are `count` rows from `ranges`. */
static void enter_block(struct registers *registers, const struct ptx_live_range *ranges, size_t count)
{
    registers->pressure = 0;
    for (size_t i = 0; i < count; i++)
        if (ranges[i].stays)
            bits_set(registers->outlive, ranges[i].register_index);
    for (size_t i = 0; i < count; i++) {
        uint32_t index = ranges[i].register_index;
        if (!ranges[i].enters || bits_test(registers->live, index) || !is_needed(registers, index))
            continue;
        bits_set(registers->live, index);
        registers->pressure += (uint32_t)words(registers, index);
    }
    registers->peak = registers->pressure;
}

static void leave_block(struct registers *registers, const struct ptx_live_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bits_clear(registers->outlive, ranges[i].register_index);
        bits_clear(registers->live, ranges[i].register_index);
    }
}

/* The block within so many registers, in `placed`; how many cycles it takes. */
static uint32_t try_block(struct scheduler *scheduler, const struct ptx_block *block,
                          const struct ptx_live_range *ranges, size_t range_count, uint32_t target)
{
    struct registers *registers = &scheduler->registers;
    const struct ptx_instruction *instructions = scheduler->code->instructions;
    scheduler->target = target;
    registers->values.count = 0;
    for (uint32_t i = block->first; i < block->end; i++) {
        registers->guarded = instructions[i].guard != PTX_NONE;
        ptx_instruction_registers(&instructions[i], count_access, registers);
    }
    enter_block(registers, ranges, range_count);
    run_list(scheduler, block->first, block->end - block->first);
    for (uint32_t i = block->first; i < block->end; i++)
        ptx_instruction_registers(&instructions[i], forget_access, registers);
    leave_block(registers, ranges, range_count);
    return scheduler->cycle;
}

/* The fewest registers, by steps of occupancy, with which the block takes as few cycles as with all of them. */
static uint32_t spared_target(struct scheduler *scheduler, const struct ptx_block *block,
                              const struct ptx_live_range *ranges, size_t range_count, uint32_t most)
{
    uint32_t shortest = try_block(scheduler, block, ranges, range_count, most);
    for (uint32_t i = 0; i < sizeof steps / sizeof *steps && steps[i] + scheduler->more < most; i++)
        if (steps[i] >= scheduler->source &&
            try_block(scheduler, block, ranges, range_count, steps[i] + scheduler->more) <= shortest)
            return steps[i] + scheduler->more;
    return most;
}

/* The block within so many registers, as far from the order of the source as they allow. */
static void keep_target(struct scheduler *scheduler, const struct ptx_block *block, const struct ptx_live_range *ranges,
                        size_t range_count, uint32_t target)
{
    uint32_t count = block->end - block->first;
    for (uint32_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        if (i && windows[i] >= count)
            continue;
        scheduler->window = windows[i];
        try_block(scheduler, block, ranges, range_count, target);
        if (scheduler->registers.peak <= target)
            return;
    }
}

static enum corun_status schedule_block(struct scheduler *scheduler, const struct ptx_block *block,
                                        const struct ptx_live_range *ranges, size_t range_count)
{
    uint32_t count = block->end - block->first, target = scheduler->target;
    if (count < 3)
        return CORUN_OK;
    enum corun_status status = order_block(&scheduler->order, scheduler->code, block->first, count);
    if (status != CORUN_OK)
        return status;
    find_heights(scheduler, block->first, count);
    scheduler->window = UINT32_MAX;
    if (scheduler->occupancy)
        keep_target(scheduler, block, ranges, range_count, target);
    else if (scheduler->spare)
        try_block(scheduler, block, ranges, range_count, spared_target(scheduler, block, ranges, range_count, target));
    else
        try_block(scheduler, block, ranges, range_count, target);
    memcpy(&scheduler->code->instructions[block->first], scheduler->placed, count * sizeof *scheduler->placed);
    scheduler->target = target;
    return scheduler->registers.failed ? CORUN_MEMORY : CORUN_OK;
}

static void keep_range(void *user, const struct ptx_live_range *range)
{
    struct scheduler *scheduler = user;
    if (!vector_push(&scheduler->ranges, *range))
        scheduler->failed = true;
}

static int by_place(const void *left, const void *right)
{
    const struct ptx_live_range *a = left, *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->register_index < b->register_index ? -1 : a->register_index > b->register_index;
}

static uint32_t target_of(uint32_t pressure, uint32_t fewest)
{
    if (fewest == FULL_OCCUPANCY && pressure > fewest)
        pressure += ROOM;
    uint32_t i = 0;
    while (i + 1 < sizeof steps / sizeof *steps && steps[i] < pressure)
        i++;
    return steps[i] > fewest ? steps[i] : fewest;
}

static enum corun_status schedule_blocks(struct scheduler *scheduler)
{
    struct code *code = scheduler->code;
    struct ptx_liveness liveness;
    enum corun_status status = ptx_liveness_create(&code->function, &code->flow, code->arena, &liveness);
    if (status == CORUN_OK)
        status = ptx_liveness_ranges(&code->function, &code->flow, keep_range, scheduler);
    if (status != CORUN_OK || scheduler->failed)
        return CORUN_MEMORY;
    scheduler->source = liveness.kept_pressure;
    scheduler->more = scheduler->occupancy ? 0 : liveness.pressure - liveness.kept_pressure;
    scheduler->registers.constants = scheduler->occupancy ? liveness.constants : NULL;
    scheduler->target =
        target_of(scheduler->source, scheduler->occupancy ? FULL_OCCUPANCY : HALF_OCCUPANCY) + scheduler->more;
    if (scheduler->ranges.count)
        qsort(scheduler->ranges.data, scheduler->ranges.count, sizeof *scheduler->ranges.data, by_place);
    size_t at = 0;
    for (uint32_t i = 0; i < code->flow.block_count && status == CORUN_OK; i++) {
        const struct ptx_block *block = &code->flow.blocks[i];
        size_t end = at;
        while (end < scheduler->ranges.count && scheduler->ranges.data[end].first < block->end)
            end++;
        /* A kernel without registers has no ranges at all. */
        status = schedule_block(scheduler, block, end > at ? &scheduler->ranges.data[at] : NULL, end - at);
        at = end;
    }
    return status;
}

enum corun_status code_schedule(struct code *code, uint32_t rewrites)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < code->flow.block_count; i++) {
        uint32_t count = code->flow.blocks[i].end - code->flow.blocks[i].first;
        longest = count > longest ? count : longest;
    }
    size_t registers = (size_t)code->function.register_count + 1;
    struct scheduler scheduler = {
        .code = code, .spare = rewrites & ASSEMBLE_SPARE, .occupancy = rewrites & ASSEMBLE_OCCUPANCY};
    scheduler.registers = (struct registers){.code = code,
                                             .reads = calloc(3 * registers, sizeof(uint32_t)),
                                             .live = calloc(BIT_WORDS(registers), sizeof(uint64_t)),
                                             .outlive = calloc(BIT_WORDS(registers), sizeof(uint64_t))};
    scheduler.placed = calloc((size_t)longest + 1, sizeof *scheduler.placed);
    scheduler.height = calloc(4 * ((size_t)longest + 1), sizeof *scheduler.height);
    enum corun_status status = order_create(&scheduler.order, code, longest);
    if (!scheduler.registers.reads || !scheduler.registers.live || !scheduler.registers.outlive || !scheduler.placed ||
        !scheduler.height)
        status = CORUN_MEMORY;
    if (status == CORUN_OK) {
        scheduler.registers.later = scheduler.registers.reads + registers;
        scheduler.registers.last = scheduler.registers.later + registers;
        memset(scheduler.registers.later, 0xff, 2 * registers * sizeof(uint32_t)); /* NO_VALUE */
        scheduler.waits = scheduler.height + longest + 1;
        scheduler.ready = scheduler.waits + longest + 1;
        scheduler.available = scheduler.ready + longest + 1;
        status = schedule_blocks(&scheduler);
    }
    code->changed = true;
    order_destroy(&scheduler.order);
    vector_free(&scheduler.ranges);
    vector_free(&scheduler.registers.values);
    free(scheduler.registers.reads);
    free(scheduler.registers.live);
    free(scheduler.registers.outlive);
    free(scheduler.placed);
    free(scheduler.height);
    return status;
}
