/* SPDX-License-Identifier: MIT */
/* Checkpoints of the shared run of a case: when they are written, and what a run continues from (docs/checkpoints.md). */
#ifndef CORUN_CASE_CHECKPOINT_H
#define CORUN_CASE_CHECKPOINT_H

#include "case/run.h"

struct checkpointing;

/*
 * After the workloads have been loaded, before anything is simulated. Finds out whether the case can have checkpoints at all, and reads the one that
 * it continues. *result is NULL where the case wants neither. UNSUPPORTED, and statuses of checkpoint_read and checkpoint_check.
 */
enum corun_status checkpointing_create(struct run *run, struct checkpointing **result);
void checkpointing_destroy(struct checkpointing *checkpointing);
/* The GPU has its applications, policy and observers. */
void checkpointing_begin(struct checkpointing *checkpointing);
/* The shared run has ended well. A note if it did so before the cycle whose state was asked for. */
void checkpointing_end(const struct checkpointing *checkpointing);

#endif
