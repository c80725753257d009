/* SPDX-License-Identifier: MIT */
/* Where the registers of a function lie in the register file, and where its branches meet: from the analyses of the PTX layer. */
#ifndef CORUN_ISA_REGISTERS_H
#define CORUN_ISA_REGISTERS_H

#include "ptx/convergence.h"
#include "ptx/register_allocation.h"

struct function_registers {
    struct ptx_control_flow flow;
    struct ptx_convergence convergence; /* of this `flow` */
    struct ptx_allocation allocation;
};

/* The instruction at which threads of a worker end their part, PTX_NONE: the function is no worker. */
uint32_t function_worker_end(const struct ptx_function *function);

/* OK or MEMORY. `registers` stays where it is. */
enum corun_status function_registers_create(const struct ptx_function *function, struct arena *arena,
                                            struct function_registers *registers);

#endif
