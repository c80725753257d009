/* SPDX-License-Identifier: MIT */
/*
 * What the runs of a divided task left (src/split/record.c writes a line for each): read, and written as tables and JSON for
 * `corun split`.
 */
#ifndef CORUN_REPORT_SPLIT_RECORD_H
#define CORUN_REPORT_SPLIT_RECORD_H

#include "corun/status.h"
#include "report/columns.h"

#include <jansson.h>

/* One start of the program: a strategy, or a device alone. */
struct split_case {
    const char *label;    /* of the tables */
    const char *settings; /* CORUN_SPLIT of that start */
    json_t *rounds;       /* one object for each run of the task */
};

#define SPLIT_DEFAULT_STRATEGIES "meet,cap,quick,split,static"

/* Which cases every comparison has, in this order; strategies follow. */
enum { SPLIT_CPU, SPLIT_GPU, SPLIT_SIZES, SPLIT_STRATEGIES };

struct split_report {
    struct split_case *cases;
    uint32_t count;
};

/* Reads what one start left. SYNTAX if a line is not a round. */
enum corun_status split_record_read(struct split_case *item, const char *path, struct corun_diagnostics *list);
void split_record_free(struct split_report *report);

/* Strategies side by side, their first run step by step, and the GPU's rate over the size of its parts. */
bool split_tables(const struct split_report *report, struct arena *arena, const struct report_style *style,
                  FILE *stream);
enum corun_status split_json(const struct split_report *report, FILE *stream);

#endif
