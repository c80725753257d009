/* SPDX-License-Identifier: MIT */
#include "isa/replayable.h"

#include "isa/executor.h"

#include <stdlib.h>

static const struct launch *launch_of(const struct corun_grid *grid)
{
    return (const struct launch *)(const void *)grid;
}

/* Values that depend on the machine, on the place there, or on time. */
static bool reads_machine(const struct operation *op)
{
    if (op->kind != OPERATION_SPECIAL_REGISTER)
        return false;
    switch (op->variant) {
    case PTX_SPECIAL_WARPID:
    case PTX_SPECIAL_NWARPID:
    case PTX_SPECIAL_SMID:
    case PTX_SPECIAL_NSMID:
        return true;
    default:
        return ptx_special_is_clock(op->variant);
    }
}

static const char *obstacle_of(const struct operation *op)
{
    if (reads_machine(op))
        return "it reads a clock, its SM or its warp slot";
    switch ((enum operation_kind)op->kind) {
    case OPERATION_ATOMIC:
        return op->extra[0] >= ATOMIC_BARRIER_INIT ? "it waits at barriers in memory" : NULL;
    case OPERATION_BULK:
        return "it has bulk copies";
    case OPERATION_CLUSTER:
    case OPERATION_CLUSTER_ARRIVE:
    case OPERATION_CLUSTER_WAIT:
        return "it has clusters of thread blocks";
    case OPERATION_PRINT:
        return "it prints";
    case OPERATION_DEVICE_LAUNCH:
        return "it launches kernels";
    default:
        return NULL;
    }
}

static void note_read(void *user, uint32_t register_index, enum ptx_access access)
{
    if (access == PTX_READ)
        ((bool *)user)[register_index] = true;
}

static bool is_read(const struct ptx_operand *operand, const bool *read)
{
    if (operand->kind == PTX_OPERAND_REGISTER)
        return read[operand->index];
    for (uint32_t i = 0; operand->kind == PTX_OPERAND_VECTOR && i < operand->element_count; i++)
        if (is_read(&operand->elements[i], read))
            return true;
    return false;
}

/* An atomic whose result an instruction reads, whatever it does with that; NULL: there is none. */
static const char *find_result(const struct ptx_function *function, uint32_t *line)
{
    bool *read = calloc(function->register_count + 1, sizeof *read);
    const char *obstacle = read ? NULL : "there is no memory to look at it";
    for (uint32_t i = 0; i < function->instruction_count && read; i++)
        ptx_instruction_registers(&function->instructions[i], note_read, read);
    for (uint32_t i = 0; i < function->instruction_count && !obstacle; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        if (instruction->opcode != PTX_OP_ATOM || !is_read(&instruction->operands[0], read))
            continue;
        obstacle = "it uses what an atomic gives back";
        *line = instruction->place.line;
    }
    free(read);
    return obstacle;
}

const char *replay_obstacle(const struct corun_grid *grid, uint32_t *line)
{
    const struct corun_kernel *kernel = launch_of(grid)->kernel;
    *line = 0;
    if (launch_of(grid)->meeting_address)
        return "its thread blocks wait for each other";
    for (uint32_t i = 0; i < kernel->code_length; i++) {
        const char *obstacle = obstacle_of(&kernel->code[i]);
        if (obstacle) {
            *line = grid->code[i].line;
            return obstacle;
        }
    }
    const char *obstacle = NULL;
    for (uint32_t i = 0; i < kernel->function_count && !obstacle; i++)
        obstacle = find_result(kernel->functions[i].ptx, line);
    return obstacle;
}

/* Sums, extremes and the like of whole numbers come to the same in any order. */
uint8_t replay_atomic(const struct corun_grid *grid, uint32_t pc)
{
    const struct operation *op = &launch_of(grid)->kernel->code[pc];
    if (op->kind != OPERATION_ATOMIC)
        return 0;
    bool ordered = op->extend & EXTEND_FLOAT || op->width_bytes > 8;
    switch (op->extra[0]) {
    case ATOMIC_ADD:
    case ATOMIC_MINIMUM:
    case ATOMIC_MAXIMUM:
    case ATOMIC_AND:
    case ATOMIC_OR:
    case ATOMIC_XOR:
        break;
    default:
        ordered = true;
    }
    uint32_t kind = (op->extra[0] << 2 & 0x7cu) | (op->extend & (EXTEND_SIGN | EXTEND_WIDE));
    return (uint8_t)((kind + 1) | (ordered ? REPLAY_ORDERED : 0));
}

uint64_t replay_local_bytes(const struct corun_grid *grid)
{
    return launch_of(grid)->warp_local_bytes;
}
