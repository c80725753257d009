/* SPDX-License-Identifier: MIT */
/*
 * The caller: one thread that calls functions of the program (functions in streams, callbacks, nodes of graphs, ends of user objects), one after the other. As
 * in CUDA, what such a function waits for may be what the program does next.
 *
 *     a call comes to a function ─► the thread calls it ─► it has ended ──────────────────► the call goes on, in the cycle in which it was
 *                │                                                                            ▲
 *                └─ waits, and the machine with it ──► the function stands ─► the call goes on without its stream
 *                                                                             until the function has ended
 *
 * So a function takes no simulated time, however long it runs, unless it **stands**: it waits for another thread, and no thread of the program will go on by itself
 * (program_threads.h). One that has run for the patience of the process without an end may wait for anything, and stands as well.
 */
#ifndef CORUN_CUDA_CALLER_H
#define CORUN_CUDA_CALLER_H

#include "cuda/abi.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process;

/* A function, or a callback with what it is told. */
struct callee {
    abi_host_function function;
    abi_stream_callback callback;
    void *stream;
    int error;
    void *user;
};

/* One call of a function. Under the lock of the process, as all of this. */
struct called {
    struct called *next, *next_owed; /* in the line; in that of caller_owe */
    struct callee callee;
    uint32_t references; /* of the line, of who has asked for it, and of those who wait for it while he may go */
    bool begun, ended, dropped;
};

struct caller {
    pthread_cond_t wanted, ended;
    bool made;                             /* there is a thread */
    pid_t thread;                          /* 0: it has not begun */
    bool runs;                             /* it is in a function, */
    uint64_t calls;                        /* the one with this number */
    bool stands;                           /* which was found to stand, */
    uint64_t run;                          /* when all other threads had run so long */
    bool given_up;                         /* it was waited for long enough */
    bool looked_upon;                      /* somebody looks whether it stands */
    struct called *first, *last;           /* the line: what is called next */
    struct called *first_owed, *last_owed; /* what calls of CUDA wait for at their ends */
};

/* Of a function; not yet in the line. The reference is for caller_release. NULL when out of memory or threads. */
struct called *caller_create(struct process *process, const struct callee *callee);
/* Puts it into the line. */
void caller_ask(struct process *process, struct called *called);
/* The same, and who ends the call of CUDA at hand waits for it: caller_wait_owed. The reference is taken over. */
void caller_owe(struct process *process, struct called *called);
/* Waits until it has ended. False: it stands, or one before it in the line does; or it was dropped. The lock is let go meanwhile: whoever waits has a reference. */
bool caller_wait(struct process *process, struct called *called);
void caller_wait_owed(struct process *process);
/* It is not to be called any more, unless it has begun. */
void caller_drop(struct process *process, struct called *called);
/* One reference less. */
void caller_release(struct called *called);
/* Are there functions that have not ended? */
bool caller_is_busy(const struct process *process);

#endif
