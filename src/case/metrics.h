/* SPDX-License-Identifier: MIT */
/* How a shared run is compared with the isolated ones (Eyerman and Eeckhout, IEEE Micro 2008: STP and ANTT). */
#ifndef CORUN_CASE_METRICS_H
#define CORUN_CASE_METRICS_H

#include "corun/case.h"

#include <stddef.h>
#include <stdint.h>

/* NAN when the divisor is 0. */
double metrics_ratio(uint64_t dividend, uint64_t divisor);

struct metrics {
    double stp;      /* sum of normalised IPC */
    double antt;     /* mean of 1 / normalised IPC: infinite if one is 0 */
    double fairness; /* smallest / largest normalised IPC; 1 if all are 0 */
};
/* All NAN if one of the values is NAN or there are none. */
struct metrics metrics_of(const double *normalised, size_t count);

/* STP, ANTT and fairness of a case, from the normalised IPC of its applications. */
void metrics_of_case(struct corun_case_result *result);

/* Distance and outcome of the goal, from the goal, its IPC, and what was measured. */
void metrics_judge_goal(struct corun_case_application_result *result);

#endif
