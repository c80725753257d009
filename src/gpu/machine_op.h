/* SPDX-License-Identifier: MIT */
/* What an SM keeps of an instruction: which pipeline it takes, for how long, what it reads and writes. */
#ifndef CORUN_GPU_MACHINE_OP_H
#define CORUN_GPU_MACHINE_OP_H

#include "corun/gpu.h"

/* Pipelines that an instruction can be issued to. Control instructions go through the integer pipelines. */
enum pipe { PIPE_INT, PIPE_FP32, PIPE_FP64, PIPE_SFU, PIPE_TENSOR, PIPE_MEMORY, PIPE_COUNT };

/* What an SM keeps of an instruction: the source's description with the configuration's timing, ready for use. */
struct machine_op {
    uint8_t pipe;         /* enum pipe */
    uint8_t unit;         /* enum corun_unit, for counters */
    uint8_t hazard_count; /* scoreboard entries that must be ready */
    uint8_t read_count;   /* registers read through the banks, without repetition and predicates */
    uint8_t written_count;
    uint8_t register_accesses; /* registers read or written, without repetition and predicates */
    uint8_t space;             /* enum corun_space, static */
    uint8_t access_bytes;
    uint32_t flags;   /* enum corun_instruction_flag */
    uint16_t latency; /* from the start of execution */
    uint16_t interval;
    uint16_t slots;           /* of its scheduler */
    uint16_t either_interval; /* of a single precision pipeline, if that is free first; 0: it goes through its own */
    uint16_t beside_interval; /* that it keeps another pipeline beside its own; 0: none */
    uint16_t multiply_adds;   /* a lane */
    uint16_t shared_bytes;    /* WARPGROUP: its part of what is read from shared memory */
    uint8_t
        loop; /* an atomic: instructions in each turn of the loop that it is in shared memory; 0: the banks perform it */
    uint8_t gathered; /* an atomic: so many lanes at least are one operation if all go to one address; 0: none */
    int16_t merged;   /* as of struct corun_instruction */
    uint8_t first_read, first_written;
    /*
     * Scoreboard entries: those that must be ready, those read through the banks, those written, one list behind the
     * other, so that most instructions are one line of the host's cache. Where there is any hazard there are at least
     * FEW_HAZARDS, where any is written at least FEW_WRITTEN: the first one again and again. What is done to each of
     * these few needs no branch that depends on how many they are.
     */
    uint16_t entries[2 * CORUN_MAX_SOURCES + 2 * CORUN_MAX_DESTINATIONS];
};
_Static_assert(sizeof(struct machine_op) == 128, "two lines of the host's cache");
/*
 * In `flags` beside enum corun_instruction_flag: nothing to do but to compute and to write registers, in one pipeline. Most instructions that
 * are issued are so.
 */
#define MACHINE_PLAIN (UINT32_C(1) << 31)
/* The register banks of a scheduler serve all its reads in one cycle, whatever the warp. */
#define MACHINE_READ_AT_ONCE (UINT32_C(1) << 30)
#define FEW_HAZARDS 4u
#define FEW_WRITTEN 2u

static inline const uint16_t *machine_op_hazards(const struct machine_op *op)
{
    return op->entries;
}

static inline const uint16_t *machine_op_reads(const struct machine_op *op)
{
    return op->entries + op->first_read;
}

static inline const uint16_t *machine_op_written(const struct machine_op *op)
{
    return op->entries + op->first_written;
}

/* Translates a grid's instructions for this configuration; `ops` has grid->code_length elements. */
void machine_ops_build(const struct corun_gpu_config *config, const struct corun_grid *grid, struct machine_op *ops);

#endif
