/* SPDX-License-Identifier: MIT */
/* Conflicts at the banks of the shared memory. */
#ifndef CORUN_GPU_SHARED_MEMORY_H
#define CORUN_GPU_SHARED_MEMORY_H

#include "corun/gpu.h"

/* Cycles that the banks are taken by the lanes' accesses, >= 1. */
uint32_t shared_memory_cycles(const struct corun_gpu_config *config, const uint64_t *addresses, uint32_t lanes,
                              uint32_t access_bytes, bool atomic);

#endif
