/* SPDX-License-Identifier: MIT */
/* libFuzzer: what a program reports of its task graph, and a trace. What is taken can be scheduled. */
#include "profile/curve.h"
#include "profile/schedule.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_report(const char *text, size_t size)
{
    struct arena *arena = arena_create();
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct profile_report report;
    if (!arena || !list)
        abort();
    enum corun_status status = profile_report_parse("report", text, size, arena, list, &report);
    if (status != CORUN_OK && (status != CORUN_SYNTAX || corun_diagnostics_count(list) != 1))
        abort();
    for (uint32_t q = 0; status == CORUN_OK && q < report.query_count; q++) {
        uint64_t one = 0, many = 0;
        if (profile_schedule(&report.queries[q], 1, NULL, &one) != CORUN_OK ||
            profile_schedule(&report.queries[q], 3, NULL, &many) != CORUN_OK ||
            one != profile_query_work(&report.queries[q]) || many > one || many < one / 3)
            abort();
    }
    corun_diagnostics_destroy(list);
    arena_destroy(arena);
}

static void try_trace(const uint8_t *data, size_t size)
{
    struct profile_trace trace;
    struct profile_totals totals;
    struct profile_report none = {.program = ""};
    static const uint64_t lines = 8;
    uint64_t count;
    struct profile_misses misses = {.lines = &lines, .size_count = 1, .misses = &count};
    void *copy = malloc(size + 1); /* aligned */
    if (!copy)
        abort();
    memcpy(copy, data, size);
    if (profile_trace_read("trace", copy, size, NULL, &trace) == CORUN_OK) {
        profile_totals(&trace, &totals);
        if (profile_curve(&none, &trace, 1, NULL, &misses) != (trace.task_count ? CORUN_ARGUMENT : CORUN_OK))
            abort();
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_report((const char *)data, size);
    try_trace(data, size);
    return 0;
}
