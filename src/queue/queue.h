/* SPDX-License-Identifier: MIT */
/*
 * The ready queue: launches that are ready, a scheduler, and the plan that is being obeyed. It stands between a scheduler and a machine
 * and knows neither: it keeps the view, asks the scheduler when its plan has ended, checks the plan, and cuts launches into slices. A
 * machine pulls:
 *
 *     queue_create → { queue_kind, queue_ready, while (queue_next → SLICE) launch it, …wait…, queue_end } → queue_destroy
 *
 * Time is the machine's and never goes back. Nothing here is slower for the number of launches that are pending.
 */
#ifndef CORUN_QUEUE_QUEUE_H
#define CORUN_QUEUE_QUEUE_H

#include "corun/queue.h"

struct queue;

/* A slice that the machine is to launch. */
struct queue_slice {
    uint32_t launch; /* index in the view, until queue_end says that the launch has ended */
    uint32_t kind;
    void *tag;           /* what the machine gave to queue_ready */
    uint32_t strand;     /* below CORUN_QUEUE_MAX_GRANTS: slices of one launch always have the same */
    uint32_t first, tbs; /* thread blocks [first, first + tbs) of the grid */
    uint64_t plan;       /* number of the plan that it was handed out under: 1, 2, … */
    bool last;           /* the launch has nothing left to hand out */
    bool behind;         /* more than may be in flight: it is to begin when the oldest slice of its launch ends */
    size_t submission;   /* of a run (queue/run.h): which one, and */
    uint64_t begin;      /* the tick at which the run handed it to the machine; the queue leaves both 0 */
};

struct queue_settings {
    const struct corun_queue_scheduler *scheduler;
    const double *parameters;                /* of the scheduler; NULL: the initial ones */
    const struct corun_queue_device *device; /* must outlive the queue */
    bool (*measure)(void *measurer, const struct corun_queue_co_schedule *co_schedule,
                    struct corun_queue_speeds *speeds);
    void *measurer; /* measure: NULL if the machine cannot */
    /* The machine can begin a slice when another one ends, before the host sees that: one slice of a launch more is handed out, `behind`. */
    bool ahead;
    uint64_t seed;
    /* Told every plan that has been checked; may be NULL. `number` counts from 1. */
    void (*planned)(void *user, uint64_t number, const struct corun_queue_view *view,
                    const struct corun_queue_plan *plan);
    void *user;
};

/* POLICY: another version of the contract, or `start` refused; ARGUMENT: a parameter, or the scheduler needs what the machine cannot do; MEMORY. */
enum corun_status queue_create(const struct queue_settings *settings, struct corun_diagnostics *list,
                               struct queue **queue);
void queue_destroy(struct queue *queue); /* NULL is fine */

/* A kind of kernel; its name is copied. ARGUMENT: no thread block of it fits an SM, LIMIT: too many kinds, MEMORY. */
enum corun_status queue_kind(struct queue *queue, const char *name, const struct corun_queue_profile *profile,
                             uint32_t *kind);
/* A launch of `tbs` thread blocks, at least 1, is ready now; it was submitted at `arrived`. *launch (may be NULL): its index. MEMORY. */
enum corun_status queue_ready(struct queue *queue, uint64_t now, uint32_t kind, uint32_t user, uint32_t tbs,
                              uint64_t arrived, void *tag, uint32_t *launch);
/*
 * The next slice to launch now; *any is false if there is none before something ends or becomes ready. POLICY, after a message: the
 * scheduler wrote what cannot be, or waits for what cannot come; MEMORY.
 */
enum corun_status queue_next(struct queue *queue, uint64_t now, struct queue_slice *slice, bool *any);
/* A slice has ended. *launch_ended: it was the last one of its launch that was missing, and the launch's index is free again. */
void queue_end(struct queue *queue, uint64_t now, const struct queue_slice *slice, bool *launch_ended);

const struct corun_queue_view *queue_view(const struct queue *queue);

/* What scheduling has cost so far, for reports. */
struct queue_costs {
    uint64_t plans, slices;
    double seconds, longest_seconds; /* processor time in the scheduler, of all calls and of the longest one */
    size_t bytes; /* memory of the queue and of the scheduler's state, without what it allocates by itself */
};
void queue_costs(const struct queue *queue, struct queue_costs *costs);

#endif
