/* SPDX-License-Identifier: MIT */
/*
 * Linux as a host (corun/host.h): an agent that starts or is given services and batch programs, hears of queries over a socket, and keeps everybody on
 * the cores and ways that a policy gives. Pages: docs/host-linux.md.
 */
#ifndef CORUN_AGENT_AGENT_H
#define CORUN_AGENT_AGENT_H

#include "agent/governor.h"
#include "agent/plan.h"
#include "agent/restore.h"
#include "agent/topology.h"
#include "host/study.h"

#include <stdio.h>

/* What instructions are counted by. */
enum agent_work { AGENT_COUNTED, AGENT_REPORTED, AGENT_CPU_TIME };
const char *agent_work_word(enum agent_work work); /* "counted", "reported", "cpu-time" */

struct agent_setting {
    const struct plan *plan;
    const struct corun_host_policy *policy;
    const double *parameters;
    FILE *samples; /* CSV of queries whose cores stayed the same (docs/predictors.md); NULL */
    bool quiet;    /* what programs print goes nowhere */
    /* Called about once a second; false ends the run. NULL: not at all. */
    bool (*step)(void *user, uint64_t run_ns, uint64_t queries);
    void *user;
};

struct agent_service_outcome {
    struct host_service_outcome common; /* as of a simulated host */
    uint32_t lost;                      /* queries whose service was gone before it had answered */
    uint32_t failures;                  /* that ended, and not well */
    enum agent_work work;
};
struct agent_batch_outcome {
    struct host_batch_outcome common; /* throughput: NAN if the plan does not say what an instance alone does */
    double work, rate;                /* since the end of the warm-up: in its unit, and per second */
    enum agent_work work_by;
    uint32_t runs, failures; /* that ended well, and not */
};

/* How it was done. Texts are the outcome's own. */
struct agent_means {
    char cores[300], ways[200], counters[120], bandwidth[200], priority[120];
    bool ways_enforced;
};

struct agent_outcome {
    struct agent_service_outcome services[GOVERNOR_TENANTS];
    struct agent_batch_outcome batches[GOVERNOR_TENANTS];
    uint32_t service_count, batch_count, violations;
    const char *service_names[GOVERNOR_TENANTS], *batch_names[GOVERNOR_TENANTS];
    uint64_t goals_ns[GOVERNOR_TENANTS];
    uint32_t instances[GOVERNOR_TENANTS]; /* of a batch program, that were there in the end */
    double throughput;                    /* of all batch programs; NAN */
    uint64_t interval_ns, run_ns;         /* run: without the warm-up */
    struct topology topology;
    struct agent_means means;
    struct governor_cost decided, obeyed;
    uint64_t moves, refused; /* connections that ended for what they said */
    uint32_t failed_moves;   /* cores or ways that the kernel did not change */
    char first_failure[200];
    struct restored restored;
};

/*
 * Runs until its time is over, all services that it has started have ended, SIGINT or SIGTERM comes, or the policy fails; then ends what it has
 * started, and puts back everything else. The process has one thread of its own meanwhile, and no children that are not the agent's. ARGUMENT: what
 * the plan asks for is not there, the policy needs what this host has not; NOT_FOUND: a program; FILE: the socket; POLICY, MEMORY.
 */
enum corun_status agent_run(const struct agent_setting *setting, struct corun_diagnostics *list,
                            struct agent_outcome *outcome);

/* Where an agent's socket is unless it is said: in $XDG_RUNTIME_DIR, else in /tmp, in a folder of this user's. FILE: the folder is another's. */
enum corun_status agent_default_socket(char *path, size_t bytes, struct corun_diagnostics *list);

/* Asks the agent behind that socket how things stand. *text is JSON, the caller's to free. NOT_FOUND: no agent answers. */
enum corun_status agent_ask(const char *socket, struct corun_diagnostics *list, char **text);

#endif
