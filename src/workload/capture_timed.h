/* SPDX-License-Identifier: MIT */
/* A captured program on the machine: what is kept of its streams (capture_timed.c), and moved to checkpoints (capture_archive.c). */
#ifndef CORUN_WORKLOAD_CAPTURE_TIMED_H
#define CORUN_WORKLOAD_CAPTURE_TIMED_H

#include "stream/scheduler.h"
#include "workload/capture_replay.h"

struct timed_task {
    struct stream_task task;
    const struct capture_operation *operation;
    size_t first_effect, effect_end; /* operations */
    bool in_order; /* LAUNCH: nothing else ran, so what it left in the host's memory can be compared */
    struct corun_grid *grid;
};

struct timed {
    struct replay *replay;
    struct stream_host host;
    struct stream_scheduler scheduler;
    struct stream_group group;            /* queues by index */
    VECTOR(struct stream_event *) events; /* by number - 1 */
    size_t next;                          /* operation that the host comes to */
    bool begun, host_ended, full;
    uint64_t host_cycle;
    uint64_t ended, last_ended; /* tasks; the highest of their sequence numbers */
    uint32_t application;
};

static inline struct timed_task *timed_task_of(const struct stream_task *task)
{
    return (struct timed_task *)(uintptr_t)task; /* its first member */
}

/* Events count from 1; made when they are first named. NULL when out of memory. */
struct stream_event *timed_event(struct timed *timed, uint64_t number);

#endif
