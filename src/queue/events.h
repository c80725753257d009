/* SPDX-License-Identifier: MIT */
/*
 * A machine that computes when slices end from speeds that were measured before: a discrete-event simulation in whole ticks. Thousands of
 * launches take milliseconds.
 *
 * Slices: their thread blocks take room on the GPU in the order of the launches, as its dispatcher gives it, and run side by side. A
 * co-schedule was measured in its steady state, so it is known how long a thread block of it lives, and that is how long it lives here,
 * whatever is beside it. So slices of a plan that is over leave less room to those of the next one, and thread blocks that began
 * together end together.
 *
 * Whole launches, without slices, end one after the other: each some ticks after those before, as was measured together with those of them
 * that were in flight when it was launched. What is long before makes no difference: so many are looked at as have thread blocks enough to
 * fill the GPU 32 times over.
 */
#ifndef CORUN_QUEUE_EVENTS_H
#define CORUN_QUEUE_EVENTS_H

#include "queue/machine.h"

#define EVENT_MOST_LAUNCHES 16u /* whole launches that are looked at together: no GPU takes more at a time */

struct event_speeds {
    /* Speeds of a co-schedule. What it returns other than OK, after a message, ends the run. */
    enum corun_status (*co_schedule)(void *user, const struct corun_queue_co_schedule *co_schedule,
                                     struct corun_queue_speeds *speeds);
    /*
     * Whole launches of these kinds, `count` up to EVENT_MOST_LAUNCHES, are launched on an idle GPU, all together and in this order: *ticks
     * from the end of all but the last to the end of all; of one: from its start.
     */
    enum corun_status (*whole)(void *user, const uint32_t *kinds, uint32_t count, uint64_t *ticks);
    uint32_t most_before;  /* launches before a whole one that are looked at, up to EVENT_MOST_LAUNCHES - 1 */
    uint64_t launch_ticks; /* from the end of a whole launch to the start of one that was launched only then */
    void *user;
};

struct event_machine;
struct event_machine *event_machine_create(const struct event_speeds *speeds,
                                           struct corun_diagnostics *list); /* NULL: out of memory */
void event_machine_destroy(struct event_machine *machine);
struct queue_machine event_machine_operations(struct event_machine *machine);
/* What finding out what begins and what ends next has cost: kinds and entries of heaps that were looked at so far. */
uint64_t event_machine_steps(const struct event_machine *machine);

#endif
