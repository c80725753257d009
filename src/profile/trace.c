/* SPDX-License-Identifier: MIT */
/* Reads a trace. */
#include "profile/trace.h"

#include <string.h>

static enum corun_status refuse(const char *path, struct corun_diagnostics *list, const char *what)
{
    return corun_report(list, CORUN_SYNTAX, (struct corun_place){path, 0, 0}, "%s", what);
}

enum corun_status profile_trace_read(const char *path, const void *data, size_t bytes, struct corun_diagnostics *list,
                                     struct profile_trace *trace)
{
    const struct trace_header *header = data;
    if (bytes < sizeof *header || memcmp(header->magic, TRACE_MAGIC, sizeof header->magic) != 0)
        return refuse(path, list, "is no trace of corun_trace");
    if (!header->threshold || header->threshold > UINT64_C(1) << 32)
        return refuse(path, list, "keeps an impossible part of the lines");
    size_t left = bytes - sizeof *header;
    if (header->task_count > left / sizeof *trace->tasks)
        return refuse(path, list, "ends in its tasks");
    left -= header->task_count * sizeof *trace->tasks;
    if (header->sample_count != left / sizeof *trace->samples || left % sizeof *trace->samples)
        return refuse(path, list, "does not end with its samples");
    *trace = (struct profile_trace){.rate = 4294967296.0 / (double)header->threshold,
                                    .tasks = (const struct trace_task *)(header + 1),
                                    .task_count = header->task_count,
                                    .sample_count = header->sample_count};
    trace->samples = (const struct trace_sample *)(trace->tasks + trace->task_count);
    size_t from = 0;
    for (size_t t = 0; t < trace->task_count; t++) {
        const struct trace_task *task = &trace->tasks[t];
        uint64_t position = 0;
        if (task->samples > trace->sample_count - from || task->streamed > task->misses)
            return refuse(path, list, "has a task with more samples, or more streamed misses, than there are");
        for (size_t end = from + task->samples; from < end; from++) {
            if (trace->samples[from].position < position || trace->samples[from].position > task->accesses)
                return refuse(path, list, "has a sample out of place");
            position = trace->samples[from].position;
        }
    }
    return from == trace->sample_count ? CORUN_OK : refuse(path, list, "has samples of no task");
}
