/* SPDX-License-Identifier: MIT */
/* What a ready queue consists of, for queue.c, which keeps the lists, and plan.c, which asks the scheduler and obeys. */
#ifndef CORUN_QUEUE_STATE_H
#define CORUN_QUEUE_STATE_H

#include "base/vector.h"
#include "queue/queue.h"

/* What the queue knows of a launch beyond the view. */
struct launch_state {
    void *tag;
    uint32_t previous, previous_of_kind; /* as next and next_of_kind of the view */
    uint32_t in_flight_slices, in_flight_tbs;
    uint32_t strand; /* CORUN_QUEUE_NONE: never granted */
    bool waiting;    /* a slice was handed out to begin behind another one, and none has ended since */
    bool pending;    /* it stands in the lists */
    uint64_t plan;   /* number of the last plan that had it; 0: none */
};

struct queue {
    const struct corun_queue_scheduler *scheduler;
    double *parameters;
    void *scheduler_state;
    struct corun_diagnostics *list;
    struct queue_settings settings;
    VECTOR(struct corun_queue_kind) kinds;
    VECTOR(uint32_t) last_of_kind;
    VECTOR(struct corun_queue_launch) launches;
    VECTOR(struct launch_state) states; /* of the launches */
    uint32_t first_free;                /* an index that nobody has; NONE */
    uint32_t last;                      /* pending launch; NONE */
    uint64_t next_number;
    struct corun_queue_plan plan;
    uint32_t granted; /* launches of the plan that still have something to hand out */
    struct corun_queue_view view;
    uint32_t strands[CORUN_QUEUE_MAX_GRANTS]; /* launch that has the strand and has not ended; NONE */
    bool ended_plan;                          /* the scheduler is to be asked */
    bool started;
    struct queue_costs costs;
};

/* The launch has handed out its last thread block: it leaves the lists. */
void queue_unlink(struct queue *queue, uint32_t launch);
/* Notes an event, and whether the plan ends with it. */
void queue_event(struct queue *queue, uint32_t event);

#endif
