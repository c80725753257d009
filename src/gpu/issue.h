/* SPDX-License-Identifier: MIT */
/* A warp instruction is issued. */
#ifndef CORUN_GPU_ISSUE_H
#define CORUN_GPU_ISSUE_H

#include "base/bits.h"

struct machine_op;
struct scheduler;
struct sm;

/* The scheduler issues the warp's next instruction, for which everything is free. */
void sm_issue_any(struct sm *sm, struct scheduler *scheduler, uint32_t slot);
/* It has been issued: what becomes of the warp. */
void issue_go_on(struct sm *sm, uint32_t slot);

/* The same as collect_operands and free_pipe (issue_plain.h) where something may be late, or there are several pipelines: apart, for the host's registers. */
uint64_t issue_take_banks(struct sm *sm, struct scheduler *scheduler, uint32_t offset, const struct machine_op *op,
                          uint64_t first);
uint64_t *issue_first_free_pipe(struct sm *sm, const struct scheduler *scheduler, uint32_t pipe);

#endif
