/* SPDX-License-Identifier: MIT */
/* What became of services and batch programs on this machine: as a table, as JSON. */
#ifndef CORUN_REPORT_AGENT_REPORT_H
#define CORUN_REPORT_AGENT_REPORT_H

#include "agent/agent.h"
#include "report/columns.h"

struct agent_report {
    const struct agent_outcome *outcome;
    const char *policy; /* as written */
    double seconds;     /* with beginning and end */
};

/* False when memory ran out; write errors are left to the stream. */
bool agent_report_table(const struct agent_report *report, struct arena *arena, const struct report_style *style,
                        FILE *stream);
/* With the keys of simulated hosts, and more. MEMORY; write errors are left to the stream. docs/json.md has the keys. */
enum corun_status agent_report_json(const struct agent_report *report, FILE *stream);

/* What an agent tells of itself (docs/json.md), as a table. SYNTAX: the text is none; MEMORY. */
enum corun_status agent_report_status(const char *text, struct arena *arena, const struct report_style *style,
                                      struct corun_diagnostics *list, FILE *stream);

#endif
