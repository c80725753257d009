/* SPDX-License-Identifier: MIT */
/* Co-locations on a simulated host. */
#include "host/study.h"

#include "base/parallel.h"
#include "host/alone.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#define MEAN_QUERIES 200u
#define SAMPLED_SIZES 16u

enum corun_status host_know(const struct host_machine *machine, const struct host_application *application,
                            uint64_t seed, struct arena *arena, struct corun_diagnostics *list,
                            struct host_known *known)
{
    struct corun_host_sample *samples;
    size_t count;
    *known = (struct host_known){.application = application};
    if (application->kind == CORUN_HOST_BATCH)
        return host_batch_alone(machine, application, list, &known->alone);
    enum corun_status status = host_mean_alone(machine, application, seed, MEAN_QUERIES, list, &known->alone);
    if (status == CORUN_OK)
        status = host_samples(machine, application, seed, SAMPLED_SIZES, arena, list, &samples, &count);
    if (status == CORUN_OK)
        status = host_learn(samples, count, seed, arena, list, &known->predictor, known->models);
    if (status == CORUN_OK)
        known->model_count = HOST_LEARNED_MODELS;
    return status;
}

void host_forget(struct host_known *known)
{
    predictor_destroy(known->predictor);
    known->predictor = NULL;
}

/* The value below which `percent` of the values lie: the one of rank ceil(percent / 100 * count), values in ascending order. */
static double host_percentile(const double *ascending, size_t count, double percent)
{
    size_t rank = (size_t)ceil(percent / 100 * (double)count - 1e-9);
    return count ? ascending[rank ? rank - 1 : 0] : 0;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Tables of one simulation. */
struct stage {
    struct host_tenant tenants[2 * HOST_MOST_TENANTS];
    struct host_tenant_result results[2 * HOST_MOST_TENANTS];
    struct host_arrival *arrivals;
    struct host_answer *answers;
    double *responses;
    size_t arrival_count;
};

static enum corun_status stage_create(const struct host_setting *setting, struct corun_diagnostics *list,
                                      struct stage *stage)
{
    *stage = (struct stage){0};
    for (uint32_t s = 0; s < setting->service_count; s++)
        stage->arrival_count += setting->services[s].queries;
    stage->arrivals = calloc(stage->arrival_count + 1, sizeof *stage->arrivals);
    stage->answers = calloc(stage->arrival_count + 1, sizeof *stage->answers);
    stage->responses = calloc(stage->arrival_count + 1, sizeof *stage->responses);
    if (!stage->arrivals || !stage->answers || !stage->responses)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for the queries");
    struct host_arrival *next = stage->arrivals;
    for (uint32_t s = 0; s < setting->service_count; s++) {
        const struct host_service_setting *service = &setting->services[s];
        stage->tenants[s] = (struct host_tenant){.application = service->known->application,
                                                 .goal_ns = service->goal_ns,
                                                 .models = service->known->models,
                                                 .model_count = service->known->model_count};
        host_arrivals_poisson(next, service->queries, s, service->known->application,
                              service->known->alone / service->load, setting->seed);
        next += service->queries;
    }
    for (uint32_t b = 0; b < setting->batch_count; b++)
        stage->tenants[setting->service_count + b] = (struct host_tenant){
            .application = setting->batches[b].known->application, .instances = setting->batches[b].instances};
    host_arrivals_sort(stage->arrivals, stage->arrival_count);
    return CORUN_OK;
}

static void stage_destroy(struct stage *stage)
{
    free(stage->arrivals);
    free(stage->answers);
    free(stage->responses);
}

/* Queries that were not answered count as if they had been at the end. */
static void judge_service(const struct host_setting *setting, struct stage *stage, uint32_t s,
                          struct host_outcome *outcome)
{
    struct host_service_outcome *service = &outcome->services[s];
    uint64_t end_ns = outcome->result.end_ns, goal_ns = setting->services[s].goal_ns;
    *service = (struct host_service_outcome){0};
    for (size_t i = 0; i < stage->arrival_count; i++) {
        const struct host_answer *answer = &stage->answers[i];
        const struct host_arrival *arrival = &stage->arrivals[i];
        if (arrival->tenant != s || arrival->at_ns > end_ns)
            continue;
        uint64_t ended_ns = answer->ended_ns < end_ns ? answer->ended_ns : end_ns;
        uint64_t started_ns = answer->started_ns < end_ns ? answer->started_ns : end_ns;
        stage->responses[service->queries++] = (double)(ended_ns - arrival->at_ns);
        service->unanswered += answer->ended_ns > end_ns;
        service->late += goal_ns && ended_ns - arrival->at_ns > goal_ns;
        service->mean_ns += (double)(ended_ns - arrival->at_ns);
        service->mean_wait_ns += (double)(started_ns - arrival->at_ns);
    }
    if (!service->queries)
        return;
    qsort(stage->responses, service->queries, sizeof *stage->responses, compare);
    service->mean_ns /= service->queries;
    service->mean_wait_ns /= service->queries;
    service->p50_ns = host_percentile(stage->responses, service->queries, 50);
    service->p95_ns = host_percentile(stage->responses, service->queries, 95);
    service->p99_ns = host_percentile(stage->responses, service->queries, 99);
    service->longest_ns = stage->responses[service->queries - 1];
    service->tail = goal_ns ? service->p99_ns / (double)goal_ns : 0;
    service->cores = stage->results[s].core_ns / (double)end_ns;
    service->ways = stage->results[s].way_ns / (double)end_ns;
    outcome->violations += service->tail > 1;
}

static void judge_batch(const struct host_setting *setting, const struct stage *stage, uint32_t b,
                        struct host_outcome *outcome)
{
    const struct host_tenant_result *result = &stage->results[setting->service_count + b];
    double ns = (double)outcome->result.end_ns;
    outcome->batches[b] =
        (struct host_batch_outcome){.throughput = result->instructions / (setting->batches[b].known->alone * ns),
                                    .cores = result->core_ns / ns,
                                    .ways = result->way_ns / ns,
                                    .traffic = result->traffic_bytes / ns * 1e9};
    outcome->throughput += outcome->batches[b].throughput;
}

/* Three times the time in which all queries would be answered one after the other, each alone. */
static uint64_t longest_time(const struct host_setting *setting, const struct stage *stage)
{
    double ns = stage->arrival_count ? (double)stage->arrivals[stage->arrival_count - 1].at_ns : 1e9;
    for (uint32_t s = 0; s < setting->service_count; s++)
        ns += setting->services[s].queries * setting->services[s].known->alone;
    return ns < 9e17 ? (uint64_t)(3 * ns) + 1 : UINT64_C(1) << 62;
}

static enum corun_status colocate(const struct host_setting *setting, struct corun_diagnostics *list,
                                  struct host_outcome *outcome)
{
    struct stage stage;
    *outcome = (struct host_outcome){0};
    enum corun_status status = stage_create(setting, list, &stage);
    if (status == CORUN_OK) {
        uint64_t last_ns = stage.arrival_count ? stage.arrivals[stage.arrival_count - 1].at_ns : 1000000000;
        const struct host_scenario scenario = {.machine = setting->machine,
                                               .tenants = stage.tenants,
                                               .tenant_count = setting->service_count + setting->batch_count,
                                               .arrivals = stage.arrivals,
                                               .arrival_count = stage.arrival_count,
                                               .policy = setting->policy,
                                               .parameters = setting->parameters,
                                               .interval_ns = setting->interval_ns,
                                               .least_ns = last_ns,
                                               .most_ns = longest_time(setting, &stage),
                                               .observe = setting->observe,
                                               .user = setting->user};
        status = host_simulate(&scenario, list, stage.answers, stage.results, &outcome->result);
    }
    for (uint32_t s = 0; s < setting->service_count && !status; s++)
        judge_service(setting, &stage, s, outcome);
    for (uint32_t b = 0; b < setting->batch_count && !status; b++)
        judge_batch(setting, &stage, b, outcome);
    stage_destroy(&stage);
    return status;
}

static uint32_t most_instances(const struct host_setting *setting)
{
    uint32_t most = 0;
    for (uint32_t b = 0; b < setting->batch_count; b++)
        most = setting->batches[b].instances > most ? setting->batches[b].instances : most;
    return most;
}

/* POLICY, ARGUMENT, MEMORY. The same setting gives the same digits. */
static enum corun_status host_colocate(const struct host_setting *setting, struct corun_diagnostics *list,
                                       struct host_outcome *outcome)
{
    if (!setting->search_instances)
        return colocate(setting, list, outcome);
    /* One more after the other, until a goal is violated; none, if none do no harm. */
    struct host_setting tried = *setting;
    struct host_outcome more;
    uint32_t most = most_instances(setting), instances = 0;
    tried.observe = NULL;
    tried.parameters[0] = 0;
    enum corun_status status = colocate(&tried, list, outcome);
    while (status == CORUN_OK && !outcome->violations && instances < most) {
        tried.parameters[0] = instances + 1;
        status = colocate(&tried, list, &more);
        if (status || more.violations)
            break;
        *outcome = more;
        instances++;
    }
    if (status == CORUN_OK && setting->observe) {
        tried.parameters[0] = instances;
        tried.observe = setting->observe;
        status = colocate(&tried, list, outcome);
    }
    outcome->instances = instances;
    return status;
}

/* Settings that are handed out one by one. */
struct team {
    pthread_mutex_t lock;
    const struct host_setting *settings;
    struct host_outcome *outcomes;
    size_t count, next;
    struct corun_diagnostics *list;
    enum corun_status status;
};

static void *work(void *user)
{
    struct team *team = user;
    for (;;) {
        pthread_mutex_lock(&team->lock);
        size_t index = team->status ? team->count : team->next++;
        pthread_mutex_unlock(&team->lock);
        if (index >= team->count)
            return NULL;
        struct corun_diagnostics *list = corun_diagnostics_create();
        enum corun_status status = host_colocate(&team->settings[index], list, &team->outcomes[index]);
        pthread_mutex_lock(&team->lock);
        if (status && !team->status) {
            const struct corun_diagnostic *first =
                list && corun_diagnostics_count(list) ? corun_diagnostics_get(list, 0) : NULL;
            team->status = corun_report(team->list, status, CORUN_NOWHERE, "%s",
                                        first ? first->message : corun_status_meaning(status));
        }
        pthread_mutex_unlock(&team->lock);
        corun_diagnostics_destroy(list);
    }
}

enum corun_status host_colocate_all(const struct host_setting *settings, size_t count, uint32_t jobs,
                                    struct corun_diagnostics *list, struct host_outcome *outcomes)
{
    struct team team = {.settings = settings, .outcomes = outcomes, .count = count, .list = list};
    pthread_mutex_init(&team.lock, NULL);
    parallel_run(parallel_jobs(jobs), work, &team);
    pthread_mutex_destroy(&team.lock);
    return team.status;
}
