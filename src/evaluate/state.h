/* SPDX-License-Identifier: MIT */
/*
 * An evaluation while it goes on.
 *
 *   evaluate.c   the case: workloads, goals, the shared run
 *   alone.c      each application alone: its rate, and its speed-up over SMs
 *   requests.c   when requests come
 *   collect.c    what is told of it
 */
#ifndef CORUN_EVALUATE_STATE_H
#define CORUN_EVALUATE_STATE_H

#include "corun/workload.h"
#include "evaluate/evaluate.h"
#include "workload/commands.h"

struct member {
    const struct corun_case_application *request;
    struct member *same; /* an earlier one with the same workload, which owns what follows; NULL: none */
    struct corun_workload *workload;
    struct workload_commands *commands;
    struct corun_workload_info info;
    uint64_t run_instructions;
    double rate;         /* alone, progress per nanosecond; 0: not known */
    uint64_t *launch_ns; /* [launch_count] how long each takes alone, 0: not known; NULL: nothing is known */
    uint32_t launch_count;
    const double *speedup; /* NULL: not known */
    uint32_t speedup_count;
    const void *
        *expected; /* [buffers] what its own launches leave on this GPU; NULL: what a run without timing leaves */
};

struct evaluation {
    const struct evaluate_request *request;
    const struct corun_case *job;
    struct corun_diagnostics *list;
    struct evaluate_result *result;
    struct member members[SOFTWARE_MOST_APPLICATIONS];
    uint32_t count;
    uint64_t *requests_ns; /* to the first member; NULL: it runs again and again */
    uint32_t request_count;
    struct software *software;
    struct software_info device;
    const char *stage;
    bool interrupted;
    double alone_seconds, shared_seconds;
};

static inline struct member *owner_of(struct member *member)
{
    return member->same ? member->same : member;
}

static inline uint64_t to_nanoseconds(const struct evaluation *evaluation, uint64_t cycles)
{
    return (uint64_t)((unsigned __int128)cycles * 1000000 / evaluation->device.clock_khz);
}

static inline uint64_t to_cycles(const struct evaluation *evaluation, uint64_t nanoseconds)
{
    return (uint64_t)((unsigned __int128)nanoseconds * evaluation->device.clock_khz / 1000000);
}

/* Progress per nanosecond as progress per cycle. */
static inline double per_cycle(const struct evaluation *evaluation, double rate)
{
    return rate * 1e6 / evaluation->device.clock_khz;
}

/* What all runs of the case have in common. */
struct software_options evaluation_options(const struct evaluation *evaluation);
/* Tells the caller of the case how far a run is; `user` is the evaluation. */
bool evaluation_progress(void *user, uint64_t now_ns);
double evaluation_clock(void); /* seconds */

/* The rates of all members that are wanted, and their speed-ups if the policy needs them. */
enum corun_status alone_measure(struct evaluation *evaluation);
/* Draws the requests to the first member. ARGUMENT: it does nothing alone; MEMORY. */
enum corun_status requests_draw(struct evaluation *evaluation);
/* The result, from the shared run. MEMORY. */
enum corun_status evaluation_collect(struct evaluation *evaluation);

#endif
