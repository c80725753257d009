/* SPDX-License-Identifier: MIT */
/* What of a program is timed: all, the launches of a region, or none. */
#ifndef CORUN_CLI_REGION_OPTIONS_H
#define CORUN_CLI_REGION_OPTIONS_H

#include "cli/program.h"
#include "report/program_record.h"

enum { KEY_REGION_FUNCTIONAL = 0x3100, KEY_REGION_KERNEL, KEY_REGION_LAUNCH, KEY_REGION_PROFILED };

/* False if it is none of these options; a value that cannot be used ends the process. */
bool region_option(int key, char *value, struct argp_state *state, struct program *program);
/* When all options of the program are known: program->region. */
void region_set(struct program *program, struct argp_state *state, struct command *command);
/* A note if a kernel was to be timed that none of these processes, those of the program, has launched. */
void region_judge(const struct program *program, const struct program_record *record, uint32_t first_process,
                  uint32_t processes, struct corun_diagnostics *list);

#endif
