/* SPDX-License-Identifier: MIT */
/* What an agent is to do: from a YAML file, from words of the command line, or both (docs/host-linux.md). */
#ifndef CORUN_AGENT_PLAN_H
#define CORUN_AGENT_PLAN_H

#include "agent/governor.h"

#include <sched.h>

#define PLAN_PIDS 64u /* of an application, at most */

/* How threads are kept on their processors. */
enum plan_confinement { PLAN_ANY, PLAN_CPUSET, PLAN_AFFINITY };

struct plan_tenant {
    const char *name; /* letters, digits, `-`, `_`, `.`; at most 63 */
    enum corun_host_kind kind;
    uint64_t goal_ns;            /* service; 0: none */
    uint32_t threads, instances; /* threads: of a query or an instance; 0: as many as there are processors */
    double alone;                /* batch: work per second of an instance alone; 0: not known */
    const char *const *command;  /* ends with NULL; NULL: the application connects by itself, or has process numbers */
    const char *model;           /* service: the file of its predictor; NULL */
    pid_t pids[PLAN_PIDS];
    uint32_t pid_count;
};

struct plan {
    const char *policy;
    uint64_t interval_ns, duration_ns, warmup_ns; /* duration 0: until it is told to end, or all services have */
    bool has_cores;
    cpu_set_t cores; /* that may be given out */
    const char *socket, *group, *resctrl;
    enum plan_confinement confinement;
    struct plan_tenant tenants[GOVERNOR_TENANTS];
    uint32_t tenant_count;
};

/* Without any application. */
void plan_begin(struct plan *plan);

/* Adds what the file says. Texts are the arena's. SYNTAX with its place, MEMORY. */
enum corun_status plan_parse(const char *path, const char *text, size_t bytes, struct arena *arena,
                             struct corun_diagnostics *list, struct plan *plan);

/*
 * Adds "NAME[:key=value,...][ PROGRAM ARGUMENT...]": keys goal, threads, model, pid for a service; instances, threads, alone, pid for a batch
 * program. USAGE, MEMORY.
 */
enum corun_status plan_add(const char *words, enum corun_host_kind kind, struct arena *arena,
                           struct corun_diagnostics *list, struct plan *plan);

/* Whether it can be done: applications, names that are there twice, an application with a program and process numbers. ARGUMENT. */
enum corun_status plan_check(const struct plan *plan, struct corun_diagnostics *list);

/* "a 'b c' d\ e" as words, ending with NULL: blanks, quotes and backslashes as in a shell, and nothing else. NULL: a quote that does not end, or no memory. */
const char *const *plan_split(const char *text, struct arena *arena);

#endif
