/* SPDX-License-Identifier: MIT */
/*
 * The contract of corun/host.h on a host whose time goes on by itself: the view, the moments, the check of what a policy wrote. Knows no
 * process and no clock; who calls it says what time it is, and obeys.
 */
#ifndef CORUN_AGENT_GOVERNOR_H
#define CORUN_AGENT_GOVERNOR_H

#include "base/arena.h"
#include "corun/host.h"

#define GOVERNOR_TENANTS 64u /* services and batch programs, at most */

struct governor_tenant {
    const char *name;
    enum corun_host_kind kind;
    uint64_t goal_ns;
    uint32_t threads, instances;
    const struct corun_host_model *models;
    uint32_t model_count;
};

/* What the governor asks of the host below. Work counts instructions, or what stands for them, from any beginning on; NAN: not known. */
struct governor_host {
    double (*query_work)(void *user, uint32_t query);
    double (*tenant_work)(void *user, uint32_t tenant);
    double (*tenant_traffic)(void *user, uint32_t tenant); /* bytes to and from memory */
    bool (*can_begin)(void *user, uint32_t query);         /* whether somebody is there to work on it */
    void (*begin)(void *user, uint32_t query);
    void (*obey)(void *user); /* shares and instances are those of the view now; `common` is what is left */
};

struct governor_setting {
    uint32_t core_count, way_count, clock_khz;
    uint64_t way_bytes, interval_ns;
    double bandwidth;
    uint32_t capabilities, observations;
    const struct governor_tenant *tenants;
    uint32_t tenant_count;
    const struct corun_host_policy *policy;
    const double *parameters;
    struct governor_host host;
    void *user;
};

/* Processor time of the calling thread. */
struct governor_cost {
    uint64_t count;
    double total_ns, longest_ns;
};

struct governor {
    struct governor_setting setting;
    struct corun_diagnostics *list;
    void *policy_state;
    struct corun_host_view view;
    struct corun_host_application_view *applications;
    struct corun_host_query_view *queries;
    struct corun_host_allowances allowances;
    struct corun_host_share common;
    struct governor_cost decided, obeyed;
    uint64_t next_ns, last_ns; /* intervals of the host */
    uint64_t moves;            /* decisions after which somebody's cores were others */
    struct governor_mark *query_marks, *tenant_marks;
};

/* The policy starts, at that time. All is the arena's; names and models are referred to. ARGUMENT, POLICY, MEMORY. */
enum corun_status governor_begin(struct governor *governor, const struct governor_setting *setting, uint64_t now_ns,
                                 struct arena *arena, struct corun_diagnostics *list);

/* Times never go back. What follows returns POLICY when the policy wrote what cannot be obeyed. */

/* The entry of the next query that arrives; NONE: the table is full, and the query is to come again when another one has ended. */
uint32_t governor_free_entry(const struct governor *governor);
/* A query arrives in that entry. */
enum corun_status governor_arrive(struct governor *governor, uint64_t now_ns, uint32_t query, uint32_t tenant,
                                  uint64_t id, double size, uint64_t arrived_ns);
/* It has been answered, or nobody works on it any more. Its entry is free afterwards. */
enum corun_status governor_end(struct governor *governor, uint64_t now_ns, uint32_t query);
/* The work of a running query is counted otherwise from now on: its interval begins anew. */
void governor_remeasure(struct governor *governor, uint32_t query);
void governor_progress(struct governor *governor, uint32_t query, double progress);
/* So many instances of a batch program are there now. */
enum corun_status governor_instances(struct governor *governor, uint64_t now_ns, uint32_t tenant, uint32_t instances);
/* Somebody is there to work who was not before: queries that may start do. */
enum corun_status governor_look(struct governor *governor, uint64_t now_ns);

/* When governor_advance is to be called next. */
uint64_t governor_next_ns(const struct governor *governor);
/* Intervals that have ended by now, each once, however late. */
enum corun_status governor_advance(struct governor *governor, uint64_t now_ns);

#endif
