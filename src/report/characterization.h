/* SPDX-License-Identifier: MIT */
/* Reports of characterisations: for people, as a Markdown page, as JSON. */
#ifndef CORUN_REPORT_CHARACTERIZATION_H
#define CORUN_REPORT_CHARACTERIZATION_H

#include "corun/characterize.h"
#include "report/columns.h"

#include <stdio.h>

/*
 * What limits each workload and its class, its kernels, its speed over SMs and clocks, its work, and what the papers
 * say of it. Write errors are left to the stream; false means out of memory.
 */
bool characterization_print(const struct corun_characterize_result *result, const struct report_style *style,
                            FILE *stream);
/* The same as a page of Markdown; `command` is the command line that makes it. */
bool characterization_page(const struct corun_characterize_result *result, const char *command, FILE *stream);
/* MEMORY; write errors are left to the stream. */
enum corun_status characterization_json(const struct corun_characterize_result *result, FILE *stream);

#endif
