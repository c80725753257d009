/* SPDX-License-Identifier: MIT */
/* What sampling came to, as a table and as JSON: for runs and for programs. */
#ifndef CORUN_REPORT_SAMPLED_H
#define CORUN_REPORT_SAMPLED_H

#include "corun/sampling.h"
#include "report/columns.h"
#include "report/json_writer.h"

/* A line that says what is estimated, and a row for each kernel and shape. False when out of memory. */
bool sampled_table(const struct corun_sampled_group *groups, uint32_t count, struct arena *arena,
                   const struct report_style *style, FILE *stream);
/* "estimated", the interval of the cycles of all launches, and "groups". */
json_t *sampled_json(struct json_writer *writer, const struct corun_sampled_group *groups, uint32_t count);

#endif
