/* SPDX-License-Identifier: MIT */
/* What a thread block takes of an SM. */
#ifndef CORUN_GPU_OCCUPANCY_H
#define CORUN_GPU_OCCUPANCY_H

#include "corun/gpu.h"

/* Resources that one thread block takes on an SM, rounded up to allocation units. */
struct tb_needs {
    uint32_t registers, shared_bytes, threads, warps, barriers;
};
/* Smallest setting of the shared memory that holds so many bytes; the largest is shared_bytes_per_sm. */
uint32_t shared_setting_for(const struct corun_gpu_config *config, uint32_t bytes);
void tb_needs_compute(const struct corun_gpu_config *config, const struct corun_grid *grid, struct tb_needs *needs);

#endif
