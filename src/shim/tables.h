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

/* The queues of a stream: its launches take one after the other. */
struct queue {
    bool taken;
    uint64_t stream;                 /* its number, which no other one of the process ever has */
    uint64_t address;                /* of the first; one more, behind them, is for what long launches leave */
    uint32_t used;                   /* of them, since they were begun anew */
    uint32_t totals[QUEUE_LAUNCHES]; /* as each has it, when the launches before have run */
    pthread_mutex_t lock;            /* while a launch is made of several */
};

struct growth;

/* Of a context. Lives for ever, and has the next one when its own has ended. */
struct crew {
    struct crew *next;
    void *context;
    bool leaves;  /* the context may be gone: nobody goes there but launches of the program */
    void *writer; /* a stream */
    uint64_t all, places,
        sms; /* addresses of tables: one in which every SM owes everything, and that of the program; SMs of the device */
    uint32_t threads_per_sm, most_tbs;
    uint32_t written; /* what corund said when `places` was written last */
    uint16_t limits[BOARD_PLACES];
    bool rose; /* a limit, since it was looked at last */
    uint64_t due_ns,
        wait_ns; /* when it is looked at next whether launches have room to grow, and how long after that again; 0: not at all */
    struct growth *growth;                       /* NULL: there is none, or there can be none */
    bool grown;                                  /* that has been tried */
    struct growth *before;                       /* of a context that has ended */
    struct worker_place looked[2][BOARD_PLACES]; /* the tables as they were at the last look, in that order */
    uint32_t done[2][BOARD_PLACES];              /* what of them corund knows */
    struct queue queues[TABLES_STREAMS];
};

/* Whether the driver below has all that tables need. */
bool tables_usable(void);
/* Those of the current context, and the queue of a stream, written as corund says; false: there can be none. */
bool tables_take(void *stream, bool per_thread, uint32_t sms, struct crew **crew, struct queue **queue);
/* A launch waited at the gate: what corund says may be something else by now. */
void tables_rewrite(struct crew *crew, uint32_t sms);
/* What launches need that may grow, in the current context; NULL: they cannot. */
struct growth *tables_growth(struct crew *crew);
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
