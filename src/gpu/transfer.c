/* SPDX-License-Identifier: MIT */
/* How many cycles a copy or a fill takes, from the rates of the configuration. */
#include "gpu/transfer.h"

static uint64_t divide_up_128(unsigned __int128 value, uint64_t by)
{
    return (uint64_t)((value + by - 1) / by);
}

uint64_t transfer_cycles(const struct corun_gpu_config *config, const struct transfer *transfer)
{
    if (transfer->engine == CORUN_COPY_WITHIN) {
        /* At the speed of the DRAM: bytes = controllers * pins * rate * cycles of its clock; copies read and write. */
        uint64_t per_cycle = (uint64_t)config->memory_controllers * config->dram_bus_bytes * config->dram_data_rate;
        unsigned __int128 moved =
            (unsigned __int128)transfer->bytes * (transfer->fill ? 1 : 2) * config->core_clock_khz;
        return config->dispatch_latency + divide_up_128(moved, per_cycle * config->dram_clock_khz);
    }
    uint64_t rate = transfer->pageable ? config->pcie_pageable_mbps : config->pcie_pinned_mbps;
    /* cycles = bytes / (MB/s) * kHz / 1000 */
    return divide_up_128((unsigned __int128)transfer->bytes * config->core_clock_khz, rate * 1000) +
           (uint64_t)config->pcie_latency_ns * config->core_clock_khz / 1000000;
}
