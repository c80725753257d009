/* SPDX-License-Identifier: MIT */
/* STP, ANTT and fairness from normalised IPCs; a metric is NAN when one of them is not known. */
#include "case/metrics.h"

#include <math.h>

#define ROUNDING 1e-9 /* 100 % of the isolated IPC is not above it, whatever floating point makes of it */

double metrics_ratio(uint64_t dividend, uint64_t divisor)
{
    return divisor ? (double)dividend / (double)divisor : (double)NAN;
}

struct metrics metrics_of(const double *normalised, size_t count)
{
    struct metrics unknown = {(double)NAN, (double)NAN, (double)NAN};
    if (!count)
        return unknown;
    double sum = 0, turnaround = 0, smallest = normalised[0], largest = normalised[0];
    for (size_t i = 0; i < count; i++) {
        if (isnan(normalised[i]))
            return unknown;
        sum += normalised[i];
        turnaround += normalised[i] > 0 ? 1 / normalised[i] : (double)INFINITY;
        smallest = fmin(smallest, normalised[i]);
        largest = fmax(largest, normalised[i]);
    }
    return (struct metrics){sum, turnaround / (double)count, largest > 0 ? smallest / largest : 1};
}

void metrics_of_case(struct corun_case_result *result)
{
    double normalised[CORUN_MAX_APPLICATIONS];
    for (uint32_t a = 0; a < result->application_count; a++)
        normalised[a] = result->applications[a].normalised_ipc;
    struct metrics metrics = metrics_of(normalised, result->application_count);
    result->stp = metrics.stp;
    result->antt = metrics.antt;
    result->fairness = metrics.fairness;
}

void metrics_judge_goal(struct corun_case_application_result *result)
{
    result->goal_distance = result->goal_ipc > 0 ? result->ipc / result->goal_ipc - 1 : (double)NAN;
    if (result->goal == CORUN_GOAL_NONE)
        result->goal_outcome = CORUN_GOAL_NOT_SET;
    else if (isnan(result->goal_distance))
        result->goal_outcome = CORUN_GOAL_NOT_KNOWN;
    else if (result->goal_distance >= 0)
        result->goal_outcome = CORUN_GOAL_MET;
    else if (result->result.out_of_reach || result->goal_ipc > result->ipc_isolated * (1 + ROUNDING))
        result->goal_outcome = CORUN_GOAL_OUT_OF_REACH;
    else
        result->goal_outcome = CORUN_GOAL_MISSED;
}
