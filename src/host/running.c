/* SPDX-License-Identifier: MIT */
/* What runs on the simulated host: in which group of cores and of ways, at what rate, and how far it comes. */
#include "host/simulation.h"

#include <math.h>
#include <stddef.h>

#define FILLED_ENOUGH 0.99 /* of its room: the rest is not worth an event */

static bool is_batch(const struct simulation *simulation, uint32_t tenant)
{
    return simulation->applications[tenant].kind == CORUN_HOST_BATCH;
}

/* A group of its own for a share. Cores without ways use the common ways. */
static void add_group(struct simulation *simulation, struct corun_host_share share, uint32_t *cores, uint32_t *ways)
{
    struct contention *contention = &simulation->contention;
    *cores = contention->core_group_count++;
    simulation->group_cores[*cores] = share.cores;
    *ways = 0;
    if (share.ways) {
        *ways = contention->cache_group_count++;
        simulation->group_bytes[*ways] = (double)share.ways * (double)simulation->view.way_bytes;
    }
}

static void add_runner(struct simulation *simulation, struct running *running, uint32_t tenant, double size,
                       uint32_t count, uint32_t cores, uint32_t ways)
{
    struct contention *contention = &simulation->contention;
    struct contention_runner *runner = &contention->runners[contention->runner_count++];
    *runner = (struct contention_runner){.application = simulation->scenario->tenants[tenant].application,
                                         .tenant = tenant,
                                         .size = size,
                                         .count = count,
                                         .core_group = cores,
                                         .cache_group = ways,
                                         .filled = running->filled,
                                         .frozen = running->frozen_until_ns > simulation->now_ns};
    running->runner = runner;
}

/* Groups and runners, as things stand. */
static void list_runners(struct simulation *simulation)
{
    struct contention *contention = &simulation->contention;
    uint32_t tenants = simulation->scenario->tenant_count;
    contention->runner_count = 0;
    contention->core_group_count = contention->cache_group_count = 1;
    simulation->group_cores[0] = simulation->common.cores;
    simulation->group_bytes[0] = (double)simulation->common.ways * (double)simulation->view.way_bytes;
    for (uint32_t a = 0; a < tenants; a++) {
        uint32_t cores = 0, ways = 0;
        if (simulation->applications[a].share.cores)
            add_group(simulation, simulation->applications[a].share, &cores, &ways);
        simulation->batches[a].runner = NULL;
        if (is_batch(simulation, a))
            add_runner(simulation, &simulation->batches[a], a, 0, simulation->applications[a].running, cores, ways);
        for (uint32_t q = 0; q < simulation->view.query_count; q++) {
            struct corun_host_query_view *entry = &simulation->entries[q];
            if (entry->state != CORUN_HOST_QUERY_RUNNING || entry->application != a)
                continue;
            uint32_t own_cores = cores, own_ways = ways;
            if (entry->share.cores)
                add_group(simulation, entry->share, &own_cores, &own_ways);
            double size = simulation->scenario->arrivals[simulation->queries[q].arrival].size;
            add_runner(simulation, &simulation->queries[q].running, a, size, 1, own_cores, own_ways);
        }
    }
}

static void take_room(struct running *running)
{
    if (running->runner && running->filled > running->runner->room * FILLED_ENOUGH)
        running->filled = running->runner->room;
}

void simulation_solve(struct simulation *simulation)
{
    struct contention *contention = &simulation->contention;
    list_runners(simulation);
    contention->fairness = simulation->allowances.fairness;
    contention_solve(contention);
    simulation->result->events++;
    simulation->result->busiest_load = fmax(simulation->result->busiest_load, contention->load);
    for (uint32_t a = 0; a < simulation->scenario->tenant_count; a++)
        take_room(&simulation->batches[a]);
    for (uint32_t q = 0; q < simulation->view.query_count; q++) {
        struct query *query = &simulation->queries[q];
        if (simulation->entries[q].state != CORUN_HOST_QUERY_RUNNING)
            continue;
        take_room(&query->running);
        double rate = query->running.runner->rate;
        double left_ns = rate > 0 ? ceil(query->remaining / rate) : INFINITY;
        query->end_ns = left_ns < 1e18 ? simulation->now_ns + (left_ns < 1 ? 1 : (uint64_t)left_ns) : NEVER;
    }
}

static uint64_t change_of(const struct simulation *simulation, const struct running *running)
{
    const struct contention_runner *runner = running->runner;
    if (!runner || !runner->count)
        return NEVER;
    if (running->frozen_until_ns > simulation->now_ns)
        return running->frozen_until_ns;
    double gap = runner->room - running->filled, way = (double)simulation->view.way_bytes;
    double slowness = simulation->scenario->machine->refill_permille / 1000.0;
    if (gap <= 0 || runner->fill_rate <= 0)
        return NEVER;
    /* A way at a time, of large rooms a quarter of what is missing; all of it when less than a way is. */
    double step = fmin(gap, fmax(way, gap / 4)), step_ns = ceil(step / runner->fill_rate * slowness);
    return step_ns < 1e9 ? simulation->now_ns + (step_ns < 1 ? 1 : (uint64_t)step_ns) : NEVER;
}

uint64_t simulation_next_change(const struct simulation *simulation)
{
    uint64_t next = NEVER;
    for (uint32_t a = 0; a < simulation->scenario->tenant_count; a++) {
        uint64_t change = change_of(simulation, &simulation->batches[a]);
        next = change < next ? change : next;
    }
    for (uint32_t q = 0; q < simulation->view.query_count; q++) {
        if (simulation->entries[q].state != CORUN_HOST_QUERY_RUNNING)
            continue;
        uint64_t change = change_of(simulation, &simulation->queries[q].running);
        next = change < next ? change : next;
    }
    return next;
}

/* Counts what one runner does in that time; the instructions of each instance. */
static double run_on(struct simulation *simulation, struct running *running, struct host_tenant_result *result,
                     double ns)
{
    const struct contention_runner *runner = running->runner;
    double refill = simulation->scenario->machine->refill_permille / 1000.0;
    double instructions = runner->rate * ns, traffic = runner->traffic_rate * ns * runner->count;
    if (running->filled < runner->room)
        running->filled =
            refill > 0 ? fmin(running->filled + runner->fill_rate * ns / refill, runner->room) : runner->room;
    running->interval_instructions += instructions * runner->count;
    running->interval_traffic += traffic;
    result->instructions += instructions * runner->count;
    result->traffic_bytes += traffic;
    return instructions;
}

static void count_shares(struct simulation *simulation, double ns)
{
    for (uint32_t a = 0; a < simulation->scenario->tenant_count; a++) {
        struct corun_host_share share = simulation->given[a];
        if (is_batch(simulation, a) && !share.cores)
            share = simulation->common;
        simulation->results[a].core_ns += share.cores * ns;
        simulation->results[a].way_ns += share.ways * ns;
    }
}

void simulation_advance(struct simulation *simulation, uint64_t to_ns)
{
    double ns = (double)(to_ns - simulation->now_ns);
    if (to_ns == simulation->now_ns)
        return;
    if (simulation->scenario->observe) {
        const struct host_snapshot snapshot = {simulation->now_ns, to_ns,
                                               &simulation->view,  simulation->given,
                                               simulation->common, simulation->contention.load};
        simulation->scenario->observe(simulation->scenario->user, &snapshot);
    }
    for (uint32_t a = 0; a < simulation->scenario->tenant_count; a++)
        if (simulation->batches[a].runner)
            run_on(simulation, &simulation->batches[a], &simulation->results[a], ns);
    for (uint32_t q = 0; q < simulation->view.query_count; q++) {
        struct corun_host_query_view *entry = &simulation->entries[q];
        struct query *query = &simulation->queries[q];
        if (entry->state != CORUN_HOST_QUERY_RUNNING)
            continue;
        double traffic = query->running.interval_traffic;
        double done = run_on(simulation, &query->running, &simulation->results[entry->application], ns);
        struct running *service = &simulation->batches[entry->application];
        service->interval_instructions += done;
        service->interval_traffic += query->running.interval_traffic - traffic;
        query->remaining = fmax(query->remaining - done, 0);
    }
    count_shares(simulation, ns);
    simulation->now_ns = simulation->view.now_ns = to_ns;
}
