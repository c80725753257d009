/* SPDX-License-Identifier: MIT */
/* What became of services and batch programs on simulated hosts: as tables, as JSON. */
#ifndef CORUN_REPORT_HOST_REPORT_H
#define CORUN_REPORT_HOST_REPORT_H

#include "host/study.h"
#include "report/columns.h"

/* Cases: settings, each with the words of its policy, and what came of it. */
struct host_report {
    const struct host_machine *machine;
    const struct host_setting *settings;
    const struct host_outcome *outcomes;
    const char *const *policies; /* [count], as written */
    size_t count;
    double seconds; /* of the host that simulated */
};

/* A row for each application under each policy. False when memory ran out; write errors are left to the stream. */
bool host_report_table(const struct host_report *report, struct arena *arena, const struct report_style *style,
                       FILE *stream);
/* Cases with one service and one batch program each: a row for each pair, and one for each policy with sums. */
bool host_report_pairs(const struct host_report *report, struct arena *arena, const struct report_style *style,
                       FILE *stream);
/* Nodes of a cluster, those of a policy one after the other: a row for each policy, with how many nodes violate goals by how much. */
bool host_report_cluster(const struct host_report *report, struct arena *arena, const struct report_style *style,
                         FILE *stream);
/* MEMORY; write errors are left to the stream. docs/json.md has the keys. */
enum corun_status host_report_json(const struct host_report *report, FILE *stream);

#endif
