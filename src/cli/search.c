/* SPDX-License-Identifier: MIT */
/* corun search: the best, the worst or the offline split of the SMs. */
#include "cli/command.h"

#include "campaign/search.h"
#include "corun/workload.h"
#include "report/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CYCLES 200000
#define DEFAULT_CYCLES_TEXT "200K"
#define DEFAULT_AT_ONCE 128
#define DEFAULT_AT_ONCE_TEXT "128"

enum {
    KEY_GPU = 'g',
    KEY_CYCLES = 'c',
    KEY_METRIC = 'm',
    KEY_RESULTS = 'r',
    KEY_QUIET = 'q',
    KEY_JOBS = 'j',
    KEY_SEED = 0x100,
    KEY_AT_ONCE
};

static const struct argp_option options[] = {
    {"gpu", KEY_GPU, "GPU", 0, "as for `corun run` [" DEFAULT_GPU "]", 1},
    {"cycles", KEY_CYCLES, "N", 0, "the window of each run [" DEFAULT_CYCLES_TEXT "]", 1},
    {"seed", KEY_SEED, "N", 0, "of the workloads' data [1]", 1},
    {"metric", KEY_METRIC, "METRIC", 0, "what oracle-best and oracle-worst go by [STP]", 2},
    {"at-once", KEY_AT_ONCE, "N", 0,
     "all splits are tried if there are no more than N; else the search is coarse to fine [" DEFAULT_AT_ONCE_TEXT "]",
     2},
    {"results", KEY_RESULTS, "FILE", 0, "the results file, created when it does not exist [" DEFAULT_SEARCH_RESULTS "]",
     3},
    {"jobs", KEY_JOBS, "N", 0, "worker processes [as many as there are processors]", 3},
    {"quiet", KEY_QUIET, NULL, 0, "no progress line", 4},
    CACHE_OPTIONS(4),
    REPLAY_OPTION(4),
    {0},
};

static const char doc[] =
    "Looks for a split of the SMs among applications by running many: policy fixed:split=A/B for each. What was run is "
    "in the results file and is not run again; a search that was interrupted resumes.\v"
    "SEARCH is one of\n"
#define KIND_DOC(name, word, meaning) "  " word " - " meaning "\n"
    SEARCH_KINDS(KIND_DOC)
#undef KIND_DOC
        "\nMETRIC is one of\n"
#define METRIC_DOC(name, word, meaning) "  " word " - " meaning "\n"
    SEARCH_METRICS(METRIC_DOC)
#undef METRIC_DOC
    ;

static const char *const kinds[] = {
#define KIND_WORD(name, word, meaning) word,
    SEARCH_KINDS(KIND_WORD)
#undef KIND_WORD
};
static const char *const metrics[] = {
#define METRIC_WORD(name, word, meaning) word,
    SEARCH_METRICS(METRIC_WORD)
#undef METRIC_WORD
};

struct search_options {
    struct command command;
    struct search_request request;
    const char *applications[MIX_MAX];
    struct cache_options cache;
    bool quiet, has_kind, has_metric;
    char data[PATH_BYTES];
    struct progress *progress;
};

/* The place of a word among others; wrong ones end the process. */
static uint32_t find_word(const char *word, const char *what, const char *const *words, uint32_t count,
                          struct argp_state *state)
{
    char hint[128];
    for (uint32_t i = 0; i < count; i++) {
        if (!strcmp(word, words[i]))
            return i;
    }
    argp_error(state, "there is no %s `%s`; %s", what, word,
               command_hint(word, words, count, "see `corun search --help`", hint, sizeof hint));
    return 0;
}

static void add_word(struct search_options *search, const char *word, struct argp_state *state)
{
    struct search_request *request = &search->request;
    if (!search->has_kind) {
        request->kind = (enum search_kind)find_word(word, "search", kinds, SEARCH_KIND_COUNT, state);
        search->has_kind = true;
    } else if (request->application_count < MIX_MAX) {
        search->applications[request->application_count++] = word;
    } else {
        argp_error(state, "more than %u applications", MIX_MAX);
    }
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct search_options *search = state->input;
    struct search_request *request = &search->request;
    switch (key) {
    case KEY_GPU:
        request->gpu = value;
        break;
    case KEY_CYCLES:
        command_number(&search->command, "--cycles", value, 1000, 1, INT64_MAX, &request->cycles);
        break;
    case KEY_SEED:
        command_number(&search->command, "--seed", value, 1000, 0, INT64_MAX, &request->seed);
        break;
    case KEY_METRIC:
        request->metric = (enum search_metric)find_word(value, "metric", metrics, SEARCH_METRIC_COUNT, state);
        search->has_metric = true;
        break;
    case KEY_AT_ONCE:
        command_count(&search->command, "--at-once", value, 1000000, &request->most_at_once);
        break;
    case KEY_RESULTS:
        request->run.results = command_name("--results", value, state);
        break;
    case KEY_JOBS:
        command_count(&search->command, "--jobs", value, CORUN_CAMPAIGN_MAX_JOBS, &request->run.jobs);
        break;
    case KEY_QUIET:
        search->quiet = true;
        break;
    case ARGP_KEY_ARG:
        add_word(search, value, state);
        break;
    case ARGP_KEY_END:
        if (!search->has_kind)
            argp_error(state, "what to search for is missing");
        if (request->application_count < 2)
            argp_error(state, "two applications or more are expected");
        if (request->kind == SEARCH_OFFLINE && search->has_metric)
            argp_error(state, "offline goes by the goal: not together with --metric");
        break;
    default:
        return cache_option(key, value, state, &search->cache);
    }
    return 0;
}

static bool show_progress(void *user, const struct corun_campaign_progress *progress)
{
    struct search_options *search = user;
    return progress_campaign(search->progress, kinds[search->request.kind], search->quiet, progress);
}

static void set_measured(struct columns *columns, uint32_t column, enum report_paint paint, double value)
{
    if (isnan(value))
        columns_set(columns, column, paint, "-");
    else
        columns_set(columns, column, paint, "%.3f", value);
}

static bool has_goals(const struct search_options *search, const struct search_outcome *outcome)
{
    for (size_t i = 0; i < outcome->splits.count; i++) {
        for (uint32_t a = 0; a < search->request.application_count; a++) {
            if (outcome->splits.data[i].measured.applications[a].has_goal)
                return true;
        }
    }
    return false;
}

/* The splits that were tried; the one that was found is marked. */
static enum corun_status print_table(const struct search_options *search, const struct search_outcome *outcome)
{
    const struct search_request *request = &search->request;
    const char *titles[COLUMNS_MAX] = {"split", "STP", "ANTT", "fairness"};
    uint32_t fixed = 4;
    struct report_style style = output_style(stdout);
    for (uint32_t a = 0; a < request->application_count; a++)
        titles[fixed + a] = request->applications[a];
    titles[fixed + request->application_count] = "goals met";
    struct columns *columns = columns_create(search->command.arena, titles,
                                             fixed + request->application_count + (has_goals(search, outcome) ? 1 : 0));
    for (size_t i = 0; columns && i < outcome->splits.count; i++) {
        const struct search_split *split = &outcome->splits.data[i];
        enum report_paint paint = i == outcome->found ? PAINT_GOOD : PAINT_NONE;
        char text[MIX_MAX * 8] = "";
        uint32_t goals = 0, met = 0;
        columns_row(columns);
        for (uint32_t a = 0; a < request->application_count; a++) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%s%u", a ? "/" : i == outcome->found ? "> " : "", split->sms[a]);
        }
        columns_set(columns, 0, paint, "%s", text);
        if (!split->known) {
            columns_set(columns, 1, PAINT_BAD, "not measured");
            continue;
        }
        set_measured(columns, 1, paint, split->measured.stp);
        set_measured(columns, 2, paint, split->measured.antt);
        set_measured(columns, 3, paint, split->measured.fairness);
        for (uint32_t a = 0; a < request->application_count; a++) {
            set_measured(columns, fixed + a, paint, split->measured.applications[a].normalised_ipc);
            goals += split->measured.applications[a].has_goal;
            met += split->measured.applications[a].goal_met;
        }
        if (goals)
            columns_set(columns, fixed + request->application_count, paint, "%u of %u", met, goals);
    }
    return columns && columns_print(columns, &style, stdout) ? CORUN_OK : CORUN_MEMORY;
}

static void print_split(const struct search_options *search, const struct search_split *split)
{
    for (uint32_t a = 0; a < search->request.application_count; a++)
        printf("%c%" PRIu32, a ? '/' : ' ', split->sms[a]);
}

static void print_found(const struct search_options *search, const struct search_outcome *outcome)
{
    const struct search_request *request = &search->request;
    printf("\n%s of %s on %s, %" PRIu64 " cycles:", kinds[request->kind],
           request->kind == SEARCH_OFFLINE ? request->applications[outcome->goal_application]
                                           : metrics[request->metric],
           request->gpu, request->cycles);
    if (outcome->found != SIZE_MAX)
        print_split(search, &outcome->splits.data[outcome->found]);
    else if (outcome->nearest == SIZE_MAX)
        printf(" nothing was measured");
    else {
        printf(" out of reach; nearest is");
        print_split(search, &outcome->splits.data[outcome->nearest]);
    }
    printf("\n%zu of %" PRIu64 " splits tried", outcome->splits.count, outcome->possible);
    if (outcome->step > 1)
        printf(", in steps of %u SMs first, then around the %s", outcome->step,
               request->kind == SEARCH_WORST ? "worst" : "best");
    if (outcome->failed)
        printf(", %u run%s failed", outcome->failed, outcome->failed == 1 ? "" : "s");
    printf("; %u run%s now, in %.0f s%s\n", outcome->run, outcome->run == 1 ? "" : "s", outcome->seconds,
           outcome->interrupted ? " (ended early; the same command resumes it)" : "");
}

static enum corun_status run_search(void *user)
{
    struct search_options *search = user;
    struct search_request *request = &search->request;
    struct search_outcome outcome = {0};
    enum corun_status status = corun_data_directory(search->data, sizeof search->data, search->command.list);
    if (status)
        return status;
    request->applications = search->applications;
    request->run.data_directory = search->data;
    request->run.cache_directory = cache_folder(&search->cache);
    request->run.replay_directory = search->cache.replay;
    request->run.write = json_case;
    request->run.progress = show_progress;
    request->run.progress_user = search;
    search->progress = progress_begin(search->quiet);
    status = search_run(request, search->command.list, &outcome);
    progress_end(search->progress);
    if (!status)
        status = print_table(search, &outcome);
    if (!status)
        print_found(search, &outcome);
    if (outcome.interrupted)
        search->command.exit_status = EXIT_INTERRUPTED;
    search_free(&outcome);
    return status;
}

int command_search(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "SEARCH APPLICATION APPLICATION...",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct search_options search = {.request = {.gpu = DEFAULT_GPU,
                                                .cycles = DEFAULT_CYCLES,
                                                .seed = 1,
                                                .most_at_once = DEFAULT_AT_ONCE,
                                                .run = {.results = DEFAULT_SEARCH_RESULTS}}};
    return command_perform(&search.command, &argp, argc, argv, run_search, &search);
}
