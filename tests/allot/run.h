/* SPDX-License-Identifier: MIT */
/* One service on the stage host under a policy, and what becomes of its queries. */
#ifndef TESTS_ALLOT_RUN_H
#define TESTS_ALLOT_RUN_H

#include "host/stage.h"

#include "allot/policies.h"

struct run {
    struct host_machine machine;
    struct host_tenant tenants[4];
    uint32_t tenant_count;
    struct host_arrival *arrivals;
    struct host_answer *answers;
    size_t count;
    struct host_tenant_result results[4];
    struct host_result result;
    double parameters[8];
    struct host_scenario scenario;
};

/* Parameters of the policy as it declares them. */
static inline void run_begin(struct run *run, const struct corun_host_policy *policy)
{
    *run = (struct run){.machine = stage_machine()};
    for (uint32_t i = 0; i < policy->parameter_count; i++)
        run->parameters[i] = policy->parameters[i].initial;
    run->scenario.policy = policy;
}

static inline void run_add(struct run *run, struct host_application *application, uint64_t goal_ns, uint32_t instances)
{
    run->tenants[run->tenant_count++] =
        (struct host_tenant){.application = application, .goal_ns = goal_ns, .instances = instances};
}

/* Queries of tenant 0, `mean_ns` apart on average. */
static inline void run_poisson(struct run *run, size_t count, double mean_ns, uint64_t seed)
{
    run->count = count;
    run->arrivals = calloc(count, sizeof *run->arrivals);
    assert_non_null(run->arrivals);
    host_arrivals_poisson(run->arrivals, count, 0, run->tenants[0].application, mean_ns, seed);
}

static inline void run_perform(struct run *run, uint64_t least_ns)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    run->answers = calloc(run->count + 1, sizeof *run->answers);
    assert_non_null(run->answers);
    run->scenario.machine = &run->machine;
    run->scenario.tenants = run->tenants;
    run->scenario.tenant_count = run->tenant_count;
    run->scenario.arrivals = run->arrivals;
    run->scenario.arrival_count = run->count;
    run->scenario.parameters = run->parameters;
    if (!run->scenario.interval_ns)
        run->scenario.interval_ns = 20000000;
    run->scenario.least_ns = least_ns;
    run->scenario.most_ns = UINT64_C(1) << 62;
    if (host_simulate(&run->scenario, list, run->answers, run->results, &run->result))
        fail_msg("%s", corun_diagnostics_get(list, 0)->message);
    corun_diagnostics_destroy(list);
}

static inline void run_end(struct run *run)
{
    for (uint32_t i = 0; i < run->tenant_count; i++)
        host_application_destroy((struct host_application *)run->tenants[i].application);
    free(run->arrivals);
    free(run->answers);
}

/* Response or waiting times, of all queries after the first tenth, in batches: their mean, and the standard error of that. */
struct estimate {
    double mean, error;
};
#define RUN_BATCHES 30
static inline struct estimate run_estimate(const struct run *run, bool waiting)
{
    double sums[RUN_BATCHES] = {0}, total = 0, squares = 0;
    size_t first = run->count / 10, each = (run->count - first) / RUN_BATCHES;
    for (size_t i = 0; i < each * RUN_BATCHES; i++) {
        const struct host_answer *answer = &run->answers[first + i];
        uint64_t until = waiting ? answer->started_ns : answer->ended_ns;
        sums[i / each] += (double)(until - run->arrivals[first + i].at_ns) / (double)each;
    }
    for (int b = 0; b < RUN_BATCHES; b++)
        total += sums[b] / RUN_BATCHES;
    for (int b = 0; b < RUN_BATCHES; b++)
        squares += (sums[b] - total) * (sums[b] - total);
    return (struct estimate){total, sqrt(squares / (RUN_BATCHES - 1) / RUN_BATCHES)};
}

/*
 * The mean is within 3.66 standard errors of what theory says: the 99.9 % interval of Student's t with 29 degrees of freedom. The error itself is to
 * be small, or the test would say nothing.
 */
static inline void run_expect(struct estimate estimate, double theory, double most_error)
{
    if (!(estimate.error < most_error * theory))
        fail_msg("standard error %g of %g", estimate.error, theory);
    if (fabs(estimate.mean - theory) > 3.66 * estimate.error)
        fail_msg("mean %g, expected %g, standard error %g", estimate.mean, theory, estimate.error);
}

#endif
