/* SPDX-License-Identifier: MIT */
/* Barriers of a thread block: who has arrived, who waits, and what happens when nobody else can come. */
#ifndef CORUN_GPU_BARRIER_H
#define CORUN_GPU_BARRIER_H

#include "base/bits.h"

struct sm;

struct barrier {
    uint64_t waiting; /* warps */
    uint32_t arrived; /* warps, those that do not wait included */
    uint32_t threads; /* expected; 0: the whole thread block */
};

/* The warp has just issued a barrier instruction (sm->issue): it waits, or all are released. */
void sm_barrier_arrive(struct sm *sm, uint32_t warp);
/* A warp of the thread block has ended: barriers that waited for it alone are met now. */
void sm_barrier_warp_ended(struct sm *sm, uint32_t tb);

#endif
