/* SPDX-License-Identifier: MIT */
/* Numbers of a sample of thread blocks and a measured time as a profile. */
#include "serve/sampled.h"

#include <math.h>

#define SAMPLED_TBS 16u
/* A thread block that runs longer than this without timing is taken to run for ever. */
#define SAMPLE_WATCHDOG UINT64_C(100000000)

enum corun_status sampled_model(const struct corun_gpu_config *config, const struct corun_grid *grid,
                                struct corun_diagnostics *list, struct model_kernel *model)
{
    struct corun_gpu_config own = *config; /* with the L1 that the kernel has */
    own.l1_bytes = corun_gpu_l1_bytes(&own, corun_gpu_shared_setting(&own, grid));
    return model_profile_sample(&own, grid, SAMPLED_TBS, SAMPLE_WATCHDOG, list, model);
}

/* That loads of a thread block bring into its SM: whole lines where lanes touch lines in a row, else a sector of each. */
static double loaded_bytes(const struct corun_gpu_config *config, const struct corun_queue_profile *profile)
{
    double loads = profile->tb_instructions * profile->memory_share;
    double sector = config->l1_sector_bytes ? config->l1_sector_bytes : config->l1_line_bytes;
    return loads * ((1 - profile->uncoalesced_share) * profile->coalesced_requests * config->l1_line_bytes +
                    profile->uncoalesced_share * profile->uncoalesced_requests * sector);
}

void sampled_time(const struct corun_gpu_config *config, uint64_t nanoseconds, struct corun_queue_profile *profile)
{
    struct model_gpu gpu;
    double cycles = fmax(1, (double)nanoseconds * config->core_clock_khz / 1e6), seconds = (double)nanoseconds / 1e9;
    double bytes_per_second =
        1e3 * config->dram_clock_khz * config->dram_bus_bytes * config->dram_data_rate * config->memory_controllers;
    model_gpu_describe(config, &gpu);
    profile->alone_ticks = (uint64_t)llround(cycles);
    profile->ipc = profile->tb_instructions * profile->tbs / cycles / config->sms;
    profile->pipeline_utilization = profile->ipc / model_gpu_peak(&gpu);
    profile->memory_utilization =
        fmin(1, loaded_bytes(config, profile) * profile->tbs / fmax(seconds, 1e-9) / bytes_per_second);
}
