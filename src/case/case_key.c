/* SPDX-License-Identifier: MIT */
/* What goes into the hash of a case, part by part, in a fixed order. */
#include "case/case_key.h"

#include "base/arena.h"
#include "base/text_table.h"
#include "base/vector.h"
#include "case/baseline.h"
#include "case/fingerprint.h"
#include "case/policy_probe.h"
#include "case/specification.h"
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

struct case_keys {
    const char *data_directory;
    struct corun_diagnostics *list;
    struct arena *arena;
    struct digested workloads, gpus, files;
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

static enum corun_status hash_workload(struct case_keys *keys, const char *text, struct content_key *key)
{
    struct corun_workload *workload;
    enum corun_status status = corun_workload_load(text, keys->data_directory, keys->list, &workload);
    if (status)
        return status;
    struct content_digest *digest = content_digest_create();
    status = digest ? baseline_digest_workload(digest, workload, keys->seed) : CORUN_MEMORY;
    if (digest)
        *key = content_digest_end(digest);
    corun_workload_destroy(workload);
    return status;
}

static enum corun_status digest_workload(struct case_keys *keys, const char *text, struct content_key *key)
{
    if (find_digest(&keys->workloads, text, key))
        return CORUN_OK;
    enum corun_status status = hash_workload(keys, text, key);
    if (!status && !keep_digest(&keys->workloads, text, key))
        status = CORUN_MEMORY;
    return status;
}

static enum corun_status digest_gpu(struct case_keys *keys, const char *text, struct content_key *key)
{
    if (find_digest(&keys->gpus, text, key))
        return CORUN_OK;
    struct corun_gpu_config gpu;
    enum corun_status status = corun_gpu_config_load(text, keys->data_directory, keys->list, &gpu);
    if (status)
        return status;
    struct content_digest *digest = content_digest_create();
    if (!digest)
        return CORUN_MEMORY;
    baseline_digest_gpu(digest, &gpu);
    *key = content_digest_end(digest);
    return keep_digest(&keys->gpus, text, key) ? CORUN_OK : CORUN_MEMORY;
}

/* The bytes of a file as a piece called `piece`; `what` with a blank is for messages. */
static enum corun_status add_file(const char *what, const char *piece, const char *path, struct case_keys *keys,
                                  struct content_digest *digest)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return corun_report(keys->list, CORUN_FILE, CORUN_NOWHERE, "%s%s: %s", what, path, strerror(errno));
    char chunk[65536];
    size_t bytes;
    while ((bytes = fread(chunk, 1, sizeof chunk, file)) > 0)
        content_digest_add(digest, piece, chunk, bytes);
    bool failed = ferror(file);
    fclose(file);
    return failed ? corun_report(keys->list, CORUN_FILE, CORUN_NOWHERE, "%s%s cannot be read", what, path) : CORUN_OK;
}

enum corun_status case_keys_gpu(struct case_keys *keys, const char *text, struct content_key *key)
{
    return digest_gpu(keys, text, key);
}

enum corun_status case_keys_workload(struct case_keys *keys, const char *text, uint64_t seed, struct content_key *key)
{
    const char *known = arena_format(keys->arena, "%llu:%s", (unsigned long long)seed, text);
    if (!known)
        return CORUN_MEMORY;
    if (find_digest(&keys->workloads, known, key))
        return CORUN_OK;
    struct content_key found;
    keys->seed = seed;
    enum corun_status status = hash_workload(keys, text, &found);
    if (!status && !keep_digest(&keys->workloads, known, &found))
        status = CORUN_MEMORY;
    *key = found;
    return status;
}

enum corun_status case_keys_file(struct case_keys *keys, const char *path, struct content_key *key)
{
    if (find_digest(&keys->files, path, key))
        return CORUN_OK;
    struct content_digest *digest = content_digest_create();
    enum corun_status status = digest ? add_file("", "file", path, keys, digest) : CORUN_MEMORY;
    if (digest)
        *key = content_digest_end(digest);
    if (status)
        return status;
    const char *known = arena_copy_text(keys->arena, path, strlen(path));
    return known && keep_digest(&keys->files, known, key) ? CORUN_OK : CORUN_MEMORY;
}

struct arena *case_keys_arena(struct case_keys *keys)
{
    return keys->arena;
}

/* A policy of the user's is known by the bytes of its shared object. */
static enum corun_status add_policy_file(const char *path, size_t length, struct case_keys *keys,
                                         struct content_digest *digest)
{
    char *name = arena_copy_text(keys->arena, path, length);
    return name ? add_file("policy ", "policy file", name, keys, digest) : CORUN_MEMORY;
}

/* Once for each text: a shared object is loaded by a process of its own. */
static enum corun_status find_meaning(struct case_keys *keys, const char *text, struct policy_meaning *meaning)
{
    struct known_policy policy = {.text = text};
    for (size_t i = 0; i < keys->policies.count; i++) {
        if (!strcmp(keys->policies.data[i].text, text)) {
            *meaning = keys->policies.data[i].meaning;
            return CORUN_OK;
        }
    }
    enum corun_status status = policy_probe(text, keys->arena, keys->list, &policy.meaning);
    *meaning = policy.meaning;
    return !status && !vector_push(&keys->policies, policy) ? CORUN_MEMORY : status;
}

static enum corun_status add_policy(struct case_keys *keys, const char *text, struct content_digest *digest)
{
    struct policy_meaning policy;
    enum corun_status status = find_meaning(keys, text, &policy);
    if (status)
        return status;
    const char *name = policy.name ? policy.name : CORUN_NO_POLICY;
    content_digest_add(digest, "policy", name, strlen(name));
    if (!policy.name)
        return CORUN_OK;
    size_t path_length = policy_path_length(text);
    if (!path_length)
        content_digest_add(digest, "policies", policy_fingerprint(), strlen(policy_fingerprint()));
    else if ((status = add_policy_file(text, path_length, keys, digest)))
        return status;
    content_digest_add(digest, "parameters", policy.parameters, policy.parameter_count * sizeof *policy.parameters);
    return CORUN_OK;
}

static enum corun_status add_application(struct case_keys *keys, const char *text, struct content_digest *digest)
{
    struct corun_case_application application;
    struct content_key key;
    enum corun_status status = specify_application(text, keys->arena, keys->list, &application);
    if (!status)
        status = digest_workload(keys, application.workload, &key);
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

enum corun_status case_keys_find(struct case_keys *keys, const struct corun_campaign_case *item,
                                 struct content_key *key)
{
    struct content_digest *digest = content_digest_create();
    struct content_key gpu;
    if (!digest)
        return CORUN_MEMORY;
    keys->seed = item->seed;
    content_digest_add(digest, "kind", "case", 4);
    enum corun_status status = digest_gpu(keys, item->gpu, &gpu);
    if (!status) {
        content_digest_add(digest, "gpu", gpu.hex, CONTENT_KEY_LENGTH);
        status = add_policy(keys, item->policy, digest);
    }
    for (uint32_t i = 0; i < item->application_count && !status; i++)
        status = add_application(keys, item->applications[i], digest);
    content_digest_add_number(digest, "cycles", item->cycles);
    if (item->settle)
        content_digest_add_number(digest, "settle", item->settle);
    content_digest_add_number(digest, "seed", item->seed);
    *key = content_digest_end(digest);
    return status;
}

struct case_keys *case_keys_create(const char *data_directory, struct corun_diagnostics *list)
{
    struct case_keys *keys = calloc(1, sizeof *keys);
    struct arena *arena = arena_create();
    if (!keys || !arena) {
        free(keys);
        arena_destroy(arena);
        return NULL;
    }
    *keys = (struct case_keys){.data_directory = data_directory, .list = list, .arena = arena};
    return keys;
}

void case_keys_destroy(struct case_keys *keys)
{
    if (!keys)
        return;
    digested_free(&keys->workloads);
    digested_free(&keys->gpus);
    digested_free(&keys->files);
    vector_free(&keys->policies);
    arena_destroy(keys->arena);
    free(keys);
}
