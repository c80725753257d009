/* SPDX-License-Identifier: MIT */
/* Goals of programs under corund, as people write them. */
#ifndef CORUN_CLI_DAEMON_GOAL_H
#define CORUN_CLI_DAEMON_GOAL_H

#include "corun/policy.h"

struct daemon_goal {
    enum corun_goal_kind kind; /* NONE, FRACTION or IPC */
    double value;
};
#define DAEMON_GOAL_USAGE "a goal is 90%% of the rate alone, or ipc=X thread instructions per cycle, not `%s`"
/* "90%", "ipc=300" or "none". */
bool daemon_goal_parse(const char *text, struct daemon_goal *goal);

#endif
