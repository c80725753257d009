/* SPDX-License-Identifier: MIT */
/* The GPU in parts as goals are of the isolated IPC (Sun et al., SMQoS, Parallel Computing 2022, section 5.2). */
#include "share/goal_split.h"

#include <math.h>

#define ROUNDING 1e-9 /* 0.95 of 20 SMs are 19, whatever floating point makes of it */

double goal_split_ratio(const struct corun_application_view *application)
{
    if (application->goal == CORUN_GOAL_NONE)
        return 0;
    if (application->goal == CORUN_GOAL_FRACTION)
        return application->goal_value;
    return application->isolated_ipc > 0 ? fmin(application->goal_ipc / application->isolated_ipc, 1) : 0;
}

bool goal_split_too_much(const struct corun_view *view, const char **refusal)
{
    double sum = 0;
    for (uint32_t a = 0; a < view->application_count; a++)
        sum += goal_split_ratio(&view->applications[a]);
    if (sum > 1 + ROUNDING)
        *refusal = "the goals add up to more than the whole GPU";
    return sum > 1 + ROUNDING;
}

void goal_split_counts(const struct corun_view *view, const bool *present, uint32_t *counts)
{
    uint32_t batch = 0, others = 0, turn = 0, left = view->sm_count;
    for (uint32_t a = 0; a < view->application_count; a++) {
        counts[a] = 0;
        others += present[a];
        batch += present[a] && !(goal_split_ratio(&view->applications[a]) > 0);
    }
    for (uint32_t a = 0; a < view->application_count; a++) {
        double part = present[a] ? goal_split_ratio(&view->applications[a]) * view->sm_count : 0;
        if (!(part > 0))
            continue;
        others--; /* those that have none yet */
        uint32_t wanted = (uint32_t)ceil(part - ROUNDING), available = left - others;
        counts[a] = wanted < available ? wanted : available;
        left -= counts[a];
    }
    for (uint32_t a = 0; a < view->application_count; a++)
        if (present[a] && !(goal_split_ratio(&view->applications[a]) > 0))
            counts[a] = left / batch + (turn++ < left % batch);
}
