/* SPDX-License-Identifier: MIT */
/* Cycles of the schedulers in which nothing issues, and their cause. */
#ifndef CORUN_GPU_STALL_H
#define CORUN_GPU_STALL_H

#include "corun/gpu.h"

struct sm;

/* Of one scheduler: what its cycles are counted as from `since` on, until a state changes. */
struct stall_causes {
    uint64_t since;
    uint64_t *counters[CORUN_MAX_APPLICATIONS + 1];
    uint32_t count; /* 0: not looked up */
};

/*
 * What each scheduler does at sm->now, and until its warps change: `issued` has the application that it issued in this cycle, NOTHING if
 * none; `any`: one of them did.
 */
void stall_account(struct sm *sm, const uint32_t *issued, bool any);
void stall_flush(struct sm *sm);  /* brings the counters up to date */
void stall_forget(struct sm *sm); /* the same, and what is there changes: the causes have to be looked up anew */
/* An application begins or ceases to be the only one here, or to be counted under one kernel. */
void stall_one_begins(struct sm *sm);
void stall_one_ends(struct sm *sm);
/*
 * Where the cycles of the schedulers went: issue_cycles and stall_..., each cycle with warps of anybody in one of them.
 */
void stall_of_schedulers(const struct sm *sm, struct corun_counters *counters);

#endif
