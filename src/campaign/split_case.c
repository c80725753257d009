/* SPDX-License-Identifier: MIT */
/* Cases of corun split: their options, and what their result depends on. */
#include "campaign/commands.h"

#include "base/search_path.h"
#include "case/fingerprint.h"
#include "report/split_record.h"
#include "split/settings.h"

#include <sched.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_GPU "gtx980"
#define PATH_BYTES 4096

#define TO_FILE "the result goes to the results file"

static const struct command_option options[] = {
    {.name = "gpu", .several = true},
    {.name = "threads"},
    {.name = "strategy"},
    {.name = "set", .several = true},
    {.name = "native", .refused = "its times are those of this machine, which runs other cases meanwhile"},
    {.name = "json", .refused = TO_FILE},
    {.name = "quiet", .refused = TO_FILE},
    {0},
};

/* `setting` is "" or "threads=": the value is one of CORUN_SPLIT. */
static enum corun_status check_setting(const char *setting, const char *value, struct arena *scratch,
                                       struct corun_diagnostics *list)
{
    struct settings settings = {.parameters = settings_default_parameters()};
    const char *text = arena_format(scratch, "%s%s", setting, value);
    return text ? split_settings_read(&settings, text, list) : CORUN_MEMORY;
}

static enum corun_status check_strategies(const char *value, struct arena *scratch, struct corun_diagnostics *list)
{
    char *rest = arena_copy_text(scratch, value, strlen(value)), *name;
    enum corun_status status = rest ? CORUN_OK : CORUN_MEMORY;
    while (status == CORUN_OK && (name = strsep(&rest, ",")))
        status = check_setting("strategy=", name, scratch, list);
    return status;
}

static enum corun_status check(const char *option, const char *value, struct arena *scratch,
                               struct corun_diagnostics *list)
{
    if (!strcmp(option, "strategy"))
        return check_strategies(value, scratch, list);
    if (!strcmp(option, "threads"))
        return check_setting("threads=", value, scratch, list);
    return strcmp(option, "set") ? CORUN_OK : check_setting("", value, scratch, list);
}

static enum corun_status complete(struct corun_campaign_case *item, struct arena *arena, struct corun_diagnostics *list)
{
    (void)list;
    item->gpu = command_values(item, "gpu", DEFAULT_GPU, arena);
    item->policy = command_value(item, "strategy", SPLIT_DEFAULT_STRATEGIES);
    return item->gpu ? CORUN_OK : CORUN_MEMORY;
}

static enum corun_status add_gpu(struct command_keys *keys, const char *text, struct content_digest *digest)
{
    struct content_key gpu;
    enum corun_status status = case_keys_gpu(keys->cases, text, &gpu);
    if (status == CORUN_OK)
        content_digest_add(digest, "gpu", gpu.hex, CONTENT_KEY_LENGTH);
    return status;
}

static enum corun_status add_gpus(struct command_keys *keys, const struct corun_campaign_case *item,
                                  struct content_digest *digest)
{
    enum corun_status status = CORUN_OK;
    if (!command_has(item, "gpu"))
        return add_gpu(keys, DEFAULT_GPU, digest);
    for (uint32_t i = 0; i < item->option_count && !status; i++) {
        if (!strcmp(item->options[i].name, "gpu"))
            status = add_gpu(keys, item->options[i].value, digest);
    }
    return status;
}

/* `all` threads are as many as this process may use. */
static void add_settings(const struct corun_campaign_case *item, struct content_digest *digest)
{
    const char *threads = command_value(item, "threads", "all");
    cpu_set_t processors;
    content_digest_add(digest, "threads", threads, strlen(threads));
    if (!strcmp(threads, "all") && !sched_getaffinity(0, sizeof processors, &processors))
        content_digest_add_number(digest, "processors", (uint64_t)CPU_COUNT(&processors));
    content_digest_add(digest, "strategies", item->policy, strlen(item->policy));
    for (uint32_t i = 0; i < item->option_count; i++) {
        if (!strcmp(item->options[i].name, "set"))
            content_digest_add(digest, "set", item->options[i].value, strlen(item->options[i].value));
    }
}

static enum corun_status add_file(struct command_keys *keys, const char *path, struct content_digest *digest)
{
    struct stat about;
    struct content_key file;
    if (stat(path, &about) || !S_ISREG(about.st_mode))
        return CORUN_OK;
    enum corun_status status = case_keys_file(keys->cases, path, &file);
    if (status == CORUN_OK)
        content_digest_add(digest, "file", file.hex, CONTENT_KEY_LENGTH);
    return status;
}

/* The program's bytes; every argument, and the bytes of the file that it names, or that stands behind its `=`. */
static enum corun_status add_program(struct command_keys *keys, const struct corun_campaign_case *item,
                                     struct content_digest *digest)
{
    char path[PATH_BYTES];
    struct content_key program;
    const char *name = item->applications[0];
    if (!search_path_find(name, path, sizeof path))
        return corun_report(keys->list, CORUN_NOT_FOUND, CORUN_NOWHERE, "no program `%s`", name);
    enum corun_status status = case_keys_file(keys->cases, path, &program);
    if (status == CORUN_OK)
        content_digest_add(digest, "program", program.hex, CONTENT_KEY_LENGTH);
    for (uint32_t i = 1; i < item->application_count && !status; i++) {
        const char *word = item->applications[i], *value = strchr(word, '=');
        content_digest_add(digest, "argument", word, strlen(word));
        status = add_file(keys, word, digest);
        if (!status && value)
            status = add_file(keys, value + 1, digest);
    }
    return status;
}

static enum corun_status find_key(struct command_keys *keys, const struct corun_campaign_case *item,
                                  struct content_key *key)
{
    struct content_digest *digest = content_digest_create();
    if (!digest)
        return CORUN_MEMORY;
    content_digest_add(digest, "kind", "split", 5);
    content_digest_add(digest, "sources", split_fingerprint(), strlen(split_fingerprint()));
    content_digest_add(digest, "model", model_fingerprint(), strlen(model_fingerprint()));
    enum corun_status status = add_gpus(keys, item, digest);
    add_settings(item, digest);
    if (!status)
        status = add_program(keys, item, digest);
    *key = content_digest_end(digest);
    return status;
}

const struct command_kind split_command = {
    .name = "split",
    .arguments = "words of a program's command line",
    .results = "cases",
    .options = options,
    .check = check,
    .complete = complete,
    .key = find_key,
};
