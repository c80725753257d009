/* SPDX-License-Identifier: MIT */
/*
 * A machine that computes when slices end from speeds that were measured before: a discrete-event simulation in whole ticks. Thousands of
 * launches take milliseconds.
 *
 * Two servers run the slices of the (at most two) launches of a plan, each in order, at the speeds of the plan's co-schedule. When a plan
 * follows another one, the speeds of the older one hold until its slices have ended; a launch that takes the place of another one follows
 * its slices on the same server. Whole launches, without slices, run one after the other on one server; those that were in flight
 * together with their predecessor have a time of their own, that of the two side by side.
 */
#ifndef CORUN_QUEUE_EVENTS_H
#define CORUN_QUEUE_EVENTS_H

#include "queue/machine.h"

struct event_speeds {
    /* Speeds of a co-schedule. What it returns other than OK, after a message, ends the run. */
    enum corun_status (*co_schedule)(void *user, const struct corun_queue_co_schedule *co_schedule,
                                     struct corun_queue_speeds *speeds);
    /*
     * Ticks from the end of a whole launch of kind `before` to the end of one of `kind` that was launched beside it; `before` NONE: from
     * its start, when nothing was in flight.
     */
    enum corun_status (*whole)(void *user, uint32_t before, uint32_t kind, uint64_t *ticks);
    uint64_t launch_ticks; /* from the end of a whole launch to the start of one that was launched only then */
    void *user;
};

struct event_machine;
struct event_machine *event_machine_create(const struct event_speeds *speeds,
                                           struct corun_diagnostics *list); /* NULL: out of memory */
void event_machine_destroy(struct event_machine *machine);
struct queue_machine event_machine_operations(struct event_machine *machine);

#endif
