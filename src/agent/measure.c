/* SPDX-License-Identifier: MIT */
/*
 * What has been done, by the best measure that there is: instructions that the processor counts; else what programs report; else processor time. A query's
 * progress counts as a thousand instructions for each unit of its size, which is what the models are made to predict then, too: policies compare the two.
 */
#include "agent/running.h"

#include "base/text_file.h"

#include <math.h>
#include <stdlib.h>

#define MODEL_BYTES (64u << 20)
#define CPU_WEIGHT 0.1 /* of a new query in what a unit of the size has cost so far */

static const char *const work_words[] = {
    [AGENT_COUNTED] = "counted", [AGENT_REPORTED] = "reported", [AGENT_CPU_TIME] = "cpu-time"};

const char *agent_work_word(enum agent_work work)
{
    return work_words[work];
}

/* ---- models ---- */

struct learned {
    const struct predictor *predictor;
    enum predictor_kind kind;
    uint32_t clock_khz;
};

static void predict_counted(const void *state, double size, uint32_t cores, uint32_t ways,
                            struct corun_host_prediction *prediction)
{
    const struct learned *learned = state;
    double predicted[PREDICTOR_TARGETS];
    predictor_predict(learned->predictor, learned->kind, size, cores, ways, predicted);
    *prediction = (struct corun_host_prediction){predicted[PREDICTOR_DURATION], predicted[PREDICTOR_IPC]};
}

/* The work of a query is its size: the rate follows from the duration. */
static void predict_progress(const void *state, double size, uint32_t cores, uint32_t ways,
                             struct corun_host_prediction *prediction)
{
    const struct learned *learned = state;
    predict_counted(state, size, cores, ways, prediction);
    prediction->ipc = fmax(size, 1e-6) * AGENT_QUERY_UNITS / (prediction->duration_ns * learned->clock_khz / 1e6);
}

static enum corun_status load_model(struct agent *agent, struct tenant *tenant)
{
    char *text;
    size_t bytes;
    const char *path = tenant->plan->model;
    struct learned *states = ARENA_ARRAY(agent->arena, struct learned, HOST_LEARNED_MODELS);
    enum corun_status status = states ? text_file_read(path, MODEL_BYTES, agent->list, &text, &bytes) : CORUN_MEMORY;
    if (status)
        return status;
    status = predictor_read(path, text, bytes, agent->list, &tenant->predictor);
    free(text);
    if (status)
        return status;
    if (predictor_work(tenant->predictor) != PREDICTOR_WORK_COUNTED)
        tenant->work = AGENT_REPORTED;
    for (uint32_t i = 0; i < HOST_LEARNED_MODELS; i++) {
        states[i] = (struct learned){tenant->predictor, i == 0 ? PREDICTOR_BEST : (enum predictor_kind)(i - 1),
                                     agent->topology.clock_khz};
        tenant->models[i] =
            (struct corun_host_model){predictor_word(states[i].kind), &states[i],
                                      tenant->work == AGENT_COUNTED ? predict_counted : predict_progress};
    }
    return CORUN_OK;
}

void measure_begin(struct agent *agent)
{
    const char *why;
    agent->counts = counters_try(COUNTERS_INSTRUCTIONS, &why) == 0;
    snprintf(agent->means.counters, sizeof agent->means.counters, "%s", why);
    for (uint32_t a = 0; a < agent->plan->tenant_count; a++) {
        struct tenant *tenant = &agent->tenants[a];
        bool service = agent->plan->tenants[a].kind == CORUN_HOST_SERVICE;
        tenant->work = agent->counts ? AGENT_COUNTED : service ? AGENT_REPORTED : AGENT_CPU_TIME;
    }
}

enum corun_status measure_load_models(struct agent *agent)
{
    enum corun_status status = CORUN_OK;
    for (uint32_t a = 0; a < agent->plan->tenant_count && !status; a++)
        if (agent->plan->tenants[a].model)
            status = load_model(agent, &agent->tenants[a]);
    return status;
}

/* ---- queries ---- */

/* Processor time of the threads of a query. */
static double measure_cpu(const struct query *query)
{
    pid_t pid = query->connection->process.pid;
    double ns = 0;
    if (!query->threads)
        return process_cpu_ns(pid);
    for (uint32_t i = 0; i < query->thread_count; i++)
        ns += process_thread_cpu_ns(pid, query->threads[i]);
    return ns;
}

static double counted(const struct query *query)
{
    const struct connection *connection = query->connection;
    double sum = 0;
    if (!query->threads)
        return counters_read(&connection->member->counters);
    for (uint32_t i = 0; i < query->thread_count; i++)
        for (size_t k = 0; k < connection->threads.count; k++)
            if (connection->threads.data[k].thread == query->threads[i])
                sum += counters_read(&connection->threads.data[k].counters);
    return sum;
}

/* How far it is: what it reports, or by what queries of this service have cost until now. */
static double progress_of(const struct agent *agent, const struct query *query)
{
    double expected = agent->tenants[query->tenant].cpu_per_size * query->size;
    if (query->progress > 0)
        return query->progress;
    return expected > 0 ? fmin((measure_cpu(query) - query->cpu_ns) / expected, 1) : NAN;
}

double measure_query(void *user, uint32_t entry)
{
    struct agent *agent = user;
    const struct query *query = agent->entries[entry];
    if (agent->tenants[query->tenant].work == AGENT_COUNTED)
        return counted(query);
    if (query->started_ns == agent->now_ns)
        return 0;
    return progress_of(agent, query) * query->size * AGENT_QUERY_UNITS;
}

void measure_started(struct agent *agent, struct query *query)
{
    query->cpu_ns = measure_cpu(query);
    query->counted = agent->counts ? counted(query) : 0;
}

static void write_sample(struct agent *agent, const struct query *query, uint64_t ended_ns)
{
    const struct tenant *tenant = &agent->tenants[query->tenant];
    double ns = (double)(ended_ns - query->started_ns), work = query->size * AGENT_QUERY_UNITS;
    if (tenant->work == AGENT_COUNTED) /* since it started */
        work = counted(query) - query->counted;
    if (!query->steady || !(ns > 0) || !(work > 0))
        return;
    fprintf(agent->setting->samples, "%s,%.17g,%u,%u,%.0f,%.6g,%s\n", tenant->plan->name, query->size, query->cores,
            query->ways && agent->resctrl.ways ? query->ways : agent->placing.way_count, ns,
            work / (ns * agent->topology.clock_khz / 1e6),
            predictor_work_word(tenant->work == AGENT_COUNTED ? PREDICTOR_WORK_COUNTED : PREDICTOR_WORK_PROGRESS));
}

void measure_ended(struct agent *agent, struct query *query, uint64_t ended_ns)
{
    struct tenant *tenant = &agent->tenants[query->tenant];
    double cost = query->size > 0 ? (measure_cpu(query) - query->cpu_ns) / query->size : NAN;
    if (cost > 0)
        tenant->cpu_per_size += tenant->cpu_per_size > 0 ? CPU_WEIGHT * (cost - tenant->cpu_per_size) : cost;
    tenant->finished_work += query->size * AGENT_QUERY_UNITS;
    if (agent->setting->samples)
        write_sample(agent, query, ended_ns);
}

/* ---- applications ---- */

static double if_known(double value)
{
    return value > 0 ? value : 0; /* NAN is not */
}

static void add_member(struct work *work, struct member *member)
{
    double cpu_ns = process_cpu_ns(member->id.pid);
    if (cpu_ns > member->cpu_ns)
        member->cpu_ns = cpu_ns;
    work->counted += if_known(counters_read(&member->counters));
    work->reported += member->reported;
    work->cpu_ns += member->cpu_ns;
}

struct work measure_all(struct agent *agent, uint32_t tenant)
{
    struct work work = agent->tenants[tenant].ended;
    for (size_t i = 0; i < agent->members.count; i++)
        if (agent->members.data[i]->tenant == tenant && !agent->members.data[i]->gone)
            add_member(&work, agent->members.data[i]);
    return work;
}

void measure_forget_member(struct agent *agent, struct member *member)
{
    add_member(&agent->tenants[member->tenant].ended, member);
}

static double service_work(struct agent *agent, uint32_t tenant)
{
    double work = agent->tenants[tenant].finished_work;
    for (uint32_t entry = 0; entry < agent->governor.view.query_count; entry++)
        if (agent->entries[entry] && agent->entries[entry]->running && agent->entries[entry]->tenant == tenant)
            work += if_known(measure_query(agent, entry));
    return work;
}

double measure_tenant(void *user, uint32_t index)
{
    struct agent *agent = user;
    struct tenant *tenant = &agent->tenants[index];
    if (tenant->plan->kind == CORUN_HOST_SERVICE && tenant->work != AGENT_COUNTED)
        return service_work(agent, index);
    struct work work = measure_all(agent, index);
    switch (tenant->work) {
    case AGENT_COUNTED:
        return work.counted;
    case AGENT_REPORTED:
        return work.reported;
    default: /* one instruction for each cycle */
        return work.cpu_ns * agent->topology.clock_khz / 1e6;
    }
}

double measure_traffic(void *user, uint32_t tenant)
{
    struct agent *agent = user;
    return agent->resctrl.bandwidth ? resctrl_traffic(&agent->resctrl, tenant) : NAN;
}
