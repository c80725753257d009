/* SPDX-License-Identifier: MIT */
/* corun campaign: the cases of a campaign that are missing run, here or through Slurm. */
#include "cli/command.h"

#include "campaign/campaign_file.h"
#include "campaign/words.h"
#include "case/specification.h"
#include "corun/campaign.h"
#include "corun/workload.h"
#include "report/json.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wordexp.h>

#define DEFAULT_TASKS 16u
#define DEFAULT_TASKS_TEXT "16"

enum {
    KEY_RESULTS = 'r',
    KEY_QUIET = 'q',
    KEY_LIST = 'l',
    KEY_JOBS = 'j',
    KEY_MEMORY = 0x100,
    KEY_TIME,
    KEY_RETRY,
    KEY_SHARD,
    KEY_ONLY,
    KEY_SLURM,
    KEY_SLURM_TASKS,
    KEY_SLURM_OPTIONS
};

static const struct argp_option options[] = {
    {"results", KEY_RESULTS, "FILE", 0, "the results file, created when it does not exist [" DEFAULT_RESULTS "]", 1},
    {"list", KEY_LIST, NULL, 0, "list the cases, one per line, and run none", 1},
    {"jobs", KEY_JOBS, "N", 0, "worker processes [as many as there are processors]", 2},
    {"memory", KEY_MEMORY, "BYTES", 0, "of each worker; a case that needs more is recorded as lost [no limit]", 2},
    {"time", KEY_TIME, "SECONDS", 0, "of each case; one that takes longer is recorded as lost [no limit]", 2},
    {"retry", KEY_RETRY, NULL, 0, "also cases that failed for a reason of their own; lost ones are always run again",
     2},
    CHECKPOINT_OPTIONS(2),
    {"shard", KEY_SHARD, "K/N", 0, "only the K-th of N parts of the cases, each with a results file of its own", 3},
    {"only", KEY_ONLY, "FILE", 0, "only cases whose keys are in FILE, one per line", 3},
    {"slurm", KEY_SLURM, NULL, 0,
     "submit the missing cases to Slurm: an array job, and one that merges its results afterwards", 4},
    {"slurm-tasks", KEY_SLURM_TASKS, "N", 0, "parts of the array job [" DEFAULT_TASKS_TEXT "]", 4},
    {"slurm-options", KEY_SLURM_OPTIONS, "TEXT", 0, "options of sbatch: \"--partition=long --cpus-per-task=8\"", 4},
    {"quiet", KEY_QUIET, NULL, 0, "no progress line and no summary", 5},
    CACHE_OPTIONS(6),
    REPLAY_OPTION(6),
    {0},
};

static const char doc[] =
    "Runs every case of a campaign, a YAML file (docs/campaigns.md), in worker processes. Each result goes to the "
    "results file as it comes; whatever ends the command, starting it again runs the cases that are missing. "
    "What is in the file already is not run again unless something changed that it depends on.\v"
    "See `corun query` for what to ask the results file. The exit status is 0 also when cases failed: their messages "
    "are in the results file.";

struct campaign_options {
    struct command command;
    const char *path, *slurm_options;
    struct checkpoint_options checkpoints;
    struct cache_options cache;
    bool quiet, only_list, slurm;
    uint32_t slurm_tasks;
    struct corun_campaign *campaign;
    struct corun_campaign_run_request request;
    char data[PATH_BYTES], program[PATH_MAX];
    struct progress *progress;
};

/* "2/8" */
static void set_shard(struct campaign_options *campaign, const char *text)
{
    struct corun_campaign_run_request *request = &campaign->request;
    char part[40];
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : 0;
    uint64_t shard = 0, shards = 0;
    enum corun_status status = CORUN_USAGE;
    if (length > 0 && length < sizeof part) {
        snprintf(part, sizeof part, "%.*s", (int)length, text);
        status =
            specify_number(slash + 1, "--shard", 1000, 1, CORUN_CAMPAIGN_MAX_TASKS, campaign->command.list, &shards);
        if (!status)
            status = specify_number(part, "--shard", 1000, 1, shards, campaign->command.list, &shard);
    } else {
        corun_report(campaign->command.list, status, CORUN_NOWHERE,
                     "--shard is like 2/8, the second of eight, not `%s`", text);
    }
    request->shard = (uint32_t)shard;
    request->shards = (uint32_t)shards;
    command_keep(&campaign->command, status);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct campaign_options *campaign = state->input;
    struct corun_campaign_run_request *request = &campaign->request;
    switch (key) {
    case KEY_RESULTS:
        request->results = command_name("--results", value, state);
        break;
    case KEY_LIST:
        campaign->only_list = true;
        break;
    case KEY_JOBS:
        command_count(&campaign->command, "--jobs", value, CORUN_CAMPAIGN_MAX_JOBS, &request->jobs);
        break;
    case KEY_MEMORY:
        command_number(&campaign->command, "--memory", value, 1024, 1, INT64_MAX, &request->memory_bytes);
        break;
    case KEY_TIME:
        command_count(&campaign->command, "--time", value, INT32_MAX, &request->seconds);
        break;
    case KEY_RETRY:
        request->retry = true;
        break;
    case KEY_QUIET:
        campaign->quiet = true;
        break;
    case KEY_SHARD:
        set_shard(campaign, value);
        break;
    case KEY_ONLY:
        request->only = value;
        break;
    case KEY_SLURM:
        campaign->slurm = true;
        break;
    case KEY_SLURM_TASKS:
        command_count(&campaign->command, "--slurm-tasks", value, CORUN_CAMPAIGN_MAX_TASKS, &campaign->slurm_tasks);
        break;
    case KEY_SLURM_OPTIONS:
        campaign->slurm_options = value;
        break;
    case ARGP_KEY_END:
        if (campaign->slurm && request->shards)
            argp_error(state, "--slurm makes the shards itself: not together with --shard");
        if (!campaign->slurm && (campaign->slurm_tasks || campaign->slurm_options))
            argp_error(state, "--slurm-tasks and --slurm-options need --slurm");
        return checkpoint_option(key, value, state, &campaign->checkpoints);
    case ARGP_KEY_ARG:
        if (state->arg_num)
            argp_error(state, "one campaign is expected, not also `%s`", value);
        campaign->path = value;
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the file of the campaign is missing");
        break;
    default:
        if (cache_option(key, value, state, &campaign->cache))
            return checkpoint_option(key, value, state, &campaign->checkpoints);
        break;
    }
    return 0;
}

static void list_word(const char *before, const char *word)
{
    fputs(before, stdout);
    words_put(word, stdout);
}

static void list_command(const struct corun_campaign_case *item)
{
    fputs(item->command, stdout);
    for (uint32_t i = 0; i < item->option_count; i++) {
        printf(" --%s", item->options[i].name);
        if (item->options[i].value)
            list_word("=", item->options[i].value);
    }
    putchar(' ');
    words_put_all(item->applications, item->application_count, stdout);
    putchar('\n');
}

static void list_cases(const struct corun_campaign *campaign)
{
    for (size_t i = 0; i < corun_campaign_count(campaign); i++) {
        const struct corun_campaign_case *item = corun_campaign_get(campaign, i);
        if (item->command) {
            list_command(item);
            continue;
        }
        list_word("--gpu ", item->gpu);
        list_word(" --policy ", item->policy);
        printf(" --cycles %" PRIu64 " --seed %" PRIu64, item->cycles, item->seed);
        putchar(' ');
        words_put_all(item->applications, item->application_count, stdout);
        putchar('\n');
    }
}

static bool show_progress(void *user, const struct corun_campaign_progress *progress)
{
    struct campaign_options *campaign = user;
    return progress_campaign(campaign->progress, corun_campaign_name(campaign->campaign), campaign->quiet, progress);
}

static void summarize(const struct campaign_options *campaign, const struct corun_campaign_outcome *outcome)
{
    char text[40];
    printf("%s: %u case%s, %u found, %u run", corun_campaign_name(campaign->campaign), outcome->total,
           outcome->total == 1 ? "" : "s", outcome->found, outcome->finished);
    if (outcome->elsewhere)
        printf(", %u run by others", outcome->elsewhere);
    if (outcome->failed)
        printf(", %u failed", outcome->failed);
    uint32_t missing = outcome->total - outcome->found - outcome->finished - outcome->elsewhere - outcome->failed;
    if (missing)
        printf(", %u not run", missing);
    printf(", in %s", progress_duration(outcome->seconds, text, sizeof text));
    if (outcome->finished && outcome->seconds > 0)
        printf(" (%.0f per hour)", outcome->finished * 3600 / outcome->seconds);
    printf("; results in %s\n", campaign->request.results);
    if (outcome->failed)
        printf("failed ones: corun query -r %s \"SELECT status, applications, policy, message FROM cases WHERE status "
               "<> 'finished'\"\n",
               campaign->request.results);
}

static void tell_submitted(const struct campaign_options *campaign, const struct corun_campaign_submitted *submitted)
{
    const char *name = corun_campaign_name(campaign->campaign), *results = campaign->request.results;
    printf("%s: %u case%s, %u found", name, submitted->total, submitted->total == 1 ? "" : "s", submitted->found);
    if (submitted->failed)
        printf(", %u failed", submitted->failed);
    if (!submitted->tasks) {
        printf(": nothing to submit; results in %s\n", results);
        return;
    }
    printf(", %u submitted as job %s (%u tasks); job %s merges their results into %s\n", submitted->missing,
           submitted->job, submitted->tasks, submitted->merge_job, results);
    printf("see squeue, and %s for what they say; start this again when they have ended: it submits what is missing\n",
           submitted->folder);
}

/* The options that a task takes over; ends with NULL. */
struct task_options {
    char memory[40], time[40];
    const char *list[14];
};

static void choose_task_options(const struct campaign_options *campaign, struct task_options *chosen)
{
    const struct corun_campaign_run_request *request = &campaign->request;
    size_t count = 0;
    if (request->memory_bytes) {
        snprintf(chosen->memory, sizeof chosen->memory, "--memory=%" PRIu64, request->memory_bytes);
        chosen->list[count++] = chosen->memory;
    }
    if (request->seconds) {
        snprintf(chosen->time, sizeof chosen->time, "--time=%" PRIu32, request->seconds);
        chosen->list[count++] = chosen->time;
    }
    if (request->cache_directory) {
        chosen->list[count++] = "--cache";
        chosen->list[count++] = request->cache_directory;
    } else {
        chosen->list[count++] = "--no-cache";
    }
    if (request->replay_directory) {
        chosen->list[count++] = "--replay";
        chosen->list[count++] = request->replay_directory;
    }
    if (request->checkpoint_directory) {
        chosen->list[count++] = "--checkpoints";
        chosen->list[count++] = request->checkpoint_directory;
        if (campaign->checkpoints.every) {
            chosen->list[count++] = "--checkpoint-every";
            chosen->list[count++] = campaign->checkpoints.every;
        }
    }
    chosen->list[count] = NULL;
}

static enum corun_status submit_campaign(struct campaign_options *campaign)
{
    const struct corun_campaign_run_request *run = &campaign->request;
    struct corun_campaign_submitted submitted;
    struct task_options tasks;
    wordexp_t words = {0};
    if (wordexp(campaign->slurm_options ? campaign->slurm_options : "", &words, WRDE_NOCMD))
        return corun_report(campaign->command.list, CORUN_USAGE, CORUN_NOWHERE,
                            "--slurm-options: `%s` is not a list of words as a shell takes them",
                            campaign->slurm_options);
    choose_task_options(campaign, &tasks);
    struct corun_campaign_submit_request request = {
        .campaign = campaign->campaign,
        .results = run->results,
        .data_directory = run->data_directory,
        .only = run->only,
        .retry = run->retry,
        .program = run->program,
        .tasks = campaign->slurm_tasks ? campaign->slurm_tasks : DEFAULT_TASKS,
        .task_options = tasks.list,
        .slurm_options = (const char *const *)words.we_wordv,
    };
    enum corun_status status = corun_campaign_submit(&request, campaign->command.list, &submitted);
    if (!status && !campaign->quiet)
        tell_submitted(campaign, &submitted);
    free(submitted.folder);
    wordfree(&words);
    return status;
}

static enum corun_status run_campaign(void *user)
{
    struct campaign_options *campaign = user;
    struct corun_campaign_run_request *request = &campaign->request;
    struct corun_campaign_outcome outcome = {0};
    enum corun_status status = corun_data_directory(campaign->data, sizeof campaign->data, campaign->command.list);
    if (!status)
        status = corun_campaign_load(campaign->path, campaign->command.list, &campaign->campaign);
    if (status)
        return status;
    if (campaign->only_list) {
        list_cases(campaign->campaign);
        return CORUN_OK;
    }
    request->campaign = campaign->campaign;
    request->data_directory = campaign->data;
    request->cache_directory = cache_folder(&campaign->cache);
    request->replay_directory = campaign->cache.replay;
    request->checkpoint_directory = campaign->checkpoints.folder;
    request->checkpoint_seconds = campaign->checkpoints.seconds;
    request->write = json_case;
    request->progress = show_progress;
    request->progress_user = campaign;
    status = command_program(campaign->program, sizeof campaign->program, campaign->command.list);
    if (status)
        return status;
    request->program = campaign->program;
    if (campaign->slurm)
        return submit_campaign(campaign);
    campaign->progress = progress_begin(campaign->quiet);
    status = corun_campaign_run(request, campaign->command.list, &outcome);
    progress_end(campaign->progress);
    if (!campaign->quiet && outcome.total && (!status || outcome.finished))
        summarize(campaign, &outcome);
    if (outcome.interrupted)
        campaign->command.exit_status = EXIT_INTERRUPTED;
    return status;
}

int command_campaign(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse_option, .args_doc = "FILE", .doc = doc, .help_filter = command_help_filter};
    struct campaign_options campaign = {.request = {.results = DEFAULT_RESULTS}};
    int exit_status = command_perform(&campaign.command, &argp, argc, argv, run_campaign, &campaign);
    corun_campaign_destroy(campaign.campaign);
    return exit_status;
}
