/* SPDX-License-Identifier: MIT */
/* A simulated host over time, for ui.perfetto.dev: cores and ways of each application, queries, the memory's load. */
#ifndef CORUN_REPORT_HOST_TIMELINE_H
#define CORUN_REPORT_HOST_TIMELINE_H

#include "host/simulate.h"

#include <stdio.h>

struct host_timeline;

/* Writes to the stream, which stays the caller's, while a simulation runs. NULL when out of memory. */
struct host_timeline *host_timeline_create(FILE *stream, const struct host_machine *machine);
/* As the observer of a scenario; `user` is the timeline. Not for two simulations. */
void host_timeline_observe(void *user, const struct host_snapshot *snapshot);
/* Ends the text, and the timeline. MEMORY: it has not everything. */
enum corun_status host_timeline_end(struct host_timeline *timeline);

#endif
