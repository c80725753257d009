/* SPDX-License-Identifier: MIT */
/* A simulated host while it runs: what simulate.c (time), governed.c (the policy) and running.c (what runs, and how fast) share. */
#ifndef CORUN_HOST_SIMULATION_H
#define CORUN_HOST_SIMULATION_H

#include "host/contention.h"
#include "host/simulate.h"

#define NEVER UINT64_MAX

/* What runs: a query, or the instances of a batch program. */
struct running {
    uint32_t cores; /* of the group that it is in */
    uint64_t frozen_until_ns;
    double filled;                    /* bytes of the cache, of each instance */
    struct contention_runner *runner; /* in the latest solution; NULL: it does not run */
    double interval_instructions, interval_traffic;
};

struct query {
    size_t arrival;          /* its place in the list of arrivals, which is its id */
    double total, remaining; /* instructions */
    uint64_t end_ns, next_interval_ns;
    bool ended; /* its entry is still there for the policy's last look */
    struct running running;
};

struct simulation {
    const struct host_scenario *scenario;
    struct corun_diagnostics *list;
    struct arena *arena;
    struct host_answer *answers;
    struct host_tenant_result *results;
    struct host_result *result;

    uint64_t now_ns, next_interval_ns;
    size_t arrived, admitted, answered; /* of the arrivals; those between the first two wait outside of the table */

    struct query *queries;   /* [CORUN_HOST_QUERIES] */
    struct running *batches; /* [tenant_count]; of a service only what is counted is used */

    /* What the policy sees and writes. */
    void *policy_state;
    struct corun_host_view view;
    struct corun_host_application_view *applications;
    struct corun_host_query_view *entries;
    struct corun_host_allowances allowances;
    struct corun_host_share *given; /* of each tenant, with those of its queries */
    struct corun_host_share common;

    struct contention contention;
    double *group_cores, *group_bytes;
};

/* The latest rates: after anything has changed. */
void simulation_solve(struct simulation *simulation);
/* Everything advances to `to_ns`, at the latest rates. */
void simulation_advance(struct simulation *simulation, uint64_t to_ns);
/* When the rates are to be computed anew because something has filled its cache or has come to rest on its cores; NEVER. */
uint64_t simulation_next_change(const struct simulation *simulation);

/* Tables of the view, and the policy's start. */
enum corun_status simulation_start_policy(struct simulation *simulation);
/* Calls the policy; what it wrote is checked, and obeyed: queries start, shares change. */
enum corun_status simulation_decide(struct simulation *simulation, enum corun_host_event event, uint32_t query);
/* An arrival takes a free entry of the table; false if there is none. */
bool simulation_admit(struct simulation *simulation, size_t arrival, uint32_t *entry);
/* The entry of a query that has ended is free. */
void simulation_release(struct simulation *simulation, uint32_t entry);

#endif
