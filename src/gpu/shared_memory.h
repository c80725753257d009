/* SPDX-License-Identifier: MIT */
/* Conflicts at the banks of the shared memory. */
#ifndef CORUN_GPU_SHARED_MEMORY_H
#define CORUN_GPU_SHARED_MEMORY_H

#include "corun/gpu.h"

/* Cycles that the banks are taken by the lanes' accesses, >= 1. */
uint32_t shared_memory_cycles(const struct corun_gpu_config *config, const uint64_t *addresses, uint32_t lanes,
                              uint32_t access_bytes);
/* The same of what was just issued, which may say what shape its addresses have. */
uint32_t shared_access_cycles(const struct corun_gpu_config *config, const struct corun_issue *issue, uint32_t lanes,
                              uint32_t access_bytes);
/* The same of an atomic that the banks perform: lanes at one address one after the other. */
uint32_t shared_atomic_cycles(const struct corun_gpu_config *config, const uint64_t *addresses, uint32_t lanes,
                              uint32_t access_bytes);
/*
 * An atomic that is a loop of a load, an operation and a compare-and-swap, in each turn of which one lane of each address is done: how many
 * turns there are, and *cycles that the banks are taken by all of them.
 */
uint32_t shared_loop_turns(const struct corun_gpu_config *config, const uint64_t *addresses, uint32_t lanes,
                           uint32_t access_bytes, uint32_t *cycles);

#endif
