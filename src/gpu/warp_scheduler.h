/* SPDX-License-Identifier: MIT */
/* A warp scheduler: the warps that belong to it, and which ready one issues. */
#ifndef CORUN_GPU_WARP_SCHEDULER_H
#define CORUN_GPU_WARP_SCHEDULER_H

#include "gpu/sm_limits.h"

struct sm;

struct scheduler {
    uint64_t warps;  /* slots that belong to it */
    uint64_t active; /* two_level: the active set */
    uint64_t free_at;
    uint64_t collector_free[MAX_COLLECTORS];
    uint32_t collector; /* one that is free, when an instruction is issued */
    uint64_t bank_free[MAX_BANKS];
    uint32_t last; /* slot that issued last, NOTHING: none */
};

/* Which of the candidates issues; `candidates` is not 0. */
uint32_t warp_scheduler_pick(struct sm *sm, uint32_t scheduler, uint64_t candidates);
/* two_level: the part of `candidates` that is in the active set, after bringing that up to date. */
uint64_t warp_scheduler_active(struct sm *sm, uint32_t scheduler, uint64_t candidates);

#endif
