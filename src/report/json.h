/* Reports for programs. Key order and number formatting are fixed: equal results give equal bytes, wall time apart. */
#ifndef CORUN_REPORT_JSON_H
#define CORUN_REPORT_JSON_H

#include "case/launch.h"
#include "corun/case.h"

#include <stdio.h>

/* Write errors are left to the stream; MEMORY. Where a number is not known it is null. */
enum corun_status json_case(const struct corun_case_result *result, FILE *stream);
enum corun_status json_launch(const struct launch_result *result, FILE *stream);

#endif
