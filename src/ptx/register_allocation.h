/* SPDX-License-Identifier: MIT */
/*
 * Which slot of a warp's register file each virtual register has.
 *
 * Linear scan over live intervals (Poletto and Sarkar, "Linear Scan Register Allocation", 1999) without spilling: there are as many slots
 * as it takes. Two registers share a slot only if at no instruction both are live or accessed, so a result never lands on an operand of its
 * own instruction. 64-bit registers take two consecutive slots, the first one even, and share them with 64-bit registers only: in the
 * register file the lanes of a pair lie otherwise than those of single slots, so that a write by some lanes would reach into the single-slot
 * values of other lanes, which may be elsewhere in the program with those values still alive.
 */
#ifndef CORUN_PTX_REGISTER_ALLOCATION_H
#define CORUN_PTX_REGISTER_ALLOCATION_H

#include "ptx/control_flow.h"

struct ptx_allocation {
    const uint32_t
        *slots; /* per register: 32-bit slot, or predicate slot for predicates; PTX_NONE if it is never accessed */
    uint32_t register_slots; /* 32-bit slots in use, pairs first */
    uint32_t pair_slots;     /* of those, slots of 64-bit registers */
    uint32_t predicate_slots;
    uint32_t pressure;      /* most 32-bit registers live at one point */
    uint32_t kept_pressure; /* the same without constants, addresses of variables and kernel parameters */
    bool reads_unwritten;   /* some register may be read before anything is written to it */
};

/* Everything is allocated in `arena`. OK or MEMORY. */
enum corun_status ptx_allocate_registers(const struct ptx_function *function, const struct ptx_control_flow *flow,
                                         struct arena *arena, struct ptx_allocation *allocation);

#endif
