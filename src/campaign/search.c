/* SPDX-License-Identifier: MIT */
/* Splits of the SMs as campaigns: all of them, or coarse to fine around the best one so far. */
#include "campaign/search.h"

#include "campaign/campaign_file.h"
#include "campaign/campaign_keys.h"
#include "case/specification.h"
#include "corun/workload.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct search {
    const struct search_request *request;
    struct corun_diagnostics *list;
    struct search_outcome *outcome;
    struct arena *arena;
    const char *name; /* of the campaign */
};

/* n over k, or UINT64_MAX if that is more than fits. */
static uint64_t choose(uint64_t n, uint64_t k)
{
    unsigned __int128 result = 1;
    if (k > n)
        return 0;
    for (uint64_t i = 1; i <= k; i++) {
        result = result * (n - k + i) / i;
        if (result > UINT64_MAX)
            return UINT64_MAX;
    }
    return (uint64_t)result;
}

/* A split that is not there yet. */
static enum corun_status add_split(struct search *search, const uint32_t *sms)
{
    struct search_outcome *outcome = search->outcome;
    struct search_split split = {.known = false};
    memcpy(split.sms, sms, search->request->application_count * sizeof *sms);
    for (size_t i = 0; i < outcome->splits.count; i++) {
        if (!memcmp(outcome->splits.data[i].sms, split.sms, sizeof split.sms))
            return CORUN_OK;
    }
    return vector_push(&outcome->splits, split) ? CORUN_OK : CORUN_MEMORY;
}

/* All ways to hand out the units of `step` SMs, one each at least; what is left over goes to the last application. */
static enum corun_status add_all(struct search *search, uint32_t step)
{
    uint32_t count = search->request->application_count, units = search->outcome->sm_count / step;
    uint32_t parts[MIX_MAX];
    enum corun_status status = CORUN_OK;
    assert(count >= 2); /* search_run has refused others */
    for (uint32_t a = 0; a < count; a++)
        parts[a] = 1;
    parts[count - 1] = units - (count - 1);
    for (;;) {
        uint32_t sms[MIX_MAX];
        for (uint32_t a = 0; a < count; a++)
            sms[a] = parts[a] * step;
        sms[count - 1] += search->outcome->sm_count % step;
        status = add_split(search, sms);
        /*
         * the next one: the last application gives a unit to the one before it; if it has only one, to an earlier one
         */
        uint32_t a = count - 1;
        while (a > 0 && parts[a] == 1)
            a--;
        if (a == 0 || status)
            return status;
        uint32_t rest = parts[a] - 1;
        parts[a] = 1;
        parts[a - 1]++;
        parts[count - 1] = rest;
    }
}

/* Those that differ from the best so far by `step` SMs between two applications. */
static enum corun_status add_neighbours(struct search *search, uint32_t step)
{
    const struct search_split best = search->outcome->splits.data[search->outcome->found];
    uint32_t count = search->request->application_count;
    enum corun_status status = CORUN_OK;
    for (uint32_t from = 0; from < count; from++) {
        for (uint32_t to = 0; to < count && !status; to++) {
            if (from == to || best.sms[from] <= step)
                continue;
            uint32_t sms[MIX_MAX];
            memcpy(sms, best.sms, sizeof sms);
            sms[from] -= step;
            sms[to] += step;
            status = add_split(search, sms);
        }
    }
    return status;
}

/* The application with the goal: 1 SM to as many as leave one for each other, which share the rest evenly. */
static enum corun_status add_offline(struct search *search)
{
    struct search_outcome *outcome = search->outcome;
    uint32_t count = search->request->application_count;
    enum corun_status status = CORUN_OK;
    assert(count >= 2); /* search_run has refused others */
    for (uint32_t own = 1; own + count - 1 <= outcome->sm_count && !status; own++) {
        uint32_t sms[MIX_MAX], left = outcome->sm_count - own, turn = 0;
        for (uint32_t a = 0; a < count; a++)
            sms[a] = a == outcome->goal_application ? own : left / (count - 1) + (turn++ < left % (count - 1));
        status = add_split(search, sms);
    }
    return status;
}

static void write_text(FILE *stream, const char *text)
{
    putc('\'', stream);
    for (; *text; text++) {
        if (*text == '\'')
            putc('\'', stream);
        putc(*text, stream);
    }
    putc('\'', stream);
}

/* The description of the campaign of all splits so far. The caller frees it; NULL when out of memory. */
static char *describe(const struct search *search)
{
    static const char *const words[] = {
#define SEARCH_KIND_WORD(name, word, meaning) word,
        SEARCH_KINDS(SEARCH_KIND_WORD)
#undef SEARCH_KIND_WORD
    };
    const struct search_request *request = search->request;
    const struct search_outcome *outcome = search->outcome;
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream)
        return NULL;
    fprintf(stream, "name: ");
    write_text(stream, search->name);
    fprintf(stream, "\nsummary: splits of the SMs, %s\ngpus: [", words[request->kind]);
    write_text(stream, request->gpu);
    fprintf(stream, "]\ncycles: %llu\nseed: %llu\npolicies:\n", (unsigned long long)request->cycles,
            (unsigned long long)request->seed);
    for (size_t i = 0; i < outcome->splits.count; i++) {
        fprintf(stream, "  - 'fixed:split=");
        for (uint32_t a = 0; a < request->application_count; a++)
            fprintf(stream, "%s%u", a ? "/" : "", outcome->splits.data[i].sms[a]);
        fprintf(stream, "'\n");
    }
    fprintf(stream, "cases:\n  - [");
    for (uint32_t a = 0; a < request->application_count; a++) {
        fprintf(stream, "%s", a ? ", " : "");
        write_text(stream, request->applications[a]);
    }
    fprintf(stream, "]\n");
    return fclose(stream) ? (free(text), NULL) : text;
}

static bool is_better(const struct search_request *request, const struct search_split *one,
                      const struct search_split *other)
{
    double sign = request->kind == SEARCH_WORST ? -1 : 1;
    double values[2][2]; /* of each: what counts first, and what counts then */
    const struct search_split *splits[] = {one, other};
    for (uint32_t i = 0; i < 2; i++) {
        const struct store_measured *measured = &splits[i]->measured;
        uint32_t met = 0;
        for (uint32_t a = 0; a < request->application_count; a++)
            met += measured->applications[a].goal_met;
        /* infinite, which results files have as nothing, if one did nothing */
        values[i][0] = request->metric == SEARCH_BY_ANTT       ? isnan(measured->antt) ? -HUGE_VAL : -measured->antt
                       : request->metric == SEARCH_BY_FAIRNESS ? measured->fairness
                       : request->metric == SEARCH_BY_GOAL     ? met
                                                               : measured->stp;
        values[i][1] = request->metric == SEARCH_BY_GOAL ? measured->stp : 0;
    }
    if (values[0][0] != values[1][0])
        return sign * values[0][0] > sign * values[1][0];
    return sign * values[0][1] > sign * values[1][1];
}

/*
 * Among equal ones the earliest. A split without a value, which is one in which an application did nothing, is never
 * found.
 */
static void find(struct search *search)
{
    const struct search_request *request = search->request;
    struct search_outcome *outcome = search->outcome;
    outcome->found = outcome->nearest = SIZE_MAX;
    for (size_t i = 0; i < outcome->splits.count; i++) {
        const struct search_split *split = &outcome->splits.data[i];
        if (!split->known)
            continue;
        if (request->kind == SEARCH_OFFLINE) {
            uint32_t goal = outcome->goal_application;
            const struct search_split *nearest =
                outcome->nearest == SIZE_MAX ? NULL : &outcome->splits.data[outcome->nearest];
            if (split->measured.applications[goal].goal_met &&
                (outcome->found == SIZE_MAX || split->sms[goal] < outcome->splits.data[outcome->found].sms[goal]))
                outcome->found = i;
            if (!nearest || split->measured.applications[goal].ipc > nearest->measured.applications[goal].ipc)
                outcome->nearest = i;
        } else if (!isnan(split->measured.stp) &&
                   (outcome->found == SIZE_MAX || is_better(request, split, &outcome->splits.data[outcome->found]))) {
            outcome->found = i;
        }
    }
    if (outcome->found != SIZE_MAX)
        outcome->nearest = SIZE_MAX;
}

/* What the results file says of each split: its case stands behind the isolated ones, in the same order. */
static enum corun_status read_results(struct search *search, const struct corun_campaign *campaign)
{
    struct search_outcome *outcome = search->outcome;
    struct content_key *keys = NULL;
    struct store *store = NULL;
    enum corun_status status = campaign_keys(campaign, search->request->run.data_directory, search->list, &keys);
    if (!status)
        status = store_open(search->request->run.results, STORE_SHARED, search->list, &store);
    for (size_t i = 0; i < outcome->splits.count && !status; i++) {
        struct search_split *split = &outcome->splits.data[i];
        status = store_read(store, keys[campaign->isolated + i].hex, search->list, &split->known, &split->measured);
    }
    store_close(store);
    free(keys);
    return status;
}

/* Runs those splits that are new, and looks for the best one among all. */
static enum corun_status run_splits(struct search *search)
{
    struct corun_campaign_run_request run = search->request->run;
    struct corun_campaign_outcome ran = {0};
    struct corun_campaign *campaign = NULL;
    char *text = describe(search);
    enum corun_status status = text ? CORUN_OK : CORUN_MEMORY;
    if (!status)
        status = campaign_parse("search", text, strlen(text), search->list, &campaign);
    free(text);
    if (!status) {
        run.campaign = campaign;
        status = corun_campaign_run(&run, search->list, &ran);
        search->outcome->run += ran.finished;
        search->outcome->failed = ran.failed;
        search->outcome->interrupted = ran.interrupted;
        search->outcome->seconds += ran.seconds;
    }
    if (!status)
        status = read_results(search, campaign);
    if (!status)
        find(search);
    corun_campaign_destroy(campaign);
    return status;
}

static enum corun_status search_coarse_to_fine(struct search *search)
{
    struct search_outcome *outcome = search->outcome;
    uint32_t count = search->request->application_count, step = 1;
    while (outcome->sm_count / (step + 1) >= count &&
           choose(outcome->sm_count / step - 1, count - 1) > search->request->most_at_once)
        step++;
    outcome->step = step;
    enum corun_status status = add_all(search, step);
    if (!status)
        status = run_splits(search);
    while (step > 1 && !status && !outcome->interrupted && outcome->found != SIZE_MAX) {
        size_t before;
        step = (step + 1) / 2;
        do {
            before = outcome->found;
            status = add_neighbours(search, step);
            if (!status)
                status = run_splits(search);
        } while (!status && !outcome->interrupted && outcome->found != before);
    }
    return status;
}

/* Looks everything up that the cases will name, so that messages are about what the user wrote. */
static enum corun_status check(struct search *search)
{
    const struct search_request *request = search->request;
    struct corun_gpu_config gpu;
    uint32_t goals = 0;
    enum corun_status status = corun_gpu_config_load(request->gpu, request->run.data_directory, search->list, &gpu);
    for (uint32_t a = 0; a < request->application_count && !status; a++) {
        struct corun_case_application application;
        struct corun_workload *workload = NULL;
        status = specify_application(request->applications[a], search->arena, search->list, &application);
        if (!status)
            status = corun_workload_load(application.workload, request->run.data_directory, search->list, &workload);
        if (status)
            return status;
        corun_workload_destroy(workload);
        if (application.goal != CORUN_GOAL_NONE && !goals++)
            search->outcome->goal_application = a;
    }
    if (status)
        return status;
    search->outcome->sm_count = gpu.sms;
    if (request->application_count < 2 || request->application_count > MIX_MAX)
        return corun_report(search->list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "a split of SMs is between 2 to %u applications, not %u", MIX_MAX,
                            request->application_count);
    if (request->application_count > gpu.sms)
        return corun_report(search->list, CORUN_ARGUMENT, CORUN_NOWHERE, "%u applications cannot share %u SMs",
                            request->application_count, gpu.sms);
    if (request->kind == SEARCH_OFFLINE && goals != 1)
        return corun_report(search->list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "offline looks for the SMs that one application needs for its goal; %s",
                            goals ? "several have one" : "none has one");
    if (request->kind != SEARCH_OFFLINE && request->metric == SEARCH_BY_GOAL && !goals)
        return corun_report(search->list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "by goals met cannot be searched: no application has a goal");
    return CORUN_OK;
}

static int by_sms(const void *one, const void *other)
{
    const struct search_split *a = one, *b = other;
    for (uint32_t i = 0; i < MIX_MAX; i++) {
        if (a->sms[i] != b->sms[i])
            return a->sms[i] < b->sms[i] ? -1 : 1;
    }
    return 0;
}

static const char *name_campaign(const struct search *search)
{
    const struct search_request *request = search->request;
    const char *name = arena_format(search->arena, "search over splits, %s, %llu cycles, seed %llu:", request->gpu,
                                    (unsigned long long)request->cycles, (unsigned long long)request->seed);
    for (uint32_t a = 0; a < request->application_count && name; a++)
        name = arena_format(search->arena, "%s %s", name, request->applications[a]);
    return name;
}

enum corun_status search_run(const struct search_request *request, struct corun_diagnostics *list,
                             struct search_outcome *outcome)
{
    struct search search = {.request = request, .list = list, .outcome = outcome, .arena = arena_create()};
    *outcome = (struct search_outcome){.step = 1, .found = SIZE_MAX, .nearest = SIZE_MAX};
    search.name = search.arena ? name_campaign(&search) : NULL;
    enum corun_status status = search.name ? check(&search) : CORUN_MEMORY;
    if (!status) {
        outcome->possible = choose(outcome->sm_count - 1, request->application_count - 1);
        if (request->kind == SEARCH_OFFLINE) {
            status = add_offline(&search);
            if (!status)
                status = run_splits(&search);
        } else {
            status = search_coarse_to_fine(&search);
        }
    }
    if (!status && outcome->splits.count) {
        qsort(outcome->splits.data, outcome->splits.count, sizeof *outcome->splits.data, by_sms);
        find(&search);
    }
    if (status == CORUN_MEMORY)
        corun_report(list, status, CORUN_NOWHERE, "out of memory");
    arena_destroy(search.arena);
    return status;
}

void search_free(struct search_outcome *outcome)
{
    vector_free(&outcome->splits);
}
