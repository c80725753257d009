/* SPDX-License-Identifier: MIT */
/* Where the registers of a function lie in the register file, and where its branches meet: from the analyses of the PTX layer. */
#ifndef CORUN_ISA_REGISTERS_H
#define CORUN_ISA_REGISTERS_H

#include "ptx/register_allocation.h"

struct function_registers {
    struct ptx_control_flow flow;
    struct ptx_allocation allocation;
};

/* OK or MEMORY. */
enum corun_status function_registers_create(const struct ptx_function *function, struct arena *arena,
                                            struct function_registers *registers);

#endif
