/* SPDX-License-Identifier: MIT */
/* What of a program is timed, as the settings of the libraries have it. */
#include "cli/region_options.h"

#include "base/arena.h"
#include "base/kernel_name.h"
#include "cuda/region.h"

#include <stdio.h>
#include <string.h>

#define MOST_NAMED 8u

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

/* ": a, b", or nothing if they are too many. */
static void name_kernels(const struct program_kernel_sum *sums, size_t count, char *text, size_t bytes)
{
    const char *named[MOST_NAMED];
    size_t names = 0, length = 0;
    text[0] = 0;
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t k = 0; k < names; k++)
            known |= !strcmp(named[k], sums[i].name);
        if (!known && names == MOST_NAMED)
            return;
        if (!known)
            named[names++] = sums[i].name;
    }
    for (size_t k = 0; k < names && length < bytes; k++)
        length += (size_t)snprintf(text + length, bytes - length, "%s%s", k ? ", " : ": ", KERNEL_NAME(named[k]));
}

void region_judge(const struct program *program, const struct program_record *record, uint32_t first_process,
                  uint32_t processes, struct corun_diagnostics *list)
{
    const struct program_kernel_sum *sums = record->kernels.data;
    size_t first = 0, end;
    char text[MOST_NAMED * 64];
    if (!program->timed_kernel)
        return;
    while (first < record->kernels.count && sums[first].process < first_process)
        first++;
    for (end = first; end < record->kernels.count && sums[end].process - first_process < processes; end++)
        if (region_names(program->timed_kernel, sums[end].name))
            return;
    name_kernels(sums + first, end - first, text, sizeof text);
    (void)corun_report(list, CORUN_OK, CORUN_NOWHERE, "%s has launched no kernel `%s` (--kernel)%s%s",
                       program->name ? program->name : program->words[0], program->timed_kernel,
                       end == first ? ", and no other"
                       : *text      ? "; it has launched others"
                                    : ", but many others",
                       text);
}
