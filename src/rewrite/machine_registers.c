/* SPDX-License-Identifier: MIT */
/* Functions are assembled one by one, and what becomes of them is thrown away. */
#include "rewrite/machine_registers.h"

#include "assemble/assemble.h"
#include "ptx/liveness.h"
#include "ptx/register_count.h"

#define STEP 8u
#define FULL_OCCUPANCY 32u

/*
 * Registers are given out in eights, and with 32 or less they do not limit how many threads an SM holds: 65536 registers and 2048 threads
 * (CUDA C++ Programming Guide, compute capabilities 3.5 and above).
 */
uint32_t machine_registers_step(uint32_t registers)
{
    return registers < FULL_OCCUPANCY ? FULL_OCCUPANCY : (registers + STEP - 1) / STEP * STEP;
}

static enum corun_status count_live(const struct ptx_function *function, struct arena *arena,
                                    struct ptx_allocation *row)
{
    struct ptx_function made;
    struct ptx_control_flow flow;
    struct ptx_liveness liveness;
    enum corun_status status = assemble_apart(function, ASSEMBLE_EVERYTHING, arena, &made);
    if (status == CORUN_OK)
        status = ptx_control_flow_create(&made, arena, &flow);
    if (status == CORUN_OK)
        status = ptx_liveness_create(&made, &flow, arena, &liveness);
    if (status == CORUN_OK)
        row->kept_pressure = liveness.kept_pressure;
    return status;
}

static enum corun_status count_module(const struct ptx_module *module, struct arena *arena, uint32_t *registers)
{
    struct ptx_allocation *rows = ARENA_ARRAY(arena, struct ptx_allocation, module->function_count + 1u);
    enum corun_status status = rows ? CORUN_OK : CORUN_MEMORY;
    for (uint32_t i = 0; i < module->function_count && status == CORUN_OK; i++)
        if (module->functions[i]->has_body)
            status = count_live(module->functions[i], arena, &rows[i]);
    for (uint32_t i = 0; i < module->function_count && status == CORUN_OK; i++) {
        const struct ptx_function *function = module->functions[i];
        enum ptx_registers_from from;
        registers[i] = 0;
        if (function->is_entry && function->has_body)
            status = ptx_registers_per_thread(module, function, rows, NULL, 0, &registers[i], &from);
    }
    return status;
}

enum corun_status machine_registers_count(const struct ptx_module *module, uint32_t *registers)
{
    struct arena *arena = arena_create();
    enum corun_status status = arena ? count_module(module, arena, registers) : CORUN_MEMORY;
    arena_destroy(arena);
    return status;
}
