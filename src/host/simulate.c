/* SPDX-License-Identifier: MIT */
/* Time on the simulated host: from event to event, in a fixed order where several fall together. */
#include "host/simulation.h"

#include "base/later.h"

#include <math.h>

static enum corun_status prepare(struct simulation *simulation)
{
    struct contention *contention = &simulation->contention;
    uint32_t most = CORUN_HOST_QUERIES + simulation->scenario->tenant_count;
    simulation->queries = ARENA_ARRAY(simulation->arena, struct query, CORUN_HOST_QUERIES);
    simulation->batches = ARENA_ARRAY(simulation->arena, struct running, simulation->scenario->tenant_count);
    simulation->group_cores = ARENA_ARRAY(simulation->arena, double, most + 1);
    simulation->group_bytes = ARENA_ARRAY(simulation->arena, double, most + 1);
    contention->machine = simulation->scenario->machine;
    contention->runners = ARENA_ARRAY(simulation->arena, struct contention_runner, most);
    contention->paces = ARENA_ARRAY(simulation->arena, struct contention_pace, most);
    contention->group_cores = simulation->group_cores;
    contention->group_bytes = simulation->group_bytes;
    simulation->next_interval_ns = simulation->scenario->interval_ns;
    for (size_t i = 0; i < simulation->scenario->arrival_count; i++)
        simulation->answers[i] = (struct host_answer){NEVER, NEVER};
    for (uint32_t a = 0; a < simulation->scenario->tenant_count; a++)
        simulation->results[a] = (struct host_tenant_result){0};
    *simulation->result = (struct host_result){0};
    if (!simulation->queries || !simulation->batches || !simulation->group_cores || !simulation->group_bytes ||
        !contention->runners || !contention->paces)
        return corun_report(simulation->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for a simulated host");
    return simulation_start_policy(simulation);
}

static uint64_t next_event(const struct simulation *simulation)
{
    const struct host_scenario *scenario = simulation->scenario;
    uint64_t next = earlier(scenario->most_ns, simulation->next_interval_ns);
    if (simulation->now_ns < scenario->least_ns)
        next = earlier(next, scenario->least_ns);
    if (simulation->arrived < scenario->arrival_count)
        next = earlier(next, scenario->arrivals[simulation->arrived].at_ns);
    for (uint32_t q = 0; q < simulation->view.query_count; q++) {
        if (simulation->entries[q].state != CORUN_HOST_QUERY_RUNNING)
            continue;
        next = earlier(next, simulation->queries[q].end_ns);
        next = earlier(next, simulation->queries[q].next_interval_ns);
    }
    return earlier(next, simulation_next_change(simulation));
}

/* Of the running queries that end now, or whose interval ends now, the one that arrived first. */
static uint32_t find_due(const struct simulation *simulation, bool at_end)
{
    uint32_t found = CORUN_HOST_NONE;
    for (uint32_t q = 0; q < simulation->view.query_count; q++) {
        const struct query *query = &simulation->queries[q];
        uint64_t due_ns = at_end ? query->end_ns : query->next_interval_ns;
        if (simulation->entries[q].state == CORUN_HOST_QUERY_RUNNING && due_ns == simulation->now_ns &&
            (found == CORUN_HOST_NONE || query->arrival < simulation->queries[found].arrival))
            found = q;
    }
    return found;
}

/* Those for which the table of queries has room. */
static enum corun_status admit(struct simulation *simulation)
{
    enum corun_status status = CORUN_OK;
    uint32_t entry;
    while (!status && simulation->admitted < simulation->arrived &&
           simulation_admit(simulation, simulation->admitted, &entry)) {
        simulation->admitted++;
        status = simulation_decide(simulation, CORUN_HOST_QUERY_ARRIVES, entry);
    }
    return status;
}

static enum corun_status end_queries(struct simulation *simulation)
{
    enum corun_status status = CORUN_OK;
    for (uint32_t q; !status && (q = find_due(simulation, true)) != CORUN_HOST_NONE;) {
        struct query *query = &simulation->queries[q];
        query->remaining = 0;
        query->ended = true;
        query->end_ns = query->next_interval_ns = NEVER;
        simulation->answers[query->arrival].ended_ns = simulation->now_ns;
        simulation->answered++;
        simulation->applications[simulation->entries[q].application].running--;
        /* What it had is free for others in this very call. */
        simulation->allowances.query[q] = (struct corun_host_share){0};
        status = simulation_decide(simulation, CORUN_HOST_QUERY_ENDS, q);
        simulation_release(simulation, q);
    }
    return status;
}

static enum corun_status end_intervals(struct simulation *simulation)
{
    enum corun_status status = CORUN_OK;
    for (uint32_t q; !status && (q = find_due(simulation, false)) != CORUN_HOST_NONE;) {
        simulation->queries[q].next_interval_ns += simulation->scenario->interval_ns;
        status = simulation_decide(simulation, CORUN_HOST_QUERY_INTERVAL, q);
    }
    if (!status && simulation->next_interval_ns == simulation->now_ns) {
        simulation->next_interval_ns += simulation->scenario->interval_ns;
        status = simulation_decide(simulation, CORUN_HOST_INTERVAL, CORUN_HOST_NONE);
    }
    return status;
}

static bool is_running(const struct simulation *simulation)
{
    const struct host_scenario *scenario = simulation->scenario;
    return simulation->now_ns < scenario->most_ns &&
           (simulation->answered < scenario->arrival_count || simulation->now_ns < scenario->least_ns);
}

static enum corun_status run(struct simulation *simulation)
{
    const struct host_scenario *scenario = simulation->scenario;
    enum corun_status status = CORUN_OK;
    while (!status && is_running(simulation)) {
        simulation_solve(simulation);
        simulation_advance(simulation, next_event(simulation));
        status = end_queries(simulation);
        if (!status)
            status = end_intervals(simulation);
        while (simulation->arrived < scenario->arrival_count &&
               scenario->arrivals[simulation->arrived].at_ns <= simulation->now_ns)
            simulation->arrived++;
        if (!status)
            status = admit(simulation);
    }
    simulation->result->end_ns = simulation->now_ns;
    return status;
}

enum corun_status host_simulate(const struct host_scenario *scenario, struct corun_diagnostics *list,
                                struct host_answer *answers, struct host_tenant_result *tenants,
                                struct host_result *result)
{
    struct simulation simulation = {.scenario = scenario,
                                    .list = list,
                                    .answers = answers,
                                    .results = tenants,
                                    .result = result,
                                    .arena = arena_create()};
    if (!simulation.arena)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for a simulated host");
    enum corun_status status = prepare(&simulation);
    if (status == CORUN_OK)
        status = run(&simulation);
    arena_destroy(simulation.arena);
    return status;
}
