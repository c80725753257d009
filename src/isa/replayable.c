/* SPDX-License-Identifier: MIT */
#include "isa/replayable.h"

#include "isa/executor.h"

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
    case PTX_SPECIAL_CLOCK:
    case PTX_SPECIAL_CLOCK_HI:
    case PTX_SPECIAL_CLOCK64:
    case PTX_SPECIAL_GLOBALTIMER:
    case PTX_SPECIAL_GLOBALTIMER_LO:
    case PTX_SPECIAL_GLOBALTIMER_HI:
        return true;
    default:
        return false;
    }
}

static const char *obstacle_of(const struct operation *op, const struct corun_instruction *code)
{
    if (reads_machine(op))
        return "it reads a clock, its SM or its warp slot";
    switch ((enum operation_kind)op->kind) {
    case OPERATION_ATOMIC:
        if (op->extra[0] >= ATOMIC_BARRIER_INIT)
            return "it waits at barriers in memory";
        return code->flags & CORUN_REDUCTION ? NULL : "it uses what an atomic gives back";
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

const char *replay_obstacle(const struct corun_grid *grid, uint32_t *line)
{
    const struct corun_kernel *kernel = launch_of(grid)->kernel;
    *line = 0;
    if (launch_of(grid)->meeting_address)
        return "its thread blocks wait for each other";
    for (uint32_t i = 0; i < kernel->code_length; i++) {
        const char *obstacle = obstacle_of(&kernel->code[i], &grid->code[i]);
        if (obstacle) {
            *line = grid->code[i].line;
            return obstacle;
        }
    }
    return NULL;
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
