/* SPDX-License-Identifier: MIT */
/* A warp scheduler: the warps that belong to it. Which ready one issues: warp_choice.h. */
#ifndef CORUN_GPU_WARP_SCHEDULER_H
#define CORUN_GPU_WARP_SCHEDULER_H

#include "gpu/cache_lines.h"
#include "gpu/machine_op.h"
#include "gpu/sm_limits.h"

struct sm;

/*
 * `bank_free`: the cycle, in reads (issue.c), from which each register bank is free; `banks_free` is not before any of them. Where it is not after
 * the cycle of an instruction and the banks serve all its reads in that cycle, nothing is late, and all are free in the next one. Only `banks_free`
 * is set then, and `quick_op` says whose reads they are, if another instruction comes in the same cycle, `quick_first`.
 */
struct scheduler {
    _Alignas(HOST_LINE_BYTES) uint64_t warps; /* slots that belong to it */
    uint64_t active;                          /* two_level: the active set */
    uint64_t free_at;
    uint32_t last;      /* slot that issued last, NOTHING: none */
    uint32_t collector; /* one that is free, when an instruction is issued */
    uint64_t banks_free, quick_first;
    const struct machine_op *quick_op;
    uint8_t quick_offset;
    uint8_t first_unit[PIPE_COUNT]; /* the pipelines of a kind that it may use start here */
    uint64_t collector_free[MAX_COLLECTORS];
    uint64_t bank_free[MAX_BANKS];
    uint64_t unused[8]; /* a size that indices are quickly multiplied by */
};

/* two_level: the part of `candidates` that is in the active set, after bringing that up to date. */
uint64_t warp_scheduler_active(struct sm *sm, uint32_t scheduler, uint64_t candidates);

#endif
