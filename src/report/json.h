/* SPDX-License-Identifier: MIT */
/* Reports for programs. Key order and number formatting are fixed: equal results give equal bytes, wall time apart. */
#ifndef CORUN_REPORT_JSON_H
#define CORUN_REPORT_JSON_H

#include "case/launch.h"
#include "corun/case.h"
#include "evaluate/evaluate.h"
#include "report/json_writer.h"

#include <jansson.h>
#include <stdio.h>

/* Write errors are left to the stream; MEMORY. Where a number is not known it is null. */
enum corun_status json_case(const struct corun_case_result *result, FILE *stream);
/*
 * A case on the software machine: the same members as far as that machine can tell, and what control took. With a result of the simulated GPU
 * beside it (else NULL): an object with both, "hardware" and "software". MEMORY.
 */
enum corun_status json_machines(const struct corun_case_result *hardware, const struct evaluate_result *software,
                                FILE *stream);
/* What json_case wrote is read again, to be freed by json_decref. NULL if it is no such JSON: `problem` says why, else it is empty. */
#define JSON_PROBLEM_BYTES 300u
json_t *json_case_read(const char *text, size_t bytes, char problem[JSON_PROBLEM_BYTES]);
const json_t *json_case_applications(const json_t *result);
/* "energy.total": a member of a member of a result, or of one of its applications. NULL if there is none. */
const json_t *json_case_value(const json_t *result, const char *path);

/* The lines of the profile of a kernel, as a case has them. */
json_t *json_kernel_profile(struct json_writer *writer, const struct corun_case_kernel *kernel);

enum corun_status json_launch(const struct launch_result *result, FILE *stream);

#endif
