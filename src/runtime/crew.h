/* SPDX-License-Identifier: MIT */
/*
 * Crews: a launch of a job is given to the device as workers (rewrite/workers.h), once or several times, and before the launch before it
 * has ended. Queues and places of workers lie in the table, which is the caller's; so the caller knows when a launch is complete.
 *
 *     READY ──► runtime_crew … runtime_crew ──► CREW_ENDED …, TABLE_READ: all drawn, queue.alive == 0 ──► runtime_complete ──► LAUNCH_ENDED
 *
 * A launch that goes to the device whole (`workers` is 0) may be given ahead too: streams keep the order.
 */
#ifndef CORUN_RUNTIME_CREW_H
#define CORUN_RUNTIME_CREW_H

#include "runtime/runtime.h"

struct runtime_crew {
    uint32_t job, launch;
    uint32_t workers; /* 0: the launch as the workload has it */
    uint32_t stream;
    uint32_t behind; /* mask of other streams: what has been given to them ends before it begins */
    uint32_t flags;  /* set of enum worker_flag */
    unsigned long long places, queue, previous; /* as in struct worker_arguments */
    uint32_t stride;                            /* the same */
    uint32_t ranges, range_more;                /* the same: worker_arguments_range */
    unsigned long long returned;                /* with `drop`, as in struct worker_dropping_arguments */
    uint32_t room;                              /* the same */
    bool
        uncounted; /* no worker: places do not tell of its thread blocks, and what is written to the table waits for its end */
};

/*
 * Launches of a job that can be given now: from the one that is not complete, up to the next one behind a copy that has not been made. None
 * if the job is not ready.
 */
void runtime_horizon(const struct runtime *runtime, uint32_t job, uint32_t *first, uint32_t *end);

/*
 * Gives a crew to its stream. CREW_ENDED follows. ARGUMENT: the launch is not within the horizon, there is no such stream, workers are wanted
 * of a launch that cannot have them; FAULT: runtime_wait will tell; MEMORY.
 */
enum corun_status runtime_crew(struct runtime *runtime, const struct runtime_crew *crew);

/*
 * All thread blocks of the launch, the first of the horizon, have been run. The job goes on: copies to the next launch are made; behind the
 * last one it leaves as soon as its last crew has ended. ARGUMENT: it is not the first of the horizon; MEMORY; FAULT as above.
 */
enum corun_status runtime_complete(struct runtime *runtime, uint32_t job, uint32_t launch);

#endif
