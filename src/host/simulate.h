/* SPDX-License-Identifier: MIT */
/*
 * The simulated host: services get queries, batch programs run beside them, a policy divides cores and cache. Time is in whole
 * nanoseconds and goes from event to event; between two events every rate is constant. The same scenario gives the same digits always.
 */
#ifndef CORUN_HOST_SIMULATE_H
#define CORUN_HOST_SIMULATE_H

#include "host/application.h"
#include "host/machine.h"

/* An application on the host. */
struct host_tenant {
    const struct host_application *application;
    uint64_t goal_ns;                      /* service: 0: none */
    uint32_t instances;                    /* batch */
    const struct corun_host_model *models; /* service: [model_count], for policies that predict */
    uint32_t model_count;
};

/* A query that comes. */
struct host_arrival {
    uint64_t at_ns;
    uint32_t tenant;
    double size;
    double effort; /* its instructions over those that its size says; 1 where nothing else is known */
};

/* What became of the query of the same index. */
struct host_answer {
    uint64_t started_ns, ended_ns; /* UINT64_MAX: not before the end */
};

/* How things stood from one event to the next. Cores and ways: of a service, of all its queries; 0: those on the common ones. */
struct host_snapshot {
    uint64_t from_ns, to_ns;
    const struct corun_host_view *view;
    const struct corun_host_share *given; /* [application_count]: cores and ways of a tenant's own */
    struct corun_host_share common;       /* what nobody has for its own */
    double memory_load;                   /* 0 to 1 */
};

struct host_scenario {
    const struct host_machine *machine;
    const struct host_tenant *tenants;
    uint32_t tenant_count;
    const struct host_arrival *arrivals; /* in order of at_ns */
    size_t arrival_count;
    const struct corun_host_policy *policy;
    const double *parameters; /* of the policy */
    uint64_t interval_ns;
    uint64_t least_ns; /* runs at least until then, so that batch programs are measured without any query */
    uint64_t most_ns;  /* ends then, whatever has not been answered */
    void (*observe)(void *user, const struct host_snapshot *snapshot); /* may be NULL */
    void *user;
};

struct host_tenant_result {
    double instructions;    /* batch: of all instances */
    double traffic_bytes;   /* read and written back */
    double core_ns, way_ns; /* cores and ways of its own (batch: that it could run on) times how long */
};

struct host_result {
    uint64_t end_ns;
    uint64_t events; /* how often rates were computed */
    uint64_t moves;  /* how often a query or a program was given other cores */
    double busiest_load;
};

/*
 * `answers` has arrival_count entries, `tenants` tenant_count. POLICY: what it wrote cannot be obeyed, ARGUMENT: it needs what there is not, or
 * refuses its parameters; MEMORY.
 */
enum corun_status host_simulate(const struct host_scenario *scenario, struct corun_diagnostics *list,
                                struct host_answer *answers, struct host_tenant_result *tenants,
                                struct host_result *result);

#endif
