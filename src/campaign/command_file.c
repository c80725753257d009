/* SPDX-License-Identifier: MIT */
/* Every value of an option with every one of the others and every list of arguments is a case. */
#include "campaign/command_file.h"

#include "base/nearest.h"
#include "base/number.h"
#include "campaign/commands.h"

#include <stdio.h>
#include <string.h>

#define MOST_OPTIONS 32u
#define MOST_ARGUMENTS 1000u
#define MESSAGE_BYTES 400u
#define LONGEST_RANGE 10000u

/* What one case has of an option: no value (a flag that is false), or one, or several. */
struct choice {
    uint32_t count;
    const struct corun_campaign_option *options;
    struct corun_place place;
};

struct axis {
    VECTOR(struct choice) choices;
};

struct arguments {
    const char *const *texts;
    uint32_t count;
    struct corun_place place;
};

struct case_maker {
    struct command_reader *reader;
    const struct command_kind *kind;
    struct axis axes[MOST_OPTIONS];
    size_t axis_count;
    VECTOR(struct arguments) arguments;
};

/* The message before it is about the text at this place. */
static enum corun_status name_place(const struct case_maker *maker, enum corun_status status, struct corun_place place)
{
    if (status != CORUN_OK && status != CORUN_MEMORY)
        corun_report(maker->reader->yaml.list, status, place, "in campaign '%s'", maker->reader->campaign->name);
    return status;
}

static enum corun_status read_value(struct case_maker *maker, const struct command_option *option,
                                    const struct yaml_node *node, struct corun_campaign_option *result)
{
    struct yaml_reader *yaml = &maker->reader->yaml;
    enum corun_status status = yaml_expect(yaml, node, YAML_TEXT);
    if (status)
        return status;
    *result = (struct corun_campaign_option){option->name, node->text};
    status = maker->kind->check(option->name, node->text, maker->reader->scratch, yaml->list);
    return name_place(maker, status, node->place);
}

/* false: not there; true: there, without a value */
static enum corun_status read_flag(struct case_maker *maker, const struct command_option *option,
                                   const struct yaml_node *node, struct corun_campaign_option *result, bool *there)
{
    enum corun_status status = yaml_expect(&maker->reader->yaml, node, YAML_TEXT);
    if (status)
        return status;
    *there = !strcmp(node->text, "true");
    *result = (struct corun_campaign_option){option->name, NULL};
    if (*there || !strcmp(node->text, "false"))
        return CORUN_OK;
    return YAML_WRONG(&maker->reader->yaml, node, "expected true or false for '%s', found '%.80s'", option->name,
                      node->text);
}

/* Of "random:seed={1..3}" the numbers, and what stands before and behind them; false: it has no range. */
static bool find_range(const char *text, uint64_t range[2], size_t *before, const char **behind)
{
    const char *open = strchr(text, '{'), *middle = open ? strstr(open, "..") : NULL,
               *close = middle ? strchr(middle, '}') : NULL;
    char number[2][24];
    if (!close || (size_t)(middle - open) > sizeof number[0] || (size_t)(close - middle) > sizeof number[1])
        return false;
    snprintf(number[0], sizeof number[0], "%.*s", (int)(middle - open - 1), open + 1);
    snprintf(number[1], sizeof number[1], "%.*s", (int)(close - middle - 2), middle + 2);
    *before = (size_t)(open - text);
    *behind = close + 1;
    return number_parse(number[0], 1000, &range[0]) && number_parse(number[1], 1000, &range[1]);
}

static enum corun_status add_entry(struct case_maker *maker, struct yaml_node *list, struct yaml_node **last,
                                   const struct yaml_node *entry, const char *text)
{
    struct yaml_node *copy = ARENA_NEW(maker->reader->campaign->arena, struct yaml_node);
    if (!copy || !text)
        return yaml_out_of_memory(&maker->reader->yaml);
    *copy = *entry;
    copy->text = text;
    copy->next = NULL;
    *(*last ? &(*last)->next : &list->first) = copy;
    *last = copy;
    list->count++;
    return CORUN_OK;
}

/* The list with every range in place of its text: random:seed=1, random:seed=2, … */
static enum corun_status expand(struct case_maker *maker, const struct yaml_node *list, struct yaml_node *expanded)
{
    struct yaml_node *last = NULL;
    enum corun_status status = CORUN_OK;
    *expanded = *list;
    expanded->first = NULL;
    expanded->count = 0;
    for (const struct yaml_node *entry = list->first; entry && !status; entry = entry->next) {
        uint64_t range[2];
        size_t before;
        const char *behind;
        if (entry->kind != YAML_TEXT || !find_range(entry->text, range, &before, &behind)) {
            status = add_entry(maker, expanded, &last, entry, entry->kind == YAML_TEXT ? entry->text : "");
            continue;
        }
        if (range[1] < range[0] || range[1] - range[0] >= LONGEST_RANGE)
            return YAML_WRONG(&maker->reader->yaml, entry, "a range has 1 to %u numbers, from the least",
                              LONGEST_RANGE);
        for (uint64_t n = range[0]; n <= range[1] && !status; n++)
            status = add_entry(maker, expanded, &last, entry,
                               arena_format(maker->reader->campaign->arena, "%.*s%llu%s", (int)before, entry->text,
                                            (unsigned long long)n, behind));
    }
    return status;
}

/* A text, or with some options a list of them, which are all given in one case. */
static enum corun_status read_choice(struct case_maker *maker, const struct command_option *option,
                                     const struct yaml_node *node, struct axis *axis)
{
    struct yaml_reader *yaml = &maker->reader->yaml;
    struct yaml_node list = *node;
    bool several = option->several && node->kind == YAML_LIST, there = true;
    enum corun_status status = several ? expand(maker, node, &list) : CORUN_OK;
    size_t count = several ? list.count : 1, i = 0;
    if (status)
        return status;
    if (!count)
        return YAML_WRONG(yaml, node, "the list is empty");
    struct corun_campaign_option *values =
        ARENA_ARRAY(maker->reader->campaign->arena, struct corun_campaign_option, count);
    if (!values)
        return yaml_out_of_memory(yaml);
    for (const struct yaml_node *entry = several ? list.first : node; entry && i < count && !status;
         entry = entry->next, i++)
        status = option->flag ? read_flag(maker, option, entry, &values[i], &there)
                              : read_value(maker, option, entry, &values[i]);
    struct choice choice = {there ? (uint32_t)count : 0, values, node->place};
    if (!status && !vector_push(&axis->choices, choice))
        status = yaml_out_of_memory(yaml);
    return status;
}

/* Names the option that was probably meant. */
static enum corun_status report_unknown(struct case_maker *maker, const struct yaml_node *entry)
{
    const char *names[MOST_OPTIONS];
    char known[MESSAGE_BYTES] = "";
    size_t count = 0;
    for (const struct command_option *option = maker->kind->options; option->name; option++) {
        size_t used = strlen(known);
        if (option->refused)
            continue;
        names[count++] = option->name;
        snprintf(known + used, sizeof known - used, "%s%s", used ? " " : "", option->name);
    }
    const char *nearest = nearest_name(entry->key, names, count);
    return corun_report(maker->reader->yaml.list, CORUN_SYNTAX, entry->key_place,
                        nearest ? "corun %s has no option '%.80s'; did you mean '%s'?"
                                : "corun %s has no option '%.80s' (a campaign may have: %s)",
                        maker->kind->name, entry->key, nearest ? nearest : known);
}

static enum corun_status read_option(struct case_maker *maker, const struct yaml_node *entry)
{
    const struct command_option *option = maker->kind->options;
    while (option->name && strcmp(option->name, entry->key) != 0)
        option++;
    if (!option->name)
        return report_unknown(maker, entry);
    if (option->refused)
        return corun_report(maker->reader->yaml.list, CORUN_SYNTAX, entry->key_place,
                            "a campaign cannot have the option '%s' of corun %s: %s", option->name, maker->kind->name,
                            option->refused);
    struct axis *axis = &maker->axes[maker->axis_count++]; /* no key is there twice */
    if (entry->kind != YAML_LIST)
        return read_choice(maker, option, entry, axis);
    if (!entry->count)
        return YAML_WRONG(&maker->reader->yaml, entry, "the list is empty");
    struct yaml_node values;
    enum corun_status status = expand(maker, entry, &values);
    for (const struct yaml_node *value = status ? NULL : values.first; value && !status; value = value->next)
        status = read_choice(maker, option, value, axis);
    return status;
}

static enum corun_status read_options(struct case_maker *maker, const struct yaml_node *root)
{
    const struct yaml_node *node = yaml_find(root, "options");
    enum corun_status status = node ? yaml_expect(&maker->reader->yaml, node, YAML_MAP) : CORUN_OK;
    for (const struct yaml_node *entry = node ? node->first : NULL; entry && !status; entry = entry->next)
        status = read_option(maker, entry);
    return status;
}

static enum corun_status read_arguments(struct case_maker *maker, const struct yaml_node *node)
{
    struct yaml_reader *yaml = &maker->reader->yaml;
    if (!node->count || node->count > MOST_ARGUMENTS)
        return YAML_WRONG(yaml, node, "expected 1 to %u %s", MOST_ARGUMENTS, maker->kind->arguments);
    const char **texts = ARENA_ARRAY(maker->reader->campaign->arena, const char *, node->count);
    struct arguments arguments = {texts, 0, node->place};
    if (!texts)
        return yaml_out_of_memory(yaml);
    for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
        enum corun_status status = yaml_expect(yaml, entry, YAML_TEXT);
        if (status)
            return status;
        texts[arguments.count++] = entry->text;
    }
    return vector_push(&maker->arguments, arguments) ? CORUN_OK : yaml_out_of_memory(yaml);
}

/* One list of texts, or a list of such lists. */
static enum corun_status read_all_arguments(struct case_maker *maker, const struct yaml_node *root)
{
    const struct yaml_node *node = yaml_find(root, "arguments");
    enum corun_status status = yaml_expect(&maker->reader->yaml, node, YAML_LIST);
    if (status || !node->first || node->first->kind != YAML_LIST)
        return status ? status : read_arguments(maker, node);
    for (const struct yaml_node *entry = node->first; entry && !status; entry = entry->next) {
        status = yaml_expect(&maker->reader->yaml, entry, YAML_LIST);
        if (!status)
            status = read_arguments(maker, entry);
    }
    return status;
}

/* `number` counts the combinations of options; the last option changes first. */
static enum corun_status add_case(struct case_maker *maker, const struct arguments *arguments, uint64_t number)
{
    struct corun_campaign *campaign = maker->reader->campaign;
    const struct choice *chosen[MOST_OPTIONS];
    struct corun_place place = maker->axis_count ? maker->axes[0].choices.data[0].place : arguments->place;
    uint32_t count = 0;
    for (size_t i = maker->axis_count; i-- > 0;) {
        const struct axis *axis = &maker->axes[i];
        chosen[i] = &axis->choices.data[number % axis->choices.count];
        number /= axis->choices.count;
        count += chosen[i]->count;
    }
    struct corun_campaign_option *options = ARENA_ARRAY(campaign->arena, struct corun_campaign_option, count + 1);
    if (!options)
        return yaml_out_of_memory(&maker->reader->yaml);
    struct corun_campaign_case item = {.command = maker->kind->name,
                                       .applications = arguments->texts,
                                       .application_count = arguments->count,
                                       .options = options};
    for (size_t i = 0; i < maker->axis_count; i++) {
        for (uint32_t k = 0; k < chosen[i]->count; k++)
            options[item.option_count++] = chosen[i]->options[k];
    }
    enum corun_status status = maker->kind->complete(&item, campaign->arena, maker->reader->yaml.list);
    if (status)
        return name_place(maker, status, place);
    return vector_push(&campaign->cases, item) ? CORUN_OK : yaml_out_of_memory(&maker->reader->yaml);
}

static enum corun_status add_cases(struct case_maker *maker, const struct yaml_node *root)
{
    uint64_t combinations = 1, all = maker->arguments.count;
    bool fits = true;
    for (size_t i = 0; i < maker->axis_count && fits; i++)
        fits = !__builtin_mul_overflow(combinations, maker->axes[i].choices.count, &combinations) &&
               combinations <= CAMPAIGN_MAX_CASES;
    if (!fits || __builtin_mul_overflow(all, combinations, &all) || all > CAMPAIGN_MAX_CASES)
        return corun_report(maker->reader->yaml.list, CORUN_ARGUMENT, root->place, "more than %u cases",
                            CAMPAIGN_MAX_CASES);
    enum corun_status status = CORUN_OK;
    for (size_t a = 0; a < maker->arguments.count; a++) {
        for (uint64_t number = 0; number < combinations && !status; number++)
            status = add_case(maker, &maker->arguments.data[a], number);
    }
    maker->reader->campaign->combinations = maker->reader->campaign->sampled = maker->reader->campaign->cases.count;
    return status;
}

static enum corun_status report_command(struct command_reader *reader, const struct value *command)
{
    char known[MESSAGE_BYTES] = CAMPAIGN_RUN;
    for (size_t i = 0; command_at(i); i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, ", %s", command_at(i)->name);
    }
    return corun_report(reader->yaml.list, CORUN_SYNTAX, command->place,
                        "a campaign has no cases of '%.80s', only of: %s", command->text, known);
}

enum corun_status command_read(struct command_reader *reader, const struct yaml_node *root, const struct value *command)
{
    struct case_maker maker = {.reader = reader, .kind = command_find(command->text)};
    struct value name = {0}, summary = {.text = ""};
    if (!maker.kind)
        return report_command(reader, command);
    enum corun_status status = yaml_expect_map(&reader->yaml, root, "name command arguments | summary options");
    if (!status)
        status = yaml_value(&reader->yaml, root, "name", &name);
    if (!status)
        status = yaml_value(&reader->yaml, root, "summary", &summary);
    if (!status && !name.text[0])
        status = corun_report(reader->yaml.list, CORUN_SYNTAX, name.place, "the name is empty");
    if (status)
        return status;
    reader->campaign->name = name.text;
    reader->campaign->summary = summary.text;
    status = read_options(&maker, root);
    if (!status)
        status = read_all_arguments(&maker, root);
    if (!status)
        status = add_cases(&maker, root);
    for (size_t i = 0; i < maker.axis_count; i++)
        vector_free(&maker.axes[i].choices);
    vector_free(&maker.arguments);
    return status;
}
