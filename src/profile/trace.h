/* SPDX-License-Identifier: MIT */
/* The file of a traced program (trace/format.h), checked. */
#ifndef CORUN_PROFILE_TRACE_H
#define CORUN_PROFILE_TRACE_H

#include "corun/status.h"
#include "trace/format.h"

/* Points into the bytes it was read from. Samples of a task are in order of their positions, which are at most its accesses. */
struct profile_trace {
    double rate; /* one line in so many was kept */
    const struct trace_task *tasks;
    const struct trace_sample *samples; /* of all tasks, one after the other */
    size_t task_count, sample_count;
};

/* `bytes` at an address aligned to 8. SYNTAX. */
enum corun_status profile_trace_read(const char *path, const void *data, size_t bytes, struct corun_diagnostics *list,
                                     struct profile_trace *trace);

#endif
