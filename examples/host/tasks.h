/* SPDX-License-Identifier: MIT */
/*
 * Threads that work off a program's task graph, and what `corun host profile` asks about that graph: which tasks there are, which need
 * others, and how much processor time each took.
 *
 * A query (or a run of a batch program) is a sequence of phases; between two phases the calling thread works alone:
 *
 *     serial ── phase 0 ──────┬── serial ── phase 1 ─┬── serial
 *               task 0        │             task 0   │
 *               task 1 ─► 2   │             task 1   │
 *
 * The tasks of a phase are numbered from 0. A task begins when all that it needs have ended; among those that may begin, the one with the
 * lowest number is first. Nothing else is promised: a result that is the same for any number of threads is the program's work (tasks write
 * apart from each other, and what they leave is put together in the order of their numbers).
 */
#ifndef EXAMPLES_HOST_TASKS_H
#define EXAMPLES_HOST_TASKS_H

#include <stdint.h>
#include <stdio.h>

struct tasks;
typedef void task_function(void *user, uint32_t task);

/* `threads` with the calling one, at least 1. The program ends with status 1 where there is no memory or no thread. */
struct tasks *tasks_create(uint32_t threads);
void tasks_destroy(struct tasks *tasks);
uint32_t tasks_threads(const struct tasks *tasks);
/* The numbers of all threads, as gettid() gives them, the calling one's first: `ids` is [tasks_threads]. Called by the thread that created the pool. */
void tasks_thread_ids(struct tasks *tasks, int32_t *ids);

/* Tasks that need nothing of each other. Returns when all have ended. `name` must outlive the tasks. */
void tasks_phase(struct tasks *tasks, const char *name, task_function *function, void *user, uint32_t count);

/* The same with needs: tasks_begin, any number of tasks_need (`task` needs `earlier`, which has a lower number), tasks_run. */
void tasks_begin(struct tasks *tasks, const char *name, task_function *function, void *user, uint32_t count);
void tasks_need(struct tasks *tasks, uint32_t task, uint32_t earlier);
void tasks_run(struct tasks *tasks);

/*
 * How far a query is: `tell` is called now and then, by any of the threads, with a number from 0 to 1. The next `phases` phases take the query
 * from `from` to `to`, each the same part of the way, as its tasks end. Without a call the first phase is everything.
 */
typedef void tasks_progress(void *context, double progress);
void tasks_tell_progress(struct tasks *tasks, tasks_progress *tell, void *context);
void tasks_span(struct tasks *tasks, double from, double to, uint32_t phases);

/*
 * Between these two the phases are those of the query with that number, and processor time is measured. A query that is run again, with the
 * same input, keeps the shortest time of each task and of the whole.
 */
void tasks_query_begin(struct tasks *tasks, uint32_t query);
void tasks_query_end(struct tasks *tasks);
/* The shortest time of that query, in nanoseconds of wall time. */
uint64_t tasks_query_wall(const struct tasks *tasks, uint32_t query);

/* Writes all queries as the value of "queries" in the report that docs/host-applications.md describes. */
void tasks_report(const struct tasks *tasks, FILE *file);

#endif
