/* SPDX-License-Identifier: MIT */
/*
 * Liveness per thread: where the value of a register may still be needed.
 *
 * A definition under a guard does not end the life of the old value, since the thread may not perform it; it does where every access to the
 * register is in one block, under the same guard, and behind that definition. A register that is read before
 * any write is live from the start of the function. Registers that pass parameters and return values are live throughout.
 */
#ifndef CORUN_PTX_LIVENESS_H
#define CORUN_PTX_LIVENESS_H

#include "ptx/control_flow.h"

/* The smallest range of instructions that contains every place where a register is live or accessed; both ends included. */
struct ptx_interval {
    uint32_t first, last; /* first == PTX_NONE: the register is never accessed */
};

struct ptx_liveness {
    const struct ptx_interval *intervals; /* per register */
    /* The most 32-bit registers whose values must be kept across any one point between two instructions; predicates do not count. */
    uint32_t pressure;
    /* The same without those that an assembler need not keep: constants, addresses of variables, parameters of the kernel. */
    uint32_t kept_pressure;
    const bool *constants; /* per register: one that need not be kept */
    bool reads_unwritten;  /* some register may be read before anything is written to it */
};

/* The result is allocated in `arena`. OK or MEMORY. */
enum corun_status ptx_liveness_create(const struct ptx_function *function, const struct ptx_control_flow *flow,
                                      struct arena *arena, struct ptx_liveness *liveness);

/*
 * Calls `range` for every maximal piece of a block in which a register is live: from `first` to `last`, both included. The piece
 * starts with its definition or, if `enters`, is live at the start of the block; it ends with its last use or, if `stays`, is live
 * on behind `last`, the end of the block. OK or MEMORY.
 */
struct ptx_live_range {
    uint32_t register_index, first, last;
    bool enters, stays;
};

enum corun_status ptx_liveness_ranges(const struct ptx_function *function, const struct ptx_control_flow *flow,
                                      void (*visit)(void *user, const struct ptx_live_range *range), void *user);

#endif
