/* SPDX-License-Identifier: MIT */
/*
 * Launches by workers (rewrite/workers.h), where corund divides the SMs among programs: thread blocks run on the SMs that the program has, and the others'
 * workers on theirs. In the program's stream, a launch of workers stands for the launch, and one behind that which no limit holds back: when that has ended, every thread
 * block has run, whatever became of the limits meanwhile. So the order of the stream, events and copies is what the driver makes of it, and nobody has to launch anything later.
 */
#ifndef CORUN_SHIM_WORKERS_H
#define CORUN_SHIM_WORKERS_H

#include <stdbool.h>

struct governed;
struct launch;

/* Makes the launch as workers, and *error is what the driver says. False: nothing was done, it has to be made whole. */
bool workers_launch(const struct launch *launch, struct governed *governed, int *error);

#endif
