/* SPDX-License-Identifier: MIT */
/* What an opcode of SASS asks of a machine. */
#ifndef CORUN_SASS_OPCODES_H
#define CORUN_SASS_OPCODES_H

#include "corun/source.h"

#include <stdbool.h>

/* The registers of one instruction as a trace names them: the first of each operand. */
struct sass_operands {
    const char *opcode; /* LDG.E.128.SYS; not terminated */
    size_t opcode_bytes;
    uint32_t destination_count, source_count;
    uint16_t destinations[CORUN_MAX_DESTINATIONS], sources[CORUN_MAX_SOURCES];
};

#define SASS_ZERO_REGISTER 255u
/* The operation of a barrier at which its warp does not wait (BAR.ARV). */
#define SASS_BARRIER_ARRIVES CORUN_OPERATION_MAX

/*
 * Unit, latency class, space and registers; a name stands for as many registers as its operand has. False: an unknown opcode, or one whose
 * work a trace does not tell (textures, bulk copies, products of several warps).
 */
bool sass_describe(const struct sass_operands *operands, struct corun_instruction *instruction);

#endif
