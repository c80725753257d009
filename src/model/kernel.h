/* SPDX-License-Identifier: MIT */
/*
 * A kernel as the analytical model sees it: a few numbers of a profile (Zhong and He, Kernelet, TPDS 2014, section 4.3 and table 1).
 * src/case/kernel_profile.h makes them: from counters of a simulated run, or from some thread blocks without timing.
 */
#ifndef CORUN_MODEL_KERNEL_H
#define CORUN_MODEL_KERNEL_H

#include "model/gpu.h"

struct model_kernel {
    /* What a warp does. */
    double memory_share;         /* R_m: of its warp instructions, those after which it waits for memory; 0 to 1 */
    double uncoalesced_share;    /* of these, the uncoalesced ones; 0 to 1 */
    double coalesced_requests;   /* memory requests of a coalesced access, at least 1 */
    double uncoalesced_requests; /* memory requests of an uncoalesced access, 1 to 32 */
    /* Its thread blocks. */
    double tb_instructions; /* I_K: warp instructions of one, mean; above 0 */
    uint64_t tbs;           /* of the grid: its size in thread blocks */
    uint32_t tb_warps;
    /* What one takes of an SM, as allocated: struct model_capacity of one thread block, so `tbs` is 1. */
    struct model_capacity needs;
    /* How it ran alone, where that was measured; NAN where not. */
    double ipc;                  /* warp instructions per core cycle and SM */
    double pipeline_utilization; /* ipc over the peak of the GPU; 0 to 1 */
    double memory_utilization;   /* bytes to and from DRAM over what its pins can move in that time; 0 to 1 */
};

/* What a thread block takes, rounded to the units of allocation as the machine does. */
struct model_capacity model_kernel_needs(const struct corun_gpu_config *config, uint32_t tb_threads,
                                         uint32_t registers_per_thread, uint32_t shared_bytes, uint32_t barriers);

/* How many thread blocks an empty SM holds; 0 if one does not fit. */
uint32_t model_kernel_residents(const struct model_gpu *gpu, const struct model_kernel *kernel);
/* The same beside `beside` thread blocks of another kernel. */
uint32_t model_kernel_residents_beside(const struct model_gpu *gpu, const struct model_kernel *kernel,
                                       const struct model_kernel *other, uint32_t beside);

#endif
