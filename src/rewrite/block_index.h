/* SPDX-License-Identifier: MIT */
/*
 * Where a thread block of a slice lies in its grid: instructions that a kernel runs once, in front of the first instruction that wants to
 * know if nothing can lead around that, else at its beginning.
 */
#ifndef CORUN_REWRITE_BLOCK_INDEX_H
#define CORUN_REWRITE_BLOCK_INDEX_H

#include "ptx/builder.h"
#include "rewrite/grid_reads.h"

#define BLOCK_INDEX_READS (1u << GRID_CTAID_X | 1u << GRID_CTAID_Y | 1u << GRID_CTAID_Z)

struct block_index {
    uint32_t reads;        /* set of enum grid_value */
    uint32_t position;     /* of the instruction in front of which it is computed; 0: in the prologue */
    uint32_t registers[3]; /* of x, y and z, as far as they are read; PTX_NONE: to be made */
    uint32_t moves[3];     /* instructions that say the same as those registers, and are left out; PTX_NONE: none */
};

/* Looks at a body of the source; it reads these values, itself or in functions that it calls. */
struct block_index block_index_plan(const struct ptx_function *function, uint32_t reads);
/* Writes it, between ptx_body_begin and ptx_body_end, from the parameter of slices (slice.h). */
void block_index_write(struct block_index *index, struct ptx_builder *builder, uint32_t function,
                       const struct ptx_variable *slice);

#endif
