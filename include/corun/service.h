/* SPDX-License-Identifier: MIT */
/*
 * For programs that share a host under `corun host run` (docs/host-linux.md): a service tells the agent of its queries, and starts each when it may; a
 * batch program tells what it has done. Without an agent the same calls do nothing but hand queries out in order of arrival, so that a
 * program is the same with and without. An agent that dies leaves its programs running, ungoverned; they find the next one by themselves.
 *
 *     struct corun_service *service = corun_service_open(NULL, "words", 1);
 *     ... corun_service_arrive(service, number, size);          where requests come in
 *     while (corun_service_next(service, &number)) {            in each worker
 *         corun_service_begin(service, number, NULL, 0);
 *         ... corun_service_progress(service, number, 0.5);
 *         corun_service_end(service, number);
 *     }
 *     corun_service_close(service);
 *
 * All functions may be called by several threads at once, but for open and close. None ends the process, none waits but corun_service_next.
 */
#ifndef CORUN_SERVICE_H
#define CORUN_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct corun_service;

/*
 * `path` is the agent's socket; NULL: that of the environment variable CORUN_AGENT, none if that is not set. `name` is that of the application,
 * at most 63 bytes; both are copied. `workers` queries can be answered at a time, 1 to 256. NULL when out of memory.
 */
struct corun_service *corun_service_open(const char *path, const char *name, uint32_t workers);
/* The same for a batch program. */
struct corun_service *corun_service_open_batch(const char *path, const char *name);
void corun_service_close(struct corun_service *service); /* NULL: nothing */

/* Whether an agent answers at the moment. */
bool corun_service_governed(struct corun_service *service);

/* A query has arrived: `query` is a number that no other one has that has not ended, `size` that of its input. False: no memory, or such a number. */
bool corun_service_arrive(struct corun_service *service, uint64_t query, double size);
/* No further query will arrive. */
void corun_service_finish(struct corun_service *service);
/* Waits for a query that may start, for one caller alone. False: there will be none. */
bool corun_service_next(struct corun_service *service, uint64_t *query);
/* It starts: on `count` threads with these numbers (gettid), at most 1024; 0: on any of the process. May be left out. */
void corun_service_begin(struct corun_service *service, uint64_t query, const int32_t *threads, uint32_t count);
/* How far it is, 0 to 1. */
void corun_service_progress(struct corun_service *service, uint64_t query, double progress);
void corun_service_end(struct corun_service *service, uint64_t query);

/* A batch program: all that it has done since it began, in any unit, never less than before. */
void corun_service_work(struct corun_service *service, double work);

#ifdef __cplusplus
}
#endif
#endif
