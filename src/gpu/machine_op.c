/* SPDX-License-Identifier: MIT */
/* Which pipeline an instruction takes, for how long, and what it reads and writes on the way. */
#include "gpu/machine_op.h"

#include <string.h>

struct timing {
    uint32_t latency, interval;
};

static struct timing timing_of(const struct corun_gpu_config *c, uint32_t unit, uint32_t operation)
{
#define ROW(prefix) \
    { \
        [CORUN_OPERATION_ADD] = {c->prefix##_add_latency, c->prefix##_add_interval}, \
        [CORUN_OPERATION_MAX] = {c->prefix##_max_latency, c->prefix##_max_interval}, \
        [CORUN_OPERATION_MUL] = {c->prefix##_mul_latency, c->prefix##_mul_interval}, \
        [CORUN_OPERATION_MAD] = {c->prefix##_mad_latency, c->prefix##_mad_interval}, \
        [CORUN_OPERATION_DIV] = {c->prefix##_div_latency, c->prefix##_div_interval}, \
    }
    const struct timing int_rows[CORUN_OPERATION_COUNT] = ROW(int);
    const struct timing fp32_rows[CORUN_OPERATION_COUNT] = ROW(fp32);
    const struct timing fp64_rows[CORUN_OPERATION_COUNT] = ROW(fp64);
#undef ROW
    switch (unit) {
    case CORUN_UNIT_FP32:
        return fp32_rows[operation];
    case CORUN_UNIT_FP64:
        return fp64_rows[operation];
    case CORUN_UNIT_SFU:
        return (struct timing){c->sfu_latency, c->sfu_interval};
    case CORUN_UNIT_TENSOR:
        return (struct timing){c->tensor_latency, c->tensor_interval};
    case CORUN_UNIT_MEMORY:
    case CORUN_UNIT_CONTROL:
        return (struct timing){c->int_add_latency, 1};
    default:
        return int_rows[operation];
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
    case CORUN_UNIT_TENSOR:
        return config->tensor_units ? PIPE_TENSOR : PIPE_FP32;
    case CORUN_UNIT_MEMORY:
        return PIPE_MEMORY;
    default:
        return config->int_shares_fp32 ? PIPE_FP32 : PIPE_INT;
    }
}

static void add_once(uint16_t *list, uint8_t *count, uint16_t entry)
{
    for (uint32_t i = 0; i < *count; i++)
        if (list[i] == entry)
            return;
    list[(*count)++] = entry;
}

void machine_ops_build(const struct corun_gpu_config *config, const struct corun_grid *grid, struct machine_op *ops)
{
    for (uint32_t pc = 0; pc < grid->code_length; pc++) {
        const struct corun_instruction *instruction = &grid->code[pc];
        struct machine_op *op = &ops[pc];
        struct timing timing = timing_of(config, instruction->unit, instruction->operation);
        memset(op, 0, sizeof *op);
        op->pipe = pipe_of(config, instruction->unit);
        op->unit = instruction->unit;
        op->space = instruction->space;
        op->access_bytes = instruction->access_bytes;
        op->flags = instruction->flags;
        op->latency = (uint16_t)timing.latency;
        op->interval = (uint16_t)timing.interval;
        for (uint32_t i = 0; i < instruction->source_count; i++) {
            add_once(op->hazards, &op->hazard_count, instruction->sources[i]);
            if (instruction->sources[i] < grid->register_slots)
                add_once(op->reads, &op->read_count, instruction->sources[i]);
        }
        for (uint32_t i = 0; i < instruction->destination_count; i++) {
            add_once(op->hazards, &op->hazard_count, instruction->destinations[i]);
            add_once(op->written, &op->written_count, instruction->destinations[i]);
        }
        op->merged = instruction->merged;
        op->register_accesses = op->read_count;
        for (uint32_t i = 0; i < op->written_count; i++)
            op->register_accesses += op->written[i] < grid->register_slots;
    }
}
