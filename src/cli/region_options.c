/* SPDX-License-Identifier: MIT */
/* What of a program is timed, as the settings of the libraries have it. */
#include "cli/region_options.h"

#include "base/arena.h"
#include "cuda/region.h"

#include <string.h>

bool region_option(int key, char *value, struct argp_state *state, struct program *program)
{
    switch (key) {
    case KEY_REGION_FUNCTIONAL:
        program->functional = true;
        return true;
    case KEY_REGION_KERNEL:
        program->timed_kernel = command_name("--kernel", value, state);
        return true;
    case KEY_REGION_LAUNCH:
        program->timed_launches = value;
        return true;
    case KEY_REGION_PROFILED:
        program->timed_profiled = true;
        return true;
    default:
        return false;
    }
}

void region_set(struct program *program, struct argp_state *state, struct command *command)
{
    const char *kernel = program->timed_kernel, *launches = program->timed_launches;
    if (program->functional && (program->goal || program->isolated))
        argp_error(state, "--goal and --isolated are rates in simulated time, which --functional has not");
    if (!kernel && !launches && !program->timed_profiled)
        return;
    if (program->functional)
        argp_error(state, "--kernel, --launch and --profiled say what is timed, and --functional times nothing");
    const char *text = arena_format(command->arena, "%s%s%s%s%s", program->timed_profiled ? ";profiler" : "",
                                    launches ? ";launch=" : "", launches ? launches : "", kernel ? ";kernel=" : "",
                                    kernel ? kernel : "");
    struct region region;
    if (!text)
        command_keep(command, CORUN_MEMORY);
    else if ((launches && strchr(launches, ';')) || !region_parse(text + 1, &region))
        argp_error(state,
                   "--launch is a launch or a range of them, counted from 1, like 3 or 3-5, and --kernel a name");
    program->region = text ? text + 1 : NULL;
}
