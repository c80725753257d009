/* SPDX-License-Identifier: MIT */
/* Register slots and meeting points of a function, taken from the analyses of src/ptx in one call. */
#include "isa/registers.h"

#include "ptx/liveness.h"

/* A value that is live where the function starts was never written. */
static void note_range(void *user, const struct ptx_live_range *range)
{
    bool *found = user;
    *found |= range->enters && range->first == 0;
}

enum corun_status function_registers_create(const struct ptx_function *function, struct arena *arena,
                                            struct function_registers *registers)
{
    enum corun_status status = ptx_control_flow_create(function, arena, &registers->flow);
    if (status == CORUN_OK)
        status = ptx_allocate_registers(function, &registers->flow, arena, &registers->allocation);
    if (status != CORUN_OK || function->instruction_count == 0)
        return status;
    return ptx_liveness_ranges(function, &registers->flow, note_range, &registers->reads_unwritten);
}
