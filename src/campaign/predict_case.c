/* SPDX-License-Identifier: MIT */
/* Cases of corun predict: their options, and what their result depends on. */
#include "campaign/commands.h"

#include "case/fingerprint.h"
#include "case/specification.h"

#include <string.h>

#define DEFAULT_GPU "gtx980"
#define DEFAULT_CYCLES "500K"
#define DEFAULT_SAMPLES "16"
#define DEFAULT_SEED "1"

#define TO_FILE "the result goes to the results file"
#define BY_CAMPAIGN "it is an option of corun campaign"

static const struct command_option options[] = {
    {.name = "gpu"},
    {.name = "cycles"},
    {.name = "samples"},
    {.name = "seed"},
    {.name = "json", .refused = TO_FILE},
    {.name = "quiet", .refused = TO_FILE},
    {.name = "cache", .refused = BY_CAMPAIGN},
    {.name = "no-cache", .refused = BY_CAMPAIGN},
    {0},
};

static enum corun_status check(const char *option, const char *value, struct arena *scratch,
                               struct corun_diagnostics *list)
{
    uint64_t number = 0;
    (void)scratch;
    if (!strcmp(option, "cycles"))
        return specify_number(value, "--cycles", 1000, 1, INT64_MAX, list, &number);
    if (!strcmp(option, "samples"))
        return specify_number(value, "--samples", 1000, 0, UINT32_MAX, list, &number);
    return strcmp(option, "seed") ? CORUN_OK : specify_number(value, "--seed", 1000, 0, INT64_MAX, list, &number);
}

/* A value that has been checked. */
static uint64_t number_of(const struct corun_campaign_case *item, const char *option, const char *otherwise)
{
    uint64_t number = 0;
    (void)specify_number(command_value(item, option, otherwise), option, 1000, 0, INT64_MAX, NULL, &number);
    return number;
}

static enum corun_status complete(struct corun_campaign_case *item, struct arena *arena, struct corun_diagnostics *list)
{
    (void)arena;
    (void)list;
    item->gpu = command_value(item, "gpu", DEFAULT_GPU);
    item->policy = "";
    item->seed = number_of(item, "seed", DEFAULT_SEED);
    return CORUN_OK;
}

static enum corun_status find_key(struct command_keys *keys, const struct corun_campaign_case *item,
                                  struct content_key *key)
{
    struct content_key content;
    enum corun_status status = case_keys_gpu(keys->cases, item->gpu, &content);
    struct content_digest *digest = status ? NULL : content_digest_create();
    if (!digest)
        return status ? status : CORUN_MEMORY;
    content_digest_add(digest, "kind", "predict", 7);
    content_digest_add(digest, "sources", queue_fingerprint(), strlen(queue_fingerprint()));
    content_digest_add(digest, "model", model_fingerprint(), strlen(model_fingerprint()));
    content_digest_add(digest, "gpu", content.hex, CONTENT_KEY_LENGTH);
    content_digest_add_number(digest, "cycles", number_of(item, "cycles", DEFAULT_CYCLES));
    content_digest_add_number(digest, "samples", number_of(item, "samples", DEFAULT_SAMPLES));
    content_digest_add_number(digest, "seed", item->seed);
    for (uint32_t i = 0; i < item->application_count && !status; i++) {
        status = case_keys_workload(keys->cases, item->applications[i], item->seed, &content);
        content_digest_add(digest, "workload", content.hex, CONTENT_KEY_LENGTH);
    }
    *key = content_digest_end(digest);
    return status;
}

const struct command_kind predict_command = {
    .name = "predict",
    .arguments = "workloads",
    .results = "kernels",
    .has_cache = true,
    .options = options,
    .check = check,
    .complete = complete,
    .key = find_key,
};
