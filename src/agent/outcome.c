/* SPDX-License-Identifier: MIT */
/* What became of queries and batch programs: in the end, and at any time. */
#include "agent/running.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

void outcome_note(struct agent *agent, const struct query *query, uint64_t ended_ns, bool lost)
{
    struct tenant *tenant = &agent->tenants[query->tenant];
    if (query->arrived_ns < agent->warm_ns)
        return;
    if (lost) {
        tenant->lost++;
        return;
    }
    uint64_t ns = ended_ns - query->arrived_ns;
    uint64_t started_ns = query->running ? query->started_ns : ended_ns;
    latencies_add(tenant->latencies, ns);
    tenant->late += tenant->plan->goal_ns && ns > tenant->plan->goal_ns;
    tenant->wait_ns += (double)(started_ns - query->arrived_ns);
}

void outcome_integrate(struct agent *agent)
{
    uint64_t since_ns = agent->held_ns > agent->warm_ns ? agent->held_ns : agent->warm_ns;
    double ns = agent->now_ns > since_ns ? (double)(agent->now_ns - since_ns) : 0;
    for (uint32_t a = 0; a < agent->plan->tenant_count; a++) {
        agent->tenants[a].core_ns += agent->tenants[a].cores * ns;
        agent->tenants[a].way_ns += agent->tenants[a].ways * ns;
    }
    agent->held_ns = agent->now_ns;
}

void outcome_hold(struct agent *agent)
{
    const struct corun_host_view *view = &agent->governor.view;
    for (uint32_t a = 0; a < view->application_count; a++) {
        struct corun_host_share share = view->applications[a].share;
        if (view->applications[a].kind == CORUN_HOST_BATCH && !share.cores)
            share = agent->governor.common;
        else if (view->applications[a].kind == CORUN_HOST_BATCH && !share.ways)
            share.ways = agent->governor.common.ways;
        agent->tenants[a].cores = share.cores;
        agent->tenants[a].ways = share.ways;
    }
    for (uint32_t q = 0; q < view->query_count; q++)
        if (view->queries[q].state == CORUN_HOST_QUERY_RUNNING) {
            agent->tenants[view->queries[q].application].cores += view->queries[q].share.cores;
            agent->tenants[view->queries[q].application].ways += view->queries[q].share.ways;
        }
}

void outcome_warm(struct agent *agent)
{
    for (uint32_t a = 0; a < agent->plan->tenant_count; a++) {
        agent->tenants[a].warm = measure_all(agent, a);
        agent->tenants[a].traffic_warm = measure_traffic(agent, a);
    }
    agent->warm = true;
}

static double work_of(const struct tenant *tenant, const struct work *work)
{
    return tenant->work == AGENT_COUNTED    ? work->counted - tenant->warm.counted
           : tenant->work == AGENT_REPORTED ? work->reported - tenant->warm.reported
                                            : work->cpu_ns - tenant->warm.cpu_ns;
}

/* From the end of the warm-up to now. */
static double measured_ns(const struct agent *agent)
{
    return agent->warm && agent->now_ns > agent->warm_ns ? (double)(agent->now_ns - agent->warm_ns) : 0;
}

static void judge_service(struct agent *agent, uint32_t index, struct agent_service_outcome *outcome)
{
    const struct tenant *tenant = &agent->tenants[index];
    const struct latencies *latencies = tenant->latencies;
    double count = (double)latencies->count, ns = measured_ns(agent);
    *outcome = (struct agent_service_outcome){.lost = tenant->lost, .failures = tenant->failures, .work = tenant->work};
    outcome->common.queries = (uint32_t)latencies->count;
    outcome->common.late = tenant->late;
    outcome->common.cores = ns > 0 ? tenant->core_ns / ns : 0;
    outcome->common.ways = ns > 0 ? tenant->way_ns / ns : 0;
    if (!latencies->count)
        return;
    outcome->common.mean_ns = latencies->sum_ns / count;
    outcome->common.mean_wait_ns = tenant->wait_ns / count;
    outcome->common.p50_ns = latencies_percentile(latencies, 50);
    outcome->common.p95_ns = latencies_percentile(latencies, 95);
    outcome->common.p99_ns = latencies_percentile(latencies, 99);
    outcome->common.longest_ns = (double)latencies->longest_ns;
    outcome->common.tail = tenant->plan->goal_ns ? outcome->common.p99_ns / (double)tenant->plan->goal_ns : 0;
}

static void judge_batch(struct agent *agent, uint32_t index, struct agent_batch_outcome *outcome)
{
    const struct tenant *tenant = &agent->tenants[index];
    struct work work = measure_all(agent, index);
    double ns = measured_ns(agent), traffic = measure_traffic(agent, index) - tenant->traffic_warm;
    *outcome = (struct agent_batch_outcome){
        .work = work_of(tenant, &work), .work_by = tenant->work, .runs = tenant->runs, .failures = tenant->failures};
    outcome->rate = ns > 0 ? outcome->work / ns * 1e9 : 0;
    outcome->common =
        (struct host_batch_outcome){.throughput = tenant->plan->alone > 0 ? outcome->rate / tenant->plan->alone : NAN,
                                    .cores = ns > 0 ? tenant->core_ns / ns : 0,
                                    .ways = ns > 0 ? tenant->way_ns / ns : 0,
                                    .traffic = ns > 0 ? traffic / ns * 1e9 : NAN};
}

/* Queries that have not been answered count as if they were now, as those of a simulated host. */
static void note_unanswered(struct agent *agent)
{
    for (size_t i = 0; i < agent->connections.count; i++)
        for (const struct query *query = agent->connections.data[i]->queries; query; query = query->next_of_connection)
            outcome_note(agent, query, agent->now_ns, false);
}

void outcome_judge(struct agent *agent, struct agent_outcome *outcome)
{
    outcome_integrate(agent);
    note_unanswered(agent);
    outcome->throughput = 0;
    for (uint32_t a = 0; a < agent->plan->tenant_count; a++) {
        const struct plan_tenant *plan = &agent->plan->tenants[a];
        if (plan->kind == CORUN_HOST_SERVICE) {
            uint32_t s = outcome->service_count++;
            judge_service(agent, a, &outcome->services[s]);
            outcome->service_names[s] = plan->name;
            outcome->goals_ns[s] = plan->goal_ns;
            outcome->violations += outcome->services[s].common.tail > 1;
        } else {
            uint32_t b = outcome->batch_count++;
            judge_batch(agent, a, &outcome->batches[b]);
            outcome->batch_names[b] = plan->name;
            outcome->instances[b] = members_present(agent, a);
            outcome->throughput += outcome->batches[b].common.throughput;
        }
    }
    outcome->interval_ns = agent->plan->interval_ns;
    outcome->run_ns = (uint64_t)measured_ns(agent);
    outcome->topology = agent->topology;
    outcome->means = agent->means;
    outcome->decided = agent->governor.decided;
    outcome->obeyed = agent->governor.obeyed;
    outcome->moves = agent->governor.moves;
    outcome->refused = agent->refused;
    outcome->failed_moves = agent->failed_moves;
    memcpy(outcome->first_failure, agent->first_failure, sizeof outcome->first_failure);
}

/* ---- how things stand ---- */

struct writer {
    char *text;
    size_t bytes, length;
};

static void put(struct writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct writer *writer, const char *format, ...)
{
    va_list arguments;
    size_t room = writer->bytes - writer->length;
    va_start(arguments, format);
    int length = vsnprintf(writer->text + writer->length, room, format, arguments);
    va_end(arguments);
    writer->length += length > 0 && (size_t)length < room ? (size_t)length : 0;
}

static void put_number(struct writer *writer, const char *name, double value)
{
    if (isfinite(value))
        put(writer, ", \"%s\": %.17g", name, value);
    else
        put(writer, ", \"%s\": null", name);
}

static void put_service(struct agent *agent, uint32_t index, struct writer *writer)
{
    struct agent_service_outcome outcome;
    const struct corun_host_application_view *view = &agent->governor.view.applications[index];
    judge_service(agent, index, &outcome);
    put(writer, "%s{\"application\": \"%s\", \"goal_ns\": %" PRIu64 ", \"running\": %u, \"waiting\": %u",
        writer->text[writer->length - 1] == '}' ? ", " : "", view->name, view->goal_ns, view->running, view->waiting);
    put(writer, ", \"queries\": %u, \"late\": %u, \"lost\": %u, \"cores_now\": %u, \"ways_now\": %u",
        outcome.common.queries, outcome.common.late, outcome.lost, agent->tenants[index].cores,
        agent->tenants[index].ways);
    put_number(writer, "p50_ns", outcome.common.p50_ns);
    put_number(writer, "p99_ns", outcome.common.p99_ns);
    put_number(writer, "p99_of_goal", view->goal_ns ? outcome.common.tail : NAN);
    put(writer, "}");
}

static void put_batch(struct agent *agent, uint32_t index, struct writer *writer)
{
    struct agent_batch_outcome outcome;
    const struct corun_host_application_view *view = &agent->governor.view.applications[index];
    judge_batch(agent, index, &outcome);
    put(writer, "%s{\"application\": \"%s\", \"instances\": %u, \"running\": %u, \"cores_now\": %u, \"ways_now\": %u",
        writer->text[writer->length - 1] == '}' ? ", " : "", view->name, view->instances, view->running,
        agent->tenants[index].cores, agent->tenants[index].ways);
    put(writer, ", \"work_by\": \"%s\"", agent_work_word(outcome.work_by));
    put_number(writer, "work", outcome.work);
    put_number(writer, "per_second", outcome.rate);
    put_number(writer, "throughput", outcome.common.throughput);
    put(writer, "}");
}

static void put_kind(struct agent *agent, enum corun_host_kind kind, struct writer *writer)
{
    for (uint32_t a = 0; a < agent->plan->tenant_count; a++) {
        if (agent->plan->tenants[a].kind != kind)
            continue;
        if (kind == CORUN_HOST_SERVICE)
            put_service(agent, a, writer);
        else
            put_batch(agent, a, writer);
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): it is written to by way of the writer */
size_t outcome_status(struct agent *agent, char *text, size_t bytes)
{
    struct writer writer = {text, bytes, 0};
    const struct governor_cost *decided = &agent->governor.decided;
    outcome_integrate(agent);
    put(&writer, "{\"policy\": \"%s\", \"cores\": %u, \"ways\": %u, \"ways_enforced\": %s, \"common_cores\": %u",
        agent->setting->policy->name, agent->placing.core_count, agent->placing.way_count,
        agent->means.ways_enforced ? "true" : "false", agent->governor.common.cores);
    put(&writer, ", \"run_ns\": %" PRIu64 ", \"decisions\": %" PRIu64, agent->now_ns - agent->began_ns, decided->count);
    put_number(&writer, "decision_mean_ns", decided->count ? decided->total_ns / (double)decided->count : NAN);
    put_number(&writer, "decision_longest_ns", decided->longest_ns);
    put(&writer, ", \"moves\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"services\": [", agent->governor.moves,
        agent->refused);
    put_kind(agent, CORUN_HOST_SERVICE, &writer);
    put(&writer, "], \"batches\": [");
    put_kind(agent, CORUN_HOST_BATCH, &writer);
    put(&writer, "]}");
    return writer.length;
}
