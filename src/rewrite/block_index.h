/* SPDX-License-Identifier: MIT */
/*
 * Where a thread block of a slice lies in its grid: instructions that a kernel runs once, in front of the first instruction that wants to
 * know if nothing can lead around that, else at its beginning.
 */
#ifndef CORUN_REWRITE_BLOCK_INDEX_H
#define CORUN_REWRITE_BLOCK_INDEX_H

#include "rewrite/code.h"
#include "rewrite/grid_reads.h"

struct block_index {
    uint32_t reads;        /* set of enum grid_value */
    uint32_t position;     /* of the instruction in front of which it is computed; 0: in the prologue */
    uint32_t registers[3]; /* of x, y and z, as far as they are read; PTX_NONE: to be made */
    uint32_t moves[3];     /* instructions that say the same as those registers, and are left out; PTX_NONE: none */
};

/* Looks at a body of the source; it reads these values, itself or in functions that it calls. */
struct block_index block_index_plan(const struct ptx_function *function, uint32_t reads);
/* Whether an instruction of the source says no more than those registers do. */
bool block_index_says(const struct block_index *index, uint32_t instruction);
/* Writes it from the parameter of slices (slice.h). */
void block_index_write(struct block_index *index, const struct code *code, const struct ptx_variable *slice);

#endif
