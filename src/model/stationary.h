/* SPDX-License-Identifier: MIT */
/* The stationary distribution of a Markov chain that is known by what a step makes of a distribution. */
#ifndef CORUN_MODEL_STATIONARY_H
#define CORUN_MODEL_STATIONARY_H

#include "corun/status.h"

struct stationary_problem {
    uint32_t states;
    /* to = from · P; `to` and `from` have `states` values and differ. */
    void (*step)(const void *user, const double *from, double *to);
    const void *user;
    double tolerance; /* of ‖π P − π‖ over ‖π‖, both Euclidean */
};

/*
 * `distribution`: a start that sums up to 1; the stationary distribution on return. The start may be rough: what it has of the
 * fast modes of the chain is gone after a step or two, and the few slow ones are what the method finds first.
 * *iterations: steps taken. MEMORY; LIMIT: the tolerance was not met.
 */
enum corun_status stationary_find(const struct stationary_problem *problem, double *distribution, uint32_t *iterations);

#endif
