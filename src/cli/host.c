/* SPDX-License-Identifier: MIT */
/* corun host: its commands, and the options that they share. */
#include "cli/host.h"

#include "base/duration.h"
#include "base/number.h"
#include "cli/candidates.h"
#include "corun/workload.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
#define HOST_COMMAND_ROW(name, summary) {#name, host_command_##name},
    CORUN_HOST_COMMANDS(HOST_COMMAND_ROW)
#undef HOST_COMMAND_ROW
};
#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static const char doc[] =
    "Services with deadlines and batch programs on one multicore server: cores and ways of the last-level cache "
    "for each query, the rest for batch (docs/host.md).\vCOMMAND is one of\n"
#define HOST_COMMAND_DOC(name, summary) "  " #name " - " summary "\n"
    CORUN_HOST_COMMANDS(HOST_COMMAND_DOC)
#undef HOST_COMMAND_DOC
        "\n`corun host COMMAND --help` has the options of each.";

struct wanted {
    struct command command;
    const char *name;
};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's type */
static error_t parse_name(int key, char *value, struct argp_state *state)
{
    struct wanted *wanted = state->input;
    if (key == ARGP_KEY_ARG && !wanted->name) {
        wanted->name = value;
        return 0;
    }
    if (key == ARGP_KEY_END && !wanted->name)
        argp_error(state, "which COMMAND?");
    return ARGP_ERR_UNKNOWN;
}

/* Only names that are none come here: the others have been called already. */
static enum corun_status report_unknown(void *user)
{
    struct wanted *wanted = user;
    const char *names[COMMAND_COUNT];
    char hint[128];
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    return corun_report(wanted->command.list, CORUN_USAGE, CORUN_NOWHERE, "there is no command `host %.64s`; %s",
                        wanted->name,
                        command_hint(wanted->name, names, COMMAND_COUNT, "see `corun host --help`", hint, sizeof hint));
}

int command_host(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse_name, .args_doc = "COMMAND [OPTION...]", .doc = doc, .help_filter = command_help_filter};
    struct wanted wanted = {.command = {.rest_is_not_ours = true}};
    /* For completion, the name stands behind the word that asks for it: the two change places. */
    bool candidates = argc > 3 && !strcmp(argv[1], CANDIDATES_WANTED);
    int at = candidates ? 2 : 1;
    for (size_t i = 0; argc > at && i < COMMAND_COUNT; i++) {
        if (strcmp(argv[at], commands[i].name) != 0)
            continue;
        char title[64];
        snprintf(title, sizeof title, "corun host %s", commands[i].name);
        if (candidates)
            argv[2] = argv[1];
        argv[1] = title;
        return commands[i].run(argc - 1, argv + 1);
    }
    wanted.command.rest_is_not_ours = !(argc > 1 && !strcmp(argv[1], CANDIDATES_WANTED));
    return command_perform(&wanted.command, &argp, argc, argv, report_unknown, &wanted);
}

void host_options_begin(struct host_options *options)
{
    *options = (struct host_options){.outputs = {{.option = "--json"}, {.option = "--timeline"}},
                                     .host = DEFAULT_HOST,
                                     .goal_ns = 150000000,
                                     .interval_ns = 20000000,
                                     .seed = 1,
                                     .load = 0.3,
                                     .queries = 1000,
                                     .instances = 8};
}

bool host_parse_time(const char *text, uint64_t *ns)
{
    struct simulated_duration duration;
    if (!simulated_duration_parse(text, &duration) || duration.nanoseconds < 1)
        return false;
    *ns = (uint64_t)duration.nanoseconds;
    return true;
}

static void keep_time(struct host_options *options, const char *option, const char *value, uint64_t *ns)
{
    if (!host_parse_time(value, ns))
        command_keep(&options->command, corun_report(options->command.list, CORUN_USAGE, CORUN_NOWHERE,
                                                     "%s: `%.64s` is no time, such as 20ms", option, value));
}

static bool parse_load(const char *text, double *load)
{
    return number_parse_real(text, load) && *load > 0 && *load <= 100;
}

error_t host_option(int key, char *value, struct argp_state *state, struct host_options *options)
{
    struct command *command = &options->command;
    bool service = key == KEY_SERVICE;
    switch (key) {
    case KEY_HOST:
        options->host = value;
        break;
    case KEY_POLICY:
        if (options->policy_count == HOST_MOST_POLICIES)
            argp_error(state, "more than %u policies", HOST_MOST_POLICIES);
        options->policies[options->policy_count++] = value;
        break;
    case KEY_SERVICE:
    case KEY_BATCH:
        if ((service ? options->service_count : options->batch_count) == HOST_MOST_TENANTS)
            argp_error(state, "more than %u", HOST_MOST_TENANTS);
        *(service ? &options->services[options->service_count++] : &options->batches[options->batch_count++]) = value;
        break;
    case KEY_GOAL:
        keep_time(options, "--goal", value, &options->goal_ns);
        break;
    case KEY_INTERVAL:
        keep_time(options, "--interval", value, &options->interval_ns);
        break;
    case KEY_LOAD:
        if (!parse_load(value, &options->load))
            command_keep(command, corun_report(command->list, CORUN_USAGE, CORUN_NOWHERE,
                                               "--load: `%.64s` is no fraction, such as 0.3", value));
        break;
    case KEY_QUERIES:
        command_count(command, "--queries", value, 10000000, &options->queries);
        break;
    case KEY_INSTANCES:
        command_count(command, "--instances", value, 1024, &options->instances);
        break;
    case KEY_SEED:
        command_number(command, "--seed", value, 1000, 0, UINT64_MAX, &options->seed);
        break;
    case KEY_JOBS:
        command_count(command, "--jobs", value, 64, &options->jobs);
        break;
    case KEY_HOST_JSON:
        options->outputs[0].path = value;
        break;
    case KEY_TIMELINE:
        options->outputs[1].path = value;
        break;
    case KEY_HOST_QUIET:
        options->quiet = true;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

enum corun_status host_load(struct host_options *options)
{
    enum corun_status status =
        corun_data_directory(options->data_room, sizeof options->data_room, options->command.list);
    options->data = options->data_room;
    return status ? status : host_machine_load(options->host, options->data, options->command.list, &options->machine);
}

/* One policy with its words. */
static enum corun_status add_policy(struct host_options *options, struct host_policies *policies, const char *words)
{
    struct host_setting *setting = &policies->settings[policies->count];
    if (policies->count == HOST_MOST_POLICIES)
        return corun_report(options->command.list, CORUN_USAGE, CORUN_NOWHERE, "--policy: more than %u policies",
                            HOST_MOST_POLICIES);
    *setting =
        (struct host_setting){.machine = &options->machine, .interval_ns = options->interval_ns, .seed = options->seed};
    policies->words[policies->count++] = words;
    return host_policy_parse(words, corun_host_policy_at, options->command.list, setting);
}

enum corun_status host_add_policies(struct host_options *options, const char *text, struct host_policies *policies)
{
    char *rest = arena_copy_text(options->command.arena, text, strlen(text));
    const char *words = NULL;
    enum corun_status status = CORUN_OK;
    if (!rest)
        return CORUN_MEMORY;
    for (char *word; !status && (word = strsep(&rest, ","));) {
        bool more = words && strchr(word, '=') && !strchr(word, ':');
        if (words && !more)
            status = add_policy(options, policies, words);
        words = more ? arena_format(options->command.arena, "%s,%s", words, word) : word;
        if (!words)
            return CORUN_MEMORY;
    }
    return status ? status : add_policy(options, policies, words);
}

enum corun_status host_load_policies(struct host_options *options, struct host_policies *policies)
{
    enum corun_status status =
        options->policy_count ? CORUN_OK : host_add_policies(options, "os,static-opt,emu", policies);
    for (uint32_t i = 0; i < options->policy_count && !status; i++)
        status = host_add_policies(options, options->policies[i], policies);
    return status;
}

/* A tenant's own values, and whose they are. */
struct own {
    const char *name;
    uint64_t goal_ns;
    double load;
    uint64_t queries, instances;
};

/* NAME[:key=value,...] of --service or --batch. */
static enum corun_status read_own(struct host_options *options, const char *words, bool service, struct own *own)
{
    char *rest = arena_copy_text(options->command.arena, words, strlen(words));
    if (!rest)
        return CORUN_MEMORY;
    own->name = strsep(&rest, ":");
    for (char *word; (word = strsep(&rest, ","));) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = 0;
        bool read = value && ((service && !strcmp(word, "goal") && host_parse_time(value, &own->goal_ns)) ||
                              (service && !strcmp(word, "load") && parse_load(value, &own->load)) ||
                              (service && !strcmp(word, "queries") && number_parse(value, 1000, &own->queries) &&
                               own->queries > 0 && own->queries <= 10000000) ||
                              (!service && !strcmp(word, "instances") && number_parse(value, 1000, &own->instances) &&
                               own->instances <= 1024));
        if (!read)
            return corun_report(options->command.list, CORUN_USAGE, CORUN_NOWHERE,
                                "'%.64s': %.32s is not among %s, or its value is none", words, word,
                                service ? "goal=TIME, load=FRACTION, queries=N" : "instances=N");
    }
    return CORUN_OK;
}

static enum corun_status know(struct host_options *options, const char *name, enum corun_host_kind kind,
                              struct host_known **known)
{
    struct command *command = &options->command;
    struct host_application *application;
    *known = ARENA_NEW(command->arena, struct host_known);
    if (!*known)
        return CORUN_MEMORY;
    enum corun_status status = host_application_load(name, options->data, command->list, &application);
    if (status)
        return status;
    if (application->kind != kind)
        status =
            corun_report(command->list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s is %s", application->name,
                         kind == CORUN_HOST_SERVICE ? "a batch program, no service" : "a service, no batch program");
    if (status == CORUN_OK)
        status = host_know(&options->machine, application, options->seed, command->arena, command->list, *known);
    if (status)
        host_application_destroy(application);
    return status;
}

static int is_yaml(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 5 && !strcmp(entry->d_name + length - 5, ".yaml");
}

/* The names of all descriptions of a kind, where the command line names none. */
static enum corun_status list_all(struct host_options *options, enum corun_host_kind kind, const char **names,
                                  uint32_t *count)
{
    struct command *command = &options->command;
    struct dirent **entries = NULL;
    const char *folder = arena_format(command->arena, "%s/host/applications", options->data);
    int found = folder ? scandir(folder, &entries, is_yaml, alphasort) : -1;
    enum corun_status status = CORUN_OK;
    for (int i = 0; i < found && !status && *count < HOST_MOST_TENANTS; i++) {
        struct host_application *application;
        const char *name = arena_copy_text(command->arena, entries[i]->d_name, strlen(entries[i]->d_name) - 5);
        status = name ? host_application_load(name, options->data, command->list, &application) : CORUN_MEMORY;
        if (status)
            break;
        if (application->kind == kind)
            names[(*count)++] = name;
        host_application_destroy(application);
    }
    for (int i = 0; i < found; i++)
        free(entries[i]);
    free(entries);
    if (!status && !*count)
        status = corun_report(command->list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                              "there is no description of a %s in %s; name one with %s",
                              kind == CORUN_HOST_SERVICE ? "service" : "batch program", folder ? folder : "the data",
                              kind == CORUN_HOST_SERVICE ? "--service" : "--batch");
    return status;
}

enum corun_status host_load_services(struct host_options *options, struct host_service_setting *services,
                                     uint32_t *count)
{
    enum corun_status status = CORUN_OK;
    if (!options->service_count)
        status = list_all(options, CORUN_HOST_SERVICE, options->services, &options->service_count);
    *count = 0;
    while (!status && *count < options->service_count) {
        struct own own = {.goal_ns = options->goal_ns, .load = options->load, .queries = options->queries};
        struct host_known *known = NULL;
        status = read_own(options, options->services[*count], true, &own);
        if (!status)
            status = know(options, own.name, CORUN_HOST_SERVICE, &known);
        if (!status)
            services[(*count)++] = (struct host_service_setting){known, own.goal_ns, own.load, (uint32_t)own.queries};
    }
    return status;
}

enum corun_status host_load_batches(struct host_options *options, struct host_batch_setting *batches, uint32_t *count)
{
    enum corun_status status = CORUN_OK;
    if (!options->batch_count)
        status = list_all(options, CORUN_HOST_BATCH, options->batches, &options->batch_count);
    *count = 0;
    while (!status && *count < options->batch_count) {
        struct own own = {.instances = options->instances};
        struct host_known *known = NULL;
        status = read_own(options, options->batches[*count], false, &own);
        if (!status)
            status = know(options, own.name, CORUN_HOST_BATCH, &known);
        if (!status)
            batches[(*count)++] = (struct host_batch_setting){known, (uint32_t)own.instances};
    }
    return status;
}

void host_unload(const struct host_service_setting *services, uint32_t service_count,
                 const struct host_batch_setting *batches, uint32_t batch_count)
{
    for (uint32_t s = 0; s < service_count; s++) {
        host_application_destroy((struct host_application *)services[s].known->application);
        host_forget((struct host_known *)services[s].known);
    }
    for (uint32_t b = 0; b < batch_count; b++)
        host_application_destroy((struct host_application *)batches[b].known->application);
}
