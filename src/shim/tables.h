/* SPDX-License-Identifier: MIT */
/*
 * Tables of workers in the contexts of the program (rewrite/workers.h). A thread writes limits there as corund says, and tells corund what is counted there.
 */
#ifndef CORUN_SHIM_TABLES_H
#define CORUN_SHIM_TABLES_H

#include "rewrite/workers.h"
#include "wire/board.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define TABLES_STREAMS 1024u /* of a context; launches into further ones stay whole */

#define QUEUE_LAUNCHES 15u /* that a stream makes until its queues are begun anew, all at once */

/* The queues of a stream, for launches that cannot grow: they take one after the other. */
struct queue {
    bool taken;
    uint64_t stream;                 /* its number, which no other one of the process ever has */
    uint64_t address;                /* of the first */
    uint32_t used;                   /* of them, since they were begun anew */
    uint32_t totals[QUEUE_LAUNCHES]; /* as each has it, when the launches before have run */
    pthread_mutex_t lock;            /* while a launch is made of several */
};

struct growth;

/* Of a context. Lives for ever, and has the next one when its own has ended. */
struct crew {
    struct crew *next;
    void *context;
    bool leaves;          /* the context may be gone: nobody goes there but launches of the program */
    void *writer;         /* a stream */
    uint64_t all, places; /* addresses of tables: one in which every SM owes everything, and that of the program */
    uint64_t pairs;       /* address of the queues of launches that may grow */
    uint64_t sms;         /* of the device */
    uint32_t threads_per_sm, most_tbs;
    _Atomic uint32_t written; /* what corund said when `places` was written last */
    uint16_t limits[BOARD_PLACES];
    bool rose; /* a limit, since it was looked at last */
    uint64_t due_ns,
        wait_ns; /* when it is looked at next whether launches have room to grow, and how long after that again; 0: not at all */
    struct growth *growth;                       /* NULL: out of memory */
    struct worker_place looked[2][BOARD_PLACES]; /* the tables as they were at the last look, in that order */
    uint32_t done[2][BOARD_PLACES];              /* what of them corund knows */
    struct queue *queues;                        /* TABLES_STREAMS of them; NULL: no launch has needed one */
    bool has_queues;                             /* in this context */
};

/* Whether the driver below has all that tables need. */
bool tables_usable(void);
/* Those of the context, written as corund says; NULL: there can be none. */
struct crew *tables_take(void *context, uint32_t sms);
/* The queue of a stream; NULL: there can be none. */
struct queue *tables_queue(struct crew *crew, void *stream, bool per_thread);
/* A launch waited at the gate: what corund says may be something else by now. */
void tables_rewrite(struct crew *crew, uint32_t sms);
/* No thread launches any kernel of the program until it has made a launch of it once more. */
void tables_forget_kernels(void);
/* Something is under way by now. */
void tables_launched(void);
/* A context may be gone soon: its tables are used no more without the program's launching into it. NULL: it is not known which. */
void tables_context_leaves(const void *context);
/* Whether it is gone by now, or stays. */
void tables_context_left(const void *context, bool gone);
/* In a child of the process (forked.h), which has no tables. */
void tables_forked(void);

#endif
