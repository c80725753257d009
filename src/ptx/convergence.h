/* SPDX-License-Identifier: MIT */
/*
 * Where threads of a warp that went different ways come together again.
 *
 * A merge is a block that is come to in several ways, or from several rounds of a loop. Threads that part within its region, from the last block that all
 * ways to it have in common up to it, wait there for each other, except for those that leave: that go where they cannot come to it any more, as
 * with a break, a return or a goto. A merge need not be a post-dominator. Regions are nested: behind a merge, or where they have left it, threads are in
 * the region of the next outer one.
 *
 *     loop:  if (odd) { a; if (rare) break; b; } else { c; }         region of `tail`: a, the break, b, c
 *     tail:  d; if (more) goto loop;                                 region of `end`:  the loop and `e`
 *            e;                                                      who breaks leaves `tail` and waits at `end`
 *     end:   f;
 *
 * So ptxas sets up its convergence barriers (BSSY, BREAK, BSYNC; looked at in what version 13.0 makes for compute capability 7.5), and older GPUs
 * their stack of tokens. As there, what a loop is left to is a merge if every way out leads there. Of ways out that nothing comes together behind but the end of the
 * function, the one with the most instructions is; of others none. Nor is it one if some threads do not come there, and others in its region wait for all of
 * the thread block.
 */
#ifndef CORUN_PTX_CONVERGENCE_H
#define CORUN_PTX_CONVERGENCE_H

#include "ptx/control_flow.h"

struct ptx_merge {
    uint32_t block;
    uint32_t outer; /* the merge in whose region the block is, PTX_NONE */
    uint32_t depth; /* merges around it */
};

struct ptx_convergence {
    const struct ptx_control_flow *flow;
    const struct ptx_merge *merges;
    uint32_t merge_count;
    const uint32_t *within; /* [block]: the innermost merge in whose region it is, PTX_NONE */
    const uint32_t *
        nearest; /* [block]: the innermost merge at which threads may wait that part at its end, or have parted before, PTX_NONE */
    const uint32_t
        *forward; /* [block]: the merge of ways that come to it from outside the loop that it begins, PTX_NONE */
    const uint32_t *latch;  /* [block]: the merge of ways that come to it from the loop that it begins, PTX_NONE */
    const uint32_t *number; /* [block]: as of dominators */
    const uint32_t *dominator;
};

/* Everything is allocated in `arena`. OK or MEMORY. `end`: an instruction that counts as the end of the function, PTX_EXIT: none does. */
enum corun_status ptx_convergence_create(const struct ptx_function *function, const struct ptx_control_flow *flow,
                                         uint32_t end, struct arena *arena, struct ptx_convergence *convergence);

/* Of the merges from the nearest one outwards, how many are left by threads that go on to block `to` (PTX_EXIT: to the end). */
uint32_t ptx_convergence_left(const struct ptx_convergence *convergence, uint32_t block, uint32_t to);

/* Where threads meet that the last instruction of a block parts: an instruction, or PTX_EXIT. */
uint32_t ptx_convergence_meets(const struct ptx_convergence *convergence, uint32_t block);

#endif
