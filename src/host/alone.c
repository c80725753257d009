/* SPDX-License-Identifier: MIT */
/* Simulations of one application. */
#include "host/alone.h"

#include <math.h>

#define WAY_COUNTS 8u
#define SIZE_DRAWS 4096u

/* Gives each query the same share, or nothing of its own if that has no cores. */
static enum corun_status start(void *state, const struct corun_host_view *view, const double *values,
                               struct corun_host_allowances *allowances)
{
    struct corun_host_share *share = state;
    (void)view, (void)allowances;
    *share = (struct corun_host_share){(uint32_t)values[0], (uint32_t)values[1]};
    return CORUN_OK;
}

static void decide(void *state, const struct corun_host_view *view, struct corun_host_moment moment,
                   struct corun_host_allowances *allowances)
{
    (void)view;
    if (moment.event != CORUN_HOST_QUERY_ARRIVES)
        return;
    allowances->query[moment.query] = *(const struct corun_host_share *)state;
    allowances->start[moment.query] = true;
}

static const struct corun_host_policy alone = {.version = CORUN_HOST_POLICY_VERSION,
                                               .name = "alone",
                                               .state_bytes = sizeof(struct corun_host_share),
                                               .start = start,
                                               .decide = decide};

enum corun_status host_query_alone(const struct host_machine *machine, const struct host_application *service,
                                   double size, double effort, struct corun_host_share share,
                                   struct corun_diagnostics *list, struct corun_host_prediction *measured)
{
    const struct host_tenant tenant = {.application = service};
    const struct host_arrival arrival = {0, 0, size, effort};
    const double values[] = {share.cores, share.ways};
    const struct host_scenario scenario = {.machine = machine,
                                           .tenants = &tenant,
                                           .tenant_count = 1,
                                           .arrivals = &arrival,
                                           .arrival_count = 1,
                                           .policy = &alone,
                                           .parameters = values,
                                           .interval_ns = UINT64_C(1) << 60,
                                           .most_ns = UINT64_C(1) << 61};
    struct host_answer answer;
    struct host_tenant_result tenant_result;
    struct host_result result;
    enum corun_status status = host_simulate(&scenario, list, &answer, &tenant_result, &result);
    if (status)
        return status;
    measured->duration_ns = (double)(answer.ended_ns - answer.started_ns);
    measured->ipc = tenant_result.instructions / (measured->duration_ns * machine->clock_khz / 1e6);
    return CORUN_OK;
}

enum corun_status host_batch_alone(const struct host_machine *machine, const struct host_application *batch,
                                   struct corun_diagnostics *list, double *rate)
{
    const struct host_tenant tenant = {.application = batch, .instances = 1};
    const double values[] = {0, 0};
    const struct host_scenario scenario = {.machine = machine,
                                           .tenants = &tenant,
                                           .tenant_count = 1,
                                           .policy = &alone,
                                           .parameters = values,
                                           .interval_ns = UINT64_C(1) << 60,
                                           .least_ns = 2000000000,
                                           .most_ns = 2000000000};
    struct host_answer none;
    struct host_tenant_result tenant_result;
    struct host_result result;
    enum corun_status status = host_simulate(&scenario, list, &none, &tenant_result, &result);
    *rate = tenant_result.instructions / 2e9;
    return status;
}

enum corun_status host_mean_alone(const struct host_machine *machine, const struct host_application *service,
                                  uint64_t seed, uint32_t queries, struct corun_diagnostics *list, double *mean_ns)
{
    struct host_random sizes = host_random_of(seed, 0), efforts = host_random_of(seed, UINT64_MAX);
    struct corun_host_prediction measured;
    enum corun_status status = CORUN_OK;
    *mean_ns = 0;
    for (uint32_t i = 0; i < queries && !status; i++) {
        double size = host_random_size(&sizes, &service->sizes);
        status = host_query_alone(machine, service, size, host_random_effort(&efforts, service),
                                  (struct corun_host_share){machine->cores, machine->ways}, list, &measured);
        *mean_ns += status ? 0 : measured.duration_ns / queries;
    }
    return status;
}

/* Equal steps from the smallest to the largest of many draws. */
static void spread_sizes(const struct host_application *service, uint64_t seed, double *sizes, uint32_t count)
{
    struct host_random random = host_random_of(seed, 0);
    double least = INFINITY, most = 0;
    for (uint32_t i = 0; i < SIZE_DRAWS; i++) {
        double size = host_random_size(&random, &service->sizes);
        least = fmin(least, size);
        most = fmax(most, size);
    }
    for (uint32_t i = 0; i < count; i++)
        sizes[i] = count > 1 ? least + (most - least) * i / (count - 1) : (least + most) / 2;
}

enum corun_status host_samples(const struct host_machine *machine, const struct host_application *service,
                               uint64_t seed, uint32_t sizes, struct arena *arena, struct corun_diagnostics *list,
                               struct corun_host_sample **samples, size_t *count)
{
    struct host_random efforts = host_random_of(seed, UINT64_MAX - 1);
    uint32_t steps = machine->ways < WAY_COUNTS ? machine->ways : WAY_COUNTS;
    double *spread = ARENA_ARRAY(arena, double, sizes);
    *samples = ARENA_ARRAY(arena, struct corun_host_sample, (size_t)sizes * machine->cores * steps);
    *count = 0;
    if (!spread || !*samples)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for samples");
    spread_sizes(service, seed, spread, sizes);
    for (uint32_t i = 0; i < sizes; i++)
        for (uint32_t cores = 1; cores <= machine->cores; cores++)
            for (uint32_t step = 0; step < steps; step++) {
                uint32_t ways = steps > 1 ? 1 + step * (machine->ways - 1) / (steps - 1) : machine->ways;
                struct corun_host_sample *sample = &(*samples)[(*count)++];
                *sample = (struct corun_host_sample){.size = spread[i], .cores = cores, .ways = ways};
                enum corun_status status =
                    host_query_alone(machine, service, sample->size, host_random_effort(&efforts, service),
                                     (struct corun_host_share){cores, ways}, list, &sample->measured);
                if (status)
                    return status;
            }
    return CORUN_OK;
}
