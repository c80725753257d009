/* SPDX-License-Identifier: MIT */
/* A campaign's YAML is read and checked; mixes, goals, GPUs and policies are multiplied out to cases. */
#include "campaign/campaign_file.h"

#include "base/text_file.h"
#include "base/text_table.h"
#include "base/yaml_reader.h"
#include "campaign/command_file.h"
#include "campaign/mixes.h"
#include "campaign/sample.h"
#include "case/policy_probe.h"
#include "case/specification.h"
#include "workload/workload.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_GPU "gtx980"
#define DEFAULT_CYCLES 200000u

/* Texts with the places that messages about them name. */
struct text_list {
    VECTOR(struct value) items;
};

struct group {
    const char *name; /* "": the only one */
    struct text_list workloads;
};

struct parser {
    struct yaml_reader yaml;
    struct corun_campaign *campaign;
    struct arena *scratch; /* for texts that are only checked */
    struct text_list gpus, policies;
    VECTOR(struct group) groups;
    VECTOR(struct text_list) goals; /* each: of the first applications of a mix */
    const char *size;
    uint64_t cycles, seed;
    uint32_t settle;
    const struct campaign_changes *changes; /* NULL: none */
};

/* Of every sample: the same ones every time. */
#define SAMPLE_SEED 1u

static const char *format(struct parser *parser, const char *left, const char *middle, const char *right)
{
    return arena_format(parser->campaign->arena, "%s%s%s", left, middle, right);
}

static enum corun_status read_texts(struct parser *parser, const struct yaml_node *node, struct text_list *texts)
{
    enum corun_status status = yaml_expect(&parser->yaml, node, YAML_LIST);
    if (!status && !node->count)
        status = YAML_WRONG(&parser->yaml, node, "the list is empty");
    for (const struct yaml_node *entry = node->first; entry && !status; entry = entry->next) {
        status = yaml_expect(&parser->yaml, entry, YAML_TEXT);
        if (!status && !vector_push(&texts->items, ((struct value){entry->text, entry->place, entry->plain})))
            status = yaml_out_of_memory(&parser->yaml);
    }
    return status;
}

/* The list under a key, or the one text that is meant when there is none. */
static enum corun_status read_list(struct parser *parser, const struct yaml_node *root, const char *key,
                                   const char *initial, struct text_list *texts)
{
    const struct yaml_node *node = yaml_find(root, key);
    if (node)
        return read_texts(parser, node, texts);
    return vector_push(&texts->items, ((struct value){initial, root->place, false}))
               ? CORUN_OK
               : yaml_out_of_memory(&parser->yaml);
}

/* WORKLOAD becomes WORKLOAD@SIZE with the campaign's size; further settings (:goal=…) stay behind. */
static enum corun_status add_sizes(struct parser *parser, struct text_list *names)
{
    for (size_t i = 0; i < names->items.count && parser->size; i++) {
        const char *text = names->items.data[i].text;
        size_t length = specify_workload_length(text);
        char *name = arena_copy_text(parser->campaign->arena, text, length);
        if (name && !workload_lacks_size(name))
            continue;
        const char *whole = name ? format(parser, name, "@", parser->size) : NULL;
        names->items.data[i].text = whole ? format(parser, whole, text + length, "") : NULL;
        if (!names->items.data[i].text)
            return yaml_out_of_memory(&parser->yaml);
    }
    return CORUN_OK;
}

static enum corun_status read_group(struct parser *parser, const char *name, const struct yaml_node *node)
{
    if (!vector_push(&parser->groups, ((struct group){.name = name})))
        return yaml_out_of_memory(&parser->yaml);
    struct text_list *workloads = &parser->groups.data[parser->groups.count - 1].workloads;
    enum corun_status status = read_texts(parser, node, workloads);
    return status ? status : add_sizes(parser, workloads);
}

static enum corun_status read_workloads(struct parser *parser, const struct yaml_node *root)
{
    const struct yaml_node *node = yaml_find(root, "workloads");
    if (!node || node->kind == YAML_LIST)
        return node ? read_group(parser, "", node) : CORUN_OK;
    if (node->kind != YAML_MAP)
        return YAML_WRONG(&parser->yaml, node, "expected a list of workloads, or a map of such lists, for 'workloads'");
    enum corun_status status = CORUN_OK;
    for (const struct yaml_node *entry = node->first; entry && !status; entry = entry->next)
        status = read_group(parser, entry->key, entry);
    return status;
}

/*
 * A list of goals: a text is one for the first application, a list those of the first few. Without: one case, no goal.
 */
static enum corun_status read_goals(struct parser *parser, const struct yaml_node *root)
{
    const struct yaml_node *node = yaml_find(root, "goals");
    enum corun_status status = node ? yaml_expect(&parser->yaml, node, YAML_LIST) : CORUN_OK;
    for (const struct yaml_node *entry = node ? node->first : NULL; entry && !status; entry = entry->next) {
        if (!vector_push(&parser->goals, ((struct text_list){0})))
            return yaml_out_of_memory(&parser->yaml);
        struct text_list *goals = &parser->goals.data[parser->goals.count - 1];
        if (entry->kind == YAML_LIST)
            status = read_texts(parser, entry, goals);
        else if ((status = yaml_expect(&parser->yaml, entry, YAML_TEXT)) == CORUN_OK &&
                 !vector_push(&goals->items, ((struct value){entry->text, entry->place, entry->plain})))
            status = yaml_out_of_memory(&parser->yaml);
    }
    if (!status && !parser->goals.count && !vector_push(&parser->goals, ((struct text_list){0})))
        status = yaml_out_of_memory(&parser->yaml);
    return status;
}

static enum corun_status add_case(struct parser *parser, const char *gpu, const char *policy, bool isolated,
                                  const char *const *applications, uint32_t count, struct corun_place place)
{
    struct corun_campaign *campaign = parser->campaign;
    bool is_alone = count == 1 && !strcmp(policy, CORUN_NO_POLICY); /* what others are compared with does not settle */
    if (campaign->cases.count >= CAMPAIGN_MAX_CASES)
        return corun_report(parser->yaml.list, CORUN_ARGUMENT, place, "more than %u cases", CAMPAIGN_MAX_CASES);
    const char **copy = ARENA_ARRAY(campaign->arena, const char *, count);
    if (!copy)
        return yaml_out_of_memory(&parser->yaml);
    memcpy(copy, applications, count * sizeof *copy);
    struct corun_campaign_case item = {.gpu = gpu,
                                       .policy = policy,
                                       .application_count = count,
                                       .applications = copy,
                                       .cycles = parser->cycles,
                                       .seed = parser->seed,
                                       .settle = is_alone ? 0 : parser->settle,
                                       .isolated = isolated};
    return vector_push(&campaign->cases, item) ? CORUN_OK : yaml_out_of_memory(&parser->yaml);
}

/* The message before it is about the text at this place. */
static enum corun_status name_place(struct parser *parser, enum corun_status status, struct corun_place place)
{
    if (status != CORUN_OK && status != CORUN_MEMORY)
        corun_report(parser->yaml.list, status, place, "in campaign '%s'", parser->campaign->name);
    return status;
}

/* Every text must be what the command line would take: said now, not after hours. */
static enum corun_status check_policies(struct parser *parser)
{
    enum corun_status status = CORUN_OK;
    for (size_t i = 0; i < parser->policies.items.count && !status; i++) {
        const struct value *text = &parser->policies.items.data[i];
        struct policy_meaning meaning;
        status = policy_probe(text->text, parser->scratch, parser->yaml.list, &meaning);
        status = name_place(parser, status, text->place);
    }
    return status;
}

/* The same of an application; `goal` is NULL if it has none of the campaign's. */
static enum corun_status check_application(struct parser *parser, const char *text, const struct value *name,
                                           const struct value *goal)
{
    struct corun_case_application application;
    enum corun_status status = specify_application(text, parser->scratch, parser->yaml.list, &application);
    bool name_is_fine = goal && status && !specify_application(name->text, parser->scratch, NULL, &application);
    return name_place(parser, status, name_is_fine ? goal->place : name->place);
}

/* One set of applications under every goal, policy and GPU. `names` have no goals yet. */
static enum corun_status add_mix(struct parser *parser, const struct value *names, uint32_t count)
{
    const char *applications[MIX_MAX];
    enum corun_status status = CORUN_OK;
    for (size_t g = 0; g < parser->goals.count && !status; g++) {
        const struct text_list *goals = &parser->goals.data[g];
        if (goals->items.count > count)
            return corun_report(parser->yaml.list, CORUN_SYNTAX, goals->items.data[count].place,
                                "more goals than the %u applications of a mix", count);
        for (uint32_t i = 0; i < count && !status; i++) {
            const struct value *goal = i < goals->items.count ? &goals->items.data[i] : NULL;
            applications[i] = goal ? format(parser, names[i].text, ":goal=", goal->text) : names[i].text;
            if (!applications[i])
                return yaml_out_of_memory(&parser->yaml);
            status = check_application(parser, applications[i], &names[i], goal);
        }
        for (size_t gpu = 0; gpu < parser->gpus.items.count && !status; gpu++) {
            for (size_t p = 0; p < parser->policies.items.count && !status; p++)
                status = add_case(parser, parser->gpus.items.data[gpu].text, parser->policies.items.data[p].text, false,
                                  applications, count, names[0].place);
        }
    }
    return status;
}

static enum corun_status report_group(struct parser *parser, const struct value *name)
{
    corun_report(parser->yaml.list, CORUN_SYNTAX, name->place, "there is no group '%.80s' of workloads", name->text);
    return CORUN_SYNTAX;
}

static struct group *find_group(struct parser *parser, const char *name)
{
    for (size_t i = 0; i < parser->groups.count; i++) {
        if (!name || strcmp(parser->groups.data[i].name, name) == 0)
            return &parser->groups.data[i];
    }
    return NULL;
}

/* Every element of the first group with every one of the second and so on. */
static enum corun_status add_product(struct parser *parser, const struct yaml_node *node)
{
    const struct group *groups[MIX_MAX];
    struct text_list names = {0};
    uint64_t all = 1;
    enum corun_status status = read_texts(parser, node, &names);
    uint32_t count = (uint32_t)names.items.count;
    if (!status && count > MIX_MAX)
        status = YAML_WRONG(&parser->yaml, node, "more than %u groups", MIX_MAX);
    for (uint32_t i = 0; i < count && !status; i++) {
        groups[i] = find_group(parser, names.items.data[i].text);
        if (!groups[i])
            status = report_group(parser, &names.items.data[i]);
        else if (__builtin_mul_overflow(all, groups[i]->workloads.items.count, &all) || all > CAMPAIGN_MAX_CASES)
            status = YAML_WRONG(&parser->yaml, node, "more than %u mixes", CAMPAIGN_MAX_CASES);
    }
    for (uint64_t number = 0; number < all && !status; number++) {
        struct value mix[MIX_MAX] = {0};
        uint64_t rest = number;
        for (uint32_t i = count; i-- > 0;) {
            size_t members = groups[i]->workloads.items.count;
            mix[i] = groups[i]->workloads.items.data[rest % members];
            rest /= members;
        }
        status = add_mix(parser, mix, count);
    }
    vector_free(&names.items);
    return status;
}

static enum corun_status add_selection(struct parser *parser, const struct yaml_node *node, const struct group *group,
                                       const struct mix_rule *rule)
{
    uint64_t all = mixes_count(rule), sample = 0, seed = 1;
    enum corun_status status = yaml_count(&parser->yaml, node, "sample", 1, CAMPAIGN_MAX_CASES, &sample);
    if (!status)
        status = yaml_count(&parser->yaml, node, "seed", 0, INT64_MAX, &seed);
    if (!status && !all)
        status = YAML_WRONG(&parser->yaml, node, "%u of %u workloads cannot be chosen", rule->size, rule->things);
    uint64_t count = sample && sample < all ? sample : all;
    if (!status && count > CAMPAIGN_MAX_CASES)
        status = YAML_WRONG(&parser->yaml, node, "more than %u mixes: take a sample", CAMPAIGN_MAX_CASES);
    if (status)
        return status;
    uint64_t *numbers = count < all ? malloc(count * sizeof *numbers) : NULL;
    if (count < all && !numbers)
        return yaml_out_of_memory(&parser->yaml);
    if (numbers && !mixes_sample(all, (uint32_t)count, seed, numbers))
        status = yaml_out_of_memory(&parser->yaml);
    for (uint64_t i = 0; i < count && !status; i++) {
        uint32_t things[MIX_MAX];
        struct value mix[MIX_MAX] = {0};
        mixes_get(rule, numbers ? numbers[i] : i, things);
        for (uint32_t k = 0; k < rule->size; k++)
            mix[k] = group->workloads.items.data[things[k]];
        status = add_mix(parser, mix, rule->size);
    }
    free(numbers);
    return status;
}

static enum corun_status read_mix(struct parser *parser, const struct yaml_node *node)
{
    enum corun_status status = yaml_expect_map(&parser->yaml, node, "| size of product ordered repeated sample seed");
    const struct yaml_node *product = status ? NULL : yaml_find(node, "product");
    if (status)
        return status;
    if (product && node->count > 1)
        return YAML_WRONG(&parser->yaml, node, "a product has no other keys");
    if (product)
        return add_product(parser, product);
    struct value of = {0};
    struct mix_rule rule = {0};
    uint64_t size = 0;
    status = yaml_value(&parser->yaml, node, "of", &of);
    if (!status)
        status = yaml_count(&parser->yaml, node, "size", 1, MIX_MAX, &size);
    if (!status)
        status = yaml_boolean(&parser->yaml, node, "ordered", &rule.ordered);
    if (!status)
        status = yaml_boolean(&parser->yaml, node, "repeated", &rule.repeated);
    if (!status && !size)
        status = YAML_WRONG(&parser->yaml, node, "the key 'size' is missing: how many applications meet");
    const struct group *group = find_group(parser, of.text);
    if (!status && of.text && !group)
        status = report_group(parser, &of);
    else if (!status && (!group || (!of.text && parser->groups.count > 1)))
        status = YAML_WRONG(&parser->yaml, node, "of which group of workloads? (of: NAME)");
    if (status || !group)
        return status;
    rule.things = (uint32_t)group->workloads.items.count;
    rule.size = (uint32_t)size;
    return add_selection(parser, node, group, &rule);
}

/* `cases`: lists of applications, written out. */
static enum corun_status read_case(struct parser *parser, const struct yaml_node *node)
{
    struct text_list names = {0};
    enum corun_status status = read_texts(parser, node, &names);
    if (!status && names.items.count > MIX_MAX)
        status = YAML_WRONG(&parser->yaml, node, "more than %u applications", MIX_MAX);
    if (!status)
        status = add_sizes(parser, &names);
    if (!status)
        status = add_mix(parser, names.items.data, (uint32_t)names.items.count);
    vector_free(&names.items);
    return status;
}

static enum corun_status read_cases(struct parser *parser, const struct yaml_node *root)
{
    const struct yaml_node *mixes = yaml_find(root, "mixes"), *cases = yaml_find(root, "cases");
    if (!mixes && !cases)
        return YAML_WRONG(&parser->yaml, root, "neither 'mixes' nor 'cases' is given");
    enum corun_status status = mixes ? yaml_expect(&parser->yaml, mixes, YAML_LIST) : CORUN_OK;
    for (const struct yaml_node *entry = mixes ? mixes->first : NULL; entry && !status; entry = entry->next)
        status = read_mix(parser, entry);
    if (!status && cases)
        status = yaml_expect(&parser->yaml, cases, YAML_LIST);
    for (const struct yaml_node *entry = cases ? cases->first : NULL; entry && !status; entry = entry->next)
        status = read_case(parser, entry);
    return status;
}

/*
 * Keeps the cases of some combinations of a mix and goals: each stands there on every GPU with every policy, side by
 * side.
 */
static enum corun_status take_sample(struct parser *parser)
{
    struct corun_campaign *campaign = parser->campaign;
    size_t goals = parser->goals.count, each = parser->gpus.items.count * parser->policies.items.count, kept = 0;
    assert(each); /* neither list can be empty */
    campaign->combinations = campaign->sampled = campaign->cases.count / each;
    uint64_t sample = parser->changes ? parser->changes->sample : 0;
    if (!sample || sample >= campaign->combinations)
        return CORUN_OK;
    bool *chosen = calloc(campaign->combinations, sizeof *chosen);
    if (!chosen || !sample_choose(campaign->combinations / goals, goals, sample, SAMPLE_SEED, chosen)) {
        free(chosen);
        return yaml_out_of_memory(&parser->yaml);
    }
    for (size_t i = 0; i < campaign->cases.count; i++) {
        if (chosen[i / each])
            campaign->cases.data[kept++] = campaign->cases.data[i];
    }
    campaign->cases.count = kept;
    campaign->sampled = kept / each;
    free(chosen);
    return CORUN_OK;
}

/* Numbers for the names of workloads (without their goals) and GPUs of the cases that are asked for. */
struct names {
    struct text_table workloads, gpus;
    uint32_t *alone; /* of each GPU each workload: 1 + the number of its isolated case; 0: none yet */
};

static bool number_names(const struct corun_campaign *campaign, struct names *names)
{
    size_t number;
    for (size_t i = 0; i < campaign->cases.count; i++) {
        const struct corun_campaign_case *item = &campaign->cases.data[i];
        if (!text_table_find_or_add(&names->gpus, item->gpu, strlen(item->gpu), names->gpus.count, &number))
            return false;
        for (uint32_t a = 0; a < item->application_count; a++) {
            const char *text = item->applications[a];
            if (!text_table_find_or_add(&names->workloads, text, specify_workload_length(text), names->workloads.count,
                                        &number))
                return false;
        }
    }
    names->alone = calloc(names->gpus.count * names->workloads.count, sizeof *names->alone);
    return names->alone != NULL;
}

/* The isolated case of an application: added if there is none yet. */
static enum corun_status find_alone(struct parser *parser, struct names *names, const struct yaml_node *root,
                                    size_t asked, const char *gpu, const char *application, uint32_t *alone)
{
    struct corun_campaign *campaign = parser->campaign;
    size_t length = specify_workload_length(application), row = 0, column = 0;
    text_table_find(&names->gpus, gpu, strlen(gpu), &row);
    text_table_find(&names->workloads, application, length, &column);
    uint32_t *known = &names->alone[row * names->workloads.count + column];
    if (!*known) {
        const char *name = arena_copy_text(campaign->arena, application, length);
        if (!name)
            return yaml_out_of_memory(&parser->yaml);
        enum corun_status status = add_case(parser, gpu, CORUN_NO_POLICY, true, &name, 1, root->place);
        if (status)
            return status;
        *known = (uint32_t)(campaign->cases.count - asked);
    }
    *alone = *known - 1;
    return CORUN_OK;
}

/* Isolated cases, which were added last, go to the front. */
static bool move_to_front(struct corun_campaign *campaign, size_t asked)
{
    size_t isolated = campaign->cases.count - asked;
    struct corun_campaign_case *copy = malloc(isolated * sizeof *copy);
    if (!copy)
        return false;
    memcpy(copy, campaign->cases.data + asked, isolated * sizeof *copy);
    memmove(campaign->cases.data + isolated, campaign->cases.data, asked * sizeof *copy);
    memcpy(campaign->cases.data, copy, isolated * sizeof *copy);
    free(copy);
    campaign->isolated = isolated;
    return true;
}

/* What others are compared with: every workload of a case alone, once for each GPU. They go first. */
static enum corun_status add_isolated(struct parser *parser, const struct yaml_node *root)
{
    struct corun_campaign *campaign = parser->campaign;
    struct names names = {0};
    size_t asked = campaign->cases.count;
    const uint32_t **alone = ARENA_ARRAY(campaign->arena, const uint32_t *, asked);
    enum corun_status status = CORUN_OK;
    if (!alone || !number_names(campaign, &names)) {
        yaml_out_of_memory(&parser->yaml);
        status = CORUN_MEMORY;
    }
    for (size_t i = 0; i < asked && !status; i++) {
        const struct corun_campaign_case item = campaign->cases.data[i]; /* a copy: the vector grows */
        uint32_t *row = ARENA_ARRAY(campaign->arena, uint32_t, item.application_count);
        if (!row)
            status = yaml_out_of_memory(&parser->yaml);
        for (uint32_t a = 0; row && a < item.application_count && !status; a++)
            status = find_alone(parser, &names, root, asked, item.gpu, item.applications[a], &row[a]);
        alone[i] = row;
    }
    if (!status) {
        campaign->alone = ARENA_ARRAY(campaign->arena, const uint32_t *, campaign->cases.count);
        if (!campaign->alone || !move_to_front(campaign, asked))
            status = yaml_out_of_memory(&parser->yaml);
    }
    for (size_t i = 0; i < campaign->cases.count && !status; i++) {
        uint32_t *row = i < campaign->isolated ? ARENA_NEW(campaign->arena, uint32_t) : NULL;
        if (row)
            *row = (uint32_t)i;
        else if (i < campaign->isolated)
            status = yaml_out_of_memory(&parser->yaml);
        campaign->alone[i] = i < campaign->isolated ? row : alone[i - campaign->isolated];
    }
    text_table_free(&names.workloads);
    text_table_free(&names.gpus);
    free(names.alone);
    return status;
}

/* When a case may end before its window does. */
static enum corun_status read_settle(struct parser *parser, const struct yaml_node *root)
{
    struct value settle = {0};
    enum corun_status status = yaml_value(&parser->yaml, root, "settle", &settle);
    if (!status && settle.text && !specify_part(settle.text, &parser->settle))
        return corun_report(parser->yaml.list, CORUN_SYNTAX, settle.place, "settle: expected %s; found '%.80s'",
                            SPECIFY_PART_WORDS, settle.text);
    if (parser->changes && parser->changes->settle)
        parser->settle = parser->changes->settle;
    return status;
}

/* The cases of `corun run`. */
static enum corun_status read_runs(struct parser *parser, const struct yaml_node *root)
{
    struct corun_campaign *campaign = parser->campaign;
    struct value name = {0}, summary = {.text = ""}, size = {0};
    enum corun_status status =
        yaml_expect_map(&parser->yaml, root,
                        "name | summary gpus policies workloads size cycles settle seed mixes cases goals command");
    if (!status)
        status = yaml_value(&parser->yaml, root, "name", &name);
    if (!status)
        status = yaml_value(&parser->yaml, root, "summary", &summary);
    if (!status)
        status = yaml_value(&parser->yaml, root, "size", &size);
    if (!status)
        status = yaml_count(&parser->yaml, root, "cycles", 1000, INT64_MAX, &parser->cycles);
    if (!status)
        status = read_settle(parser, root);
    if (!status)
        status = yaml_count(&parser->yaml, root, "seed", 0, INT64_MAX, &parser->seed);
    if (!status)
        status = read_list(parser, root, "gpus", DEFAULT_GPU, &parser->gpus);
    if (!status)
        status = read_list(parser, root, "policies", CORUN_NO_POLICY, &parser->policies);
    parser->size = size.text;
    if (!status)
        status = read_workloads(parser, root);
    if (!status)
        status = read_goals(parser, root);
    if (status)
        return status;
    campaign->name = parser->changes ? parser->changes->name : name.text;
    campaign->summary = summary.text;
    if (parser->changes)
        parser->cycles = parser->changes->cycles;
    if (!name.text[0])
        return corun_report(parser->yaml.list, CORUN_SYNTAX, name.place, "the name is empty");
    status = check_policies(parser);
    if (!status)
        status = read_cases(parser, root);
    if (!status && !campaign->cases.count)
        status = YAML_WRONG(&parser->yaml, root, "there is no case: 'mixes' and 'cases' are empty");
    if (!status)
        status = take_sample(parser);
    return status ? status : add_isolated(parser, root);
}

static enum corun_status read_root(struct parser *parser, const struct yaml_node *root)
{
    struct value command = {.text = CAMPAIGN_RUN};
    struct command_reader reader = {parser->yaml, parser->campaign, parser->scratch};
    enum corun_status status = yaml_expect(&parser->yaml, root, YAML_MAP);
    if (!status)
        status = yaml_value(&parser->yaml, root, "command", &command);
    if (status)
        return status;
    parser->campaign->command = command.text;
    if (!strcmp(command.text, CAMPAIGN_RUN))
        return read_runs(parser, root);
    enum corun_status read = command_read(&reader, root, &command);
    if (!read && parser->changes)
        parser->campaign->name = parser->changes->name;
    return read;
}

static void parser_free(struct parser *parser)
{
    arena_destroy(parser->scratch);
    vector_free(&parser->gpus.items);
    vector_free(&parser->policies.items);
    for (size_t i = 0; i < parser->groups.count; i++)
        vector_free(&parser->groups.data[i].workloads.items);
    for (size_t i = 0; i < parser->goals.count; i++)
        vector_free(&parser->goals.data[i].items);
    vector_free(&parser->groups);
    vector_free(&parser->goals);
}

static struct corun_campaign *create_campaign(const char *path, const char *text, size_t bytes)
{
    struct corun_campaign *campaign = calloc(1, sizeof *campaign);
    if (campaign)
        campaign->arena = arena_create();
    if (campaign && campaign->arena) {
        campaign->path = arena_copy_text(campaign->arena, path, strlen(path));
        campaign->text = arena_copy_text(campaign->arena, text, bytes);
    }
    if (campaign && campaign->path && campaign->text)
        return campaign;
    corun_campaign_destroy(campaign);
    return NULL;
}

/* Without `root`, the tree is that of the text. */
static enum corun_status read_campaign(const char *path, const char *text, size_t bytes, const struct yaml_node *root,
                                       const struct campaign_changes *changes, struct corun_diagnostics *list,
                                       struct corun_campaign **result)
{
    struct corun_campaign *campaign = *result = create_campaign(path, text, bytes);
    struct parser parser = {
        .yaml = {path, list}, .campaign = campaign, .cycles = DEFAULT_CYCLES, .seed = 1, .changes = changes};
    struct yaml_node *own;
    if (!campaign)
        return yaml_out_of_memory(&parser.yaml);
    parser.scratch = arena_create();
    enum corun_status status = parser.scratch ? CORUN_OK : yaml_out_of_memory(&parser.yaml);
    if (!root && !status) {
        status = yaml_tree_parse(campaign->path, text, bytes, campaign->arena, list, &own);
        root = own;
    }
    if (!status)
        status = read_root(&parser, root);
    parser_free(&parser);
    if (status) {
        corun_campaign_destroy(campaign);
        *result = NULL;
    }
    return status;
}

enum corun_status campaign_parse(const char *path, const char *text, size_t bytes, struct corun_diagnostics *list,
                                 struct corun_campaign **campaign)
{
    return read_campaign(path, text, bytes, NULL, NULL, list, campaign);
}

enum corun_status campaign_read(const char *path, const char *text, const struct yaml_node *root,
                                const struct campaign_changes *changes, struct corun_diagnostics *list,
                                struct corun_campaign **campaign)
{
    return read_campaign(path, text, strlen(text), root, changes, list, campaign);
}

enum corun_status corun_campaign_load(const char *path, struct corun_diagnostics *list,
                                      struct corun_campaign **campaign)
{
    char *text = NULL;
    size_t bytes = 0;
    *campaign = NULL;
    enum corun_status status = text_file_read(path, CAMPAIGN_MAX_BYTES, list, &text, &bytes);
    if (!status)
        status = campaign_parse(path, text, bytes, list, campaign);
    free(text);
    return status;
}

void corun_campaign_destroy(struct corun_campaign *campaign)
{
    if (!campaign)
        return;
    vector_free(&campaign->cases);
    if (campaign->arena)
        arena_destroy(campaign->arena);
    free(campaign);
}

const char *corun_campaign_name(const struct corun_campaign *campaign)
{
    return campaign->name;
}

const char *corun_campaign_summary(const struct corun_campaign *campaign)
{
    return campaign->summary;
}

const char *corun_campaign_command(const struct corun_campaign *campaign)
{
    return campaign->command;
}

size_t corun_campaign_count(const struct corun_campaign *campaign)
{
    return campaign->cases.count;
}

const struct corun_campaign_case *corun_campaign_get(const struct corun_campaign *campaign, size_t index)
{
    return &campaign->cases.data[index];
}
