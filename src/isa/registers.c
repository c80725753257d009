/* SPDX-License-Identifier: MIT */
/* Register slots and meeting points of a function, taken from the analyses of src/ptx in one call. */
#include "isa/registers.h"

enum corun_status function_registers_create(const struct ptx_function *function, struct arena *arena,
                                            struct function_registers *registers)
{
    enum corun_status status = ptx_control_flow_create(function, arena, &registers->flow);
    return status == CORUN_OK ? ptx_allocate_registers(function, &registers->flow, arena, &registers->allocation)
                              : status;
}
