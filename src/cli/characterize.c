/* SPDX-License-Identifier: MIT */
/* corun characterize: what limits workloads, by their speed over SMs and clocks. */
#include "cli/command.h"

#include "corun/case.h"
#include "corun/characterize.h"
#include "report/characterization.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_CYCLES 200000u
#define DEFAULT_SIZE "medium"

enum {
    KEY_GPU = 'g',
    KEY_CYCLES = 'c',
    KEY_JSON = 'j',
    KEY_QUIET = 'q',
    KEY_ALL = 'a',
    KEY_MARKDOWN = 'm',
    KEY_SIZE = 0x100,
    KEY_SEED,
    KEY_JOBS,
    KEY_WATCHDOG
};

static const struct argp_option options[] = {
    {"all", KEY_ALL, NULL, 0, "every workload of the suite", 1},
    {"size", KEY_SIZE, "SIZE", 0, "of the workloads of --all; those without it run in their usual one [medium]", 1},
    {"gpu", KEY_GPU, "GPU", 0, "a name (see `corun list gpus`) or a YAML file, with overrides [gtx980]", 1},
    {"cycles", KEY_CYCLES, "N", 0, "the window on the GPU as configured; everywhere else the same work is done [200K]",
     2},
    {"seed", KEY_SEED, "N", 0, "of the workloads' data [1]", 2},
    {"watchdog", KEY_WATCHDOG, "N", 0, "a workload is given up after N cycles without progress [5M]", 2},
    {"markdown", KEY_MARKDOWN, "FILE", 0, "write the tables as a Markdown page; - is standard output", 3},
    {"json", KEY_JSON, "FILE", 0, "write the results as JSON; - is standard output", 3},
    {"quiet", KEY_QUIET, NULL, 0, "no tables and no progress line", 3},
    {"jobs", KEY_JOBS, "N", 0, "runs that are simulated side by side [as many as there are processors]", 4},
    CACHE_OPTIONS(4),
    {0},
};

static const char doc[] =
    "Runs each workload alone over numbers of SMs, memory clocks and interconnect clocks, and tells what limits it: "
    "the speed-up curves, the class (compute, memory or problem-size) with the exponents that gave it, its kernels and "
    "what limits their occupancy, its work by formula, and what the papers say of it.\n\n"
    "On the GPU as configured a workload runs for a window; at every other point until it has done the same work.\v"
    "WORKLOAD is a name (see `corun list workloads`) or the path of a launch description or a captured program, or "
    "trace:FOLDER; SIZE, "
    "PARAMETER and VALUE "
    "are as for `corun run`.\n\nA run that was interrupted resumes where it was: every finished point is in the cache.";

/* The files that it writes. */
enum { CHARACTERIZE_JSON, CHARACTERIZE_MARKDOWN, CHARACTERIZE_OUTPUTS };

struct characterize_options {
    struct command command;
    const char *gpu, *size;
    struct output outputs[CHARACTERIZE_OUTPUTS];
    struct cache_options cache;
    bool quiet, all;
    const char **names;
    size_t name_count;
    struct corun_gpu_config config;
    struct corun_workload **workloads;
    size_t workload_count;
    struct corun_characterize_request request;
    char data[PATH_BYTES];
    struct progress *progress;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct characterize_options *characterize = state->input;
    struct corun_characterize_request *request = &characterize->request;
    switch (key) {
    case KEY_ALL:
        characterize->all = true;
        break;
    case KEY_SIZE:
        characterize->size = value;
        break;
    case KEY_GPU:
        characterize->gpu = value;
        break;
    case KEY_CYCLES:
        command_number(&characterize->command, "--cycles", value, 1000, 1, INT64_MAX, &request->cycles);
        break;
    case KEY_SEED:
        command_number(&characterize->command, "--seed", value, 1000, 0, UINT64_MAX, &request->seed);
        break;
    case KEY_WATCHDOG:
        command_number(&characterize->command, "--watchdog", value, 1000, 1, INT64_MAX, &request->watchdog_cycles);
        break;
    case KEY_JOBS:
        command_count(&characterize->command, "--jobs", value, 1000, &request->jobs);
        break;
    case KEY_JSON:
        characterize->outputs[CHARACTERIZE_JSON].path = value;
        break;
    case KEY_MARKDOWN:
        characterize->outputs[CHARACTERIZE_MARKDOWN].path = value;
        break;
    case KEY_QUIET:
        characterize->quiet = true;
        break;
    case ARGP_KEY_ARGS:
        characterize->names = (const char **)state->argv + state->next;
        characterize->name_count = (size_t)(state->argc - state->next);
        break;
    case ARGP_KEY_END:
        if (characterize->all == (characterize->name_count > 0))
            argp_error(state, "give the names of workloads, or --all");
        if (characterize->size && !characterize->all)
            argp_error(state, "--size goes with --all; a workload has its size after an @");
        break;
    default:
        return cache_option(key, value, state, &characterize->cache);
    }
    return 0;
}

static bool has_size(const struct corun_workload_info *info, const char *size)
{
    for (size_t i = 0; i < info->size_count; i++) {
        if (!strcmp(info->sizes[i], size))
            return true;
    }
    return false;
}

/* The specifications of --all. */
static enum corun_status name_all(struct characterize_options *characterize, struct corun_workload_list **workloads)
{
    enum corun_status status = corun_workload_list_create(characterize->data, characterize->command.list, workloads);
    if (status != CORUN_OK)
        return status;
    const char *size = characterize->size ? characterize->size : DEFAULT_SIZE;
    characterize->name_count = corun_workload_list_count(*workloads);
    characterize->names = ARENA_ARRAY(characterize->command.arena, const char *, characterize->name_count + 1);
    if (!characterize->names)
        return CORUN_MEMORY;
    size_t with_size = 0, count = characterize->name_count;
    characterize->name_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct corun_workload_info *info = corun_workload_list_get(*workloads, i);
        if (info->architecture > characterize->config.compute_capability)
            continue;
        bool has = has_size(info, size);
        with_size += has;
        const char *name = has ? arena_format(characterize->command.arena, "%s@%s", info->name, size) : info->name;
        if (!name)
            return CORUN_MEMORY;
        characterize->names[characterize->name_count++] = name;
    }
    if (characterize->size && !with_size)
        return corun_report(characterize->command.list, CORUN_NOT_FOUND, CORUN_NOWHERE, "no workload has a size '%s'",
                            size);
    return CORUN_OK;
}

static enum corun_status load_workloads(struct characterize_options *characterize)
{
    struct corun_workload_list *suite = NULL;
    enum corun_status status = characterize->all ? name_all(characterize, &suite) : CORUN_OK;
    if (status == CORUN_OK)
        characterize->workloads =
            ARENA_ARRAY(characterize->command.arena, struct corun_workload *, characterize->name_count + 1);
    if (status == CORUN_OK && !characterize->workloads)
        status = CORUN_MEMORY;
    for (size_t i = 0; i < characterize->name_count && status == CORUN_OK; i++) {
        status = corun_workload_assemble(characterize->names[i], characterize->data, characterize->config.machine_code,
                                         characterize->command.list, &characterize->workloads[i]);
        characterize->workload_count += status == CORUN_OK;
        if (status == CORUN_OK)
            status =
                corun_workload_check_gpu(characterize->workloads[i], &characterize->config, characterize->command.list);
    }
    if (suite)
        corun_workload_list_destroy(suite);
    return status;
}

static bool show_progress(void *user, const struct corun_characterize_progress *progress)
{
    struct characterize_options *characterize = user;
    return progress_step(characterize->progress, "%.40s: %u of %u runs", progress->workload, progress->done,
                         progress->total);
}

/* The command line that makes the page again. */
static const char *page_command(const struct characterize_options *characterize)
{
    const char *text = arena_format(characterize->command.arena, "corun characterize --gpu %s --cycles %llu",
                                    characterize->gpu, (unsigned long long)characterize->request.cycles);
    if (characterize->all && text)
        text = arena_format(characterize->command.arena, "%s --all --size %s", text,
                            characterize->size ? characterize->size : DEFAULT_SIZE);
    for (size_t i = 0; !characterize->all && i < characterize->name_count && text; i++)
        text = arena_format(characterize->command.arena, "%s %s", text, characterize->names[i]);
    return text ? arena_format(characterize->command.arena, "%s --markdown %s", text,
                               characterize->outputs[CHARACTERIZE_MARKDOWN].path)
                : NULL;
}

static enum corun_status report(struct characterize_options *characterize,
                                const struct corun_characterize_result *result)
{
    FILE *json = characterize->outputs[CHARACTERIZE_JSON].file;
    FILE *markdown = characterize->outputs[CHARACTERIZE_MARKDOWN].file;
    enum corun_status status = CORUN_OK;
    struct report_style style = output_style(stdout);
    const char *command = markdown ? page_command(characterize) : NULL;
    if (!characterize->quiet && json != stdout && markdown != stdout)
        status = characterization_print(result, &style, stdout) ? CORUN_OK : CORUN_MEMORY;
    if (markdown && status == CORUN_OK)
        status = command && characterization_page(result, command, markdown) ? CORUN_OK : CORUN_MEMORY;
    if (json && status == CORUN_OK)
        status = characterization_json(result, json);
    return status;
}

static enum corun_status measure(struct characterize_options *characterize, struct corun_characterize_result **result)
{
    struct corun_diagnostics *list = characterize->command.list;
    enum corun_status status = outputs_spare(characterize->outputs, CHARACTERIZE_OUTPUTS, characterize->gpu, list);
    for (size_t i = 0; i < characterize->name_count && status == CORUN_OK; i++)
        status = outputs_spare(characterize->outputs, CHARACTERIZE_OUTPUTS, characterize->names[i], list);
    if (status == CORUN_OK)
        status = outputs_open(characterize->outputs, CHARACTERIZE_OUTPUTS, list);
    if (status != CORUN_OK)
        return status;
    characterize->progress = progress_begin(characterize->quiet);
    status = corun_characterize(&characterize->request, list, result);
    progress_end(characterize->progress);
    if (status == CORUN_OK)
        status = report(characterize, *result);
    return outputs_close(characterize->outputs, CHARACTERIZE_OUTPUTS, status, list);
}

/* The first workload that could not be run, where the characterisation itself went well. */
static enum corun_status status_of(const struct characterize_options *characterize,
                                   const struct corun_characterize_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        if (result->items[i].status != CORUN_OK) {
            struct corun_workload_info info;
            corun_workload_describe(result->items[i].workload, &info);
            return corun_report(characterize->command.list, result->items[i].status, CORUN_NOWHERE, "%s@%s: %s",
                                info.name, info.size, result->items[i].message);
        }
    }
    return CORUN_OK;
}

static enum corun_status run_characterize(void *user)
{
    struct characterize_options *characterize = user;
    struct corun_characterize_request *request = &characterize->request;
    struct corun_diagnostics *list = characterize->command.list;
    struct corun_characterize_result *result = NULL;
    enum corun_status status = corun_data_directory(characterize->data, sizeof characterize->data, list);
    if (status == CORUN_OK)
        status = corun_gpu_config_load(characterize->gpu, characterize->data, list, &characterize->config);
    if (status == CORUN_OK)
        status = load_workloads(characterize);
    request->gpu = &characterize->config;
    request->workloads = characterize->workloads;
    request->workload_count = characterize->workload_count;
    request->cache_directory = cache_folder(&characterize->cache);
    request->progress = show_progress;
    request->progress_user = characterize;
    if (status == CORUN_OK)
        status = measure(characterize, &result);
    if (result && result->interrupted)
        characterize->command.exit_status = EXIT_INTERRUPTED;
    if (result && status == CORUN_OK)
        status = status_of(characterize, result);
    corun_characterize_result_destroy(result);
    for (size_t i = 0; i < characterize->workload_count; i++)
        corun_workload_destroy(characterize->workloads[i]);
    return status;
}

int command_characterize(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "WORKLOAD[@SIZE[,PARAMETER=VALUE,...]]...\n--all",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct characterize_options characterize = {.gpu = DEFAULT_GPU,
                                                .outputs = {{.option = "--json"}, {.option = "--markdown"}},
                                                .request = {.cycles = DEFAULT_CYCLES, .seed = 1}};
    return command_perform(&characterize.command, &argp, argc, argv, run_characterize, &characterize);
}
