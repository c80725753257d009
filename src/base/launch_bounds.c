/* SPDX-License-Identifier: MIT */
/* The largest number of registers with which what was promised fits. */
#include "base/launch_bounds.h"

#include "base/bits.h"

uint32_t launch_bounds_registers(const struct corun_gpu_config *config, uint32_t registers,
                                 const struct corun_launch_bounds *bounds)
{
    uint64_t tb_warps = divide_up(bounds->threads, CORUN_WARP_LANES),
             most_warps = config->threads_per_sm / CORUN_WARP_LANES;
    if (!tb_warps || tb_warps > most_warps)
        return registers;
    uint64_t warps = tb_warps * bounds->tbs;
    if (!bounds->tbs || bounds->tbs > config->tbs_per_sm || warps > most_warps)
        warps = tb_warps;
    uint64_t of_scheduler = config->registers_per_sm / config->schedulers_per_sm;
    uint64_t of_warp = of_scheduler / divide_up(warps, config->schedulers_per_sm);
    uint64_t most = of_warp / config->register_unit * config->register_unit / CORUN_WARP_LANES;
    return most && most < registers ? (uint32_t)most : registers;
}
