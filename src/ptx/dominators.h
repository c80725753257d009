/* SPDX-License-Identifier: MIT */
/* Immediate dominators and post-dominators of the blocks of a function. */
#ifndef CORUN_PTX_DOMINATORS_H
#define CORUN_PTX_DOMINATORS_H

#include "ptx/control_flow.h"

/* From where: dominators lie on every way from block 0, post-dominators on every way to the end of the function. */
enum ptx_dominance { PTX_FROM_ENTRY, PTX_TO_END };

struct ptx_dominators {
    uint32_t *
        dominator; /* [block]: the nearest block that lies on all of its ways; PTX_EXIT: there is none, or block 0 does not lead here */
    uint32_t *number; /* [block]: a dominator of another block has the larger one; 0: block 0 does not lead here */
};

/*
 * `dominators` has arrays of the caller, with a word for each of the `count` blocks. Of blocks that never come to an end, as those of a loop without one, the last
 * counts as an end. False: out of memory.
 */
bool ptx_dominators_find(const struct ptx_block *blocks, uint32_t count, enum ptx_dominance dominance,
                         struct ptx_dominators *dominators);

#endif
