/* SPDX-License-Identifier: MIT */
/*
 * What happened over the window of a case, in at most HISTORY_INTERVALS intervals: an observer of the shared run that
 * keeps sums and passes on what it is told to the case's own observer, if it has one.
 */
#ifndef CORUN_CASE_HISTORY_H
#define CORUN_CASE_HISTORY_H

#include "base/arena.h"
#include "corun/case.h"

#define HISTORY_INTERVALS 100u

struct history;
struct corun_archive;

/* Lives in the arena; NULL when out of memory. */
struct history *history_create(const struct corun_case *job, struct arena *arena);
/* From now on it observes; it must outlive the run. */
void history_observe(struct history *history, struct corun_gpu *gpu);
/* What the GPU calls; `history` is a struct history. */
void history_see(void *history, const struct corun_gpu *gpu, const struct corun_observation *seen);
/* To a checkpoint or from it, after the GPU. */
void history_archive(struct corun_archive *archive, struct history *history, const struct corun_gpu *gpu);
/* The run is over, and the GPU still there. */
void history_end(struct history *history);
/* The means of the intervals, in memory of the arena. MEMORY. */
enum corun_status history_collect(const struct history *history, struct arena *arena,
                                  struct corun_case_history *result);

#endif
