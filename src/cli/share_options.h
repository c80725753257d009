/* SPDX-License-Identifier: MIT */
/* What is said of one program among several: its goal, its rate alone, its name. */
#ifndef CORUN_CLI_SHARE_OPTIONS_H
#define CORUN_CLI_SHARE_OPTIONS_H

#include "cli/program.h"

enum { KEY_SHARE_GOAL = 0x3000, KEY_SHARE_NAME, KEY_SHARE_ISOLATED };

/* False if it is none of these options; a value that cannot be used ends the process. */
bool share_option(int key, char *value, struct argp_state *state, struct command *command, struct program *program);

#endif
