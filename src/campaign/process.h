/* SPDX-License-Identifier: MIT */
/* Other programs that are run for what they say. */
#ifndef CORUN_CAMPAIGN_PROCESS_H
#define CORUN_CAMPAIGN_PROCESS_H

#include "corun/status.h"

struct process_output {
    int exit_status;     /* 128 + the signal that ended it */
    char *output, *said; /* of its standard output and error, without blanks at their ends; process_output_free */
};

/* Runs a program, looked for in PATH, until it has ended. NOT_FOUND: there is none; FILE, MEMORY. */
enum corun_status process_run(const char *const *arguments, struct corun_diagnostics *list,
                              struct process_output *output);
void process_output_free(struct process_output *output);

#endif
