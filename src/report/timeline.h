/* SPDX-License-Identifier: MIT */
/*
 * Timelines: what an observed run did over time, as a trace that Perfetto (https://ui.perfetto.dev) and
 * chrome://tracing open: the object form of the Trace Event Format.
 *
 *     timeline_create → timeline_see (for corun_gpu_observe) … → timeline_write → timeline_destroy
 *
 * Times are those of the core clock. The file depends on the run alone: not on host threads, wall time or memory
 * layout.
 */
#ifndef CORUN_REPORT_TIMELINE_H
#define CORUN_REPORT_TIMELINE_H

#include "corun/case.h"

#include <stdio.h>

/* A line of the file takes 100 to 250 bytes: less than 50 MB. */
#define TIMELINE_LIMIT 250000u
#define TIMELINE_LOWEST_LIMIT 1000u
#define TIMELINE_SAMPLE_CYCLES 1000u

struct timeline;
struct corun_archive;

struct timeline_settings {
    const struct corun_gpu_config *gpu;
    uint32_t application_count;
    const struct corun_policy *policy; /* whose variables are shown; may be NULL */
    uint64_t first_cycle, last_cycle;  /* only what lies in these, the last one included */
    uint64_t limit; /* events: half for thread blocks, the rest for counters, launches, moments and states of SMs */
};

/* NULL when out of memory. */
struct timeline *timeline_create(const struct timeline_settings *settings);
/* For corun_gpu_observe; `timeline` is a struct timeline. */
void timeline_see(void *timeline, const struct corun_gpu *gpu, const struct corun_observation *seen);
/* For struct corun_case_keeper. */
void timeline_archive(void *timeline, struct corun_archive *archive);
/* `result` is that of the run. MEMORY, also when it ran out before; write errors are left to the stream. */
enum corun_status timeline_write(struct timeline *timeline, const struct corun_case_result *result, FILE *stream);
void timeline_destroy(struct timeline *timeline);

#endif
