/* SPDX-License-Identifier: MIT */
/*
 * Figures and tables of papers again: runs the campaigns of an experiment (docs/experiments.md), then has its numbers
 * compared.
 */
#include "cli/command.h"
#include "cli/python.h"

#include "base/duration.h"
#include "campaign/campaign_file.h"
#include "case/run.h"
#include "case/specification.h"
#include "corun/workload.h"
#include "report/json.h"
#include "reproduce/experiment_json.h"
#include "reproduce/reproduction.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAME_BYTES 256u

enum {
    KEY_RESULTS = 'r',
    KEY_QUIET = 'q',
    KEY_LIST = 'l',
    KEY_JOBS = 'j',
    KEY_ALL = 'a',
    KEY_SAMPLE = 0x100,
    KEY_CYCLES,
    KEY_FULL,
    KEY_BUDGET,
    KEY_HTML,
    KEY_MARKDOWN,
    KEY_RETRY,
    KEY_NO_RUN,
    KEY_CONFIRM,
    KEY_SETTLE
};

static const struct argp_option options[] = {
    {"list", KEY_LIST, NULL, 0, "lists the experiments and what each needs, and runs none", 1},
    {"all", KEY_ALL, NULL, 0, "every experiment whose policies there are, instead of EXPERIMENT", 1},
    {"sample", KEY_SAMPLE, "N", 0,
     "so many combinations of mixes and goals in each part; a larger sample contains a smaller one [as the "
     "experiment says]",
     2},
    {"cycles", KEY_CYCLES, "N", 0, "the window [as the experiment says]", 2},
    {"settle", KEY_SETTLE, "PART", 0,
     "each case ends before its window does, when its speeds over the whole window are known to PART of them, as 1%, "
     "and whether goals are met (docs/settling.md)",
     2},
    {"full", KEY_FULL, NULL, 0, "everything, in the window of the paper", 2},
    {"budget", KEY_BUDGET, "TIME", 0, "samples that fit a time like 90s, 30m or 1h, for all experiments together", 2},
    {"jobs", KEY_JOBS, "N", 0, "worker processes [as many as there are processors]", 3},
    {"retry", KEY_RETRY, NULL, 0, "also cases that failed for a reason of their own", 3},
    {"no-run", KEY_NO_RUN, NULL, 0, "runs nothing: compares what is in the results file", 3},
    {"results", KEY_RESULTS, "FILE", 0,
     "the results file, created when it does not exist [" DEFAULT_REPRODUCE_RESULTS "]", 4},
    {"html", KEY_HTML, "FILE", 0, "writes a page with figures; with --all, FOLDER/EXPERIMENT.html", 4},
    {"markdown", KEY_MARKDOWN, "FILE", 0, "writes the comparison as Markdown; with --all, FOLDER/EXPERIMENT.md", 4},
    {"confirm", KEY_CONFIRM, "PAGE", 0,
     "runs the cases that PAGE, of --markdown, has a digest of, and writes there whether this version of the timing "
     "model gives the same digits",
     4},
    {"quiet", KEY_QUIET, NULL, 0, "no progress line and no tables", 5},
    CHECKPOINT_OPTIONS(3),
    CACHE_OPTIONS(6),
    REPLAY_OPTION(6),
    {0},
};

static const char doc[] = "Runs what a figure or a table of a paper needs and compares: the paper's number, ours, with "
                          "which sample and window, whether the sign is the same, and how large the effect is beside "
                          "the paper's. EXPERIMENT is one of --list or a YAML file (docs/experiments.md). Whatever "
                          "ends the command, starting it again runs the cases that are missing.\v"
                          "It runs python3, or what the environment variable CORUN_PYTHON names, with numpy, and with "
                          "matplotlib for the page.";

/* The files that it writes, or with --all their folders. */
enum { REPRODUCE_HTML, REPRODUCE_MARKDOWN, REPRODUCE_OUTPUTS };

struct reproduce_options {
    struct command command;
    const char *name, *confirm; /* confirm: the page, or NULL */
    struct output outputs[REPRODUCE_OUTPUTS];
    struct cache_options cache;
    struct checkpoint_options checkpoints;
    bool quiet, only_list, all, full, no_run;
    uint64_t sample, cycles; /* 0: as the experiment says */
    uint32_t settle;         /* likewise */
    double budget;           /* seconds; 0: none */
    struct corun_campaign_run_request run;
    struct progress *progress;
    uint32_t runnable; /* with --all: experiments that are still to be run */
    double until;      /* with --all and --budget, on run_clock() */
    char data[PATH_BYTES], program[PATH_MAX];
};

static error_t check_options(struct reproduce_options *reproduce, struct argp_state *state)
{
    bool one = reproduce->name != NULL;
    if (!one && !reproduce->only_list && !reproduce->all)
        argp_error(state, "which experiment? see --list");
    if (one && (reproduce->all || reproduce->only_list))
        argp_error(state, "--%s is not together with an experiment", reproduce->all ? "all" : "list");
    if (reproduce->full && (reproduce->sample || reproduce->cycles || reproduce->budget > 0))
        argp_error(state, "--full is everything: not together with --sample, --cycles or --budget");
    if (reproduce->confirm && (!one || reproduce->full || reproduce->sample || reproduce->budget > 0))
        argp_error(state,
                   "--confirm is of one experiment and runs the cases that the page has a digest of: not together "
                   "with --all, --full, --sample or --budget");
    return 0;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct reproduce_options *reproduce = state->input;
    switch (key) {
    case KEY_LIST:
        reproduce->only_list = true;
        break;
    case KEY_ALL:
        reproduce->all = true;
        break;
    case KEY_SAMPLE:
        command_number(&reproduce->command, "--sample", value, 1000, 1, 1000000, &reproduce->sample);
        break;
    case KEY_CYCLES:
        command_number(&reproduce->command, "--cycles", value, 1000, 1000, INT64_MAX, &reproduce->cycles);
        break;
    case KEY_SETTLE:
        if (!specify_part(value, &reproduce->settle))
            argp_error(state, "--settle is %s, not `%s`", SPECIFY_PART_WORDS, value);
        break;
    case KEY_FULL:
        reproduce->full = true;
        break;
    case KEY_BUDGET:
        if (!duration_parse(value, &reproduce->budget))
            argp_error(state, "--budget is a time like 90s, 30m or 1h, not `%s`", value);
        break;
    case KEY_JOBS:
        command_count(&reproduce->command, "--jobs", value, CORUN_CAMPAIGN_MAX_JOBS, &reproduce->run.jobs);
        break;
    case KEY_RETRY:
        reproduce->run.retry = true;
        break;
    case KEY_NO_RUN:
        reproduce->no_run = true;
        break;
    case KEY_RESULTS:
        reproduce->run.results = command_name("--results", value, state);
        break;
    case KEY_HTML:
        reproduce->outputs[REPRODUCE_HTML].path = value;
        break;
    case KEY_MARKDOWN:
        reproduce->outputs[REPRODUCE_MARKDOWN].path = value;
        break;
    case KEY_CONFIRM:
        reproduce->confirm = command_name("--confirm", value, state);
        break;
    case KEY_QUIET:
        reproduce->quiet = true;
        break;
    case ARGP_KEY_ARG:
        if (state->arg_num)
            argp_error(state, "one experiment is expected, not also `%s`", value);
        reproduce->name = value;
        break;
    case ARGP_KEY_END:
        checkpoint_option(key, value, state, &reproduce->checkpoints);
        return check_options(reproduce, state);
    default:
        if (cache_option(key, value, state, &reproduce->cache))
            return checkpoint_option(key, value, state, &reproduce->checkpoints);
        break;
    }
    return 0;
}

/* The file of an experiment by its name, or the path that it is already. */
static void find_file(const struct reproduce_options *reproduce, const char *name, char *path, size_t bytes)
{
    size_t length = strlen(name);
    bool is_path = strchr(name, '/') || (length > 5 && !strcmp(name + length - 5, ".yaml"));
    if (is_path)
        snprintf(path, bytes, "%s", name);
    else
        snprintf(path, bytes, "%s/experiments/%s.yaml", reproduce->data, name);
}

static int is_experiment(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 5 && !strcmp(entry->d_name + length - 5, ".yaml");
}

/*
 * Calls `take` with the path of each experiment there is; the first status that is not OK is the result, after all of
 * them.
 */
static enum corun_status each_experiment(struct reproduce_options *reproduce,
                                         enum corun_status (*take)(struct reproduce_options *reproduce,
                                                                   const char *path))
{
    char folder[PATH_BYTES + 16], path[PATH_BYTES + NAME_BYTES + 16];
    struct dirent **entries;
    snprintf(folder, sizeof folder, "%s/experiments", reproduce->data);
    int count = scandir(folder, &entries, is_experiment, versionsort);
    if (count < 0)
        return corun_report(reproduce->command.list, CORUN_NOT_FOUND, (struct corun_place){folder, 0, 0},
                            "the experiments of corun are not there: %s", strerror(errno));
    enum corun_status first = CORUN_OK;
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        enum corun_status status = take(reproduce, path);
        first = first ? first : status;
        free(entries[i]);
    }
    free(entries);
    return first;
}

/* Asked for by the description, but there already as an isolated run. */
static bool is_isolated_again(const struct corun_campaign_case *item)
{
    return !item->command && !item->isolated && item->application_count == 1 &&
           !strcmp(item->policy, CORUN_NO_POLICY) && !strstr(item->applications[0], ":goal=");
}

static void destroy_campaigns(struct corun_campaign **campaigns)
{
    for (uint32_t part = 0; part < EXPERIMENT_PARTS_MAX; part++) {
        corun_campaign_destroy(campaigns[part]);
        campaigns[part] = NULL;
    }
}

/* Of each part of an experiment: what is run, and what a page has a digest of. */
struct part_campaigns {
    struct corun_campaign *run[EXPERIMENT_PARTS_MAX], *drawn[EXPERIMENT_PARTS_MAX];
};

/* The campaigns of all parts, to be destroyed by the caller, also after an error. */
static enum corun_status make_campaigns(const struct experiment *experiment, const struct experiment_extent *extent,
                                        struct corun_diagnostics *list, struct corun_campaign **campaigns)
{
    enum corun_status status = CORUN_OK;
    for (uint32_t part = 0; part < experiment->part_count && !status; part++)
        status = experiment_campaign(experiment, part, extent, list, &campaigns[part]);
    return status;
}

/* How many cases that is, and whether any has a window: those of corun run. */
static enum corun_status count_cases(const struct experiment *experiment, const struct experiment_extent *extent,
                                     struct corun_diagnostics *list, size_t *cases, bool *windows)
{
    struct corun_campaign *campaigns[EXPERIMENT_PARTS_MAX] = {NULL};
    enum corun_status status = make_campaigns(experiment, extent, list, campaigns);
    *cases = 0;
    *windows = false;
    for (uint32_t part = 0; part < experiment->part_count && !status; part++) {
        *windows = *windows || !strcmp(corun_campaign_command(campaigns[part]), CAMPAIGN_RUN);
        for (size_t i = 0; i < corun_campaign_count(campaigns[part]); i++)
            *cases += !is_isolated_again(corun_campaign_get(campaigns[part], i));
    }
    destroy_campaigns(campaigns);
    return status;
}

static enum corun_status list_experiment(struct reproduce_options *reproduce, const char *path)
{
    struct experiment *experiment;
    size_t cases = 0, all = 0;
    bool windows = false;
    enum corun_status status = experiment_load(path, reproduce->command.list, &experiment);
    if (status)
        return status;
    if (experiment->missing) {
        printf("%-16s  %s, %s: %s\n%16s  needs policy %s, which this corun does not have\n", experiment->name,
               experiment->paper, experiment->section, experiment->title, "", experiment->missing);
    } else {
        struct experiment_extent sample = experiment_initial_extent(experiment, false),
                                 full = experiment_initial_extent(experiment, true);
        status = count_cases(experiment, &sample, reproduce->command.list, &cases, &windows);
        if (!status)
            status = count_cases(experiment, &full, reproduce->command.list, &all, &windows);
        if (!status && !windows)
            printf("%-16s  %s, %s: %s\n%16s  %zu cases\n", experiment->name, experiment->paper, experiment->section,
                   experiment->title, "", all);
        else if (!status)
            printf("%-16s  %s, %s: %s\n%16s  %zu cases of %" PRIu64 " cycles; in full %zu of %" PRIu64 "\n",
                   experiment->name, experiment->paper, experiment->section, experiment->title, "", cases,
                   sample.cycles, all, full.cycles);
    }
    experiment_destroy(experiment);
    return status;
}

static bool show_progress(void *user, const char *campaign, uint64_t sample,
                          const struct corun_campaign_progress *progress)
{
    struct reproduce_options *reproduce = user;
    char name[200];
    snprintf(name, sizeof name, sample ? "%.60s (sample %" PRIu64 ")" : "%s", campaign, sample);
    return progress_campaign(reproduce->progress, name, reproduce->quiet, progress);
}

/*
 * Hands the experiment over in memory, so that nothing is left behind, and runs the package. Without campaigns it only
 * checks the figures, and that what `html` and `markdown` name can be written.
 */
static enum corun_status compare(struct reproduce_options *reproduce, const struct experiment *experiment,
                                 uint64_t cycles, const struct part_campaigns *campaigns, const char *html,
                                 const char *markdown, int *exit_status)
{
    struct arena *arena = reproduce->command.arena;
    struct corun_diagnostics *list = reproduce->command.list;
    int descriptor = memfd_create("experiment", 0);
    int copy = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    FILE *stream = copy < 0 ? NULL : fdopen(copy, "w");
    if (!stream) {
        if (descriptor >= 0)
            close(descriptor);
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "no memory file: %s", strerror(errno));
    }
    enum corun_status status = json_experiment(experiment, cycles, campaigns ? campaigns->run : NULL,
                                               campaigns ? campaigns->drawn : NULL, stream);
    if (fclose(stream) && !status)
        status = corun_report(list, CORUN_FILE, CORUN_NOWHERE, "no memory file: %s", strerror(errno));
    const char *arguments[9] = {"reproduce", arena_format(arena, "--experiment=/proc/self/fd/%d", descriptor),
                                arena_format(arena, "--results=%s", reproduce->run.results)};
    size_t count = 3;
    if (html)
        arguments[count++] = arena_format(arena, "--html=%s", html);
    if (markdown)
        arguments[count++] = arena_format(arena, "--markdown=%s", markdown);
    if (reproduce->confirm)
        arguments[count++] = arena_format(arena, "--confirm=%s", reproduce->confirm);
    for (size_t i = 0; i < count && !status; i++)
        status = arguments[i] ? CORUN_OK : CORUN_MEMORY;
    if (!campaigns)
        arguments[count++] = "--check";
    if (reproduce->quiet)
        arguments[count++] = "--quiet";
    if (!status)
        status = python_run(arguments, list, exit_status);
    close(descriptor);
    return status;
}

/* The sample of `extent` becomes what was run. */
static enum corun_status run_parts(struct reproduce_options *reproduce, const struct experiment *experiment,
                                   struct experiment_extent *extent, double seconds, bool *interrupted)
{
    struct reproduction_request request = {.experiment = experiment,
                                           .run = reproduce->run,
                                           .extent = *extent,
                                           .seconds = seconds,
                                           .progress = show_progress,
                                           .progress_user = reproduce};
    struct reproduction_outcome outcome;
    reproduce->progress = progress_begin(reproduce->quiet);
    enum corun_status status = reproduction_run(&request, reproduce->command.list, &outcome);
    progress_end(reproduce->progress);
    *interrupted = outcome.interrupted;
    extent->sample = outcome.sample;
    if (!status && !reproduce->quiet) {
        printf("%s: %u case%s, %u found, %u run", experiment->name, outcome.total, outcome.total == 1 ? "" : "s",
               outcome.found, outcome.finished);
        if (outcome.elsewhere)
            printf(", %u run by others", outcome.elsewhere);
        if (outcome.failed)
            printf(", %u failed", outcome.failed);
        printf(", in %.0f s; results in %s\n", outcome.seconds, reproduce->run.results);
        if (outcome.interrupted)
            printf("%s: interrupted; the same command resumes it\n", experiment->name);
    }
    return status;
}

/* One experiment from its file to its tables. `seconds`: 0: no limit. */
static enum corun_status reproduce_file(struct reproduce_options *reproduce, const struct experiment *experiment,
                                        double seconds, const char *html, const char *markdown, int *exit_status)
{
    struct experiment_extent extent = experiment_initial_extent(experiment, reproduce->full);
    struct part_campaigns campaigns = {{NULL}, {NULL}};
    bool interrupted = false;
    extent.cycles = reproduce->cycles ? reproduce->cycles : extent.cycles;
    extent.settle = reproduce->settle;
    const struct experiment_extent drawn = {extent.cycles, EXPERIMENT_DRAWN, extent.settle};
    extent.sample = reproduce->sample ? reproduce->sample : seconds > 0 ? 0 : extent.sample;
    extent.sample = reproduce->confirm ? EXPERIMENT_DRAWN : extent.sample;
    /* Figures and outputs are checked before hours of work. */
    enum corun_status status = compare(reproduce, experiment, extent.cycles, NULL, html, markdown, exit_status);
    if (!status && !*exit_status && reproduce->no_run)
        status = command_existing(reproduce->run.results, reproduce->command.list);
    else if (!status && !*exit_status)
        status = run_parts(reproduce, experiment, &extent, seconds, &interrupted);
    if (interrupted)
        *exit_status = EXIT_INTERRUPTED;
    if (!status && !*exit_status)
        status = make_campaigns(experiment, &extent, reproduce->command.list, campaigns.run);
    if (!status && !*exit_status)
        status = make_campaigns(experiment, &drawn, reproduce->command.list, campaigns.drawn);
    if (!status && !*exit_status)
        status = compare(reproduce, experiment, extent.cycles, &campaigns, html, markdown, exit_status);
    destroy_campaigns(campaigns.run);
    destroy_campaigns(campaigns.drawn);
    return status;
}

/* There is no experiment of that name: which one was meant? */
static enum corun_status report_unknown(struct reproduce_options *reproduce)
{
    struct dirent **entries = NULL;
    const char *folder = arena_format(reproduce->command.arena, "%s/experiments", reproduce->data);
    int count = folder ? scandir(folder, &entries, is_experiment, versionsort) : 0;
    size_t known = 0;
    const char **names = ARENA_ARRAY(reproduce->command.arena, const char *, count > 0 ? count : 1);
    char hint[NAME_BYTES + 32];
    for (int i = 0; i < count; i++) {
        const char *file = entries[i]->d_name;
        const char *name = arena_copy_text(reproduce->command.arena, file, strlen(file) - strlen(".yaml"));
        if (names && name)
            names[known++] = name;
        free(entries[i]);
    }
    free(entries);
    return corun_report(reproduce->command.list, CORUN_NOT_FOUND, CORUN_NOWHERE, "there is no experiment `%s`; %s",
                        reproduce->name,
                        command_hint(reproduce->name, names, known, "see `corun reproduce --list`", hint, sizeof hint));
}

static enum corun_status reproduce_one(struct reproduce_options *reproduce)
{
    char path[PATH_BYTES + NAME_BYTES];
    struct experiment *experiment;
    find_file(reproduce, reproduce->name, path, sizeof path);
    if (access(path, R_OK) && !strchr(reproduce->name, '/'))
        return report_unknown(reproduce);
    enum corun_status status = experiment_load(path, reproduce->command.list, &experiment);
    if (status)
        return status;
    status = reproduce_file(reproduce, experiment, reproduce->budget, reproduce->outputs[REPRODUCE_HTML].path,
                            reproduce->outputs[REPRODUCE_MARKDOWN].path, &reproduce->command.exit_status);
    experiment_destroy(experiment);
    return status;
}

/* "FOLDER/NAME.md"; NULL without a folder */
static const char *output_path(const char *folder, const char *name, const char *ending, char *path, size_t bytes)
{
    if (!folder)
        return NULL;
    snprintf(path, bytes, "%s/%s%s", folder, name, ending);
    return path;
}

static enum corun_status count_runnable(struct reproduce_options *reproduce, const char *path)
{
    struct experiment *experiment;
    enum corun_status status = experiment_load(path, reproduce->command.list, &experiment);
    if (status)
        return status;
    if (experiment->missing && !reproduce->quiet)
        printf("%s: left out, needs policy %s\n", experiment->name, experiment->missing);
    reproduce->runnable += !experiment->missing;
    experiment_destroy(experiment);
    return CORUN_OK;
}

/* One of all: what time is left is shared with those that are still to come. */
static enum corun_status reproduce_next(struct reproduce_options *reproduce, const char *path)
{
    struct experiment *experiment;
    char page[PATH_BYTES], text[PATH_BYTES];
    if (reproduce->command.exit_status == EXIT_INTERRUPTED)
        return CORUN_OK;
    enum corun_status status = experiment_load(path, NULL, &experiment); /* what is wrong has been said */
    if (status)
        return CORUN_OK;
    if (!experiment->missing) {
        double share = 0;
        int exit_status = 0;
        if (reproduce->budget > 0)
            share = fmax((reproduce->until - run_clock()) / reproduce->runnable, 1);
        reproduce->runnable--;
        status = reproduce_file(
            reproduce, experiment, share,
            output_path(reproduce->outputs[REPRODUCE_HTML].path, experiment->name, ".html", page, sizeof page),
            output_path(reproduce->outputs[REPRODUCE_MARKDOWN].path, experiment->name, ".md", text, sizeof text),
            &exit_status);
        if (exit_status)
            reproduce->command.exit_status = exit_status;
    }
    experiment_destroy(experiment);
    return status;
}

static enum corun_status reproduce_all(struct reproduce_options *reproduce)
{
    enum corun_status found = each_experiment(reproduce, count_runnable);
    reproduce->until = run_clock() + reproduce->budget;
    enum corun_status status = each_experiment(reproduce, reproduce_next);
    return found ? found : status;
}

static enum corun_status run_reproduce(void *user)
{
    struct reproduce_options *reproduce = user;
    struct corun_diagnostics *list = reproduce->command.list;
    enum corun_status status = outputs_check(reproduce->outputs, REPRODUCE_OUTPUTS, list);
    if (!status)
        status = corun_data_directory(reproduce->data, sizeof reproduce->data, list);
    if (status)
        return status;
    status = command_program(reproduce->program, sizeof reproduce->program, list);
    if (status)
        return status;
    reproduce->run.program = reproduce->program;
    reproduce->run.data_directory = reproduce->data;
    reproduce->run.cache_directory = cache_folder(&reproduce->cache);
    reproduce->run.replay_directory = reproduce->cache.replay;
    reproduce->run.checkpoint_directory = reproduce->checkpoints.folder;
    reproduce->run.checkpoint_seconds = reproduce->checkpoints.seconds;
    reproduce->run.write = json_case;
    return reproduce->only_list ? each_experiment(reproduce, list_experiment)
           : reproduce->all     ? reproduce_all(reproduce)
                                : reproduce_one(reproduce);
}

int command_reproduce(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "[EXPERIMENT]",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct reproduce_options reproduce = {.outputs = {{.option = "--html"}, {.option = "--markdown"}},
                                          .run = {.results = DEFAULT_REPRODUCE_RESULTS}};
    return command_perform(&reproduce.command, &argp, argc, argv, run_reproduce, &reproduce);
}
