/* SPDX-License-Identifier: MIT */
/* Options of `corun run` as texts, kept until they make a case (corun/request.h). */
#include "corun/request.h"

#include "case/specification.h"
#include "corun/workload.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_GPU "gtx980"
#define DEFAULT_CYCLES 200000u
#define PATH_BYTES 4096u

enum option {
#define OPTION_ENUM(name, word, key, value, group, meaning) OPTION_##name,
    CORUN_REQUEST_OPTIONS(OPTION_ENUM)
#undef OPTION_ENUM
        OPTION_COUNT
};

struct corun_request {
    struct arena *arena;
    const char *gpu, *cache;
    bool no_cache, too_many;
    struct corun_case_application applications[CORUN_MAX_APPLICATIONS];
    struct corun_case settings; /* as they were given */
    struct corun_case job;      /* with everything looked up */
    struct corun_gpu_config config;
    char data[PATH_BYTES], default_cache[PATH_BYTES];
};

struct corun_request *corun_request_create(void)
{
    struct corun_request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    request->arena = arena_create();
    request->gpu = DEFAULT_GPU;
    request->settings = (struct corun_case){.seed = 1, .threads = 1};
    if (!request->arena) {
        free(request);
        return NULL;
    }
    return request;
}

void corun_request_destroy(struct corun_request *request)
{
    if (!request)
        return;
    arena_destroy(request->arena);
    free(request);
}

static enum corun_status find_option(const char *option, const char *value, struct corun_diagnostics *list,
                                     enum option *found)
{
    static const struct {
        const char *word;
        bool has_value;
    } options[] = {
#define OPTION_ROW(name, word, key, value, group, meaning) {word, value != NULL},
        CORUN_REQUEST_OPTIONS(OPTION_ROW)
#undef OPTION_ROW
    };
    const char *word = strncmp(option, "--", 2) ? option : option + 2;
    uint32_t i = 0;
    while (i < OPTION_COUNT && strcmp(word, options[i].word) != 0)
        i++;
    if (i == OPTION_COUNT)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "there is no option `%s`", option);
    if (options[i].has_value != (value != NULL))
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s: %s", option,
                            value ? "it takes no value" : "its value is missing");
    *found = (enum option)i;
    return CORUN_OK;
}

static enum corun_status set_small(const char *value, const char *option, struct corun_diagnostics *list,
                                   uint32_t *number)
{
    uint64_t wide;
    enum corun_status status = specify_number(value, option, 1000, 1, 1000000, list, &wide);
    if (status == CORUN_OK)
        *number = (uint32_t)wide;
    return status;
}

static enum corun_status keep_text(struct corun_request *request, const char *value, const char **kept)
{
    const char *copy = arena_copy_text(request->arena, value, strlen(value));
    if (!copy)
        return CORUN_MEMORY;
    *kept = copy;
    return CORUN_OK;
}

enum corun_status corun_request_set(struct corun_request *request, const char *option, const char *value,
                                    struct corun_diagnostics *list)
{
    struct corun_case *settings = &request->settings;
    enum option found = OPTION_COUNT;
    enum corun_status status = find_option(option, value, list, &found);
    if (status != CORUN_OK)
        return status;
    switch (found) {
    case OPTION_gpu:
        return keep_text(request, value, &request->gpu);
    case OPTION_policy:
        return specify_policy(value, request->arena, list, &settings->policy, &settings->parameters);
    case OPTION_cycles:
        return specify_number(value, option, 1000, 1, INT64_MAX, list, &settings->cycles);
    case OPTION_instructions:
        return specify_number(value, option, 1000, 1, INT64_MAX, list, &settings->thread_instructions);
    case OPTION_runs:
        return set_small(value, option, list, &settings->runs);
    case OPTION_settle:
        if (!specify_part(value, &settings->settle))
            return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s: expected %s; found `%s`", option,
                                SPECIFY_PART_WORDS, value);
        return CORUN_OK;
    case OPTION_seed:
        return specify_number(value, option, 1000, 0, UINT64_MAX, list, &settings->seed);
    case OPTION_watchdog:
        return specify_number(value, option, 1000, 1, INT64_MAX, list, &settings->watchdog_cycles);
    case OPTION_threads:
        return set_small(value, option, list, &settings->threads);
    case OPTION_jobs:
        return set_small(value, option, list, &settings->baseline_jobs);
    case OPTION_profile:
        settings->profile = true;
        return CORUN_OK;
    case OPTION_cache:
        if (!*value)
            return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s: the name of the folder is missing", option);
        return keep_text(request, value, &request->cache);
    case OPTION_no_cache:
        request->no_cache = true;
        return CORUN_OK;
    case OPTION_no_baselines:
        settings->no_baselines = true;
        return CORUN_OK;
    case OPTION_replay:
        if (!*value)
            return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s: the name of the folder is missing", option);
        return keep_text(request, value, &settings->replay_directory);
    default:
        return CORUN_USAGE;
    }
}

enum corun_status corun_request_add(struct corun_request *request, const char *application,
                                    struct corun_diagnostics *list)
{
    uint32_t index = request->settings.application_count;
    if (index == CORUN_MAX_APPLICATIONS && request->too_many)
        return CORUN_USAGE; /* said of the first */
    if (index == CORUN_MAX_APPLICATIONS) {
        request->too_many = true;
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE,
                            "at most %u applications can share a GPU; `%s` is one more", CORUN_MAX_APPLICATIONS,
                            application);
    }
    enum corun_status status = specify_application(application, request->arena, list, &request->applications[index]);
    if (status == CORUN_OK)
        request->settings.application_count++;
    return status;
}

static const char *cache_of(struct corun_request *request)
{
    if (request->no_cache)
        return NULL;
    if (request->cache)
        return request->cache;
    return corun_cache_directory(request->default_cache, sizeof request->default_cache) ? request->default_cache : NULL;
}

enum corun_status corun_request_case(struct corun_request *request, struct corun_diagnostics *list,
                                     struct corun_case **job)
{
    *job = NULL;
    enum corun_status status = corun_data_directory(request->data, sizeof request->data, list);
    if (status == CORUN_OK)
        status = corun_gpu_config_load(request->gpu, request->data, list, &request->config);
    if (status != CORUN_OK)
        return status;
    request->job = request->settings;
    request->job.gpu = &request->config;
    request->job.data_directory = request->data;
    request->job.applications = request->applications;
    request->job.cache_directory = cache_of(request);
    if (!request->job.cycles && !request->job.thread_instructions && !request->job.runs)
        request->job.cycles = DEFAULT_CYCLES;
    *job = &request->job;
    return CORUN_OK;
}

enum corun_status corun_request_run(struct corun_request *request,
                                    bool (*progress)(void *user, const struct corun_case_progress *progress),
                                    void *user, struct corun_diagnostics *list, struct corun_case_result **result)
{
    *result = NULL;
    struct corun_case *job;
    enum corun_status status = corun_request_case(request, list, &job);
    if (status != CORUN_OK)
        return status;
    job->progress = progress;
    job->progress_user = user;
    return corun_case_run(job, list, result);
}
