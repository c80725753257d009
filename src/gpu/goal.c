/* Goals of applications: given, changed, taken back, and times as instructions per cycle. */
#include "gpu/machine.h"

#include <math.h>

double corun_goal_ipc_of_time(uint64_t thread_instructions, uint32_t core_clock_khz, double milliseconds,
                              double transfer_milliseconds)
{
    double cycles = (double)core_clock_khz * (milliseconds - transfer_milliseconds); /* kHz times ms */
    return cycles > 0 ? (double)thread_instructions / cycles : (double)NAN;
}

/* What is wrong with a goal; NULL: nothing. *ipc: the goal as thread instructions per cycle. */
static const char *check_goal(const struct application *application, enum corun_goal_kind kind, double value,
                              double *ipc)
{
    double isolated = application->description.isolated_ipc;
    if (kind == CORUN_GOAL_NONE)
        return NULL;
    if (!(value > 0) || !isfinite(value) || !(*ipc >= 0) || !isfinite(*ipc))
        return "a goal is greater than 0";
    switch (kind) {
    case CORUN_GOAL_FRACTION:
        if (value > 1)
            return "a goal above 100 % is more than the application reaches alone";
        if (*ipc == 0)
            *ipc = value * isolated;
        return *ipc > 0 ? NULL : "its isolated IPC, of which the goal is a fraction, is not known";
    case CORUN_GOAL_IPC:
        if (*ipc == 0)
            *ipc = value;
        return NULL;
    case CORUN_GOAL_MILLISECONDS:
    case CORUN_GOAL_FRAMES_PER_SECOND:
        return *ipc > 0 ? NULL : "a time is a goal only with its instructions per cycle";
    default:
        return "there is no such kind of goal";
    }
}

enum corun_status corun_set_goal(struct corun_gpu *gpu, uint32_t application, enum corun_goal_kind kind, double value,
                                 double goal_ipc, struct corun_diagnostics *list)
{
    if (application >= gpu->application_count)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "a goal for application %u of %u", application,
                            gpu->application_count);
    struct application *member = &gpu->applications[application];
    const char *wrong = check_goal(member, kind, value, &goal_ipc);
    if (wrong)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s: %s", member->name, wrong);
    member->description.goal = kind;
    member->description.goal_value = kind == CORUN_GOAL_NONE ? 0 : value;
    member->description.goal_ipc = kind == CORUN_GOAL_NONE ? 0 : goal_ipc;
    return CORUN_OK;
}
