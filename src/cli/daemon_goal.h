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
#define DAEMON_GOAL_USAGE_ALL \
    "a goal is 90%% of the rate alone, ipc=X thread instructions per cycle, or on a GPU of hardware ms=X for a run " \
    "or " \
    "fps=X runs a second, not `%s`"
/* "90%", "ipc=300", "ms=20", "fps=30" or "none". */
bool daemon_goal_parse(const char *text, struct daemon_goal *goal);

#endif
