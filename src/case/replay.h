/* SPDX-License-Identifier: MIT */
/* Records of the workloads of a case, kept in a folder by content (docs/replay.md). */
#ifndef CORUN_CASE_REPLAY_H
#define CORUN_CASE_REPLAY_H

#include "case/run.h"

/*
 * Opens the record of each member's workload; where there is none, or none that can be used, the workload is recorded first. One that cannot be
 * replayed has none: it is executed, and a warning says why. FILE, MEMORY, and what running a workload without timing returns.
 */
enum corun_status replay_find(struct run *run);

#endif
