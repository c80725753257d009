/* SPDX-License-Identifier: MIT */
/* Goals of applications: given, changed, taken back, and what they are as rates on the machine. */
#include "govern/state.h"

#include <math.h>

double corun_goal_ipc_of_time(uint64_t thread_instructions, uint32_t core_clock_khz, double milliseconds,
                              double transfer_milliseconds)
{
    double cycles = (double)core_clock_khz * (milliseconds - transfer_milliseconds); /* kHz times ms */
    return cycles > 0 ? (double)thread_instructions / cycles : (double)NAN;
}

const char *goal_check(const struct governor *governor, const struct governor_application *application,
                       enum corun_goal_kind kind, double value, double *ipc)
{
    const struct corun_machine *machine = &governor->machine;
    if (kind == CORUN_GOAL_NONE)
        return NULL;
    if (!(value > 0) || !isfinite(value) || !(*ipc >= 0) || !isfinite(*ipc))
        return "a goal is greater than 0";
    switch (kind) {
    case CORUN_GOAL_FRACTION:
        if (value > 1)
            return "a goal above 100 % is more than the application reaches alone";
        if (*ipc == 0)
            *ipc = value * application->isolated_ipc;
        return *ipc > 0 ? NULL : "its isolated IPC, of which the goal is a fraction, is not known";
    case CORUN_GOAL_IPC:
        if (*ipc == 0 &&
            (machine->clock != CORUN_CLOCK_CYCLES || machine->progress_unit != CORUN_PROGRESS_THREAD_INSTRUCTIONS))
            return "instructions per cycle are no goal on a machine that does not count both; a fraction or a time is";
        if (*ipc == 0)
            *ipc = value;
        return NULL;
    case CORUN_GOAL_MILLISECONDS:
    case CORUN_GOAL_FRAMES_PER_SECOND:
        if (*ipc == 0 && application->run_progress)
            *ipc = corun_goal_ipc_of_time(application->run_progress, machine->clock_khz,
                                          kind == CORUN_GOAL_MILLISECONDS ? value : 1000 / value, 0);
        return *ipc > 0 ? NULL : "a time is a goal only with its instructions per cycle";
    default:
        return "there is no such kind of goal";
    }
}

enum corun_status governor_set_goal(struct governor *governor, uint32_t application, enum corun_goal_kind kind,
                                    double value, double ipc, struct corun_diagnostics *list)
{
    if (application >= governor->application_count)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "a goal for application %u of %u", application,
                            governor->application_count);
    struct governor_application *member = &governor->members[application].application;
    const char *wrong = goal_check(governor, member, kind, value, &ipc);
    if (wrong)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s: %s", member->name, wrong);
    member->goal = kind;
    member->goal_value = kind == CORUN_GOAL_NONE ? 0 : value;
    member->goal_ipc = kind == CORUN_GOAL_NONE ? 0 : ipc;
    return CORUN_OK;
}
