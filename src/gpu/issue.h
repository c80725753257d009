/* SPDX-License-Identifier: MIT */
/* A warp instruction is issued. */
#ifndef CORUN_GPU_ISSUE_H
#define CORUN_GPU_ISSUE_H

#include "base/bits.h"

struct sm;
struct sm_warp;

/* The scheduler issues the warp's next instruction, for which everything is free. */
void sm_issue_any(struct sm *sm, uint32_t scheduler, uint32_t slot);
/* The same of an instruction that has MACHINE_PLAIN, where nobody traces or profiles. `warp`: the one in the slot. */
void sm_issue_plain(struct sm *sm, uint32_t scheduler, uint32_t slot, struct sm_warp *warp);

#endif
