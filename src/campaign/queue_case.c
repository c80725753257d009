/* SPDX-License-Identifier: MIT */
/* Cases of corun queue: their options, and what their result depends on. */
#include "campaign/commands.h"

#include "case/fingerprint.h"
#include "case/policy_file.h"
#include "serve/kernel.h"
#include "serve/scheduler.h"
#include "serve/setting.h"
#include "share/load.h"

#include <string.h>

#define DEFAULT_GPU "gtx980"

#define TO_FILE "the result goes to the results file"
#define BY_CAMPAIGN "it is an option of corun campaign"

static const struct command_option options[] = {
    {.name = "gpu"},
    {.name = "scheduler", .several = true},
    {.name = "arrivals"},
    {.name = "instances"},
    {.name = "seed"},
    {.name = "transfers"},
    {.name = "memory"},
    {.name = "slicing"},
    {.name = "profile"},
    {.name = "full", .flag = true},
    {.name = "pairs", .flag = true},
    {.name = "balanced-pairs", .flag = true},
    {.name = "driver", .flag = true},
    {.name = "native", .refused = "its times are those of this machine, which runs other cases meanwhile"},
    {.name = "json", .refused = TO_FILE},
    {.name = "timeline", .refused = TO_FILE},
    {.name = "quiet", .refused = TO_FILE},
    {.name = "jobs", .refused = BY_CAMPAIGN},
    {.name = "cache", .refused = BY_CAMPAIGN},
    {.name = "no-cache", .refused = BY_CAMPAIGN},
    {0},
};

/* Code of the user's is not loaded here: what it says of its parameters, the case says. */
static enum corun_status check_scheduler(const char *value, struct arena *scratch, struct corun_diagnostics *list)
{
    struct serve_scheduler scheduler;
    size_t path = policy_path_length(value);
    if (!path)
        return specify_scheduler(value, scratch, list, &scheduler);
    const char *name = arena_copy_text(scratch, value, path);
    return name ? policy_file_check("scheduler", name, list) : CORUN_MEMORY;
}

static enum corun_status check(const char *option, const char *value, struct arena *scratch,
                               struct corun_diagnostics *list)
{
    struct serve_request request = {0};
    if (!strcmp(option, "scheduler"))
        return check_scheduler(value, scratch, list);
    enum corun_status status = serve_set(option, value, list, &request);
    if (status == CORUN_OK && request.seed > INT64_MAX)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "--seed: a campaign has seeds below 2^63, not %s", value);
    return status == CORUN_NOT_FOUND ? CORUN_OK : status; /* a GPU is looked up when the campaign runs */
}

/* All that the options say but GPU and schedulers; every value has been checked. */
static enum corun_status read_request(const struct corun_campaign_case *item, struct corun_diagnostics *list,
                                      struct serve_request *request)
{
    serve_initial(request);
    for (uint32_t i = 0; i < item->option_count; i++) {
        const struct corun_campaign_option *option = &item->options[i];
        enum corun_status status =
            option->value ? serve_set(option->name, option->value, list, request) : CORUN_NOT_FOUND;
        if (status != CORUN_OK && status != CORUN_NOT_FOUND)
            return status;
    }
    request->full = command_has(item, "full");
    request->pairs = command_has(item, "pairs");
    request->balanced_pairs = command_has(item, "balanced-pairs");
    return CORUN_OK;
}

static enum corun_status complete(struct corun_campaign_case *item, struct arena *arena, struct corun_diagnostics *list)
{
    struct serve_request request;
    enum corun_status status = read_request(item, list, &request);
    if (status)
        return status;
    if (request.full && command_has(item, "driver"))
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "--full and --driver exclude each other");
    if (item->application_count > CORUN_MAX_APPLICATIONS)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "more than %u kernels", CORUN_MAX_APPLICATIONS);
    item->gpu = command_value(item, "gpu", DEFAULT_GPU);
    item->policy = command_values(item, "scheduler", SERVE_DEFAULT_SCHEDULER, arena);
    item->seed = request.seed;
    return item->policy ? CORUN_OK : CORUN_MEMORY;
}

static enum corun_status add_scheduler(struct command_keys *keys, const char *text, struct content_digest *digest)
{
    struct serve_scheduler scheduler;
    struct content_key file;
    struct arena *arena = case_keys_arena(keys->cases);
    size_t length = policy_path_length(text);
    if (length) {
        const char *path = arena_copy_text(arena, text, length);
        enum corun_status status = path ? case_keys_file(keys->cases, path, &file) : CORUN_MEMORY;
        if (status)
            return status;
        content_digest_add(digest, "scheduler file", file.hex, CONTENT_KEY_LENGTH);
        content_digest_add(digest, "settings", text + length, strlen(text + length));
        return CORUN_OK;
    }
    enum corun_status status = specify_scheduler(text, arena, keys->list, &scheduler);
    if (status)
        return status;
    const struct corun_queue_scheduler *known = scheduler.scheduler;
    content_digest_add(digest, "scheduler", known->name, strlen(known->name));
    for (uint32_t i = 0; i < known->parameter_count; i++) {
        double value = scheduler.parameters ? scheduler.parameters[i] : known->parameters[i].initial;
        content_digest_add(digest, known->parameters[i].name, &value, sizeof value);
    }
    return CORUN_OK;
}

static enum corun_status add_schedulers(struct command_keys *keys, const struct corun_campaign_case *item,
                                        struct content_digest *digest)
{
    enum corun_status status = CORUN_OK;
    if (!command_has(item, "scheduler"))
        return add_scheduler(keys, SERVE_DEFAULT_SCHEDULER, digest);
    for (uint32_t i = 0; i < item->option_count && !status; i++) {
        if (!strcmp(item->options[i].name, "scheduler"))
            status = add_scheduler(keys, item->options[i].value, digest);
    }
    return status;
}

/* A kernel is also known by how it was asked for: the result has that name. */
static enum corun_status add_kernel(struct command_keys *keys, const char *text, uint64_t seed,
                                    struct content_digest *digest)
{
    const char *workload;
    struct content_key content;
    enum corun_status status =
        served_kernel_workload(text, keys->data_directory, case_keys_arena(keys->cases), keys->list, &workload);
    if (!status)
        status = case_keys_workload(keys->cases, workload, seed, &content);
    if (status)
        return status;
    content_digest_add(digest, "kernel", text, strlen(text));
    content_digest_add(digest, "workload", content.hex, CONTENT_KEY_LENGTH);
    return CORUN_OK;
}

static void add_request(const struct serve_request *request, bool driver, struct content_digest *digest)
{
    content_digest_add_number(digest, "instances", request->load.instances);
    content_digest_add(digest, "rate", &request->load.rate_per_second, sizeof request->load.rate_per_second);
    content_digest_add(digest, "slicing", &request->slicing_cost, sizeof request->slicing_cost);
    content_digest_add_number(digest, "full", request->full);
    content_digest_add_number(digest, "pairs", request->pairs ? 1 : request->balanced_pairs ? 2 : 0);
    content_digest_add_number(digest, "driver", driver);
    content_digest_add_number(digest, "transfers", request->transfers);
    content_digest_add_number(digest, "overlap", request->overlap);
    content_digest_add_number(digest, "memory", request->memory_bytes);
    content_digest_add_number(digest, "seed", request->seed);
}

static enum corun_status find_key(struct command_keys *keys, const struct corun_campaign_case *item,
                                  struct content_key *key)
{
    struct serve_request request;
    struct content_key gpu;
    enum corun_status status = read_request(item, keys->list, &request);
    if (!status)
        status = case_keys_gpu(keys->cases, item->gpu, &gpu);
    struct content_digest *digest = status ? NULL : content_digest_create();
    if (!digest)
        return status ? status : CORUN_MEMORY;
    content_digest_add(digest, "kind", "queue", 5);
    content_digest_add(digest, "sources", queue_fingerprint(), strlen(queue_fingerprint()));
    content_digest_add(digest, "gpu", gpu.hex, CONTENT_KEY_LENGTH);
    add_request(&request, command_has(item, "driver"), digest);
    status = add_schedulers(keys, item, digest);
    for (uint32_t i = 0; i < item->application_count && !status; i++)
        status = add_kernel(keys, item->applications[i], request.seed, digest);
    *key = content_digest_end(digest);
    return status;
}

const struct command_kind queue_command = {
    .name = "queue",
    .arguments = "kernels",
    .results = "runs",
    .has_cache = true,
    .has_jobs = true,
    .options = options,
    .check = check,
    .complete = complete,
    .key = find_key,
};
