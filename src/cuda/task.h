/* SPDX-License-Identifier: MIT */
/* Tasks: launches, copies and whatever else waits in streams and stands in the nodes of graphs. */
#ifndef CORUN_CUDA_TASK_H
#define CORUN_CUDA_TASK_H

#include "corun/gpu.h"
#include "corun/module.h"
#include "cuda/caller.h"
#include "cuda/copy.h"
#include "cuda/launch_cluster.h"
#include "cuda/parts.h"
#include "cuda/user_object.h"
#include "stream/scheduler.h"

struct event;
struct function;
struct graph_condition;
struct nested;
struct process;
struct stream;

enum task_kind {
    TASK_LAUNCH,
    TASK_COPY,
    TASK_FILL,
    TASK_RECORD,
    TASK_WAIT,
    TASK_CALL,
    TASK_FREE,
    TASK_WAIT_VALUE,
    TASK_WRITE_VALUE,
    TASK_SET_CONDITION,
    TASK_CONDITION,
    TASK_NOTHING
};

struct launch_request {
    struct function *function;
    const void *host; /* api.h */
    struct corun_dim3 grid, block;
    uint32_t dynamic_shared_bytes;
    bool cooperative;
    struct launch_cluster cluster;
    uint8_t *parameters; /* owned; NULL if there are none */
    size_t parameter_bytes;
};

struct task {
    struct stream_task queued; /* first: see task_of */
    enum task_kind kind;
    struct stream *stream;
    union {
        struct {
            struct launch_request request;
            struct corun_grid *grid;
            union {
                struct corun_counters before;  /* of its application, when it started */
                struct corun_counters counted; /* untimed.h: in its parts that have ended */
            };
            struct corun_functional_run *run; /* untimed.h; owned; NULL: it is timed, has not begun, or has ended */
            struct launch_walk *walk;         /* owned; NULL: it runs whole */
            struct nested *nested; /* nested.h; NULL: the host has launched it, and it has launched nothing */
            uint32_t depth;        /* among launches by launches */
            bool untimed;          /* outside of the region that is timed */
            bool estimated;        /* not all of its cycles were simulated */
        } launch;
        struct copy copy;
        struct fill fill;
        struct {
            struct event *event;
            uint64_t count; /* of event.recorded */
        } event;
        struct {
            struct callee callee;
            struct called *called; /* owned; NULL: not asked for yet */
            uint64_t cycle;        /* when that was */
            bool waited;           /* a thread waits for it, and finishes the task */
        } call;
        struct {
            uint64_t address, value;
            uint32_t bytes;
            unsigned flags;
        } value; /* stream_value.h; SET_CONDITION: address and value */
        struct graph_condition *condition;
        uint64_t address;             /* FREE */
        struct user_references users; /* NOTHING: what is kept until then */
    };
};

/* The task that is queued; NULL of NULL. */
static inline struct task *task_of(const struct stream_task *queued)
{
    return (struct task *)(uintptr_t)queued;
}

/* NULL when out of memory. */
struct task *task_create(enum task_kind kind);
/* A copy, not in any stream. NULL when out of memory. */
struct task *task_copy(const struct task *task);
void task_free(struct process *process, struct task *task);

#endif
