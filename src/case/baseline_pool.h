/* SPDX-License-Identifier: MIT */
/*
 * Isolated runs for one case, side by side: each once, and only those that are not in the cache. What another process is
 * computing for the same cache is waited for.
 */
#ifndef CORUN_CASE_BASELINE_POOL_H
#define CORUN_CASE_BASELINE_POOL_H

#include "base/vector.h"
#include "case/run.h"

#include <pthread.h>

struct baseline_task {
    struct baseline_request request;
    struct content_key key;
    const char *stage;
    bool loaded;    /* from the cache */
    bool finished;  /* there is a baseline: loaded, or simulated to its end */
    uint64_t cycle; /* how far it is */
    bool elsewhere; /* another process computes it */
    enum corun_status status;
    struct corun_diagnostics *list;
    struct arena *arena; /* of the baseline */
    struct baseline baseline;
};

struct baseline_pool {
    struct run *run;
    VECTOR(struct baseline_task) tasks;
    size_t next;
    pthread_mutex_t lock; /* of `next`, `elsewhere`, run->interrupted, run->list and of calls of progress() */
};

void baseline_pool_begin(struct baseline_pool *pool, struct run *run);
/*
 * Adds a run, unless one with the same content is there; what the request refers to must stay. *index: its task.
 * MEMORY.
 */
enum corun_status baseline_pool_add(struct baseline_pool *pool, const struct baseline_request *request,
                                    const char *stage, size_t *index);
/*
 * Simulates what is missing, until the run is interrupted, and keeps what has come to its end in the cache. The status, with diagnostics, of the first task that could not
 * be run.
 */
enum corun_status baseline_pool_run(struct baseline_pool *pool);
void baseline_pool_end(struct baseline_pool *pool);

#endif
