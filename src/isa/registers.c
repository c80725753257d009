/* SPDX-License-Identifier: MIT */
/* Register slots and meeting points of a function, taken from the analyses of src/ptx in one call. */
#include "isa/registers.h"

#include <string.h>

uint32_t function_worker_end(const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->label_count; i++)
        if (strncmp(function->labels[i].name, PTX_WORKER_END, sizeof PTX_WORKER_END - 1) == 0)
            return function->labels[i].instruction;
    return PTX_NONE;
}

enum corun_status function_registers_create(const struct ptx_function *function, struct arena *arena,
                                            struct function_registers *registers)
{
    enum corun_status status = ptx_control_flow_create(function, arena, &registers->flow);
    if (status == CORUN_OK)
        status = ptx_convergence_create(function, &registers->flow, function_worker_end(function), arena,
                                        &registers->convergence);
    return status == CORUN_OK ? ptx_allocate_registers(function, &registers->flow, arena, &registers->allocation)
                              : status;
}
