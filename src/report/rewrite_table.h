/* SPDX-License-Identifier: MIT */
/* What `corun rewrite` says of the kernels of PTX files. */
#ifndef CORUN_REPORT_REWRITE_TABLE_H
#define CORUN_REPORT_REWRITE_TABLE_H

#include "corun/status.h"
#include "report/columns.h"
#include "rewrite/rewritten.h"

/* A file that was read and rewritten. */
struct rewritten_file {
    const char *path;
    struct rewritten rewritten;
};

/* Files that went through one pass. */
struct rewrite_table {
    const char *pass, *done; /* "slice"; what kernels are then that were not refused: "sliced" */
    const struct rewritten_file *files;
    size_t count;
};

/* A row for each kernel, and how many of them were not refused. False when out of memory. */
bool rewrite_table_print(const struct rewrite_table *table, struct arena *arena, const struct report_style *style,
                         FILE *stream);
/* docs/json.md, "Rewritten kernels". MEMORY; write errors are left to the stream. */
enum corun_status rewrite_table_json(const struct rewrite_table *table, FILE *stream);

#endif
