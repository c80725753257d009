#include "cli/command.h"
#include "cli/policy_watch.h"

#include "campaign/specification.h"
#include "corun/request.h"
#include "report/json.h"
#include "report/table.h"
#include "report/timeline.h"
#include "report/trace.h"

#include <stdlib.h>
#include <string.h>

/* What is no option of a request: files. */
enum { KEY_QUIET = 'q', KEY_JSON = 'j', KEY_TRACE = 0x100, KEY_TIMELINE, KEY_TIMELINE_INTERVAL, KEY_TIMELINE_LIMIT };

static const struct argp_option options[] = {
#define REQUEST_OPTION(name, word, key, value, group, meaning) {word, key, value, 0, meaning, group},
    CORUN_REQUEST_OPTIONS(REQUEST_OPTION)
#undef REQUEST_OPTION
        {"json", KEY_JSON, "FILE", 0, "write the results as JSON; - is standard output, in place of the table", 3},
    {"quiet", KEY_QUIET, NULL, 0, "no table and no progress line", 3},
    {"trace", KEY_TRACE, "FILE[:FIRST-LAST]", 0, "write a line for each warp instruction issued in these cycles", 3},
    {"timeline", KEY_TIMELINE, "FILE[:FIRST-LAST]", 0,
     "write launches, thread blocks and counters over these cycles as a trace that ui.perfetto.dev opens", 3},
    {"timeline-interval", KEY_TIMELINE_INTERVAL, "N", 0, "cycles between two values of a counter there [1K]", 3},
    {"timeline-limit", KEY_TIMELINE_LIMIT, "N", 0,
     "most events there: of what is more, thread blocks above all, a sample is shown [250K]", 3},
    {0},
};

static const char arguments_doc[] = "APPLICATION...";
static const char doc[] =
    "Runs applications together on one simulated GPU and compares each with itself alone.\n\n"
    "An APPLICATION is WORKLOAD[@SIZE[,PARAMETER=VALUE,...]][:goal=GOAL][:start=CYCLES]. WORKLOAD is a name (see "
    "`corun list workloads`) or the path of a launch description or a captured program; SIZE is small, medium, large "
    "or another that it has, "
    "and VALUE what a parameter of that size is to be instead (sgemm@small,k=1K; K is 1024 here); GOAL is 90% of its "
    "speed alone, ipc=X thread instructions per cycle, ms=Y milliseconds for one run or fps=Z runs a second, of which "
    "copies of data take MS with ,transfer=MS; it arrives at cycle CYCLES. Numbers take K, M and G.\v"
    "The results depend on the options above --json only, apart from the wall time.";

struct run_options {
    struct arena *arena;
    struct corun_diagnostics *list;
    enum corun_status status; /* of the first option that could not be used */
    struct corun_request *request;
    struct corun_case *job;
    const char *json, *trace, *timeline;
    uint64_t trace_first, trace_last, sample_cycles;
    struct timeline_settings timeline_settings;
    bool quiet;
    FILE *text; /* where the applications' own text goes */
    struct progress *progress;
};

/* Any that is not about files goes to the request. */
static error_t set_option(struct run_options *run, int key, const char *value)
{
    static const struct {
        int key;
        const char *word;
    } words[] = {
#define REQUEST_WORD(name, word, key, value, group, meaning) {key, "--" word},
        CORUN_REQUEST_OPTIONS(REQUEST_WORD)
#undef REQUEST_WORD
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].key == key) {
            bool loads = !strcmp(words[i].word, "--policy") && strchr(value, '/');
            if (loads)
                policy_watch_loading(value, true);
            command_keep(&run->status, corun_request_set(run->request, words[i].word, value, run->list));
            if (loads)
                policy_watch_loaded();
            return 0;
        }
    }
    return ARGP_ERR_UNKNOWN;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct run_options *run = state->input;
    switch (key) {
    case KEY_JSON:
        run->json = value;
        break;
    case KEY_QUIET:
        run->quiet = true;
        break;
    case KEY_TRACE:
        command_keep(&run->status, specify_trace(value, "--trace", run->arena, run->list, &run->trace,
                                                 &run->trace_first, &run->trace_last));
        break;
    case KEY_TIMELINE:
        command_keep(&run->status,
                     specify_trace(value, "--timeline", run->arena, run->list, &run->timeline,
                                   &run->timeline_settings.first_cycle, &run->timeline_settings.last_cycle));
        break;
    case KEY_TIMELINE_INTERVAL:
        command_keep(&run->status,
                     specify_number(value, "--timeline-interval", 1000, 1, INT64_MAX, run->list, &run->sample_cycles));
        break;
    case KEY_TIMELINE_LIMIT:
        command_keep(&run->status, specify_number(value, "--timeline-limit", 1000, TIMELINE_LOWEST_LIMIT, UINT32_MAX,
                                                  run->list, &run->timeline_settings.limit));
        break;
    case ARGP_KEY_ARG:
        command_keep(&run->status, corun_request_add(run->request, value, run->list));
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "an application is missing");
        break;
    default:
        return set_option(run, key, value);
    }
    return 0;
}

static bool show_progress(void *user, const struct corun_case_progress *progress)
{
    struct run_options *run = user;
    return progress_cycles(run->progress, progress->stage, progress->cycle, progress->cycle_limit);
}

static void print_text(void *user, const char *text, size_t bytes)
{
    fwrite(text, 1, bytes, ((struct run_options *)user)->text);
}

static bool to_stdout(const char *path)
{
    return path && !strcmp(path, "-");
}

static enum corun_status report(const struct run_options *run, const struct corun_case_result *result, FILE *json)
{
    enum corun_status status = CORUN_OK;
    struct report_style style = output_style(stdout);
    if (!run->quiet && json != stdout && !to_stdout(run->timeline)) {
        bool whole = table_case(result, &style, stdout);
        whole = (!run->job->profile || table_profile(result, &style, stdout)) && whole;
        status = whole ? CORUN_OK : CORUN_MEMORY;
    }
    if (json && status == CORUN_OK)
        status = json_case(result, json);
    return status;
}

/* The status of the process when the run itself went well: that of the first application that was stopped. */
static enum corun_status status_of(const struct corun_case_result *result)
{
    for (uint32_t a = 0; a < result->application_count; a++) {
        if (result->applications[a].result.status != CORUN_OK)
            return result->applications[a].result.status;
    }
    return CORUN_OK;
}

/* The files that a run writes; NULL where none was asked for. */
struct outputs {
    FILE *json, *trace, *timeline;
};

static enum corun_status close_output(const struct run_options *run, FILE *file, const char *path,
                                      enum corun_status status)
{
    enum corun_status closed = file ? output_close(file, path, run->list) : CORUN_OK;
    return status == CORUN_OK ? closed : status;
}

static enum corun_status close_outputs(const struct run_options *run, const struct outputs *outputs,
                                       enum corun_status status)
{
    status = close_output(run, outputs->trace, run->trace, status);
    status = close_output(run, outputs->timeline, run->timeline, status);
    return close_output(run, outputs->json, run->json, status);
}

/* Files are opened before the simulation: that one cannot be written should not cost its time. */
static enum corun_status open_outputs(const struct run_options *run, struct outputs *outputs)
{
    if (to_stdout(run->json) + to_stdout(run->trace) + to_stdout(run->timeline) > 1)
        return corun_report(run->list, CORUN_USAGE, CORUN_NOWHERE,
                            "only one of --json, --trace and --timeline can go to standard output");
    bool fine = true;
    if (run->json)
        fine = (outputs->json = output_open(run->json, run->list)) != NULL;
    if (fine && run->trace)
        fine = (outputs->trace = output_open(run->trace, run->list)) != NULL;
    if (fine && run->timeline)
        fine = (outputs->timeline = output_open(run->timeline, run->list)) != NULL;
    return fine ? CORUN_OK : close_outputs(run, outputs, CORUN_FILE);
}

static struct timeline *observe(struct run_options *run)
{
    struct corun_case *job = run->job;
    run->timeline_settings.gpu = job->gpu;
    run->timeline_settings.application_count = job->application_count;
    run->timeline_settings.policy = job->policy;
    struct timeline *timeline = timeline_create(&run->timeline_settings);
    job->observe = timeline_see;
    job->observe_user = timeline;
    job->observe_sample_cycles = run->sample_cycles;
    return timeline;
}

static enum corun_status simulate(struct run_options *run, struct corun_case_result **result)
{
    struct corun_case *job = run->job;
    struct outputs outputs = {NULL, NULL, NULL};
    enum corun_status status = open_outputs(run, &outputs);
    if (status != CORUN_OK)
        return status;
    if (outputs.trace) {
        trace_heading(outputs.trace);
        job->trace = trace_event;
        job->trace_user = outputs.trace;
        job->trace_first = run->trace_first;
        job->trace_last = run->trace_last;
    }
    struct timeline *timeline = outputs.timeline ? observe(run) : NULL;
    if (outputs.timeline && !timeline)
        return close_outputs(run, &outputs, CORUN_MEMORY);
    run->text = outputs.json == stdout || outputs.timeline == stdout ? stderr : stdout;
    job->print = print_text;
    job->progress = show_progress;
    job->print_user = job->progress_user = run;
    policy_watch(job);
    run->progress = progress_begin(run->quiet);
    status = corun_case_run(job, run->list, result);
    progress_end(run->progress);
    if (status == CORUN_OK && timeline)
        status = timeline_write(timeline, *result, outputs.timeline);
    if (status == CORUN_OK)
        status = report(run, *result, outputs.json);
    timeline_destroy(timeline);
    return close_outputs(run, &outputs, status);
}

static enum corun_status run_case(struct run_options *run, struct corun_case_result **result)
{
    enum corun_status status = run->status;
    if (status == CORUN_OK)
        status = corun_request_case(run->request, run->list, &run->job);
    return status == CORUN_OK ? simulate(run, result) : status;
}

int command_run(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = arguments_doc,
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct run_options run = {.sample_cycles = TIMELINE_SAMPLE_CYCLES, .timeline_settings = {.limit = TIMELINE_LIMIT}};
    run.arena = arena_create();
    run.list = corun_diagnostics_create();
    run.request = corun_request_create();
    struct corun_case_result *result = NULL;
    enum corun_status status = CORUN_MEMORY;
    if (run.arena && run.list && run.request) {
        command_parse(&argp, argc, argv, &run);
        status = run_case(&run, &result);
    }
    bool interrupted = result && result->interrupted;
    if (result && status == CORUN_OK)
        status = status_of(result);
    corun_case_result_destroy(result);
    int exit_status = output_diagnostics(run.list, status);
    if (run.list)
        corun_diagnostics_destroy(run.list);
    corun_request_destroy(run.request);
    arena_destroy(run.arena);
    return status == CORUN_OK && interrupted ? EXIT_INTERRUPTED : exit_status;
}
