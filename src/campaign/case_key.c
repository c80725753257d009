/* What goes into the hash of a case, part by part, in a fixed order. */
#include "campaign/case_key.h"

#include "base/arena.h"
#include "base/text_table.h"
#include "base/vector.h"
#include "campaign/baseline.h"
#include "campaign/campaign_file.h"
#include "campaign/fingerprint.h"
#include "campaign/policy_probe.h"
#include "campaign/specification.h"
#include "share/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts of the campaign, and the hashes over what they name. */
struct digested {
    struct text_table numbers;
    VECTOR(struct content_key) keys;
};

struct known_policy {
    const char *text;
    struct policy_meaning meaning;
};

struct digests {
    const char *data_directory;
    struct corun_diagnostics *list;
    struct arena *arena;
    struct digested workloads, gpus;
    VECTOR(struct known_policy) policies;
    uint64_t seed; /* of the workloads' data */
};

static bool find_digest(const struct digested *digested, const char *text, struct content_key *key)
{
    size_t number;
    bool found = digested->keys.data && text_table_find(&digested->numbers, text, strlen(text), &number);
    if (found)
        *key = digested->keys.data[number];
    return found;
}

/* False when out of memory. `text` must stay. */
static bool keep_digest(struct digested *digested, const char *text, const struct content_key *key)
{
    size_t number;
    return vector_push(&digested->keys, *key) &&
           text_table_find_or_add(&digested->numbers, text, strlen(text), digested->keys.count - 1, &number);
}

static void digested_free(struct digested *digested)
{
    text_table_free(&digested->numbers);
    vector_free(&digested->keys);
}

static enum corun_status digest_workload(struct digests *digests, const char *text, struct content_key *key)
{
    if (find_digest(&digests->workloads, text, key))
        return CORUN_OK;
    struct corun_workload *workload;
    enum corun_status status = corun_workload_load(text, digests->data_directory, digests->list, &workload);
    if (status)
        return status;
    struct content_digest *digest = content_digest_create();
    status = digest ? baseline_digest_workload(digest, workload, digests->seed) : CORUN_MEMORY;
    if (digest)
        *key = content_digest_end(digest);
    corun_workload_destroy(workload);
    if (!status && !keep_digest(&digests->workloads, text, key))
        status = CORUN_MEMORY;
    return status;
}

static enum corun_status digest_gpu(struct digests *digests, const char *text, struct content_key *key)
{
    if (find_digest(&digests->gpus, text, key))
        return CORUN_OK;
    struct corun_gpu_config gpu;
    enum corun_status status = corun_gpu_config_load(text, digests->data_directory, digests->list, &gpu);
    if (status)
        return status;
    struct content_digest *digest = content_digest_create();
    if (!digest)
        return CORUN_MEMORY;
    baseline_digest_gpu(digest, &gpu);
    *key = content_digest_end(digest);
    return keep_digest(&digests->gpus, text, key) ? CORUN_OK : CORUN_MEMORY;
}

/* A policy of the user's is known by the bytes of its shared object. */
static enum corun_status add_file(const char *path, size_t length, struct digests *digests,
                                  struct content_digest *digest)
{
    char *name = arena_copy_text(digests->arena, path, length);
    FILE *file = name ? fopen(name, "rb") : NULL;
    if (!name)
        return CORUN_MEMORY;
    if (!file)
        return corun_report(digests->list, CORUN_FILE, CORUN_NOWHERE, "policy %s: %s", name, strerror(errno));
    char chunk[65536];
    size_t bytes;
    while ((bytes = fread(chunk, 1, sizeof chunk, file)) > 0)
        content_digest_add(digest, "policy file", chunk, bytes);
    bool failed = ferror(file);
    fclose(file);
    return failed ? corun_report(digests->list, CORUN_FILE, CORUN_NOWHERE, "policy %s cannot be read", name) : CORUN_OK;
}

/* Once for each text: a shared object is loaded by a process of its own. */
static enum corun_status find_meaning(struct digests *digests, const char *text, struct policy_meaning *meaning)
{
    struct known_policy policy = {.text = text};
    for (size_t i = 0; i < digests->policies.count; i++) {
        if (!strcmp(digests->policies.data[i].text, text)) {
            *meaning = digests->policies.data[i].meaning;
            return CORUN_OK;
        }
    }
    enum corun_status status = policy_probe(text, digests->arena, digests->list, &policy.meaning);
    *meaning = policy.meaning;
    return !status && !vector_push(&digests->policies, policy) ? CORUN_MEMORY : status;
}

static enum corun_status add_policy(struct digests *digests, const char *text, struct content_digest *digest)
{
    struct policy_meaning policy;
    enum corun_status status = find_meaning(digests, text, &policy);
    if (status)
        return status;
    const char *name = policy.name ? policy.name : CORUN_NO_POLICY;
    content_digest_add(digest, "policy", name, strlen(name));
    if (!policy.name)
        return CORUN_OK;
    size_t path_length = policy_path_length(text);
    if (!path_length)
        content_digest_add(digest, "policies", policy_fingerprint(), strlen(policy_fingerprint()));
    else if ((status = add_file(text, path_length, digests, digest)))
        return status;
    content_digest_add(digest, "parameters", policy.parameters, policy.parameter_count * sizeof *policy.parameters);
    return CORUN_OK;
}

static enum corun_status add_application(struct digests *digests, const char *text, struct content_digest *digest)
{
    struct corun_case_application application;
    struct content_key key;
    enum corun_status status = specify_application(text, digests->arena, digests->list, &application);
    if (!status)
        status = digest_workload(digests, application.workload, &key);
    if (status)
        return status;
    content_digest_add(digest, "workload", key.hex, CONTENT_KEY_LENGTH);
    content_digest_add_number(digest, "goal", application.goal);
    content_digest_add(digest, "goal value", &application.goal_value, sizeof application.goal_value);
    if (application.transfer_milliseconds > 0)
        content_digest_add(digest, "transfer", &application.transfer_milliseconds,
                           sizeof application.transfer_milliseconds);
    content_digest_add_number(digest, "start", application.start_cycle);
    return CORUN_OK;
}

static enum corun_status digest_case(struct digests *digests, const struct corun_campaign_case *item,
                                     struct content_key *key)
{
    struct content_digest *digest = content_digest_create();
    struct content_key gpu;
    if (!digest)
        return CORUN_MEMORY;
    content_digest_add(digest, "kind", "case", 4);
    enum corun_status status = digest_gpu(digests, item->gpu, &gpu);
    if (!status) {
        content_digest_add(digest, "gpu", gpu.hex, CONTENT_KEY_LENGTH);
        status = add_policy(digests, item->policy, digest);
    }
    for (uint32_t i = 0; i < item->application_count && !status; i++)
        status = add_application(digests, item->applications[i], digest);
    content_digest_add_number(digest, "cycles", item->cycles);
    content_digest_add_number(digest, "seed", item->seed);
    *key = content_digest_end(digest);
    return status;
}

enum corun_status case_keys(const struct corun_campaign *campaign, const char *data_directory,
                            struct corun_diagnostics *list, struct content_key **result)
{
    *result = NULL;
    size_t count = corun_campaign_count(campaign);
    struct content_key *keys = calloc(count + 1, sizeof *keys);
    struct digests digests = {.data_directory = data_directory, .list = list, .arena = arena_create()};
    enum corun_status status = keys && digests.arena ? CORUN_OK : CORUN_MEMORY;
    for (size_t i = 0; i < count && !status; i++) {
        const struct corun_campaign_case *item = corun_campaign_get(campaign, i);
        digests.seed = item->seed; /* one for the whole campaign */
        status = digest_case(&digests, item, &keys[i]);
    }
    if (status && status != CORUN_MEMORY)
        corun_report(list, status, (struct corun_place){campaign->path, 0, 0}, "in campaign '%s'", campaign->name);
    if (status == CORUN_MEMORY)
        corun_report(list, status, CORUN_NOWHERE, "out of memory");
    digested_free(&digests.workloads);
    digested_free(&digests.gpus);
    vector_free(&digests.policies);
    arena_destroy(digests.arena);
    if (status)
        free(keys);
    else
        *result = keys;
    return status;
}
