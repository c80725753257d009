/* SPDX-License-Identifier: MIT */
/*
 * Who runs which case: several runners share one results file, and each case is run by one of them.
 *
 * A runner has a row in the table `runners`, with a random name, and a row in `claims` for each case that it runs. It
 * counts up its `beat` every few seconds. A runner is taken to be dead, and its claims are free,
 *   at once, if it ran on this machine (the same boot and the same process namespace) and its process is gone: there is
 *   none of its number, it is a zombie, or another one has the number now (it began at another time);
 *   after CLAIM_LEASE_SECONDS without a beat otherwise, which is what it takes with a runner on another machine, and with
 *   one that is stopped. The watcher counts these seconds on its own clock, which only goes forward: that a clock is wrong
 *   or set meanwhile changes nothing.
 * A runner that was taken to be dead and is not continues; then a case may be run twice, with the same result.
 */
#ifndef CORUN_CAMPAIGN_CLAIMS_H
#define CORUN_CAMPAIGN_CLAIMS_H

#include "campaign/store.h"

#define CLAIM_BEAT_SECONDS 5.0
#define CLAIM_LEASE_SECONDS 60.0

/* A runner, as others see it. */
struct claims_runner {
    char token[33];   /* random */
    char machine[96]; /* boot and process namespace: a process number means one process only within */
    char host[65];    /* for people */
    int64_t pid;
    uint64_t started; /* of the process, in ticks since the boot */
};
/* This process; only the token differs from call to call. FILE: no randomness. */
enum corun_status claims_myself(struct corun_diagnostics *list, struct claims_runner *runner);

struct claims;
/* `now`: seconds of a clock that only goes forward. FILE, MEMORY. The store must live longer. */
enum corun_status claims_begin(struct store *store, const struct claims_runner *runner, double now,
                               struct corun_diagnostics *list, struct claims **claims);
/* Gives back what is still claimed. */
void claims_end(struct claims *claims);

/* To be called every now and then: tells the others that this runner lives, and forgets those that do not. FILE. */
enum corun_status claims_beat(struct claims *claims, double now, struct corun_diagnostics *list);

enum claim {
    CLAIM_TAKEN,     /* it is ours: run it. store_result and store_failure end the claim */
    CLAIM_ELSEWHERE, /* another runner has it */
    CLAIM_FINISHED,  /* there is a result */
    CLAIM_ENDED      /* it has failed or was lost since claims_begin, with another runner */
};
/* FILE. */
enum corun_status claims_take(struct claims *claims, const char *key, struct corun_diagnostics *list,
                              enum claim *claim);

#endif
