/* SPDX-License-Identifier: MIT */
/*
 * Kernel slots that are given back: a slot's number stays behind in packets, cache lines and DRAM requests that the memory system still has
 * to do with. A sweep (kernel.c) gives all that to one heir, together with what has been counted; then the slots can be used again.
 */
#ifndef CORUN_GPU_RETIRED_KERNELS_H
#define CORUN_GPU_RETIRED_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_SLOTS (UINT16_MAX + 1u)

struct retired_kernels {
    uint64_t marks[KERNEL_SLOTS / 64]; /* by slot */
    uint16_t heir;
};

static inline bool is_retired(const struct retired_kernels *retired, uint32_t kernel)
{
    return retired->marks[kernel / 64] >> kernel % 64 & 1u;
}

static inline uint16_t heir_of(const struct retired_kernels *retired, uint16_t kernel)
{
    return is_retired(retired, kernel) ? retired->heir : kernel;
}

#endif
