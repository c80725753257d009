/* SPDX-License-Identifier: MIT */
/* Cycles of the schedulers in which nothing issues, and their cause. */
#ifndef CORUN_GPU_STALL_H
#define CORUN_GPU_STALL_H

#include "corun/gpu.h"

struct sm;

/* `issued` has the application that each scheduler issued, NOTHING if none; `any`: one of them did */
void stall_account(struct sm *sm, const uint32_t *issued, bool any, uint64_t cycles);
void stall_flush(struct sm *sm); /* brings the counters up to date */
/* An application begins or ceases to be the only one here, or to be counted under one kernel. */
void stall_one_begins(struct sm *sm);
void stall_one_ends(struct sm *sm);
/*
 * Where the cycles of the schedulers went: issue_cycles and stall_..., each cycle with warps of anybody in one of them.
 */
void stall_of_schedulers(const struct sm *sm, struct corun_counters *counters);

#endif
