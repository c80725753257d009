/* SPDX-License-Identifier: MIT */
/* What a program reports of its queries: task graphs and times (docs/host-applications.md has the JSON). */
#ifndef CORUN_PROFILE_REPORT_H
#define CORUN_PROFILE_REPORT_H

#include "base/arena.h"
#include "corun/status.h"

struct profile_need {
    uint32_t task, earlier; /* earlier < task */
};

struct profile_phase {
    const char *name;
    uint64_t serial_ns; /* of one thread, before the phase */
    uint32_t task_count, need_count;
    uint64_t *task_ns; /* [task_count], processor time */
    struct profile_need *needs;
};

struct profile_query {
    uint64_t wall_ns, serial_ns; /* from begin to end; of one thread, behind the last phase */
    uint32_t phase_count;
    struct profile_phase *phases;
};

struct profile_report {
    const char *program, *what, *size_of;
    bool batch;
    uint32_t size, mean_size, threads, query_count;
    struct profile_query *queries;
};

/* `text` is for the report of `path`. SYNTAX, MEMORY. Everything of the report lives in the arena. */
enum corun_status profile_report_parse(const char *path, const char *text, size_t bytes, struct arena *arena,
                                       struct corun_diagnostics *list, struct profile_report *report);

/* The query on one core: the sum of everything in it. */
uint64_t profile_query_work(const struct profile_query *query);

#endif
