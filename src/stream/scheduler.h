/* SPDX-License-Identifier: MIT */
/*
 * The streams of a CUDA program: when its tasks start, and when they have ended. `corun exec` (cuda/engine.c) and replays of what it
 * captured (workload/capture_timed.c) are the two callers, and both take the same cycles. docs/captures.md has the model of time.
 *
 *     append ─► waits in its queue ─► next: first, and ready ─► started ─► ended ─► finish: off its queue, the next one is first
 *                                                               launches and transfers are in flight meanwhile; a point is not
 *
 * A task is ready when it is the first of its queue and what it depends on has ended: for the legacy default stream of a group, what
 * the group's other blocking queues were given before; for those, what the legacy one was given before; for a wait, the event.
 *
 * What a task does is the caller's: the scheduler moves no bytes and makes no grids. Tasks and queues are members of structures of the
 * caller, who owns them.
 */
#ifndef CORUN_STREAM_SCHEDULER_H
#define CORUN_STREAM_SCHEDULER_H

#include "base/vector.h"
#include "gpu/transfer.h"
#include "stream/machine.h"

#define STREAM_MOST_RUNNING 16u   /* kernels of a program on a GPU at once */
#define STREAM_MOST_WAITING 1024u /* launches that a host can be ahead of the GPU, as on the hardware */

struct stream_queue;
struct stream_scheduler;

enum stream_task_kind {
    STREAM_LAUNCH,
    STREAM_TRANSFER, /* a copy or fill */
    STREAM_POINT     /* takes no time */
};

struct stream_event {
    uint64_t completed;                   /* the last of its recordings that has been reached: 1, 2, …; 0: none */
    uint64_t cycle;                       /* when that was */
    const struct stream_scheduler *clock; /* in whose cycles */
};

struct stream_task {
    struct stream_task *next; /* in its queue */
    struct stream_queue *queue;
    enum stream_task_kind kind;
    bool cooperative; /* LAUNCH: its thread blocks wait for each other */
    bool started;
    bool nested;       /* LAUNCH: by a kernel. Its queue has no other task and is in no group */
    uint64_t sequence; /* of the host's calls */
    uint64_t submitted_cycle, start_cycle, end_cycle;
    const struct stream_event *event; /* waits for its `event_count`th recording; NULL: for none */
    uint64_t event_count;
    uint32_t application, number; /* LAUNCH in flight: of the machine */
};

/* A stream. */
struct stream_queue {
    struct stream_group *group;
    bool blocking;    /* waits for the legacy default stream, which waits for it */
    bool launched;    /* a kernel, before */
    int32_t priority; /* lower numbers go first */
    struct stream_task *first, *last;
    uint64_t free_cycle; /* when the task before has ended */
};

/* Streams that share a legacy default stream: those of a context. */
struct stream_group {
    VECTOR(struct stream_queue *) queues;
    struct stream_queue *legacy;              /* one of them; NULL: there is none */
    uint64_t gone_cycle, gone_blocking_cycle; /* when queues ended that were removed; those that the legacy one knows */
};

/* What asks for tasks, of one or several GPUs. */
struct stream_host {
    uint64_t last_sequence;
    uint32_t launches_waiting; /* asked for and not ended */
    uint64_t room_cycle;       /* when the last launch ended: whoever waited for room resumes then */
};

/* The streams of one GPU. */
struct stream_scheduler {
    struct stream_host *host;
    struct stream_machine machine;
    uint64_t base_cycle; /* of the tasks' clock when the machine's began */
    uint64_t gap_cycles; /* between kernels of a stream, beside launch_latency */
    VECTOR(struct stream_group *) groups;
    VECTOR(struct stream_task *) launches, transfers; /* in flight, in the order in which they were started */
    bool alone;                                       /* the launch in flight is a cooperative one */
    uint32_t nested;                                  /* launches in flight that kernels have made */
    bool in_order_of_calls;                           /* whatever the priorities */
    /* Is what else `task` waits for there? May set *since later. NULL: nothing else is waited for. */
    bool (*may_start)(void *user, const struct stream_task *task, uint64_t *since);
    /* A launch (`launched` says how) or a transfer (NULL) has ended; to be finished, or forgotten. */
    void (*ended)(void *user, struct stream_task *task, const struct corun_launched *launched);
    void *user;
};

/* The group is no longer looked at; it need not be one of the scheduler's. Groups are added by vector_push. */
void stream_scheduler_remove(struct stream_scheduler *scheduler, const struct stream_group *group);
/* False when out of memory. */
bool stream_group_add(struct stream_group *group, struct stream_queue *queue);
/* The queue is empty. */
void stream_group_remove(struct stream_group *group, struct stream_queue *queue);

/* Asks for a task; `cycle` is where the host is. */
void stream_append(struct stream_host *host, struct stream_queue *queue, struct stream_task *task, uint64_t cycle);

/* Puts a task right behind another one of a queue, as if both had been asked for at once. */
void stream_insert(struct stream_host *host, struct stream_task *before, struct stream_task *task);

/* The first task that can start, and since when: by priority, then in the order of the calls. NULL if none can. */
struct stream_task *stream_next(const struct stream_scheduler *scheduler, uint64_t *since);
/* Of two tasks that can start, on one GPU or on two. */
bool stream_goes_first(const struct stream_scheduler *scheduler, const struct stream_task *task,
                       const struct stream_task *other);

/*
 * Starts a launch that can start since then: the machine takes the grid, which has to live until the launch has ended or its application
 * has left. Statuses as of corun_gpu_launch, and MEMORY; the task is in flight if the status is OK.
 */
enum corun_status stream_start_launch(struct stream_scheduler *scheduler, struct stream_task *task,
                                      uint32_t application, const struct corun_grid *grid, uint64_t since);
/* Gives a transfer its turn at a copy engine. False when out of memory. */
bool stream_start_transfer(struct stream_scheduler *scheduler, struct stream_task *task,
                           const struct transfer *transfer, uint64_t since);

/* Says of launches, then of transfers, that they have ended, each in the order in which they were started. */
void stream_collect(struct stream_scheduler *scheduler);
/* When the next transfer in flight ends, in the machine's cycles; UINT64_MAX: none is. */
uint64_t stream_next_transfer(const struct stream_scheduler *scheduler);

/* Takes a task, the first of its queue, off it. The task is the caller's again. */
void stream_finish(struct stream_scheduler *scheduler, struct stream_task *task, uint64_t cycle);
/* Takes a task that is in flight out of what is collected; false if it is not in flight. */
bool stream_forget(struct stream_scheduler *scheduler, const struct stream_task *task);

/* Has a queue ended what it was given up to a sequence number? *cycle becomes no earlier than when it had. */
bool stream_reached(const struct stream_queue *queue, uint64_t sequence, uint64_t *cycle);

static inline uint64_t stream_machine_cycle(const struct stream_scheduler *scheduler, uint64_t cycle)
{
    return cycle > scheduler->base_cycle ? cycle - scheduler->base_cycle : 0;
}

#endif
