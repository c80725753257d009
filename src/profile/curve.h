/* SPDX-License-Identifier: MIT */
/*
 * What a shared last-level cache misses while a program runs on a number of cores. The trace is of one thread; the schedule of its task graph
 * says which tasks run side by side on so many cores, and the accesses of these are put in one sequence by time, a task's evenly over its
 * length by loads and stores.
 *
 *     one thread    │ task 0 ▪ ▪▪│ task 1 ▫▫  ▫│              the trace
 *
 *     two cores     │ task 0 ▪ ▪▪│                            the schedule
 *                   │ task 1 ▫▫  ▫│
 *     sequence        ▪ ▫ ▫ ▪ ▪ ▫                             what the cache sees
 */
#ifndef CORUN_PROFILE_CURVE_H
#define CORUN_PROFILE_CURVE_H

#include "profile/report.h"
#include "profile/reuse.h"
#include "profile/trace.h"

/*
 * `misses` as profile_reuse has it: of sampled accesses. Query 0 warms the cache and is not counted. The report is of a run of the same queries that
 * was not traced; ARGUMENT if their task graphs differ. MEMORY.
 */
enum corun_status profile_curve(const struct profile_report *report, const struct profile_trace *trace, uint32_t cores,
                                struct corun_diagnostics *list, struct profile_misses *misses);

/* Sums over all queries but the first. */
struct profile_totals {
    uint64_t accesses, misses, streamed; /* of the private caches */
    uint64_t groups[TRACE_WINDOWS];
};
void profile_totals(const struct profile_trace *trace, struct profile_totals *totals);
/* The deviation of the logarithm of the loads and stores of queries, without the first: how queries of one size differ. MEMORY. */
enum corun_status profile_variation(const struct profile_trace *trace, uint32_t queries, double *deviation);

#endif
