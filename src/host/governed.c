/* SPDX-License-Identifier: MIT */
/* The policy of a simulated host: what it sees, whether it can be obeyed, and obeying. */
#include "host/allowances.h"
#include "host/simulation.h"

#include <math.h>
#include <string.h>

#define ALL_CAPABILITIES ((UINT32_C(1) << CORUN_HOST_CAPABILITY_COUNT) - 1)
#define ALL_OBSERVATIONS ((UINT32_C(1) << CORUN_HOST_OBSERVATION_COUNT) - 1)

static bool sees(const struct simulation *simulation, enum corun_host_observation kind)
{
    return simulation->view.observations >> kind & 1u;
}

static double if_seen(const struct simulation *simulation, enum corun_host_observation kind, double value)
{
    return sees(simulation, kind) ? value : NAN;
}

/* Of that many instructions in that time. */
static double ipc(const struct simulation *simulation, double instructions, double ns)
{
    return instructions / (ns * simulation->view.clock_khz / 1e6);
}

static enum corun_status report_policy(struct simulation *simulation, enum corun_status status, const char *what)
{
    return corun_report(simulation->list, status, CORUN_NOWHERE, "policy %s %s", simulation->scenario->policy->name,
                        what);
}

static enum corun_status allocate(struct simulation *simulation)
{
    uint32_t tenants = simulation->scenario->tenant_count;
    struct arena *arena = simulation->arena;
    struct corun_host_allowances *allowances = &simulation->allowances;
    size_t state_bytes = simulation->scenario->policy->state_bytes;
    simulation->applications = ARENA_ARRAY(arena, struct corun_host_application_view, tenants);
    simulation->entries = ARENA_ARRAY(arena, struct corun_host_query_view, CORUN_HOST_QUERIES);
    simulation->given = ARENA_ARRAY(arena, struct corun_host_share, tenants);
    simulation->policy_state = arena_allocate(arena, state_bytes ? state_bytes : 1);
    allowances->application = ARENA_ARRAY(arena, struct corun_host_share, tenants);
    allowances->instances = ARENA_ARRAY(arena, uint32_t, tenants);
    allowances->query = ARENA_ARRAY(arena, struct corun_host_share, CORUN_HOST_QUERIES);
    allowances->start = ARENA_ARRAY(arena, bool, CORUN_HOST_QUERIES);
    return simulation->applications && simulation->entries && simulation->given && simulation->policy_state &&
                   allowances->application && allowances->instances && allowances->query && allowances->start
               ? CORUN_OK
               : CORUN_MEMORY;
}

static void fill_view(struct simulation *simulation)
{
    const struct host_scenario *scenario = simulation->scenario;
    const struct host_machine *machine = scenario->machine;
    simulation->view = (struct corun_host_view){.version = CORUN_HOST_POLICY_VERSION,
                                                .interval_ns = scenario->interval_ns,
                                                .clock_khz = machine->clock_khz,
                                                .core_count = machine->cores,
                                                .way_count = machine->ways,
                                                .way_bytes = machine->cache_bytes / machine->ways,
                                                .bandwidth = machine->memory_mbps * 1e6,
                                                .capabilities = ALL_CAPABILITIES,
                                                .observations = scenario->policy->observes & ALL_OBSERVATIONS,
                                                .applications = simulation->applications,
                                                .application_count = scenario->tenant_count,
                                                .queries = simulation->entries};
    for (uint32_t a = 0; a < scenario->tenant_count; a++) {
        const struct host_tenant *tenant = &scenario->tenants[a];
        bool batch = tenant->application->kind == CORUN_HOST_BATCH;
        simulation->applications[a] = (struct corun_host_application_view){.name = tenant->application->name,
                                                                           .kind = tenant->application->kind,
                                                                           .goal_ns = batch ? 0 : tenant->goal_ns,
                                                                           .threads = tenant->application->threads,
                                                                           .instances = batch ? tenant->instances : 0,
                                                                           .running = batch ? tenant->instances : 0,
                                                                           .interval_ipc = NAN,
                                                                           .interval_bandwidth = NAN,
                                                                           .models = tenant->models,
                                                                           .model_count = tenant->model_count};
        simulation->allowances.instances[a] = CORUN_HOST_ALL;
    }
}

static bool runs(const struct simulation *simulation, uint32_t q)
{
    return simulation->entries[q].state == CORUN_HOST_QUERY_RUNNING && !simulation->queries[q].ended;
}

static enum corun_status check_shares(struct simulation *simulation, uint32_t ended)
{
    return host_check_shares(&simulation->view, &simulation->allowances, ended, simulation->scenario->policy->name,
                             simulation->list, &simulation->common);
}

/* Threads move when the number of their cores changes, and stand still until they have; what has just started does not. */
static void move(struct simulation *simulation, struct running *running, uint32_t tenant, uint32_t cores)
{
    uint32_t before = running->cores, moved = before > cores ? before - cores : cores - before;
    running->cores = cores;
    if (!moved || !cores)
        return;
    double ns = contention_move_ns(simulation->scenario->machine, simulation->scenario->tenants[tenant].application);
    uint64_t until = simulation->now_ns + (uint64_t)ceil(ns * moved / (before > cores ? before : cores));
    running->frozen_until_ns = until;
    simulation->result->moves++;
}

static uint32_t cores_of_tenant(const struct simulation *simulation, uint32_t tenant)
{
    uint32_t own = simulation->applications[tenant].share.cores;
    return own ? own : simulation->common.cores;
}

static void obey_shares(struct simulation *simulation)
{
    for (uint32_t a = 0; a < simulation->scenario->tenant_count; a++) {
        struct corun_host_application_view *application = &simulation->applications[a];
        application->share = simulation->given[a] = simulation->allowances.application[a];
        if (application->kind == CORUN_HOST_SERVICE)
            continue;
        uint32_t wanted = simulation->allowances.instances[a];
        application->running = wanted < application->instances ? wanted : application->instances;
        move(simulation, &simulation->batches[a], a, cores_of_tenant(simulation, a));
    }
    for (uint32_t q = 0; q < simulation->view.query_count; q++) {
        struct corun_host_query_view *entry = &simulation->entries[q];
        if (!runs(simulation, q))
            continue;
        entry->share = simulation->allowances.query[q];
        simulation->given[entry->application].cores += entry->share.cores;
        simulation->given[entry->application].ways += entry->share.ways;
        uint32_t cores = entry->share.cores ? entry->share.cores : cores_of_tenant(simulation, entry->application);
        if (entry->started_ns == simulation->now_ns)
            simulation->queries[q].running.cores = cores;
        else
            move(simulation, &simulation->queries[q].running, entry->application, cores);
    }
}

/* The query of the smallest id that may start now. */
static bool find_starting(const struct simulation *simulation, uint32_t *found)
{
    *found = CORUN_HOST_NONE;
    for (uint32_t q = 0; q < simulation->view.query_count; q++) {
        const struct corun_host_query_view *entry = &simulation->entries[q];
        if (entry->state == CORUN_HOST_QUERY_WAITING && simulation->allowances.start[q] &&
            (*found == CORUN_HOST_NONE || entry->id < simulation->entries[*found].id))
            *found = q;
    }
    return *found != CORUN_HOST_NONE;
}

static void start_query(struct simulation *simulation, uint32_t q)
{
    struct query *query = &simulation->queries[q];
    struct corun_host_query_view *entry = &simulation->entries[q];
    struct corun_host_application_view *application = &simulation->applications[entry->application];
    entry->state = CORUN_HOST_QUERY_RUNNING;
    entry->started_ns = simulation->now_ns;
    simulation->answers[query->arrival].started_ns = simulation->now_ns;
    query->next_interval_ns = simulation->now_ns + simulation->scenario->interval_ns;
    application->waiting--;
    application->running++;
}

/* How far a query is. */
static void update_entry(struct simulation *simulation, uint32_t q)
{
    const struct query *query = &simulation->queries[q];
    struct corun_host_query_view *entry = &simulation->entries[q];
    double done = query->total - query->remaining;
    entry->instructions = if_seen(simulation, CORUN_HOST_SEES_IPC, done);
    entry->progress = if_seen(simulation, CORUN_HOST_SEES_PROGRESS, done / query->total);
}

/* Counts of an interval that ends now, of a query or of all tenants. */
static void end_interval(struct simulation *simulation, enum corun_host_event event, uint32_t q)
{
    uint64_t interval_ns = simulation->scenario->interval_ns;
    if (event == CORUN_HOST_QUERY_INTERVAL) {
        struct running *running = &simulation->queries[q].running;
        simulation->entries[q].interval_ns = interval_ns;
        simulation->entries[q].interval_ipc = if_seen(
            simulation, CORUN_HOST_SEES_IPC, ipc(simulation, running->interval_instructions, (double)interval_ns));
        running->interval_instructions = running->interval_traffic = 0;
    }
    for (uint32_t a = 0; event == CORUN_HOST_INTERVAL && a < simulation->scenario->tenant_count; a++) {
        struct running *running = &simulation->batches[a];
        simulation->applications[a].interval_ipc = if_seen(
            simulation, CORUN_HOST_SEES_IPC, ipc(simulation, running->interval_instructions, (double)interval_ns));
        simulation->applications[a].interval_bandwidth =
            if_seen(simulation, CORUN_HOST_SEES_BANDWIDTH, running->interval_traffic / ((double)interval_ns * 1e-9));
        running->interval_instructions = running->interval_traffic = 0;
    }
}

enum corun_status simulation_decide(struct simulation *simulation, enum corun_host_event event, uint32_t q)
{
    const struct corun_host_policy *policy = simulation->scenario->policy;
    uint32_t starting = q;
    bool first = true;
    end_interval(simulation, event, q);
    for (uint32_t i = 0; i < simulation->view.query_count; i++)
        if (simulation->entries[i].state == CORUN_HOST_QUERY_RUNNING)
            update_entry(simulation, i);
    while (first || find_starting(simulation, &starting)) {
        if (!first)
            start_query(simulation, starting);
        struct corun_host_moment moment = {first ? event : CORUN_HOST_QUERY_STARTS, first ? q : starting};
        if (!first)
            update_entry(simulation, starting);
        policy->decide(simulation->policy_state, &simulation->view, moment, &simulation->allowances);
        first = false;
    }
    enum corun_status status = check_shares(simulation, event == CORUN_HOST_QUERY_ENDS ? q : CORUN_HOST_NONE);
    if (status == CORUN_OK)
        obey_shares(simulation);
    return status;
}

void simulation_release(struct simulation *simulation, uint32_t q)
{
    simulation->entries[q].state = CORUN_HOST_QUERY_FREE;
    while (simulation->view.query_count &&
           simulation->entries[simulation->view.query_count - 1].state == CORUN_HOST_QUERY_FREE)
        simulation->view.query_count--;
}

bool simulation_admit(struct simulation *simulation, size_t arrival, uint32_t *found)
{
    const struct host_arrival *arriving = &simulation->scenario->arrivals[arrival];
    for (uint32_t q = 0; q < CORUN_HOST_QUERIES; q++) {
        if (simulation->entries[q].state != CORUN_HOST_QUERY_FREE)
            continue;
        double work =
            host_application_instructions(simulation->scenario->tenants[arriving->tenant].application, arriving->size) *
            arriving->effort;
        simulation->queries[q] = (struct query){
            .arrival = arrival, .total = work, .remaining = work, .end_ns = NEVER, .next_interval_ns = NEVER};
        simulation->entries[q] =
            (struct corun_host_query_view){.state = CORUN_HOST_QUERY_WAITING,
                                           .id = arrival,
                                           .application = arriving->tenant,
                                           .size = if_seen(simulation, CORUN_HOST_SEES_SIZE, arriving->size),
                                           .arrived_ns = arriving->at_ns,
                                           .interval_ipc = NAN,
                                           .instructions = if_seen(simulation, CORUN_HOST_SEES_IPC, 0),
                                           .progress = if_seen(simulation, CORUN_HOST_SEES_PROGRESS, 0)};
        simulation->allowances.query[q] = (struct corun_host_share){0};
        simulation->allowances.start[q] = false;
        simulation->applications[arriving->tenant].waiting++;
        if (q >= simulation->view.query_count)
            simulation->view.query_count = q + 1;
        *found = q;
        return true;
    }
    return false;
}

enum corun_status simulation_start_policy(struct simulation *simulation)
{
    const struct corun_host_policy *policy = simulation->scenario->policy;
    enum corun_status status = allocate(simulation);
    if (status)
        return corun_report(simulation->list, status, CORUN_NOWHERE, "out of memory for a simulated host");
    fill_view(simulation);
    status = host_check_policy(&simulation->view, policy, simulation->list);
    if (status)
        return status;
    status = policy->start(simulation->policy_state, &simulation->view, simulation->scenario->parameters,
                           &simulation->allowances);
    if (status)
        return report_policy(simulation, status,
                             simulation->allowances.refusal ? simulation->allowances.refusal : "does not start");
    status = check_shares(simulation, CORUN_HOST_NONE);
    if (status)
        return status;
    for (uint32_t a = 0; a < simulation->scenario->tenant_count; a++) /* at the beginning nobody moves */
        simulation->batches[a].cores = simulation->allowances.application[a].cores
                                           ? simulation->allowances.application[a].cores
                                           : simulation->common.cores;
    obey_shares(simulation);
    return CORUN_OK;
}
