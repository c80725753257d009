/* SPDX-License-Identifier: MIT */
/*
 * A case in a process of its own: what it does wrong, or what is done to it, ends this case only. The parent reads one
 * message from a pipe; a worker that ends without one was killed. A case of another command than `corun run` is that command, whose
 * standard output is the pipe.
 */
#ifndef CORUN_CAMPAIGN_WORKER_H
#define CORUN_CAMPAIGN_WORKER_H

#include "corun/campaign.h"

#include <stdio.h>
#include <sys/types.h>

/* In memory of both processes. */
struct worker_watch {
    _Atomic double inside_since; /* a call of a policy of the user's, on run_clock(); 0: outside */
};

struct worker {
    pid_t pid; /* 0: none */
    int pipe;
    FILE *said; /* what another command says on its standard error output; NULL: corun run */
    struct worker_watch *watch;
    size_t index;           /* of its case */
    const char *checkpoint; /* the caller's: path of the state of its case; NULL: none is kept */
    double weight;          /* of its case; for the caller */
    double started;
    bool out_of_time, too_long, stuck; /* was killed for it */
    char *message;
    size_t bytes, capacity;
    char why[600]; /* it left none */
};

enum worker_end {
    WORKER_RESULT,  /* text: JSON */
    WORKER_FAILURE, /* text: why; the case itself is at fault */
    WORKER_LOST     /* text: why; it was killed from outside, or ran out of memory or time */
};

/* Starts one. False, with errno, if there is no process or pipe to be had. */
bool worker_start(struct worker *worker, const struct corun_campaign_run_request *request, size_t index);
/* Reads what has come; true when it has ended: then worker_take. */
bool worker_read(struct worker *worker);
/*
 * How it ended. *text, with a NUL behind it, lives until the next start. Waits for the process, which has closed its
 * pipe.
 */
enum worker_end worker_take(struct worker *worker, const struct corun_campaign_run_request *request, const char **text,
                            size_t *bytes);
/* Kills it if a call of a policy of the user's does not come back, or the case takes too long. */
void worker_watch(struct worker *worker, const struct corun_campaign_run_request *request);
/* Ends it, whatever it is doing. */
void worker_kill(struct worker *worker);
void worker_free(struct worker *worker);

#endif
