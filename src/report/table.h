/* SPDX-License-Identifier: MIT */
/* Reports for people. Write errors are left to the stream; false means out of memory. */
#ifndef CORUN_REPORT_TABLE_H
#define CORUN_REPORT_TABLE_H

#include "case/launch.h"
#include "corun/case.h"
#include "evaluate/evaluate.h"
#include "report/columns.h"

/*
 * What was run, IPC and goals, where the cycles went, memory, STP, ANTT and fairness, and the simulation's own speed.
 */
bool table_case(const struct corun_case_result *result, const struct report_style *style, FILE *stream);
/*
 * A case on the software machine: the same, as far as that machine can tell, and what control took. With a result of the simulated GPU
 * (else NULL), that first, and both beside each other at the end.
 */
bool table_machines(const struct corun_case_result *hardware, const struct evaluate_result *software,
                    const struct report_style *style, FILE *stream);
/* Per PTX line of each kernel: how often it was issued and what warps waited for before it. */
bool table_kernel_profile(const struct corun_case_kernel *kernel, struct arena *arena, const struct report_style *style,
                          FILE *stream);
bool table_profile(const struct corun_case_result *result, const struct report_style *style, FILE *stream);
/* The goal into column 1, and what became of it into column `met`. */
void table_set_goal(struct columns *columns, uint32_t met, const struct corun_case_application_result *application);
bool table_launch(const struct launch_result *result, const struct report_style *style, FILE *stream);

#endif
