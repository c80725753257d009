/* SPDX-License-Identifier: MIT */
/* A trace of one thread becomes what a cache sees of many cores. */
#include "profile/curve.h"

#include "corun/trace.h"
#include "profile/schedule.h"

#include <math.h>
#include <stdlib.h>

struct event {
    double time;
    size_t number; /* of the sample: ties are in the order of the trace */
};

/* All pieces of all queries: where a task of the trace lies in time. */
struct timeline {
    const struct profile_report *report;
    struct profile_start *starts;
    size_t *first; /* [query_count + 1]: its pieces */
    double *begin; /* [query_count]: one after the other */
};

static void timeline_free(struct timeline *timeline)
{
    free(timeline->starts);
    free(timeline->first);
    free(timeline->begin);
}

static enum corun_status timeline_make(struct timeline *timeline, const struct profile_report *report, uint32_t cores)
{
    size_t count = report->query_count, pieces = 0;
    *timeline = (struct timeline){.report = report,
                                  .first = calloc(count + 1, sizeof *timeline->first),
                                  .begin = calloc(count + 1, sizeof *timeline->begin)};
    if (!timeline->first || !timeline->begin)
        return CORUN_MEMORY;
    for (uint32_t q = 0; q < count; q++) {
        timeline->first[q] = pieces;
        pieces += profile_pieces(&report->queries[q]);
    }
    timeline->first[count] = pieces;
    timeline->starts = calloc(pieces + 1, sizeof *timeline->starts);
    enum corun_status status = timeline->starts ? CORUN_OK : CORUN_MEMORY;
    for (uint32_t q = 0; q < count && status == CORUN_OK; q++) {
        uint64_t length_ns = 0;
        status = profile_schedule(&report->queries[q], cores, timeline->starts + timeline->first[q], &length_ns);
        timeline->begin[q + 1] = timeline->begin[q] + (double)length_ns;
    }
    return status;
}

/* The piece that a task of the trace is; NULL if the report has none. */
static const struct profile_start *piece_of(const struct timeline *timeline, const struct trace_task *task)
{
    const struct profile_report *report = timeline->report;
    if (task->query >= report->query_count)
        return NULL;
    const struct profile_query *query = &report->queries[task->query];
    bool serial = task->task == CORUN_TRACE_SERIAL;
    if (task->phase > query->phase_count ||
        (!serial && (task->phase == query->phase_count || task->task >= query->phases[task->phase].task_count)))
        return NULL;
    size_t at = timeline->first[task->query] + task->phase;
    for (uint32_t p = 0; p < task->phase; p++)
        at += query->phases[p].task_count;
    return &timeline->starts[at + (serial ? 0 : task->task + 1u)];
}

static int compare(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Events and what they are, in the order of the trace; then in that of time. */
static enum corun_status arrange(const struct timeline *timeline, const struct profile_trace *trace,
                                 struct corun_diagnostics *list, struct event *events, bool *counts)
{
    size_t number = 0;
    for (size_t t = 0; t < trace->task_count; t++) {
        const struct trace_task *task = &trace->tasks[t];
        const struct profile_start *piece = piece_of(timeline, task);
        if (!piece)
            return corun_report(
                list, CORUN_ARGUMENT, CORUN_NOWHERE,
                "the trace has task %u of phase %u of query %u, which the report has not: are both of the same "
                "program?",
                task->task, task->phase, task->query);
        double begin = timeline->begin[task->query] + (double)piece->start_ns;
        double pace = task->accesses ? (double)piece->length_ns / (double)task->accesses : 0;
        for (size_t end = number + task->samples; number < end; number++) {
            events[number] = (struct event){begin + pace * (double)trace->samples[number].position, number};
            counts[number] = task->query > 0;
        }
    }
    qsort(events, number, sizeof *events, compare);
    return CORUN_OK;
}

enum corun_status profile_curve(const struct profile_report *report, const struct profile_trace *trace, uint32_t cores,
                                struct corun_diagnostics *list, struct profile_misses *misses)
{
    struct timeline timeline;
    struct event *events = calloc(trace->sample_count + 1, sizeof *events);
    struct profile_access *accesses = calloc(trace->sample_count + 1, sizeof *accesses);
    bool *counts = calloc(trace->sample_count + 1, sizeof *counts);
    enum corun_status status = timeline_make(&timeline, report, cores);
    if (!events || !accesses || !counts)
        status = CORUN_MEMORY;
    if (status == CORUN_OK)
        status = arrange(&timeline, trace, list, events, counts);
    for (size_t i = 0; i < trace->sample_count && status == CORUN_OK; i++) {
        uint64_t line = trace->samples[events[i].number].line;
        accesses[i] = (struct profile_access){line / 2, line & 1, counts[events[i].number]};
    }
    if (status == CORUN_OK)
        status = profile_reuse(accesses, trace->sample_count, trace->rate, misses);
    timeline_free(&timeline);
    free(events);
    free(accesses);
    free(counts);
    return status;
}

void profile_totals(const struct profile_trace *trace, struct profile_totals *totals)
{
    *totals = (struct profile_totals){0};
    for (size_t t = 0; t < trace->task_count; t++) {
        const struct trace_task *task = &trace->tasks[t];
        if (!task->query)
            continue;
        totals->accesses += task->accesses;
        totals->misses += task->misses;
        totals->streamed += task->streamed;
        for (uint32_t w = 0; w < TRACE_WINDOWS; w++)
            totals->groups[w] += task->groups[w];
    }
}

enum corun_status profile_variation(const struct profile_trace *trace, uint32_t queries, double *deviation)
{
    uint64_t *accesses = calloc(queries + 1u, sizeof *accesses);
    double mean = 0, squares = 0, count = queries > 1 ? queries - 1 : 1;
    if (!accesses)
        return CORUN_MEMORY;
    for (size_t t = 0; t < trace->task_count; t++)
        accesses[trace->tasks[t].query < queries ? trace->tasks[t].query : queries] += trace->tasks[t].accesses;
    for (uint32_t q = 1; q < queries; q++)
        mean += log((double)accesses[q] + 1) / count;
    for (uint32_t q = 1; q < queries; q++)
        squares += pow(log((double)accesses[q] + 1) - mean, 2);
    *deviation = sqrt(squares / count);
    free(accesses);
    return CORUN_OK;
}
