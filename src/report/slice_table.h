/* SPDX-License-Identifier: MIT */
/* What `corun rewrite slice` says of the kernels of PTX files. */
#ifndef CORUN_REPORT_SLICE_TABLE_H
#define CORUN_REPORT_SLICE_TABLE_H

#include "corun/status.h"
#include "report/columns.h"
#include "rewrite/slice.h"

/* A file that was read and sliced. */
struct sliced_file {
    const char *path;
    struct rewritten slices;
};

/* A row for each kernel, and how many of them were sliced. False when out of memory. */
bool slice_table(const struct sliced_file *files, size_t count, struct arena *arena, const struct report_style *style,
                 FILE *stream);
/* docs/json.md, "Sliced kernels". MEMORY; write errors are left to the stream. */
enum corun_status slice_json(const struct sliced_file *files, size_t count, FILE *stream);

#endif
