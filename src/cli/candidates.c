/* SPDX-License-Identifier: MIT */
/* A command line is read up to its last word; what may stand there is offered by the kind of its placeholder. */
#include "cli/candidates.h"

#include "base/arena.h"
#include "cli/command.h"
#include "corun/case.h"
#include "corun/config.h"
#include "corun/host.h"
#include "corun/policy.h"
#include "corun/queue.h"
#include "corun/workload.h"
#include "share/parameter_words.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* What options and arguments are called in help texts, and where their values come from: K(name, source) */
#define SOURCES(K) \
    K(GPU, gpus) \
    K(POLICY, policies) \
    K(HOST, hosts) \
    K(HOSTPOLICY, host_policies) \
    K(SERVICE, host_applications) \
    K(BATCH, host_applications) \
    K(SCHEDULER, schedulers) \
    K(APPLICATION, applications) \
    K(WORKLOAD, workloads) \
    K(KERNEL, workloads) \
    K(SIZE, sizes) \
    K(EXPERIMENT, experiments) \
    K(FILE, files) \
    K(PROGRAM, files) \
    K(INTO, files) \
    K(DIR, directories) \
    K(DIRECTORY, directories)

struct candidates {
    struct arena *arena;
    const char *before; /* what comes before each of them: "--gpu=", "gtx980:sms=2," */
    const char *word;   /* how they begin behind that */
    const char *doc;    /* the help text of the command */
    char data[PATH_BYTES];
    bool has_data;
};

static void offer(const struct candidates *candidates, const char *text, const char *meaning)
{
    if (!strncmp(text, candidates->word, strlen(candidates->word)))
        printf("%s%s\t%s\n", candidates->before, text, meaning ? meaning : "");
}

/* "NAME=" with its meaning. */
static void offer_parameter(const struct candidates *candidates, const char *name, size_t length, const char *meaning)
{
    const char *text = arena_format(candidates->arena, "%.*s=", (int)length, name);
    if (text)
        offer(candidates, text, meaning);
}

/* The first `length` characters of the word are taken as they are: what is offered comes behind them. */
static struct candidates behind(const struct candidates *candidates, size_t length)
{
    struct candidates rest = *candidates;
    const char *before = arena_format(candidates->arena, "%s%.*s", candidates->before, (int)length, candidates->word);
    rest.before = before ? before : candidates->before;
    rest.word += length;
    return rest;
}

/* Behind the last of these characters of the word. */
static struct candidates behind_last(const struct candidates *candidates, const char *characters)
{
    size_t length = strlen(candidates->word);
    while (length && !strchr(characters, candidates->word[length - 1]))
        length--;
    return behind(candidates, length);
}

static int is_yaml(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 5 && !strcmp(entry->d_name + length - 5, ".yaml");
}

/* The names of the descriptions in a folder of the data, without .yaml; and files of the user's. */
static void offer_descriptions(const struct candidates *candidates, const char *folder)
{
    struct dirent **entries = NULL;
    const char *path = arena_format(candidates->arena, "%s/%s", candidates->data, folder);
    int count = candidates->has_data && path ? scandir(path, &entries, is_yaml, versionsort) : 0;
    for (int i = 0; i < count; i++) {
        entries[i]->d_name[strlen(entries[i]->d_name) - 5] = 0;
        offer(candidates, entries[i]->d_name, NULL);
        free(entries[i]);
    }
    free(entries);
    puts("@files");
}

static void offer_experiments(const struct candidates *candidates)
{
    offer_descriptions(candidates, "experiments");
}

static void offer_gpus(const struct candidates *candidates)
{
    if (!strchr(candidates->word, ':')) {
        offer_descriptions(candidates, "gpu");
        return;
    }
    struct candidates rest = behind_last(candidates, ":,");
    size_t count;
    const struct corun_gpu_parameter *rows = corun_gpu_parameters(&count);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(rows[i].name);
        if (strncmp(rest.word, rows[i].name, length) != 0 || rest.word[length] != '=') {
            offer_parameter(&rest, rows[i].name, length, rows[i].meaning);
            continue;
        }
        struct candidates value = behind(&rest, length + 1);
        for (size_t k = 0; rows[i].words && rows[i].words[k]; k++)
            offer(&value, rows[i].words[k], NULL);
    }
}

static void offer_hosts(const struct candidates *candidates)
{
    offer_descriptions(candidates, "host");
}

static void offer_host_applications(const struct candidates *candidates)
{
    offer_descriptions(candidates, "host/applications");
}

static void offer_choices(const struct candidates *candidates, const char *choices)
{
    while (*choices) {
        size_t length = strcspn(choices, "|");
        const char *choice = arena_copy_text(candidates->arena, choices, length);
        if (choice)
            offer(candidates, choice, NULL);
        choices += length + (choices[length] == '|');
    }
}

static void offer_parameters(const struct candidates *candidates, const struct corun_policy_parameter *rows,
                             uint32_t count)
{
    struct parameter_group group;
    for (uint32_t p = 0; p < count; p += group.count) {
        const struct corun_policy_parameter *parameter = &rows[p];
        group = parameter_group_at(rows, count, p);
        size_t length = group.name_length;
        if (strncmp(candidates->word, parameter->name, length) != 0 || candidates->word[length] != '=') {
            offer_parameter(candidates, parameter->name, length, parameter->meaning);
        } else if (parameter->choices) {
            struct candidates value = behind(candidates, length + 1);
            offer_choices(&value, parameter->choices);
        }
    }
}

static void offer_policies(const struct candidates *candidates)
{
    size_t length = strcspn(candidates->word, ":");
    bool named = candidates->word[length];
    struct candidates rest = behind_last(candidates, ":,");
    if (!named)
        offer(candidates, CORUN_NO_POLICY, NO_POLICY_MEANING);
    for (size_t i = 0; corun_policy_at(i); i++) {
        const struct corun_policy *policy = corun_policy_at(i);
        if (!named)
            offer(candidates, policy->name, policy->summary);
        else if (strlen(policy->name) == length && !strncmp(policy->name, candidates->word, length))
            offer_parameters(&rest, policy->parameters, policy->parameter_count);
    }
    if (!named)
        puts("@files");
}

static void offer_schedulers(const struct candidates *candidates)
{
    size_t length = strcspn(candidates->word, ":");
    bool named = candidates->word[length];
    struct candidates rest = behind_last(candidates, ":,");
    for (size_t i = 0; corun_queue_scheduler_at(i); i++) {
        const struct corun_queue_scheduler *scheduler = corun_queue_scheduler_at(i);
        if (!named)
            offer(candidates, scheduler->name, scheduler->summary);
        else if (strlen(scheduler->name) == length && !strncmp(scheduler->name, candidates->word, length))
            offer_parameters(&rest, scheduler->parameters, scheduler->parameter_count);
    }
    if (!named)
        puts("@files");
}

/* The last of "os,emu:margin=": its name, or its parameters. */
static void offer_host_policies(const struct candidates *all)
{
    struct candidates last = behind_last(all, strchr(all->word, ':') ? "" : ","), *candidates = &last;
    size_t length = strcspn(candidates->word, ":");
    struct candidates rest = behind_last(candidates, ":,");
    for (size_t i = 0; corun_host_policy_at(i); i++) {
        const struct corun_host_policy *policy = corun_host_policy_at(i);
        if (!candidates->word[length])
            offer(candidates, policy->name, policy->summary);
        else if (strlen(policy->name) == length && !strncmp(policy->name, candidates->word, length))
            for (uint32_t p = 0; p < policy->parameter_count; p++)
                offer_parameter(&rest, policy->parameters[p].name, strlen(policy->parameters[p].name),
                                policy->parameters[p].meaning);
    }
}

/* "NAME", "NAME@SIZE" or "NAME@SIZE,PARAMETER=" as far as the word has come. */
static void offer_workload(const struct candidates *candidates, const struct corun_workload_info *info)
{
    size_t length = strcspn(candidates->word, "@");
    if (!candidates->word[length]) {
        offer(candidates, info->name, info->summary);
        return;
    }
    if (strlen(info->name) != length || strncmp(info->name, candidates->word, length) != 0)
        return;
    struct candidates rest = behind_last(candidates, "@,");
    if (strchr(candidates->word, ',')) {
        for (size_t i = 0; i < info->parameter_count; i++)
            offer_parameter(&rest, info->parameters[i], strlen(info->parameters[i]), NULL);
    } else {
        for (size_t i = 0; i < info->size_count; i++)
            offer(&rest, info->sizes[i], NULL);
    }
}

static void each_workload(const struct candidates *candidates,
                          void (*visit)(const struct candidates *candidates, const struct corun_workload_info *info))
{
    struct corun_workload_list *workloads = NULL;
    if (!candidates->has_data || corun_workload_list_create(candidates->data, NULL, &workloads) != CORUN_OK)
        return;
    for (size_t i = 0; i < corun_workload_list_count(workloads); i++)
        visit(candidates, corun_workload_list_get(workloads, i));
    corun_workload_list_destroy(workloads);
}

static void offer_workloads(const struct candidates *candidates)
{
    each_workload(candidates, offer_workload);
    if (!strchr(candidates->word, '@'))
        puts("@files");
}

static void offer_applications(const struct candidates *candidates)
{
    if (!strchr(candidates->word, ':')) {
        offer_workloads(candidates);
        return;
    }
    struct candidates rest = behind_last(candidates, ":");
    offer(&rest, "goal=", "90%, ipc=X, ms=Y or fps=Z");
    offer(&rest, "start=", "the cycle at which it arrives");
}

/* Those that nearly every workload has; others follow its name (NAME@). */
static void offer_sizes(const struct candidates *candidates)
{
    offer_choices(candidates, "small|medium|large");
}

static void offer_files(const struct candidates *candidates)
{
    (void)candidates;
    puts("@files");
}

static void offer_directories(const struct candidates *candidates)
{
    (void)candidates;
    puts("@directories");
}

/* The lines "  WORD - MEANING" below "NAME is one of" in the help text. */
static void offer_listed(const struct candidates *candidates, const char *name, size_t length)
{
    const char *heading = arena_format(candidates->arena, "%.*s is one of\n", (int)length, name);
    const char *line = heading && candidates->doc ? strstr(candidates->doc, heading) : NULL;
    line = line ? line + strlen(heading) : "";
    while (!strncmp(line, "  ", 2)) {
        size_t bytes = strcspn(line, "\n");
        char *word = arena_copy_text(candidates->arena, line + 2, bytes - 2);
        char *dash = word ? strstr(word, " - ") : NULL;
        if (dash) {
            *dash = 0;
            offer(candidates, word, dash + 3);
        }
        line += bytes + (line[bytes] == '\n');
    }
}

/* How many letters say of which kind the values of a placeholder are; *placeholder begins with them then. */
static size_t kind_length(const char **placeholder)
{
    *placeholder += **placeholder == '[';
    return strspn(*placeholder, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

/* `placeholder` begins with what a value is called: "GPU", "FILE[:FIRST-LAST]", "[EXPERIMENT]", "WORKLOAD[@SIZE]...". */
static void offer_values(const struct candidates *candidates, const char *placeholder)
{
    static const struct {
        const char *name;
        void (*offer)(const struct candidates *candidates);
    } sources[] = {
#define SOURCE_ROW(name, source) {#name, offer_##source},
        SOURCES(SOURCE_ROW)
#undef SOURCE_ROW
    };
    size_t length = kind_length(&placeholder);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (strlen(sources[i].name) == length && !strncmp(sources[i].name, placeholder, length)) {
            sources[i].offer(candidates);
            return;
        }
    }
    offer_listed(candidates, placeholder, length);
}

/* The place in a form of arguments ("SEARCH APPLICATION...") with that number (from 0); NULL if it has not as many. Cuts the form up. */
static const char *argument_at(char *form, uint32_t number)
{
    char *rest = NULL;
    const char *found = NULL;
    uint32_t place = 0;
    for (char *word = strtok_r(form, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (*word == '-')
            continue; /* an option, which is offered by itself */
        if (place++ == number || (place <= number && strstr(word, "...")))
            found = word;
    }
    return found;
}

/* The argument with that number in each of the forms of a command, which are separated by ends of lines; each kind once. */
static void offer_arguments(const struct candidates *candidates, const char *forms, uint32_t number)
{
    char *copy = arena_copy_text(candidates->arena, forms ? forms : "", forms ? strlen(forms) : 0), *rest = NULL;
    const char *before = "";
    for (char *form = copy ? strtok_r(copy, "\n", &rest) : NULL; form; form = strtok_r(NULL, "\n", &rest)) {
        const char *found = argument_at(form, number);
        size_t length = found ? kind_length(&found) : 0;
        if (length && strncmp(before, found, length) != 0)
            offer_values(candidates, found);
        before = length ? found : before;
    }
}

static void offer_options(const struct candidates *candidates, const struct argp_option *options, bool ends)
{
    for (const struct argp_option *option = options; option->name; option++) {
        const char *text = arena_format(candidates->arena, "--%s", option->name);
        if (text)
            offer(candidates, text, option->doc);
    }
    offer(candidates, "--help", "the options of this command");
    if (ends)
        offer(candidates, "--", "the program and its arguments follow");
}

/* What the words say before the last one. */
struct line {
    const struct argp_option *options, *waiting; /* waiting: the option whose value comes next, or NULL */
    uint32_t arguments;
    bool only_arguments; /* behind "--" */
};

/* By its whole name, of `length`; NULL if there is none. */
static const struct argp_option *option_named(const struct argp_option *options, const char *name, size_t length)
{
    for (; options->name; options++) {
        if (strlen(options->name) == length && !strncmp(options->name, name, length))
            return options;
    }
    return NULL;
}

/* The option of the last of these letters, if its value is the next word. */
static const struct argp_option *option_waiting(const struct argp_option *options, const char *letters)
{
    for (; *letters; letters++) {
        const struct argp_option *option = options;
        while (option->name && option->key != *letters)
            option++;
        if (option->name && option->arg)
            return letters[1] ? NULL : option;
    }
    return NULL;
}

static void read_word(struct line *line, const char *word, bool rest_is_not_ours)
{
    if (line->waiting) {
        line->waiting = NULL;
    } else if (line->only_arguments || word[0] != '-' || !word[1]) {
        line->arguments++;
        line->only_arguments |= rest_is_not_ours;
    } else if (!strcmp(word, "--")) {
        line->only_arguments = true;
    } else if (word[1] != '-') {
        line->waiting = option_waiting(line->options, word + 1);
    } else if (!strchr(word, '=')) {
        const struct argp_option *option = option_named(line->options, word + 2, strlen(word + 2));
        line->waiting = option && option->arg ? option : NULL;
    }
}

static void offer_last(const struct candidates *candidates, const struct line *line, const struct argp *argp,
                       bool rest_is_not_ours)
{
    const char *word = candidates->word;
    size_t length = strcspn(word, "=");
    if (line->waiting) {
        offer_values(candidates, line->waiting->arg);
    } else if (!line->only_arguments && word[0] == '-' && word[length]) {
        const struct argp_option *option = length > 2 ? option_named(line->options, word + 2, length - 2) : NULL;
        struct candidates value = behind(candidates, length + 1);
        if (option && option->arg)
            offer_values(&value, option->arg);
    } else if (!line->only_arguments && word[0] == '-') {
        offer_options(candidates, line->options, rest_is_not_ours);
    } else if (rest_is_not_ours) {
        puts(line->arguments ? "@files" : "@programs");
    } else {
        offer_arguments(candidates, argp->args_doc, line->arguments);
    }
}

int candidates_print(const struct argp *argp, bool rest_is_not_ours, int count, char **words)
{
    static const struct argp_option none[] = {{0}};
    struct line line = {.options = argp->options ? argp->options : none};
    struct candidates candidates = {.arena = arena_create(), .before = "", .doc = argp->doc};
    if (candidates.arena && count > 0) {
        candidates.has_data = corun_data_directory(candidates.data, sizeof candidates.data, NULL) == CORUN_OK;
        candidates.word = words[count - 1];
        for (int i = 0; i + 1 < count; i++)
            read_word(&line, words[i], rest_is_not_ours);
        offer_last(&candidates, &line, argp, rest_is_not_ours);
    }
    arena_destroy(candidates.arena);
    return 0;
}

static void offer_commands(const char *word)
{
    struct candidates candidates = {.before = "", .word = word};
#define OFFER_COMMAND(name, summary) offer(&candidates, #name, summary);
    CORUN_COMMANDS(OFFER_COMMAND)
#undef OFFER_COMMAND
}

static bool is_command(const char *word)
{
    static const char *const names[] = {
#define COMMAND_NAME(name, summary) #name,
        CORUN_COMMANDS(COMMAND_NAME)
#undef COMMAND_NAME
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(word, names[i]))
            return true;
    }
    return false;
}

int candidates_of_line(int count, char **words)
{
    int status = 0;
    if (count < 1)
        return 0;
    if (count == 1 || (count == 2 && !strcmp(words[0], "help"))) {
        offer_commands(words[count - 1]);
    } else if (strcmp(words[0], "help") != 0 && is_command(words[0])) {
        char wanted[] = CANDIDATES_WANTED, **arguments = calloc((size_t)count + 2, sizeof *arguments);
        if (arguments) {
            arguments[1] = wanted;
            memcpy(arguments + 2, words + 1, (size_t)(count - 1) * sizeof *arguments);
            status = command_dispatch(words[0], count + 1, arguments);
        }
        free(arguments);
    }
    return status;
}
