/* SPDX-License-Identifier: MIT */
/* The options of one program among several, as the settings of the libraries have them. */
#include "cli/share_options.h"

#include "base/arena.h"
#include "base/number.h"
#include "cli/daemon_goal.h"
#include "wire/wire.h"

#include <string.h>

bool share_option(int key, char *value, struct argp_state *state, struct command *command, struct program *program)
{
    struct daemon_goal goal;
    double ipc;
    switch (key) {
    case KEY_SHARE_GOAL:
        if (!daemon_goal_parse(value, &goal) || (goal.kind > CORUN_GOAL_IPC && !program->runs_are_goals))
            argp_error(state, program->runs_are_goals ? DAEMON_GOAL_USAGE_ALL : DAEMON_GOAL_USAGE, value);
        program->goal_kind = wire_goal_word(goal.kind);
        program->goal = goal.kind == CORUN_GOAL_NONE ? NULL : arena_format(command->arena, "%.17g", goal.value);
        if (goal.kind != CORUN_GOAL_NONE && !program->goal)
            command_keep(command, CORUN_MEMORY);
        return true;
    case KEY_SHARE_ISOLATED:
        if (!number_parse_real(value, &ipc) || ipc <= 0)
            argp_error(state, "--isolated is a number of thread instructions per cycle, not `%s`", value);
        program->isolated = value;
        return true;
    case KEY_SHARE_NAME:
        if (!*value || strlen(value) >= WIRE_NAME_BYTES)
            argp_error(state, "--name is at most %u bytes, not `%s`", WIRE_NAME_BYTES - 1, value);
        program->name = value;
        return true;
    default:
        return false;
    }
}
