/* SPDX-License-Identifier: MIT */
/* A kernel's profile from the counters of a run. */
#include "model/accesses.h"
#include "model/profile.h"

#include "base/launch_bounds.h"

#include <math.h>

void model_profile_place(const struct corun_gpu_config *config, const struct corun_grid *grid,
                         struct model_kernel *kernel)
{
    uint32_t registers = launch_bounds_registers(config, grid->registers_per_thread, &grid->bounds);
    *kernel = (struct model_kernel){
        .coalesced_requests = 1,
        .uncoalesced_requests = 1,
        .tbs = grid->tb_count,
        .tb_warps = grid->tb_warps,
        .needs = model_kernel_needs(config, grid->tb_threads, registers, grid->tb_shared_bytes, grid->barrier_count),
        .ipc = NAN,
        .pipeline_utilization = NAN,
        .memory_utilization = NAN};
}

void model_profile_accesses(struct model_kernel *kernel, const struct model_accesses *accesses)
{
    uint64_t coalesced = accesses->loads - accesses->uncoalesced;
    kernel->memory_share = (double)accesses->loads / (double)accesses->instructions;
    if (accesses->loads > 0)
        kernel->uncoalesced_share = (double)accesses->uncoalesced / (double)accesses->loads;
    if (coalesced > 0)
        kernel->coalesced_requests =
            fmax(1, (double)(accesses->lines - accesses->uncoalesced_lines) / (double)coalesced);
    if (accesses->uncoalesced > 0)
        kernel->uncoalesced_requests = fmax(1, (double)accesses->uncoalesced_lines / (double)accesses->uncoalesced);
}

enum corun_status model_profile_counters(const struct corun_gpu_config *config, const struct corun_grid *grid,
                                         const struct corun_counters *counters, uint64_t cycles,
                                         struct model_kernel *kernel)
{
    const struct model_accesses accesses = {.instructions = counters->warp_instructions,
                                            .loads = counters->missing_loads,
                                            .lines = counters->missing_load_lines,
                                            .uncoalesced = counters->uncoalesced_loads,
                                            .uncoalesced_lines = counters->uncoalesced_load_lines};
    if (counters->warp_instructions == 0 || accesses.loads > accesses.instructions ||
        accesses.uncoalesced > accesses.loads)
        return CORUN_ARGUMENT;
    model_profile_place(config, grid, kernel);
    model_profile_accesses(kernel, &accesses);
    kernel->tb_instructions =
        counters->tbs_completed ? (double)counters->warp_instructions / (double)counters->tbs_completed : (double)NAN;
    if (cycles == 0)
        return CORUN_OK;
    struct model_gpu gpu;
    model_gpu_describe(config, &gpu);
    kernel->ipc = (double)counters->warp_instructions / (double)cycles / config->sms;
    kernel->pipeline_utilization = kernel->ipc / model_gpu_peak(&gpu);
    double seconds = (double)cycles / (1e3 * config->core_clock_khz);
    double bytes_per_second =
        1e3 * config->dram_clock_khz * config->dram_bus_bytes * config->dram_data_rate * config->memory_controllers;
    kernel->memory_utilization =
        (double)(counters->dram_read_bytes + counters->dram_write_bytes) / seconds / bytes_per_second;
    return CORUN_OK;
}
