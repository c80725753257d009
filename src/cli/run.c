/* SPDX-License-Identifier: MIT */
/* corun run: applications share a GPU under a policy. */
#include "cli/command.h"
#include "cli/driver.h"
#include "cli/policy_watch.h"
#include "cli/state_options.h"

#include "base/number.h"
#include "base/vector.h"
#include "case/specification.h"
#include "corun/request.h"
#include "evaluate/evaluate.h"
#include "report/json.h"
#include "report/table.h"
#include "report/timeline.h"
#include "report/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SETTINGS_BYTES 80u

/* What is no option of a request: files. */
enum {
    KEY_QUIET = 'q',
    KEY_JSON = 'j',
    KEY_TRACE = 0x100,
    KEY_TIMELINE,
    KEY_TIMELINE_INTERVAL,
    KEY_TIMELINE_LIMIT,
    KEY_CONSOLE,
    KEY_MACHINE = 'm',
    KEY_EPOCH = 0x110,
    KEY_LAUNCHING,
    KEY_LOAD,
    KEY_STREAMS,
    KEY_START_AT,
    KEY_CHECK,
    KEY_DRIVER_CALLS,
    KEY_NATIVE,
    KEY_FENCE,
    KEY_SAMPLE,
};

static const struct argp_option options[] = {
#define REQUEST_OPTION(name, word, key, value, group, meaning) {word, key, value, 0, meaning, group},
    CORUN_REQUEST_OPTIONS(REQUEST_OPTION)
#undef REQUEST_OPTION
        {"machine", KEY_MACHINE, "hardware|software|both", 0,
         "who obeys the policy: the simulated GPU itself; or kernels that are rewritten into workers, through a CUDA "
         "driver, on that GPU "
         "(docs/software-machine.md); or one after the other [hardware]",
         5},
    {"epoch", KEY_EPOCH, "N", 0,
     "software: cycles of an epoch [10K, or eight looks at the device's counters if that is more]", 5},
    {"launching", KEY_LAUNCHING, "workers|slices|whole", 0,
     "software: as slices, or whole in a stream for each application as CUDA does by itself, launches obey policies "
     "that hold them back [workers]",
     5},
    {"load", KEY_LOAD, "SHARE", 0,
     "software: requests come to the first application at random, so many that alone it would be busy for SHARE of the "
     "time, as 50%; each is a run, whose time counts from then on",
     5},
    {"streams", KEY_STREAMS, "KIND", 0,
     "software: what launches of the first application have that others have not: priority, the driver's highest; "
     "sms=N, so "
     "many SMs of its own, by green contexts; or nothing, plain [plain]",
     5},
    {"start-at", KEY_START_AT, "SECONDS", 0,
     "software, --native: the shared run begins then, in seconds since 1970, so that several processes begin together",
     5},
    {"check", KEY_CHECK, NULL, 0, "software: compare what each run leaves with what a run without timing leaves", 5},
    {"fence", KEY_FENCE, NULL, 0,
     "software: an application accesses its own memory alone; one that tries another access fails", 5},
    {"driver-calls", KEY_DRIVER_CALLS, "FILE", 0,
     "software: write every call of the driver in the shared run to FILE, with when it began and how long it took, and "
     "what ended on the device",
     5},
    {"native", KEY_NATIVE, NULL, 0, "software: NVIDIA's driver and its first GPU, in wall time", 5},
    {"sample", KEY_SAMPLE, "error=PART,every=N", OPTION_ARG_OPTIONAL, COMMAND_SAMPLE_TEXT, 2},
    {"json", KEY_JSON, "FILE", 0, "write the results as JSON; - is standard output, in place of the table", 3},
    {"quiet", KEY_QUIET, NULL, 0, "no table and no progress line", 3},
    {"console", KEY_CONSOLE, "FILE", 0,
     "write all that the applications print to FILE; - is standard output, none is nowhere [what each prints in its "
     "first run, "
     "to standard output]",
     3},
    STATE_OPTIONS("the state of the shared run", 6),
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
    "`corun list workloads`) or the path of a launch description or a captured program, or trace:FOLDER, a trace of "
    "machine code; SIZE is small, medium, large "
    "or another that it has, "
    "and VALUE what a parameter of that size is to be instead (sgemm@small,k=1K; K is 1024 here); GOAL is 90% of its "
    "speed alone, ipc=X thread instructions per cycle, ms=Y milliseconds for one run or fps=Z runs a second, of which "
    "copies of data take MS with ,transfer=MS; it arrives at cycle CYCLES. Numbers take K, M and G.\v"
    "The results depend on the options above --json only, apart from the wall time.";

/* The files that a run writes. */
enum { RUN_JSON, RUN_TRACE, RUN_TIMELINE, RUN_CONSOLE, RUN_CHECKPOINT, RUN_OUTPUTS };

struct run_options {
    struct command command;
    struct corun_request *request;
    const char *loaded; /* --policy, if it is a shared object: loaded when all options are known to be right */
    struct corun_case *job;
    struct output outputs[RUN_OUTPUTS];
    VECTOR(const char *) words; /* that may name files which are read */
    uint64_t trace_first, trace_last, sample_cycles;
    struct trace trace;
    char trace_words[SETTINGS_BYTES], timeline_words[SETTINGS_BYTES]; /* for checkpoints */
    struct timeline_settings timeline_settings;
    struct evaluate_request software;
    struct corun_sampling sampling;
    bool samples, replays, settles;
    bool in_hardware, in_software, for_software; /* which machines; an option is for the software machine */
    char library[PATH_BYTES];
    const char *gpu; /* as --gpu says it */
    struct state_options state;
    bool quiet;
    bool silent; /* what the applications print goes nowhere */
    FILE *text;  /* where it goes */
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
            if (value && !vector_push(&run->words, value))
                command_keep(&run->command, CORUN_MEMORY);
            if (!strcmp(words[i].word, "--gpu"))
                run->gpu = value;
            run->replays |= !strcmp(words[i].word, "--replay");
            run->settles |= !strcmp(words[i].word, "--settle");
            bool policy = !strcmp(words[i].word, "--policy"), loads = policy && value && strchr(value, '/');
            if (policy)
                run->loaded = loads ? value : NULL;
            if (!loads)
                command_keep(&run->command, corun_request_set(run->request, words[i].word, value, run->command.list));
            return 0;
        }
    }
    return ARGP_ERR_UNKNOWN;
}

static void parse_machine(struct run_options *run, const char *value)
{
    bool both = !strcmp(value, "both");
    run->in_software = both || !strcmp(value, "software");
    run->in_hardware = both || !strcmp(value, "hardware");
    if (!run->in_software && !run->in_hardware)
        command_keep(&run->command, corun_report(run->command.list, CORUN_USAGE, CORUN_NOWHERE,
                                                 "--machine: expected hardware, software or both, found `%s`", value));
}

static void parse_launching(struct run_options *run, const char *value)
{
    bool whole = !strcmp(value, "whole"), slices = !strcmp(value, "slices");
    run->software.launching = whole ? SOFTWARE_WHOLE : slices ? SOFTWARE_SLICES : SOFTWARE_WORKERS;
    if (!whole && !slices && strcmp(value, "workers") != 0)
        command_keep(&run->command, corun_report(run->command.list, CORUN_USAGE, CORUN_NOWHERE,
                                                 "--launching: expected workers, slices or whole, found `%s`", value));
}

static void parse_streams(struct run_options *run, const char *value)
{
    if (!strncmp(value, "sms=", 4)) {
        run->software.favour = SOFTWARE_OWN_SMS;
        command_count(&run->command, "--streams sms", value + 4, UINT16_MAX, &run->software.own_sms);
        return;
    }
    run->software.favour = !strcmp(value, "priority") ? SOFTWARE_PRIORITY : SOFTWARE_NO_FAVOUR;
    if (run->software.favour == SOFTWARE_NO_FAVOUR && strcmp(value, "plain") != 0)
        command_keep(&run->command, corun_report(run->command.list, CORUN_USAGE, CORUN_NOWHERE,
                                                 "--streams: expected plain, priority or sms=N, found `%s`", value));
}

static void parse_start(struct run_options *run, const char *value)
{
    if (!number_parse_real(value, &run->software.start_at) || !(run->software.start_at > 0) ||
        run->software.start_at > 1e11)
        command_keep(&run->command, corun_report(run->command.list, CORUN_USAGE, CORUN_NOWHERE,
                                                 "--start-at: expected seconds since 1970, found `%s`", value));
}

static void parse_load(struct run_options *run, const char *value)
{
    if (!number_parse_real(value, &run->software.load) || !(run->software.load > 0) || run->software.load > 1)
        command_keep(&run->command,
                     corun_report(run->command.list, CORUN_USAGE, CORUN_NOWHERE,
                                  "--load: expected a share of the time above 0 and up to 100%%, as 50%%; "
                                  "found `%s`",
                                  value));
}

/* Options of the software machine; false: it is none. */
static bool parse_software(struct run_options *run, int key, const char *value)
{
    switch (key) {
    case KEY_EPOCH:
        command_number(&run->command, "--epoch", value, 1000, 1, INT64_MAX, &run->software.epoch_cycles);
        break;
    case KEY_LAUNCHING:
        parse_launching(run, value);
        break;
    case KEY_LOAD:
        parse_load(run, value);
        break;
    case KEY_STREAMS:
        parse_streams(run, value);
        break;
    case KEY_START_AT:
        parse_start(run, value);
        break;
    case KEY_CHECK:
        run->software.check = true;
        break;
    case KEY_FENCE:
        run->software.fence = true;
        break;
    case KEY_DRIVER_CALLS:
        run->software.calls = value;
        break;
    case KEY_NATIVE:
        run->software.native = true;
        break;
    default:
        return false;
    }
    run->for_software = true;
    return true;
}

/* What only one of the machines can do. */
static void check_machine(const struct run_options *run, struct argp_state *state)
{
    const struct output *outputs = run->outputs;
    bool observed = outputs[RUN_TRACE].path || outputs[RUN_TIMELINE].path || outputs[RUN_CONSOLE].path;
    if (run->for_software && !run->in_software)
        argp_error(state, "--epoch, --launching, --load, --streams, --start-at, --check, --driver-calls, --fence and "
                          "--native are for --machine software");
    if (run->software.load > 0 && run->in_hardware)
        argp_error(state, "--load is for --machine software: requests do not come to the hardware machine, whose first "
                          "application runs "
                          "without a pause");
    if (run->software.start_at > 0 && !run->software.native)
        argp_error(state, "--start-at is for --native: a simulated GPU has a time of its own");
    if (observed && !run->in_hardware)
        argp_error(state, "--trace, --timeline and --console show the simulated GPU: --machine hardware or both");
    if (run->samples && run->in_software)
        argp_error(state, "--sample is for the simulated GPU: --machine hardware");
    if (run->settles && run->in_software)
        argp_error(state, "--settle is for the simulated GPU: --machine hardware");
    if (run->replays && run->in_software)
        argp_error(state, "--replay is for the simulated GPU: --machine hardware");
    if ((run->state.file || run->state.resume) && run->in_software)
        argp_error(state, "--checkpoint and --resume are for the simulated GPU: --machine hardware");
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct run_options *run = state->input;
    if (parse_software(run, key, value) || state_option(key, value, state, &run->command, &run->state))
        return 0;
    switch (key) {
    case KEY_MACHINE:
        parse_machine(run, value);
        break;
    case ARGP_KEY_SUCCESS:
        check_machine(run, state);
        run->outputs[RUN_CHECKPOINT].path = run->state.file;
        break;
    case KEY_JSON:
        run->outputs[RUN_JSON].path = value;
        break;
    case KEY_QUIET:
        run->quiet = true;
        break;
    case KEY_SAMPLE:
        run->samples = true;
        command_keep(&run->command, corun_sampling_parse(value, "--sample", run->command.list, &run->sampling));
        break;
    case KEY_TRACE:
        command_keep(&run->command, specify_trace(value, "--trace", run->command.arena, run->command.list,
                                                  &run->outputs[RUN_TRACE].path, &run->trace_first, &run->trace_last));
        break;
    case KEY_TIMELINE:
        command_keep(&run->command, specify_trace(value, "--timeline", run->command.arena, run->command.list,
                                                  &run->outputs[RUN_TIMELINE].path, &run->timeline_settings.first_cycle,
                                                  &run->timeline_settings.last_cycle));
        break;
    case KEY_CONSOLE:
        run->silent = !strcmp(value, "none");
        run->outputs[RUN_CONSOLE].path = run->silent ? NULL : value;
        break;
    case KEY_TIMELINE_INTERVAL:
        command_number(&run->command, "--timeline-interval", value, 1000, 1, INT64_MAX, &run->sample_cycles);
        break;
    case KEY_TIMELINE_LIMIT:
        command_number(&run->command, "--timeline-limit", value, 1000, TIMELINE_LOWEST_LIMIT, UINT32_MAX,
                       &run->timeline_settings.limit);
        break;
    case ARGP_KEY_ARG:
        command_keep(&run->command, corun_request_add(run->request, value, run->command.list));
        if (!vector_push(&run->words, (const char *)value))
            command_keep(&run->command, CORUN_MEMORY);
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
    return progress_case(run->progress, progress);
}

static void print_text(void *user, const char *text, size_t bytes)
{
    fwrite(text, 1, bytes, ((struct run_options *)user)->text);
}

static enum corun_status report_machines(const struct run_options *run, const struct corun_case_result *hardware,
                                         const struct evaluate_result *software)
{
    FILE *json = run->outputs[RUN_JSON].file;
    struct report_style style = output_style(stdout);
    bool shown = !run->quiet && json != stdout && run->outputs[RUN_TIMELINE].file != stdout;
    if (shown && !table_machines(hardware, software, &style, stdout))
        return CORUN_MEMORY;
    return json ? json_machines(hardware, software, json) : CORUN_OK;
}

static enum corun_status report(const struct run_options *run, const struct corun_case_result *result)
{
    FILE *json = run->outputs[RUN_JSON].file;
    enum corun_status status = CORUN_OK;
    struct report_style style = output_style(stdout);
    if (!run->quiet && json != stdout && run->outputs[RUN_TIMELINE].file != stdout) {
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

/* What is saved with the run has to be asked for again by the run that goes on. */
static struct timeline *observe(struct run_options *run)
{
    const struct timeline_settings *settings = &run->timeline_settings;
    struct corun_case *job = run->job;
    run->timeline_settings.gpu = job->gpu;
    run->timeline_settings.application_count = job->application_count;
    run->timeline_settings.policy = job->policy;
    struct timeline *timeline = timeline_create(&run->timeline_settings);
    job->observe = timeline_see;
    job->observe_user = timeline;
    job->observe_sample_cycles = run->sample_cycles;
    snprintf(run->timeline_words, sizeof run->timeline_words,
             "of %" PRIu64 "-%" PRIu64 ", every %" PRIu64 ", %" PRIu64 " events", settings->first_cycle,
             settings->last_cycle, run->sample_cycles, settings->limit);
    job->observe_keeper = (struct corun_case_keeper){run->timeline_words, timeline_archive};
    return timeline;
}

static void watch(struct run_options *run)
{
    struct corun_case *job = run->job;
    job->trace = trace_event;
    job->trace_user = &run->trace;
    job->trace_first = run->trace_first;
    job->trace_last = run->trace_last;
    snprintf(run->trace_words, sizeof run->trace_words, "of %" PRIu64 "-%" PRIu64, run->trace_first, run->trace_last);
    job->trace_keeper = (struct corun_case_keeper){run->trace_words, run->trace.saved ? trace_archive : NULL};
}

static enum corun_status simulate(struct run_options *run, struct corun_case_result **result)
{
    struct corun_case *job = run->job;
    FILE *json = run->outputs[RUN_JSON].file, *trace = run->outputs[RUN_TRACE].file;
    FILE *timeline_file = run->outputs[RUN_TIMELINE].file;
    struct timeline *timeline = timeline_file ? observe(run) : NULL;
    if (timeline_file && !timeline)
        return CORUN_MEMORY;
    if (trace) {
        trace_create(&run->trace, trace, run->outputs[RUN_TRACE].stays);
        watch(run);
    }
    FILE *console = run->outputs[RUN_CONSOLE].file;
    run->text = console ? console : json == stdout || timeline_file == stdout ? stderr : stdout;
    job->print = run->silent ? NULL : print_text;
    job->print_once = !console;
    job->progress = show_progress;
    job->print_user = job->progress_user = run;
    policy_watch(job);
    run->progress = progress_begin(run->quiet);
    enum corun_status status = corun_case_run(job, run->command.list, result);
    progress_end(run->progress);
    if (status == CORUN_OK && trace)
        trace_end(&run->trace);
    if (status == CORUN_OK && timeline)
        status = timeline_write(timeline, *result, timeline_file);
    if (status == CORUN_OK && !run->in_software)
        status = report(run, *result);
    timeline_destroy(timeline);
    return status;
}

static enum corun_status evaluate(struct run_options *run, struct evaluate_result **result)
{
    struct corun_case *job = run->job;
    enum corun_status status =
        driver_find(run->software.native, run->gpu, job->data_directory, run->library, run->command.list);
    if (status != CORUN_OK)
        return status;
    run->software.job = job;
    run->software.library = run->library;
    job->progress = show_progress;
    job->progress_user = run;
    policy_watch(job);
    run->progress = progress_begin(run->quiet);
    status = evaluate_case(&run->software, run->command.list, result);
    progress_end(run->progress);
    return status;
}

/* On the machines that are wanted, one after the other. */
static enum corun_status run_on_machines(struct run_options *run, struct corun_case_result **result)
{
    struct evaluate_result *software = NULL;
    enum corun_status status = run->in_hardware ? simulate(run, result) : CORUN_OK;
    bool interrupted = *result && (*result)->interrupted;
    if (status == CORUN_OK && run->in_software && !interrupted)
        status = evaluate(run, &software);
    if (status == CORUN_OK && software)
        status = report_machines(run, *result, software);
    else if (status == CORUN_OK && run->in_software)
        status = report(run, *result);
    if (software && software->common.interrupted)
        run->command.exit_status = EXIT_INTERRUPTED;
    if (status == CORUN_OK && software)
        status = status_of(&software->common);
    evaluate_result_destroy(software);
    return status;
}

static enum corun_status load_policy(struct run_options *run)
{
    if (!run->loaded)
        return CORUN_OK;
    policy_watch_loading(run->loaded);
    enum corun_status status = corun_request_set(run->request, "--policy", run->loaded, run->command.list);
    policy_watch_loaded();
    return status;
}

/* The trace of a run that is saved lies in its place from the start, so that it can be gone on with. */
static enum corun_status keep_trace(struct run_options *run)
{
    struct output *trace = &run->outputs[RUN_TRACE];
    struct stat about;
    if (!trace->path || (!run->state.file && !run->state.resume))
        return CORUN_OK;
    trace->stays = true;
    if (!strcmp(trace->path, "-") || (!stat(trace->path, &about) && !S_ISREG(about.st_mode)))
        return corun_report(
            run->command.list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
            "there are no checkpoints of a run whose trace goes to %s: what was written there cannot be "
            "cut back",
            strcmp(trace->path, "-") != 0 ? trace->path : "standard output");
    return CORUN_OK;
}

static enum corun_status run_case(void *user)
{
    struct run_options *run = user;
    struct corun_case_result *result = NULL;
    enum corun_status status = load_policy(run);
    if (status == CORUN_OK)
        status = corun_request_case(run->request, run->command.list, &run->job);
    if (status == CORUN_OK && run->samples) {
        run->job->sampling = &run->sampling;
        run->job->no_history = true; /* what is not simulated leaves none */
    }
    if (status == CORUN_OK) {
        run->job->checkpoint_file = run->state.file;
        run->job->checkpoint_cycle = run->state.cycle;
        run->job->checkpoint_every = run->state.every;
        run->job->resume_file = run->state.resume;
    }
    if (status == CORUN_OK && run->state.resume)
        status = outputs_spare(run->outputs, RUN_CHECKPOINT, run->state.resume, run->command.list);
    for (size_t i = 0; i < run->words.count && status == CORUN_OK; i++)
        status = outputs_spare(run->outputs, RUN_OUTPUTS, run->words.data[i], run->command.list);
    if (status == CORUN_OK)
        status = keep_trace(run);
    if (status == CORUN_OK)
        status = outputs_open(run->outputs, RUN_OUTPUTS, run->command.list);
    if (status == CORUN_OK)
        status = outputs_close(run->outputs, RUN_OUTPUTS, run_on_machines(run, &result), run->command.list);
    if (result && result->interrupted)
        run->command.exit_status = EXIT_INTERRUPTED;
    if (result && status == CORUN_OK)
        status = status_of(result);
    corun_case_result_destroy(result);
    return status;
}

int command_run(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = arguments_doc,
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct run_options run = {.request = corun_request_create(),
                              .gpu = DEFAULT_GPU,
                              .in_hardware = true,
                              .outputs = {{.option = "--json"},
                                          {.option = "--trace"},
                                          {.option = "--timeline"},
                                          {.option = "--console"},
                                          {.option = "--checkpoint", .later = true}},
                              .sample_cycles = TIMELINE_SAMPLE_CYCLES,
                              .timeline_settings = {.limit = TIMELINE_LIMIT}};
    if (!run.request)
        return output_diagnostics(NULL, CORUN_MEMORY);
    int exit_status = command_perform(&run.command, &argp, argc, argv, run_case, &run);
    corun_request_destroy(run.request);
    vector_free(&run.words);
    return exit_status;
}
