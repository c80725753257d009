/* SPDX-License-Identifier: MIT */
/* Co-locations: services and batch programs on one simulated host under a policy, and what becomes of the goals and of the batch. */
#ifndef CORUN_HOST_STUDY_H
#define CORUN_HOST_STUDY_H

#include "host/learned.h"
#include "host/simulate.h"

/* What a host knows of an application before anything runs: baselines, and models of services. */
struct host_known {
    const struct host_application *application;
    double alone; /* service: mean duration of a query alone, ns; batch: instructions per ns of an instance alone */
    struct corun_host_model models[HOST_LEARNED_MODELS]; /* service */
    uint32_t model_count;
    struct predictor *predictor; /* that they refer to */
};
/* Measures on the simulated host, and trains. Models are the arena's, and the predictor's, which host_forget ends. MEMORY. */
enum corun_status host_know(const struct host_machine *machine, const struct host_application *application,
                            uint64_t seed, struct arena *arena, struct corun_diagnostics *list,
                            struct host_known *known);

void host_forget(struct host_known *known);

struct host_service_setting {
    const struct host_known *known;
    uint64_t goal_ns;
    double load; /* queries come as often as to take that fraction of the time if each were alone on the host */
    uint32_t queries;
};
struct host_batch_setting {
    const struct host_known *known;
    uint32_t instances;
};

#define HOST_MOST_TENANTS 32u
#define HOST_MOST_PARAMETERS 16u

/* The tenants of the simulation are first the services, then the batch programs. */
struct host_setting {
    const struct host_machine *machine;
    struct host_service_setting services[HOST_MOST_TENANTS];
    struct host_batch_setting batches[HOST_MOST_TENANTS];
    uint32_t service_count, batch_count;
    const struct corun_host_policy *policy;
    double parameters[HOST_MOST_PARAMETERS];
    bool search_instances; /* static-opt: its parameter `instances` is looked for */
    uint64_t interval_ns, seed;
    void (*observe)(void *user, const struct host_snapshot *snapshot);
    void *user;
};

struct host_service_outcome {
    uint32_t queries, late;                                           /* late: later than the goal */
    uint32_t unanswered;                                              /* of a simulated host: not before its end */
    double mean_ns, p50_ns, p95_ns, p99_ns, longest_ns, mean_wait_ns; /* from the arrival on; wait: until its start */
    double tail;        /* p99 over the goal; above 1 the goal is violated */
    double cores, ways; /* of its own, on average over the time */
};
struct host_batch_outcome {
    double throughput;  /* instructions over those of one instance alone on the host in the same time */
    double cores, ways; /* on average over the time, that it could run on */
    double traffic;     /* bytes per second */
};
struct host_outcome {
    struct host_service_outcome services[HOST_MOST_TENANTS];
    struct host_batch_outcome batches[HOST_MOST_TENANTS];
    struct host_result result;
    uint32_t instances;  /* of each batch program that ran, where they were looked for */
    uint32_t violations; /* services whose tail is above 1 */
    double throughput;   /* of all batch programs */
};

/*
 * "emu", "emu:runtime=off,margin=0.1": finds the policy and its parameters. NOT_FOUND, ARGUMENT, with the nearest name. `find` knows the
 * policies.
 */
enum corun_status host_policy_parse(const char *words, const struct corun_host_policy *(*at)(size_t index),
                                    struct corun_diagnostics *list, struct host_setting *setting);

/* So many settings, on so many threads (0: all processors); the first that fails decides the status. */
enum corun_status host_colocate_all(const struct host_setting *settings, size_t count, uint32_t jobs,
                                    struct corun_diagnostics *list, struct host_outcome *outcomes);

#endif
