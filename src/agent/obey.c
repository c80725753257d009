/* SPDX-License-Identifier: MIT */
/* What the policy gave becomes processors and masks of ways. */
#include "agent/affinity.h"
#include "agent/running.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Owners of cores and ways: applications from 1 on, queries behind them. */
static uint32_t owner_of_query(const struct agent *agent, uint32_t entry)
{
    return 1 + agent->plan->tenant_count + entry;
}

static void place(struct agent *agent)
{
    struct corun_host_share wanted[PLACING_OWNERS] = {{0, 0}};
    const struct corun_host_view *view = &agent->governor.view;
    for (uint32_t a = 0; a < view->application_count; a++)
        wanted[1 + a] = view->applications[a].share;
    for (uint32_t q = 0; q < view->query_count; q++)
        if (view->queries[q].state == CORUN_HOST_QUERY_RUNNING)
            wanted[owner_of_query(agent, q)] = view->queries[q].share;
    uint32_t owners = owner_of_query(agent, view->query_count);
    for (uint32_t owner = 0; owner < owners && !agent->resctrl.ways; owner++)
        wanted[owner].ways = 0;
    placing_update(&agent->placing, wanted, owners);
}

static cpu_set_t cores_of(const struct agent *agent, uint32_t owner)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    for (uint32_t i = 0; i < agent->placing.core_count; i++)
        if (agent->placing.core_owner[i] == owner)
            CPU_SET(agent->topology.cores[i], &cores);
    return cores;
}

/* An application's own cores, or the common ones. */
static cpu_set_t cores_of_tenant(const struct agent *agent, uint32_t tenant)
{
    return cores_of(agent, agent->governor.view.applications[tenant].share.cores ? 1 + tenant : PLACING_COMMON);
}

static cpu_set_t cores_of_query(const struct agent *agent, const struct query *query)
{
    return agent->governor.view.queries[query->entry].share.cores ? cores_of(agent, owner_of_query(agent, query->entry))
                                                                  : cores_of_tenant(agent, query->tenant);
}

/* ---- services ---- */

/* All that its queries have; a service without any is nobody's burden, and may listen anywhere. */
static cpu_set_t cores_of_service(const struct agent *agent, const struct connection *connection)
{
    cpu_set_t all;
    bool any = false;
    CPU_ZERO(&all);
    for (uint32_t q = 0; q < agent->governor.view.query_count; q++) {
        const struct query *query = agent->entries[q];
        if (!query || !query->running || query->connection != connection)
            continue;
        cpu_set_t cores = cores_of_query(agent, query);
        CPU_OR(&all, &all, &cores);
        any = true;
    }
    if (any)
        return all;
    return agent->governor.view.applications[connection->tenant].share.cores
               ? cores_of_tenant(agent, connection->tenant)
               : agent->topology.set;
}

static const struct query *query_of_thread(const struct agent *agent, const struct connection *connection, pid_t thread)
{
    for (uint32_t q = 0; q < agent->governor.view.query_count; q++) {
        const struct query *query = agent->entries[q];
        for (uint32_t i = 0; query && query->connection == connection && query->running && i < query->thread_count; i++)
            if (query->threads[i] == thread)
                return query;
    }
    return NULL;
}

void obey_threads(struct agent *agent, struct connection *connection)
{
    process_list threads = {0};
    process_threads(connection->process.pid, &threads);
    for (size_t i = 0; i < threads.count; i++) {
        const struct query *query = query_of_thread(agent, connection, threads.data[i]);
        cpu_set_t cores = query ? cores_of_query(agent, query) : connection->member->cores;
        if (CPU_COUNT(&cores) && affinity_set_thread(threads.data[i], &cores))
            agent_note_failure(agent, "the cores of thread", threads.data[i], errno);
    }
    vector_free(&threads);
}

/* What has no core stands still. */
static void obey_service(struct agent *agent, struct connection *connection)
{
    struct member *member = connection->member;
    cpu_set_t cores = cores_of_service(agent, connection);
    if (CPU_COUNT(&cores))
        member_confine(agent, member, &cores);
    member_stop(agent, member, !CPU_COUNT(&cores));
    if (connection->threads.count)
        obey_threads(agent, connection);
}

/* ---- batch programs ---- */

static void obey_batch(struct agent *agent, uint32_t tenant)
{
    cpu_set_t cores = cores_of_tenant(agent, tenant);
    uint32_t running = agent->governor.view.applications[tenant].running, nth = 0;
    for (size_t i = 0; i < agent->members.count; i++) {
        struct member *member = agent->members.data[i];
        if (member->tenant != tenant || member->gone)
            continue;
        bool runs = nth++ < running && CPU_COUNT(&cores);
        if (runs)
            member_confine(agent, member, &cores);
        member_stop(agent, member, !runs);
    }
}

/* ---- ways ---- */

static struct slot *slot_of(struct agent *agent, uint32_t owner)
{
    struct slot *free = NULL;
    for (uint32_t i = 1; i < AGENT_SLOTS && i + 1 < agent->resctrl.groups; i++) {
        struct slot *slot = &agent->slots[i];
        if (slot->owner == owner)
            return slot;
        if (!slot->owner && !slot->failed && !free)
            free = slot;
    }
    return free;
}

static void set_slot(struct agent *agent, uint32_t number, uint64_t mask, const cpu_set_t *cores)
{
    struct slot *slot = &agent->slots[number];
    int error = 0;
    if (!slot->made) {
        error = resctrl_create(&agent->resctrl, number);
        slot->made = !error;
        slot->failed = error;
    }
    if (!error && slot->mask != mask)
        error = resctrl_set_ways(&agent->resctrl, number, mask);
    if (!error && !CPU_EQUAL(&slot->cores, cores))
        error = resctrl_set_cores(&agent->resctrl, number, cores);
    if (error)
        agent_note_failure(agent, "ways of the cache, group", (pid_t)number, error);
    slot->mask = mask;
    slot->cores = *cores;
}

/* Each owner of ways has a group; where the processor has too few groups, and for whoever has none, the common ways do. */
static void obey_ways(struct agent *agent)
{
    cpu_set_t common = agent->topology.set;
    uint32_t owners = owner_of_query(agent, agent->governor.view.query_count);
    if (!agent->resctrl.ways)
        return;
    for (uint32_t i = 1; i < AGENT_SLOTS; i++)
        if (agent->slots[i].owner &&
            (agent->slots[i].owner >= owners || !placing_way_mask(&agent->placing, agent->slots[i].owner))) {
            agent->slots[i].owner = 0;
            CPU_ZERO(&agent->slots[i].cores); /* they go to other groups now */
        }
    for (uint32_t owner = 1; owner < owners; owner++) {
        uint64_t mask = placing_way_mask(&agent->placing, owner);
        struct slot *slot = mask ? slot_of(agent, owner) : NULL;
        cpu_set_t cores = cores_of(agent, owner);
        if (!mask)
            continue;
        if (!slot) {
            agent_note_failure(agent, "groups of ways for owner", (pid_t)owner, ENOSPC);
            continue;
        }
        slot->owner = owner;
        set_slot(agent, (uint32_t)(slot - agent->slots), mask, &cores);
        if (!slot->failed)
            CPU_XOR(&common, &common, &cores);
    }
    set_slot(agent, 0, placing_way_mask(&agent->placing, PLACING_COMMON), &common);
}

/* ---- the governor's host ---- */

void obey(void *user)
{
    struct agent *agent = user;
    outcome_integrate(agent);
    place(agent);
    for (size_t i = 0; i < agent->connections.count; i++) {
        struct connection *connection = agent->connections.data[i];
        if (connection->state == CONNECTION_SERVES && !connection->member->gone)
            obey_service(agent, connection);
    }
    for (uint32_t a = 0; a < agent->plan->tenant_count; a++)
        if (agent->plan->tenants[a].kind == CORUN_HOST_BATCH)
            obey_batch(agent, a);
    obey_ways(agent);
    for (uint32_t q = 0; q < agent->governor.view.query_count; q++) {
        struct query *query = agent->entries[q];
        if (!query || !query->running)
            continue;
        cpu_set_t cores = cores_of_query(agent, query);
        uint32_t ways = agent->governor.view.queries[q].share.ways;
        bool begins = query->started_ns == agent->now_ns;
        query->steady = begins || (query->steady && query->cores == (uint32_t)CPU_COUNT(&cores) && query->ways == ways);
        query->cores = begins ? (uint32_t)CPU_COUNT(&cores) : query->cores;
        query->ways = begins ? ways : query->ways;
        if (!query->announced)
            connection_start_query(agent, query);
        query->announced = true;
    }
    outcome_hold(agent);
}

static bool can_begin(void *user, uint32_t entry)
{
    const struct agent *agent = user;
    const struct connection *connection = agent->entries[entry]->connection;
    return connection->busy < connection->workers && !connection->over;
}

static void begin(void *user, uint32_t entry)
{
    struct agent *agent = user;
    struct query *query = agent->entries[entry];
    query->running = query->steady = true;
    query->started_ns = agent->now_ns;
    query->connection->busy++;
    agent->waiting_count--;
    measure_started(agent, query);
}

static void describe_means(struct agent *agent)
{
    struct agent_means *means = &agent->means;
    if (agent->cpuset.version)
        snprintf(means->cores, sizeof means->cores, "control groups, version %d", agent->cpuset.version);
    else if (agent->plan->confinement == PLAN_AFFINITY)
        snprintf(means->cores, sizeof means->cores, "affinity");
    else
        snprintf(means->cores, sizeof means->cores, "affinity; no control groups: %.200s", agent->cpuset.why_not);
    means->ways_enforced = agent->resctrl.ways;
    if (agent->resctrl.ways)
        snprintf(means->ways, sizeof means->ways, "resctrl");
    else
        snprintf(means->ways, sizeof means->ways, "written down, not enforced: %.120s", agent->resctrl.no_ways);
    snprintf(means->bandwidth, sizeof means->bandwidth, "%s%.160s",
             agent->resctrl.bandwidth ? "resctrl" : "not measured: ", agent->resctrl.no_bandwidth);
}

static void fill_setting(struct agent *agent, struct governor_setting *setting, struct governor_tenant *tenants)
{
    const struct topology *topology = &agent->topology;
    for (uint32_t a = 0; a < agent->plan->tenant_count; a++) {
        const struct plan_tenant *plan = &agent->plan->tenants[a];
        tenants[a] = (struct governor_tenant){.name = plan->name,
                                              .kind = plan->kind,
                                              .goal_ns = plan->goal_ns,
                                              .threads = plan->threads ? plan->threads : topology->core_count,
                                              .instances = members_present(agent, a),
                                              .models = agent->tenants[a].models,
                                              .model_count = agent->tenants[a].predictor ? HOST_LEARNED_MODELS : 0};
    }
    uint32_t ways = agent->resctrl.ways ? agent->resctrl.way_count : topology->ways;
    *setting = (struct governor_setting){
        .core_count = topology->core_count,
        .way_count = ways,
        .way_bytes = topology->cache_bytes / (topology->ways ? topology->ways : 1),
        .clock_khz = topology->clock_khz,
        .interval_ns = agent->plan->interval_ns,
        .bandwidth = NAN,
        .capabilities = 1u << CORUN_HOST_CAN_CORES | 1u << CORUN_HOST_CAN_START | 1u << CORUN_HOST_CAN_QUERY |
                        1u << CORUN_HOST_CAN_INSTANCES | (agent->resctrl.ways ? 1u << CORUN_HOST_CAN_WAYS : 0),
        .observations = 1u << CORUN_HOST_SEES_SIZE | 1u << CORUN_HOST_SEES_IPC | 1u << CORUN_HOST_SEES_PROGRESS |
                        (agent->resctrl.bandwidth ? 1u << CORUN_HOST_SEES_BANDWIDTH : 0),
        .tenants = tenants,
        .tenant_count = agent->plan->tenant_count,
        .policy = agent->setting->policy,
        .parameters = agent->setting->parameters,
        .host = {measure_query, measure_tenant, measure_traffic, can_begin, begin, obey},
        .user = agent};
}

enum corun_status obey_begin(struct agent *agent)
{
    struct governor_setting setting;
    struct governor_tenant *tenants = ARENA_ARRAY(agent->arena, struct governor_tenant, GOVERNOR_TENANTS);
    const struct cpuset_places places = {"/proc/self/mounts", "/proc/self/cgroup", agent->plan->group};
    if (!tenants)
        return CORUN_MEMORY;
    resctrl_open(&agent->resctrl, agent->plan->resctrl, &agent->journal);
    if (agent->plan->confinement != PLAN_AFFINITY)
        cpuset_open(&agent->cpuset, &places, &agent->topology.set, &agent->journal);
    if (agent->plan->confinement == PLAN_CPUSET && !agent->cpuset.version)
        return corun_report(agent->list, CORUN_ARGUMENT, CORUN_NOWHERE, "control groups cannot be used: %s",
                            agent->cpuset.why_not);
    describe_means(agent);
    fill_setting(agent, &setting, tenants);
    placing_begin(&agent->placing, setting.core_count, setting.way_count);
    for (uint32_t a = 0; a < agent->plan->tenant_count && agent->resctrl.bandwidth; a++)
        agent->resctrl.bandwidth = resctrl_watch(&agent->resctrl, a) == 0;
    return governor_begin(&agent->governor, &setting, agent->now_ns, agent->arena, agent->list);
}
