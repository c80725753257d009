/* SPDX-License-Identifier: MIT */
/*
 * A task graph on a number of cores, by list scheduling (Graham: Bounds for Certain Multiprocessing Anomalies, 1966): whenever a core is
 * free, it takes the task with the lowest number among those whose needs have ended. That is what examples/host/tasks.c does, without what
 * waking threads costs.
 */
#ifndef CORUN_PROFILE_SCHEDULE_H
#define CORUN_PROFILE_SCHEDULE_H

#include "profile/report.h"

/* When a piece of a query begins, from the query's beginning on: the serial part before a phase, or a task. */
struct profile_start {
    uint32_t phase,
        task; /* CORUN_TRACE_SERIAL: the serial part; behind the last phase, `phase` is the number of phases */
    uint64_t start_ns, length_ns;
};

/* Pieces of a query: tasks, and serial parts, one more than phases. */
size_t profile_pieces(const struct profile_query *query);
/*
 * `starts` [profile_pieces] in order of phases, serial part first, then tasks by number; NULL if nobody wants them. *length_ns is how long the
 * query takes. MEMORY.
 */
enum corun_status profile_schedule(const struct profile_query *query, uint32_t cores, struct profile_start *starts,
                                   uint64_t *length_ns);

#endif
