/* SPDX-License-Identifier: MIT */
/* Launches that arrive by chance: for each kernel a Poisson process of its own. */
#ifndef CORUN_SERVE_ARRIVALS_H
#define CORUN_SERVE_ARRIVALS_H

#include "queue/run.h"

/*
 * `instances` launches of each of the kinds, `rate_per_tick` of each kind in the mean (0: all at tick 0, kind by kind in turn), in the
 * order of time. Kind k's arrivals follow from seed and k alone. user is the kind. The caller's to free(); NULL: out of memory.
 */
struct queue_submission *arrivals_make(uint32_t kinds, uint32_t instances, double rate_per_tick, uint64_t seed);

/*
 * How many launches before one may be looked at together with it, up to `most`, so that no more than `sequences` different ones are met in this
 * order of kinds; at least 1. `sequences`: up to 64.
 */
uint32_t arrivals_before(const struct queue_submission *list, size_t count, uint32_t most, uint32_t sequences);

#endif
