/* SPDX-License-Identifier: MIT */
/* The control-flow graph of a function and its immediate post-dominators. */
#ifndef CORUN_PTX_CONTROL_FLOW_H
#define CORUN_PTX_CONTROL_FLOW_H

#include "ptx/module.h"

#define PTX_EXIT UINT32_MAX /* as a successor or post-dominator: the end of the thread or function */

/* Instructions first … end-1; only the last one can leave the block other than to the next. */
struct ptx_block {
    uint32_t first, end;
    const uint32_t
        *successors; /* block index or PTX_EXIT; for a guarded branch the target is [0], the next block [1] */
    uint32_t successor_count;
    const uint32_t *predecessors;
    uint32_t predecessor_count;
    uint32_t post_dominator; /* the block where all paths from here meet first, PTX_EXIT if only the end is common */
};

struct ptx_control_flow {
    const struct ptx_block *blocks; /* in program order; block 0 is the entry */
    uint32_t block_count;           /* 0 for a function without instructions */
    const uint32_t *block_of;       /* per instruction */
};

/* Everything is allocated in `arena`. OK or MEMORY. */
enum corun_status ptx_control_flow_create(const struct ptx_function *function, struct arena *arena,
                                          struct ptx_control_flow *flow);

#endif
