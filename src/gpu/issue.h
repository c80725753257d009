/* SPDX-License-Identifier: MIT */
/* A warp instruction is issued. */
#ifndef CORUN_GPU_ISSUE_H
#define CORUN_GPU_ISSUE_H

#include "base/bits.h"

struct sm;

/* The scheduler issues the warp's next instruction, for which everything is free. */
void sm_issue(struct sm *sm, uint32_t scheduler, uint32_t warp);

#endif
