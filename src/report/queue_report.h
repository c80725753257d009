/* SPDX-License-Identifier: MIT */
/* Queues that were served: tables for people, JSON (docs/json.md), and a timeline of the slices. */
#ifndef CORUN_REPORT_QUEUE_REPORT_H
#define CORUN_REPORT_QUEUE_REPORT_H

#include "base/vector.h"
#include "report/columns.h"
#include "serve/serve.h"

/* Kernels, each scheduler's launches by kernel, and the schedulers side by side. Write errors are left to the stream; false: out of memory. */
bool queue_tables(const struct serve_result *result, struct arena *arena, const struct report_style *style,
                  FILE *stream);
enum corun_status queue_json(const struct serve_result *result, FILE *stream);

/* Slices as they ran, for a timeline. */
struct queue_span {
    uint64_t begin, end; /* ticks */
    uint32_t scheduler, kind, strand, first, tbs;
    size_t submission;
};
struct queue_timeline {
    VECTOR(struct queue_span) spans;
    size_t limit, left_out; /* spans at most; those that came later */
    bool failed;            /* out of memory */
};
/* For the `slice` of a serve_request; `user` is a struct queue_timeline. */
void queue_timeline_slice(void *user, uint32_t scheduler, uint64_t begin, uint64_t end, size_t submission,
                          const struct queue_slice *slice);
/*
 * As a trace that ui.perfetto.dev opens: a process for each scheduler, and for each strand as many tracks as it had slices in flight at once. Write
 * errors are left to the stream; false: out of memory.
 */
bool queue_timeline_write(const struct queue_timeline *timeline, const struct serve_result *result, FILE *stream);

#endif
