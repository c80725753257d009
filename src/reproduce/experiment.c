/* SPDX-License-Identifier: MIT */
/* The YAML of an experiment is read and checked; a part of it becomes a campaign with a window and a sample. */
#include "reproduce/experiment.h"

#include "base/text_file.h"
#include "base/yaml_reader.h"
#include "campaign/campaign_file.h"

#include <stdlib.h>
#include <string.h>

#define EXPERIMENT_MAX_BYTES (1u << 20)
#define DEFAULT_CYCLES 200000u
#define SHORTEST_CYCLES 1000u

static enum corun_status read_text(struct yaml_reader *yaml, const struct yaml_node *map, const char *key,
                                   const char **text)
{
    struct value value = {.text = ""};
    enum corun_status status = yaml_value(yaml, map, key, &value);
    *text = value.text;
    return status;
}

/* A name that may be part of a file name and of the name of a campaign. */
static enum corun_status check_name(struct yaml_reader *yaml, const struct yaml_node *node)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    if (node->text[0] && !node->text[strspn(node->text, allowed)])
        return CORUN_OK;
    return YAML_WRONG(yaml, node, "'%.80s' is no name: small letters, digits and '-' only", node->text);
}

/* What the campaign has, unless the part has the same key. */
static enum corun_status merge(struct experiment *experiment, struct yaml_reader *yaml, const struct yaml_node *part,
                               const struct yaml_node *common, const struct yaml_node **merged)
{
    struct yaml_node *map = ARENA_NEW(experiment->arena, struct yaml_node);
    if (!map)
        return yaml_out_of_memory(yaml);
    *map = *part;
    map->count = 0;
    struct yaml_node **end = &map->first;
    const struct yaml_node *sources[] = {part, common};
    for (size_t source = 0; source < 2; source++) {
        for (const struct yaml_node *entry = sources[source]->first; entry; entry = entry->next) {
            if (source && yaml_find(part, entry->key))
                continue;
            struct yaml_node *copy = ARENA_NEW(experiment->arena, struct yaml_node);
            if (!copy)
                return yaml_out_of_memory(yaml);
            *copy = *entry;
            copy->next = NULL;
            *end = copy;
            end = &copy->next;
            map->count++;
        }
    }
    *end = NULL;
    *merged = map;
    return CORUN_OK;
}

static enum corun_status add_part(struct experiment *experiment, struct yaml_reader *yaml,
                                  struct experiment_part *parts, const struct yaml_node *node,
                                  const struct yaml_node *common)
{
    const struct yaml_node *name = yaml_find(node, "name"), *window = yaml_find(node, "cycles");
    if (window)
        return YAML_WRONG(yaml, window, "the window is said once, as 'cycles' of the experiment");
    if (!name)
        return YAML_WRONG(yaml, node, "the key 'name' is missing");
    enum corun_status status = yaml_expect(yaml, name, YAML_TEXT);
    status = status ? status : check_name(yaml, name);
    for (uint32_t i = 0; i < experiment->part_count && !status; i++) {
        if (!strcmp(parts[i].name, name->text))
            status = YAML_WRONG(yaml, name, "there are two parts '%s'", name->text);
    }
    struct experiment_part *part = &parts[experiment->part_count];
    if (status)
        return status;
    part->name = name->text;
    part->campaign = arena_format(experiment->arena, "%s/%s", experiment->name, name->text);
    if (!part->campaign)
        return yaml_out_of_memory(yaml);
    experiment->part_count++;
    return merge(experiment, yaml, node, common, &part->description);
}

/* The only part is the campaign itself, under the name of the experiment. */
static enum corun_status add_only_part(struct experiment *experiment, struct yaml_reader *yaml,
                                       struct experiment_part *part, const struct yaml_node *common)
{
    const struct yaml_node *window = yaml_find(common, "cycles"), *name = yaml_find(common, "name");
    if (window || name)
        return YAML_WRONG(yaml, window ? window : name, "'%s' is that of the experiment", window ? "cycles" : "name");
    *part = (struct experiment_part){"", experiment->name, NULL};
    experiment->part_count = 1;
    struct yaml_node *only = ARENA_NEW(experiment->arena, struct yaml_node);
    if (!only)
        return yaml_out_of_memory(yaml);
    *only = (struct yaml_node){.kind = YAML_MAP, .place = common->place};
    struct yaml_node *title = ARENA_NEW(experiment->arena, struct yaml_node);
    if (!title)
        return yaml_out_of_memory(yaml);
    *title = *yaml_find(experiment->root, "name");
    title->next = NULL;
    only->first = title;
    only->count = 1;
    return merge(experiment, yaml, only, common, &part->description);
}

static enum corun_status read_parts(struct experiment *experiment, struct yaml_reader *yaml)
{
    const struct yaml_node *common = yaml_find(experiment->root, "campaign");
    const struct yaml_node *list = yaml_find(experiment->root, "parts");
    struct experiment_part *parts = ARENA_ARRAY(experiment->arena, struct experiment_part, EXPERIMENT_PARTS_MAX);
    if (!parts)
        return yaml_out_of_memory(yaml);
    memset(parts, 0, EXPERIMENT_PARTS_MAX * sizeof *parts);
    experiment->parts = parts;
    enum corun_status status = yaml_expect(yaml, common, YAML_MAP);
    if (!status && !list)
        return add_only_part(experiment, yaml, parts, common);
    status = status ? status : yaml_expect(yaml, list, YAML_LIST);
    if (!status && (!list->count || list->count > EXPERIMENT_PARTS_MAX))
        status = YAML_WRONG(yaml, list, "1 to %u parts are expected", EXPERIMENT_PARTS_MAX);
    for (const struct yaml_node *node = status ? NULL : list->first; node && !status; node = node->next) {
        status = yaml_expect(yaml, node, YAML_MAP);
        status = status ? status : add_part(experiment, yaml, parts, node, common);
    }
    return status;
}

/* "smk-p" of "smk-p:epoch=10K" is added to the list if there is no such policy and it is not there yet. */
static bool add_missing(struct experiment *experiment, const char *policy)
{
    char name[80];
    size_t length = strcspn(policy, ":");
    if (length >= sizeof name ||
        memchr(policy, '/', length)) /* a file of the user's, or a mistake that is found later */
        return true;
    memcpy(name, policy, length);
    name[length] = 0;
    if (!strcmp(name, CORUN_NO_POLICY) || corun_policy_find(name))
        return true;
    for (const char *at = experiment->missing; at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL) {
        if (!strncmp(at, name, length) && (at[length] == ',' || !at[length]))
            return true;
    }
    const char *known = experiment->missing;
    experiment->missing = arena_format(experiment->arena, "%s%s%s", known ? known : "", known ? ", " : "", name);
    return experiment->missing != NULL;
}

static enum corun_status find_missing(struct experiment *experiment, struct yaml_reader *yaml)
{
    for (uint32_t part = 0; part < experiment->part_count; part++) {
        const struct yaml_node *policies = yaml_find(experiment->parts[part].description, "policies");
        for (const struct yaml_node *node = policies && policies->kind == YAML_LIST ? policies->first : NULL; node;
             node = node->next) {
            if (node->kind == YAML_TEXT && !add_missing(experiment, node->text))
                return yaml_out_of_memory(yaml);
        }
    }
    return CORUN_OK;
}

static enum corun_status read_root(struct experiment *experiment, struct yaml_reader *yaml)
{
    const struct yaml_node *root = experiment->root;
    enum corun_status status = yaml_expect_map(
        yaml, root,
        "name title paper section campaign figures | shows paper_cycles paper_cases cycles sample classes "
        "parts remarks");
    struct {
        const char *key, **text;
    } const texts[] = {{"name", &experiment->name},
                       {"title", &experiment->title},
                       {"paper", &experiment->paper},
                       {"section", &experiment->section}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !status; i++)
        status = read_text(yaml, root, texts[i].key, texts[i].text);
    status = status ? status : check_name(yaml, yaml_find(root, "name"));
    experiment->cycles = DEFAULT_CYCLES;
    if (!status)
        status = yaml_count(yaml, root, "paper_cycles", SHORTEST_CYCLES, INT64_MAX, &experiment->paper_cycles);
    if (!status)
        status = yaml_count(yaml, root, "cycles", SHORTEST_CYCLES, INT64_MAX, &experiment->cycles);
    if (!status)
        status = yaml_count(yaml, root, "sample", 1, INT64_MAX, &experiment->sample);
    if (!status)
        status = read_parts(experiment, yaml);
    if (!status)
        status = find_missing(experiment, yaml);
    return status;
}

/* What is wrong with a campaign is found now, and not after those before it have run. */
static enum corun_status check_parts(const struct experiment *experiment, struct corun_diagnostics *list)
{
    struct experiment_extent extent = {.cycles = experiment->cycles};
    enum corun_status status = CORUN_OK;
    for (uint32_t part = 0; part < experiment->part_count && !status && !experiment->missing; part++) {
        struct corun_campaign *campaign;
        status = experiment_campaign(experiment, part, &extent, list, &campaign);
        corun_campaign_destroy(campaign);
    }
    return status;
}

enum corun_status experiment_parse(const char *path, const char *text, size_t bytes, struct corun_diagnostics *list,
                                   struct experiment **result)
{
    struct yaml_reader yaml = {path, list};
    struct experiment *experiment = calloc(1, sizeof *experiment);
    *result = NULL;
    if (experiment)
        experiment->arena = arena_create();
    if (!experiment || !experiment->arena) {
        free(experiment);
        return yaml_out_of_memory(&yaml);
    }
    experiment->path = arena_copy_text(experiment->arena, path, strlen(path));
    experiment->text = arena_copy_text(experiment->arena, text, bytes);
    enum corun_status status = CORUN_OK;
    struct yaml_node *root = NULL;
    if (!experiment->path || !experiment->text)
        status = yaml_out_of_memory(&yaml);
    if (!status)
        status = yaml_tree_parse(experiment->path, text, bytes, experiment->arena, list, &root);
    experiment->root = root;
    if (!status)
        status = read_root(experiment, &yaml);
    if (!status)
        status = check_parts(experiment, list);
    if (status)
        experiment_destroy(experiment);
    else
        *result = experiment;
    return status;
}

enum corun_status experiment_load(const char *path, struct corun_diagnostics *list, struct experiment **experiment)
{
    char *text = NULL;
    size_t bytes = 0;
    *experiment = NULL;
    enum corun_status status = text_file_read(path, EXPERIMENT_MAX_BYTES, list, &text, &bytes);
    if (!status)
        status = experiment_parse(path, text, bytes, list, experiment);
    free(text);
    return status;
}

void experiment_destroy(struct experiment *experiment)
{
    if (!experiment)
        return;
    arena_destroy(experiment->arena);
    free(experiment);
}

struct experiment_extent experiment_initial_extent(const struct experiment *experiment, bool full)
{
    if (full)
        return (struct experiment_extent){.cycles =
                                              experiment->paper_cycles ? experiment->paper_cycles : experiment->cycles};
    return (struct experiment_extent){.cycles = experiment->cycles, .sample = experiment->sample};
}

enum corun_status experiment_campaign(const struct experiment *experiment, uint32_t part,
                                      const struct experiment_extent *extent, struct corun_diagnostics *list,
                                      struct corun_campaign **campaign)
{
    const struct experiment_part *chosen = &experiment->parts[part];
    struct campaign_changes changes = {chosen->campaign, extent->cycles, extent->sample, extent->settle};
    *campaign = NULL;
    if (experiment->missing)
        return corun_report(list, CORUN_NOT_FOUND, (struct corun_place){experiment->path, 0, 0},
                            "%s needs policies that this corun does not have: %s", experiment->name,
                            experiment->missing);
    return campaign_read(experiment->path, experiment->text, chosen->description, &changes, list, campaign);
}

size_t experiment_combinations(const struct corun_campaign *campaign)
{
    return campaign->combinations;
}

size_t experiment_sampled(const struct corun_campaign *campaign)
{
    return campaign->sampled;
}
