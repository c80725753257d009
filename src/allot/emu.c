/* SPDX-License-Identifier: MIT */
/*
 * emu: each query gets just the cores and ways that it is predicted to need, and more or less while it runs (Wang, thesis, SJTU 2017,
 * chapter 5). Where the thesis leaves something open: queries start in order of arrival, as soon as a core and a way are free, and search among
 * what is free; while one runs it can have what nobody else has. Where ways cannot be given, cores follow alone.
 */
#include "allot/emu_search.h"
#include "allot/policies.h"

#include <string.h>

enum { MARGIN, RUNTIME, CACHE, MODEL };

static const struct corun_host_parameter parameters[] = {
    [MARGIN] = {"margin", 0.2, 0, 0.99, false, "of what queueing has left of the goal, kept free before the run", NULL},
    [RUNTIME] = {"runtime", 1, 0, 1, true, "whether shares follow a query while it runs", "off|on"},
    [CACHE] = {"cache", 1, 0, 1, true, "whether ways follow as well as cores", "off|on"},
    [MODEL] = {"model", 0, 0, 5, true, "what predicts: the one that was best on the samples held out, or one by name",
               "best|knn|nn|linear|sgd|svm"},
};
static const char *const model_names[] = {"best", "knn", "network", "linear", "sgd", "svm"};

struct emu {
    double margin;
    bool runtime, cache;
    uint32_t model;
    struct emu_query queries[CORUN_HOST_QUERIES];
};

/* The model of a service that is asked for: the first one is the best. NULL if there is none of that name. */
static const struct corun_host_model *model_of(const struct emu *emu,
                                               const struct corun_host_application_view *application)
{
    for (uint32_t i = 0; i < application->model_count; i++)
        if (!emu->model || !strcmp(application->models[i].name, model_names[emu->model]))
            return &application->models[i];
    return NULL;
}

static enum corun_status start(void *state, const struct corun_host_view *view, const double *values,
                               struct corun_host_allowances *allowances)
{
    struct emu *emu = state;
    emu->margin = values[MARGIN];
    emu->runtime = values[RUNTIME] > 0;
    emu->cache = values[CACHE] > 0;
    emu->model = (uint32_t)values[MODEL];
    for (uint32_t a = 0; a < view->application_count; a++) {
        const struct corun_host_application_view *application = &view->applications[a];
        if (application->kind != CORUN_HOST_SERVICE)
            continue;
        allowances->refusal = !application->goal_ns         ? "needs a goal for each service"
                              : !model_of(emu, application) ? "has no model of that name for a service"
                                                            : NULL;
        if (allowances->refusal)
            return CORUN_ARGUMENT;
    }
    return CORUN_OK;
}

/* Section 5.4.2: the pre-run allocator. Where the cache is common, the query is predicted with all of it and has no ways of its own. */
static void begin(struct emu *emu, const struct corun_host_view *view, uint32_t q, struct corun_host_share free,
                  struct corun_host_allowances *allowances)
{
    const struct corun_host_query_view *query = &view->queries[q];
    const struct corun_host_application_view *application = &view->applications[query->application];
    const struct corun_host_model *model = model_of(emu, application);
    struct corun_host_prediction prediction;
    double limit_ns = (double)application->goal_ns - (double)(view->now_ns - query->arrived_ns);
    double searched_ns = (1 - emu->margin) * limit_ns;
    struct corun_host_share share = {0, 0};
    if (allot_divides_ways(view))
        share = emu_search(model, query->size, searched_ns, free);
    else
        share.cores = emu_search_cores(model, query->size, searched_ns, free);
    model->predict(model->state, query->size, share.cores, share.ways ? share.ways : free.ways, &prediction);
    emu->queries[q] = (struct emu_query){.ipc_predicted = prediction.ipc,
                                         .work_predicted = prediction.ipc * prediction.duration_ns,
                                         .limit_ns = limit_ns,
                                         .initial = share};
    allowances->query[q] = share;
    allowances->start[q] = true;
}

static void begin_waiting(struct emu *emu, const struct corun_host_view *view, struct corun_host_allowances *allowances)
{
    for (;;) {
        struct corun_host_share free = allot_free(view, allowances);
        uint32_t q = allot_first_waiting(view, allowances);
        if (q == CORUN_HOST_NONE || !free.cores || !free.ways)
            return;
        begin(emu, view, q, free, allowances);
    }
}

/* Section 5.4.3: the runtime allocator. */
static void adjust(struct emu *emu, const struct corun_host_view *view, uint32_t q,
                   struct corun_host_allowances *allowances)
{
    struct corun_host_share *share = &allowances->query[q], free = allot_free(view, allowances);
    struct corun_host_share most = {share->cores + free.cores, share->ways + free.ways};
    if (!emu->cache || !allot_divides_ways(view))
        most.ways = share->ways;
    *share =
        emu_adjust(&emu->queries[q], view->queries[q].interval_ipc, (double)view->queries[q].interval_ns, *share, most);
}

static void decide(void *state, const struct corun_host_view *view, struct corun_host_moment moment,
                   struct corun_host_allowances *allowances)
{
    struct emu *emu = state;
    if (moment.event == CORUN_HOST_QUERY_INTERVAL && emu->runtime)
        adjust(emu, view, moment.query, allowances);
    begin_waiting(emu, view, allowances);
}

const struct corun_host_policy allot_emu = {
    .version = CORUN_HOST_POLICY_VERSION,
    .name = "emu",
    .summary = "just enough cores and ways for each query, followed while it runs; batch gets the rest",
    .paper = "Wang, thesis, SJTU 2017, chapter 5",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .needs = 1u << CORUN_HOST_CAN_CORES | 1u << CORUN_HOST_CAN_START | 1u << CORUN_HOST_CAN_QUERY,
    .observes = 1u << CORUN_HOST_SEES_SIZE | 1u << CORUN_HOST_SEES_IPC,
    .needs_models = true,
    .state_bytes = sizeof(struct emu),
    .start = start,
    .decide = decide,
};
