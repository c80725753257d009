/* SPDX-License-Identifier: MIT */
/* Which pipeline an instruction takes, for how long, and what it reads and writes on the way. */
#include "gpu/machine_op.h"

#include "base/bits.h"

#include <string.h>

struct timing {
    uint32_t latency, interval;
};

static struct timing conversion_timing(const struct corun_gpu_config *c)
{
    return (struct timing){c->convert_latency ? c->convert_latency : c->sfu_latency,
                           c->convert_interval ? c->convert_interval : c->sfu_interval};
}

static struct timing timing_of(const struct corun_gpu_config *c, uint32_t unit, uint32_t operation)
{
#define ROW(prefix, sqrt) \
    { \
        [CORUN_OPERATION_ADD] = {c->prefix##_add_latency, c->prefix##_add_interval}, \
        [CORUN_OPERATION_MAX] = {c->prefix##_max_latency, c->prefix##_max_interval}, \
        [CORUN_OPERATION_MUL] = {c->prefix##_mul_latency, c->prefix##_mul_interval}, \
        [CORUN_OPERATION_MAD] = {c->prefix##_mad_latency, c->prefix##_mad_interval}, \
        [CORUN_OPERATION_DIV] = {c->prefix##_div_latency, c->prefix##_div_interval}, \
        [CORUN_OPERATION_SQRT] = {c->prefix##_##sqrt##_latency, c->prefix##_##sqrt##_interval}, \
    }
    const struct timing int_rows[CORUN_OPERATION_COUNT] = ROW(int, div);
    const struct timing fp32_rows[CORUN_OPERATION_COUNT] = ROW(fp32, sqrt);
    const struct timing fp64_rows[CORUN_OPERATION_COUNT] = ROW(fp64, sqrt);
#undef ROW
    switch (unit) {
    case CORUN_UNIT_FP32:
        return fp32_rows[operation];
    case CORUN_UNIT_FP64:
        return fp64_rows[operation];
    case CORUN_UNIT_SFU:
        return (struct timing){c->sfu_latency, c->sfu_interval};
    case CORUN_UNIT_TENSOR: /* by its work: set_tensor */
        return (struct timing){c->tensor_latency, c->tensor_interval};
    case CORUN_UNIT_MEMORY:
    case CORUN_UNIT_CONTROL:
        return (struct timing){c->int_add_latency, 1};
    default:
        return int_rows[operation];
    }
}

/* Products of integers are single precision pipelines' work, and so may be what can be written as one; comparisons are the integer ones'. */
static void mix_pipes(const struct corun_gpu_config *c, const struct corun_instruction *instruction,
                      struct machine_op *op)
{
    bool product = instruction->operation == CORUN_OPERATION_MUL || instruction->operation == CORUN_OPERATION_MAD;
    if (instruction->flags & CORUN_COMPARISON) {
        op->pipe = PIPE_INT;
        op->interval = (uint16_t)c->int_max_interval;
    } else if (instruction->unit != CORUN_UNIT_INT) {
        return;
    } else if (product) {
        op->pipe = PIPE_FP32;
    } else if (instruction->flags & CORUN_EITHER) {
        op->either_interval = (uint16_t)c->int_mad_interval;
    }
}

static uint8_t pipe_of(const struct corun_gpu_config *config, uint32_t unit)
{
    switch (unit) {
    case CORUN_UNIT_FP32:
        return PIPE_FP32;
    case CORUN_UNIT_FP64:
        return config->fp64_units ? PIPE_FP64 : PIPE_FP32;
    case CORUN_UNIT_SFU:
        return PIPE_SFU;
    case CORUN_UNIT_MEMORY:
        return PIPE_MEMORY;
    default:
        return config->int_shares_fp32 ? PIPE_FP32 : PIPE_INT;
    }
}

static uint32_t tensor_rate(const struct corun_gpu_config *c, uint32_t type)
{
#define RATE(name, label, meaning) [CORUN_TENSOR_##name] = c->tensor_##label##_rate,
    const uint32_t rates[CORUN_TENSOR_TYPE_COUNT] = {CORUN_TENSOR_TYPES(RATE)};
#undef RATE
    return c->tensor_units ? rates[type] : 0;
}

/* The same for products of warpgroups. */
static uint32_t warpgroup_rate(const struct corun_gpu_config *c, uint32_t type)
{
    static const uint8_t bits[CORUN_TENSOR_TYPE_COUNT] = {
        [CORUN_TENSOR_F16] = 16, [CORUN_TENSOR_TF32] = 32, [CORUN_TENSOR_F64] = 64, [CORUN_TENSOR_F8] = 8,
        [CORUN_TENSOR_S8] = 8,   [CORUN_TENSOR_S4] = 4,    [CORUN_TENSOR_B1] = 1};
    return c->tensor_units && c->tensor_warpgroup_rate ? c->tensor_warpgroup_rate * 16u / bits[type]
                                                       : tensor_rate(c, type);
}

/* By its multiply-adds; where tensor pipelines do not know the type, as many multiply-adds of the other pipelines. */
static void set_tensor(const struct corun_gpu_config *c, const struct corun_instruction *instruction,
                       struct machine_op *op)
{
    bool group = instruction->flags & CORUN_WARPGROUP;
    uint32_t rate = (group ? warpgroup_rate : tensor_rate)(c, instruction->operation),
             each = instruction->multiply_adds;
    uint32_t width = c->shared_banks * c->shared_bank_bytes;
    /* the parts of four warps are read one behind the other, while all of them multiply */
    uint64_t reads = divide_up((uint64_t)instruction->shared_bytes * CORUN_WARPGROUP_WARPS, width);
    bool wide = instruction->operation == CORUN_TENSOR_F64;
    uint64_t interval = (uint64_t)each * (wide ? c->fp64_mad_interval : c->fp32_mad_interval), latency;
    if (rate) {
        interval = ((uint64_t)each * CORUN_WARP_LANES + rate - 1) / rate;
        interval = interval < c->tensor_interval ? c->tensor_interval : interval;
        interval = interval < reads ? reads : interval;
        latency = c->tensor_latency > interval ? c->tensor_latency : interval;
        op->pipe = PIPE_TENSOR;
    } else {
        latency = interval + (wide ? c->fp64_mad_latency : c->fp32_mad_latency);
        op->pipe = pipe_of(c, wide ? CORUN_UNIT_FP64 : CORUN_UNIT_FP32);
    }
    op->multiply_adds = instruction->multiply_adds;
    op->shared_bytes = instruction->shared_bytes;
    op->interval = (uint16_t)(interval < UINT16_MAX ? interval : UINT16_MAX);
    op->latency = (uint16_t)(latency < UINT16_MAX ? latency : UINT16_MAX);
}

/* What a precise quotient or root begins with, an approximation, keeps a special function pipeline as well. */
static uint16_t beside_special(const struct corun_gpu_config *c, const struct corun_instruction *instruction)
{
    bool quotient = instruction->operation == CORUN_OPERATION_DIV || instruction->operation == CORUN_OPERATION_SQRT;
    uint32_t interval = c->fp32_div_specials * c->sfu_interval;
    if (instruction->unit != CORUN_UNIT_FP32 || !quotient)
        return 0;
    return (uint16_t)(interval < UINT16_MAX ? interval : UINT16_MAX);
}

/* Instructions of one chain cost a dependent operation each, a product's; the latency of exact ones is their own. */
static void set_slots(const struct corun_gpu_config *c, const struct corun_instruction *instruction,
                      struct machine_op *op)
{
    op->slots = (uint16_t)c->warp_issue_cycles;
    if (!c->expansions || instruction->flags & CORUN_COMPARED)
        return;
    op->slots = (uint16_t)(op->slots * (1 + instruction->further));
    op->latency = (uint16_t)(op->latency + instruction->chain * (c->collect_cycles + c->fp32_mul_latency));
}

/*
 * Integers of 64 bits by what their halves need: of the pipeline for logic, of the one for products, of whichever is free first. Nothing at all:
 * the halves have other names. Special functions wait for no other part.
 */
static void set_pieces(const struct corun_gpu_config *c, const struct corun_instruction *instruction,
                       struct machine_op *op)
{
    uint32_t logic = instruction->pieces.logic, products = instruction->pieces.products,
             either = instruction->pieces.either, special = instruction->pieces.special;
    if (!c->expansions || !(instruction->flags & CORUN_PIECES))
        return;
    if (!(logic + products + either + special))
        op->latency = 0;
    if (special) {
        op->pipe = PIPE_SFU;
        op->interval = (uint16_t)(special * c->sfu_interval);
        op->latency = (uint16_t)(op->latency + c->sfu_latency - c->int_add_latency);
    } else if (!c->mixed_pipes) {
        op->interval = (uint16_t)((logic + products + either) * op->interval);
    } else {
        op->pipe = logic ? PIPE_INT : PIPE_FP32;
        op->interval = (uint16_t)(logic ? logic * c->int_add_interval : products * c->int_mad_interval);
        op->beside_interval = (uint16_t)(logic ? products * c->int_mad_interval : 0);
        op->either_interval = (uint16_t)(either * c->int_mad_interval);
    }
}

/*
 * Atomics whose lanes are put together: what ptxas 13.0 for sm_75 and sm_80 writes beside the atomic, in instructions. With a value of
 * each lane's own whole warps alone take this way, through five shuffles; from compute capability 8.0 on any lanes do where nobody
 * wants a result, through one REDUX.
 */
static void set_gathered(const struct corun_gpu_config *c, const struct corun_instruction *instruction,
                         struct machine_op *op)
{
    enum { COUNT = 9, COUNT_ALONE = 5, COUNT_WIDE = 17, COUNT_WIDE_ALONE = 10, SCAN = 23, TREE = 15, REDUX = 6 };
    bool alone = instruction->flags & CORUN_REDUCTION, redux = alone && c->compute_capability >= 80;
    uint32_t further = 0;
    if (instruction->flags & CORUN_GATHERED && instruction->access_bytes == 8)
        further = alone ? COUNT_WIDE_ALONE : COUNT_WIDE;
    else if (instruction->flags & CORUN_GATHERED)
        further = alone ? COUNT_ALONE : COUNT;
    else if (instruction->flags & CORUN_GATHERED_VALUES)
        further = redux ? REDUX : alone ? TREE : SCAN;
    op->gathered = further == 0 ? 0 : instruction->flags & CORUN_GATHERED || redux ? 1 : CORUN_WARP_LANES;
    op->slots = (uint16_t)(op->slots * (1 + further));
}

/* Those of shared memory that banks do not perform. A lock is taken, its word is changed, the lock is given back, and the next lane comes. */
static void set_loop(const struct corun_gpu_config *c, const struct corun_instruction *instruction,
                     struct machine_op *op)
{
    enum { LOCK = 4 };
    bool shared = instruction->space == CORUN_SPACE_SHARED || instruction->space == CORUN_SPACE_GENERIC;
    if (!c->shared_loop_cycles || !shared || !(instruction->flags & CORUN_ATOMIC))
        return;
    if (c->shared_locks)
        op->loop = LOCK;
    else if (instruction->flags & CORUN_COMPARED)
        op->loop = (uint8_t)(1 + instruction->further);
}

static void add_once(uint16_t *list, uint8_t *count, uint16_t entry)
{
    for (uint32_t i = 0; i < *count; i++)
        if (list[i] == entry)
            return;
    list[(*count)++] = entry;
}

/* What an instruction waits for, reads and writes, before it is packed. */
struct lists {
    uint16_t hazards[CORUN_MAX_SOURCES + CORUN_MAX_DESTINATIONS];
    uint16_t reads[CORUN_MAX_SOURCES];
    uint16_t written[CORUN_MAX_DESTINATIONS];
};

/* Returns where the next list begins. */
static uint8_t pack(struct machine_op *op, uint32_t at, const uint16_t *list, uint32_t count, uint32_t few)
{
    for (uint32_t i = 0; i < count || (count && i < few); i++)
        op->entries[at++] = list[i < count ? i : 0];
    return (uint8_t)at;
}

static void set_registers(const struct corun_grid *grid, const struct corun_instruction *instruction,
                          struct machine_op *op)
{
    struct lists lists = {0};
    for (uint32_t i = 0; i < instruction->source_count; i++) {
        add_once(lists.hazards, &op->hazard_count, instruction->sources[i]);
        if (instruction->sources[i] < grid->register_slots)
            add_once(lists.reads, &op->read_count, instruction->sources[i]);
    }
    bool waits = !(instruction->flags & (CORUN_WARPGROUP | CORUN_COMMIT)); /* for destinations to be free */
    for (uint32_t i = 0; i < instruction->destination_count; i++) {
        if (waits)
            add_once(lists.hazards, &op->hazard_count, instruction->destinations[i]);
        add_once(lists.written, &op->written_count, instruction->destinations[i]);
    }
    op->register_accesses = op->read_count;
    for (uint32_t i = 0; i < op->written_count; i++)
        op->register_accesses += lists.written[i] < grid->register_slots;
    op->first_read = pack(op, 0, lists.hazards, op->hazard_count, FEW_HAZARDS);
    op->first_written = pack(op, op->first_read, lists.reads, op->read_count, 0);
    pack(op, op->first_written, lists.written, op->written_count, FEW_WRITTEN);
}

/* A register of a warp lies in the bank that its number gives and an offset of the warp: what one warp reads at once, all do. */
static bool reads_at_once(const struct corun_gpu_config *c, const struct machine_op *op)
{
    uint32_t banks = c->register_banks / c->schedulers_per_sm;
    const uint16_t *reads = machine_op_reads(op);
    for (uint32_t i = 0; i < op->read_count; i++) {
        uint32_t of_bank = 0;
        for (uint32_t j = 0; j < op->read_count; j++)
            of_bank += banks <= 1 || reads[i] % banks == reads[j] % banks;
        if (of_bank > c->register_bank_reads)
            return false;
    }
    return true;
}

static bool is_plain(const struct machine_op *op)
{
    uint32_t more = CORUN_LOAD | CORUN_STORE | CORUN_ATOMIC | CORUN_BRANCH | CORUN_BARRIER | CORUN_EXIT | CORUN_COPY |
                    CORUN_COPY_GROUP | CORUN_WARPGROUP | CORUN_COMMIT;
    bool one_pipe = op->pipe != PIPE_MEMORY && op->pipe != PIPE_TENSOR && !op->either_interval && !op->beside_interval;
    return one_pipe && op->interval && !(op->flags & more) && !op->multiply_adds && !op->shared_bytes;
}

void machine_ops_build(const struct corun_gpu_config *config, const struct corun_grid *grid, struct machine_op *ops)
{
    for (uint32_t pc = 0; pc < grid->code_length; pc++) {
        const struct corun_instruction *instruction = &grid->code[pc];
        struct machine_op *op = &ops[pc];
        struct timing timing = instruction->flags & CORUN_CONVERSION && instruction->unit == CORUN_UNIT_SFU
                                   ? conversion_timing(config)
                                   : timing_of(config, instruction->unit, instruction->operation);
        memset(op, 0, sizeof *op);
        op->pipe = pipe_of(config, instruction->unit);
        op->unit = instruction->unit;
        op->space = instruction->space;
        op->access_bytes = instruction->access_bytes;
        op->flags = instruction->flags;
        op->latency = (uint16_t)timing.latency;
        op->interval = (uint16_t)timing.interval;
        set_slots(config, instruction, op);
        set_gathered(config, instruction, op);
        set_loop(config, instruction, op);
        if (config->mixed_pipes)
            mix_pipes(config, instruction, op);
        op->beside_interval = beside_special(config, instruction);
        set_pieces(config, instruction, op);
        if (instruction->unit == CORUN_UNIT_TENSOR)
            set_tensor(config, instruction, op);
        set_registers(grid, instruction, op);
        op->merged = instruction->merged;
        if (is_plain(op))
            op->flags |= MACHINE_PLAIN;
        if (reads_at_once(config, op))
            op->flags |= MACHINE_READ_AT_ONCE;
    }
}
