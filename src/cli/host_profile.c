/* SPDX-License-Identifier: MIT */
/* corun host profile: runs a program under measurement, size by size, and writes its description for the simulated host. */
#include "cli/host.h"

#include "base/text_file.h"
#include "cli/program.h"
#include "profile/describe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_FILE_BYTES ((size_t)1 << 31) /* of a report or a trace */
#define MOST_WORDS 32

enum {
    PROFILE_KEY_OUTPUT = 'o',
    PROFILE_KEY_QUIET = 'q',
    PROFILE_KEY_SIZES = 's',
    PROFILE_KEY_TRACED = 't',
    PROFILE_KEY_CORES = 0x100,
    PROFILE_KEY_CURVES,
    PROFILE_KEY_CACHE_BYTES,
    PROFILE_KEY_WAYS,
    PROFILE_KEY_QUERIES,
    PROFILE_KEY_REPEAT,
    PROFILE_KEY_RATE
};

static const struct argp_option options[] = {
    {"sizes", PROFILE_KEY_SIZES, "N,...", 0,
     "sizes of queries [a service: a quarter, 1, 4 and 10 times the mean; a batch program: the mean]", 1},
    {"traced", PROFILE_KEY_TRACED, "FILE", 0, "the same program, linked with corun_trace [traced/PROGRAM beside it]",
     1},
    {"queries", PROFILE_KEY_QUERIES, "N", 0,
     "queries of each size, each with its own input; the first warms the caches [4]", 2},
    {"repeat", PROFILE_KEY_REPEAT, "N", 0, "times that each query is run; the shortest times count [5]", 2},
    {"rate", PROFILE_KEY_RATE, "N", 0, "keep one line of memory in N in the trace [16]", 2},
    {"cores", PROFILE_KEY_CORES, "N", 0, "speed-ups on 1 to N cores [12]", 3},
    {"curves", PROFILE_KEY_CURVES, "N,...", 0, "cores that curves of misses are taken for [1,4,12]", 3},
    {"cache-size", PROFILE_KEY_CACHE_BYTES, "BYTES", 0, "last-level cache of the host [30M]", 3},
    {"ways", PROFILE_KEY_WAYS, "N", 0, "its ways [16]", 3},
    {"output", PROFILE_KEY_OUTPUT, "FILE", 0,
     "the description; a table goes to standard output then [-: standard output, no table]", 4},
    {"quiet", PROFILE_KEY_QUIET, NULL, 0, "no table, and nothing of how far it is", 4},
    {0},
};

static const char doc[] = "Measures what a simulated host needs to know of a program, and writes a description: "
                          "instructions (counted by valgrind), time on one "
                          "core, speed-up over cores by list scheduling of its task graph, and what last-level caches "
                          "of all sizes miss, by reuse distances of a "
                          "sample of its loads and stores on one and on several cores. The program reports its task "
                          "graph as those in examples/host do "
                          "(docs/host-applications.md); it is run with --size, --threads, --queries, --repeat, "
                          "--report, --no-check and --prepare-only.";

struct host_profile {
    struct command command;
    struct output output;
    struct guard guard;
    bool quiet;
    const char *program, *traced, *valgrind, *folder;
    uint32_t sizes[PROFILE_MOST_SIZES], size_count;
    uint64_t queries;
    uint32_t repeat, rate;
    struct profile_grid grid;
    struct profile_machine machine;
    struct profile_description description;
    struct progress *progress;
};

/* "1,4,12" as numbers, rising. */
static void parse_list(struct host_profile *profile, const char *option, const char *value, uint32_t highest,
                       uint32_t *numbers, uint32_t most, uint32_t *count)
{
    char *rest = arena_copy_text(profile->command.arena, value, strlen(value)), *word;
    *count = 0;
    while (rest && (word = strsep(&rest, ",")) && profile->command.status == CORUN_OK) {
        uint32_t number = 0;
        command_count(&profile->command, option, word, highest, &number);
        if (*count == most || (*count && number <= numbers[*count - 1]))
            command_keep(&profile->command,
                         corun_report(profile->command.list, CORUN_USAGE, CORUN_NOWHERE,
                                      "%s: at most %u numbers, each more than the one before", option, most));
        else
            numbers[(*count)++] = number;
    }
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct host_profile *profile = state->input;
    struct command *command = &profile->command;
    switch (key) {
    case PROFILE_KEY_SIZES:
        parse_list(profile, "--sizes", value, UINT32_MAX, profile->sizes, PROFILE_MOST_SIZES, &profile->size_count);
        break;
    case PROFILE_KEY_TRACED:
        profile->traced = command_name("--traced", value, state);
        break;
    case PROFILE_KEY_QUERIES:
        command_number(command, "--queries", value, 1000, 2, 1000, &profile->queries);
        break;
    case PROFILE_KEY_REPEAT:
        command_count(command, "--repeat", value, 1000, &profile->repeat);
        break;
    case PROFILE_KEY_RATE:
        command_count(command, "--rate", value, 1 << 20, &profile->rate);
        break;
    case PROFILE_KEY_CORES:
        command_count(command, "--cores", value, PROFILE_MOST_CORES, &profile->grid.cores);
        break;
    case PROFILE_KEY_CURVES:
        parse_list(profile, "--curves", value, PROFILE_MOST_CORES, profile->grid.curve_cores, PROFILE_MOST_CURVES,
                   &profile->grid.curve_count);
        break;
    case PROFILE_KEY_CACHE_BYTES:
        command_number(command, "--cache-size", value, 1024, 1 << 20, UINT64_C(1) << 40, &profile->grid.cache_bytes);
        break;
    case PROFILE_KEY_WAYS:
        command_count(command, "--ways", value, PROFILE_MOST_POINTS - 3, &profile->grid.ways);
        break;
    case PROFILE_KEY_OUTPUT:
        profile->output.path = value;
        break;
    case PROFILE_KEY_QUIET:
        profile->quiet = true;
        break;
    case ARGP_KEY_ARG:
        if (state->arg_num)
            argp_error(state, "one program is expected, not also `%s`", value);
        profile->program = value;
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the program is missing");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* A process to be: its words and what it finds in its environment. */
struct child {
    const char *words[MOST_WORDS];
    uint32_t count;
    const char *trace, *rate; /* NULL: not traced */
    const char *log;          /* what it prints goes there */
};

static int become(const void *user)
{
    const struct child *child = user;
    int log = open(child->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log < 0 || dup2(log, STDOUT_FILENO) < 0)
        return errno;
    if (child->trace && (setenv("CORUN_TRACE", child->trace, 1) || setenv("CORUN_TRACE_RATE", child->rate, 1)))
        return errno;
    signal(SIGPIPE, SIG_DFL);
    execvp(child->words[0], (char *const *)child->words);
    return errno;
}

static const char *text(struct host_profile *profile, const char *format, ...) __attribute__((format(printf, 2, 3)));
static const char *text(struct host_profile *profile, const char *format, ...)
{
    char room[PATH_BYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(room, sizeof room, format, values);
    va_end(values);
    const char *copy = arena_copy_text(profile->command.arena, room, strlen(room));
    if (!copy)
        command_keep(&profile->command, CORUN_MEMORY);
    return copy ? copy : "";
}

static void add_word(struct child *child, const char *word)
{
    if (child->count < MOST_WORDS - 1)
        child->words[child->count++] = word;
}

/* The program with that size; what differs is added by the caller. */
static void add_program(struct host_profile *profile, struct child *child, const char *program, uint32_t size,
                        uint32_t threads)
{
    child->log = text(profile, "%s/log", profile->folder);
    add_word(child, program);
    if (size)
        add_word(child, text(profile, "--size=%u", size));
    add_word(child, text(profile, "--threads=%u", threads));
}

static enum corun_status run(struct host_profile *profile, struct child *child)
{
    struct corun_diagnostics *list = profile->command.list;
    if (profile->command.status != CORUN_OK)
        return profile->command.status;
    profile->guard.become = become;
    profile->guard.user = child;
    profile->guard.folder = profile->folder;
    int problem = guard_run(&profile->guard), status = profile->guard.status;
    if (problem)
        return corun_report(list, CORUN_FILE, (struct corun_place){child->words[0], 0, 0}, "cannot be started: %s",
                            strerror(problem));
    if (status)
        return corun_report(list, CORUN_MISMATCH, (struct corun_place){child->words[0], 0, 0},
                            WIFSIGNALED(status) ? "was ended by signal %d" : "ended with status %d",
                            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return CORUN_OK;
}

static enum corun_status run_with_report(struct host_profile *profile, struct child *child,
                                         struct profile_report *report)
{
    const char *path = text(profile, "%s/report", profile->folder);
    char *content = NULL;
    size_t bytes = 0;
    add_word(child, text(profile, "--report=%s", path));
    (void)unlink(path); /* of the run before */
    enum corun_status status = run(profile, child);
    if (status == CORUN_OK && access(path, R_OK))
        status = corun_report(profile->command.list, CORUN_UNSUPPORTED, (struct corun_place){child->words[0], 0, 0},
                              "has left no report: does it know --report=FILE (docs/host-applications.md)?");
    if (status == CORUN_OK)
        status = text_file_read(path, MOST_FILE_BYTES, profile->command.list, &content, &bytes);
    if (status == CORUN_OK)
        status = profile_report_parse(path, content, bytes, profile->command.arena, profile->command.list, report);
    free(content);
    return status;
}

static bool step(struct host_profile *profile, uint32_t size, const char *what)
{
    return progress_step(profile->progress, "%s, %u %s: %s", profile->description.program, size,
                         profile->description.size_of, what);
}

/* Instructions of all queries of a run of the program; without `answers`, of making their inputs alone. */
static enum corun_status count(struct host_profile *profile, uint32_t size, bool answers, double *instructions)
{
    struct child child = {.count = 0};
    const char *log = text(profile, "%s/callgrind", profile->folder);
    char *content = NULL;
    size_t bytes;
    const char *const valgrind[] = {profile->valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null",
                                    "--error-exitcode=0"};
    for (size_t i = 0; i < sizeof valgrind / sizeof valgrind[0]; i++)
        add_word(&child, valgrind[i]);
    add_word(&child, text(profile, "--log-file=%s", log));
    add_program(profile, &child, profile->program, size, 1);
    add_word(&child, answers ? "--no-check" : "--prepare-only");
    enum corun_status status = run(profile, &child);
    if (status == CORUN_OK)
        status = text_file_read(log, MOST_FILE_BYTES, profile->command.list, &content, &bytes);
    const char *found = status == CORUN_OK ? strstr(content, "Collected : ") : NULL;
    if (status == CORUN_OK && !found)
        status = corun_report(profile->command.list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                              "valgrind has counted no instructions");
    if (found)
        *instructions = strtod(found + strlen("Collected : "), NULL);
    free(content);
    return status;
}

/* Real runs on one thread, whose task times are what schedules are made of, and up to the mean size on two. */
static enum corun_status measure_times(struct host_profile *profile, uint32_t size, struct profile_report *report,
                                       double real_ns[2])
{
    enum corun_status status = CORUN_OK;
    for (uint32_t threads = 1; threads <= 2 && status == CORUN_OK; threads++) {
        struct child child = {.count = 0};
        struct profile_report other;
        if (threads > 1 && (size > profile->description.mean_size || sysconf(_SC_NPROCESSORS_ONLN) < 2))
            break; /* a check that long queries would make long */
        add_program(profile, &child, profile->program, size, threads);
        add_word(&child, text(profile, "--queries=%" PRIu64, profile->queries));
        add_word(&child, text(profile, "--repeat=%u", profile->repeat));
        add_word(&child, "--no-check");
        status = run_with_report(profile, &child, threads == 1 ? report : &other);
        const struct profile_report *made = threads == 1 ? report : &other;
        for (uint32_t q = 0; status == CORUN_OK && q < made->query_count; q++)
            real_ns[threads - 1] += (double)made->queries[q].wall_ns / made->query_count;
    }
    return status;
}

/* The traced program runs the same queries once; its report has the same graph, and times that are worth nothing. */
static enum corun_status measure_trace(struct host_profile *profile, uint32_t size, const struct profile_report *report,
                                       double instructions, struct profile_size *made)
{
    struct child child = {.count = 0};
    struct profile_report traced;
    struct profile_trace trace;
    char *content = NULL;
    size_t bytes = 0;
    child.trace = text(profile, "%s/trace", profile->folder);
    child.rate = text(profile, "%u", profile->rate);
    add_program(profile, &child, profile->traced, size, 1);
    add_word(&child, "--no-check");
    add_word(&child, text(profile, "--queries=%" PRIu64, profile->queries));
    (void)unlink(child.trace);
    enum corun_status status = run_with_report(profile, &child, &traced);
    if (status == CORUN_OK && access(child.trace, R_OK))
        status = corun_report(profile->command.list, CORUN_UNSUPPORTED, (struct corun_place){profile->traced, 0, 0},
                              "has left no trace: is it linked with corun_trace, and does it tell its tasks?");
    if (status == CORUN_OK)
        status = text_file_read(child.trace, MOST_FILE_BYTES, profile->command.list, &content, &bytes);
    if (status == CORUN_OK)
        status = profile_trace_read(child.trace, content, bytes, profile->command.list, &trace);
    if (status == CORUN_OK) /* times of the untraced run, accesses of the traced one */
        status = profile_size_make(report, &trace, &profile->description, instructions, profile->command.list, made);
    free(content);
    return status;
}

static enum corun_status measure_size(struct host_profile *profile, uint32_t size)
{
    struct profile_report report;
    struct profile_size *made = &profile->description.sizes[profile->description.size_count];
    double real_ns[2] = {0}, all = 0, inputs = 0;
    step(profile, size, "times");
    enum corun_status status = measure_times(profile, size, &report, real_ns);
    step(profile, size, "instructions");
    if (status == CORUN_OK)
        status = count(profile, size, true, &all);
    if (status == CORUN_OK)
        status = count(profile, size, false, &inputs);
    step(profile, size, "loads and stores");
    if (status == CORUN_OK)
        status = measure_trace(profile, size, &report, all - inputs, made);
    made->real_ns[0] = real_ns[0];
    made->real_ns[1] = real_ns[1];
    profile->description.size_count++;
    return status;
}

/* What the program says of itself, and that its answers are right: one query of its mean size, checked. */
static enum corun_status ask_program(struct host_profile *profile)
{
    struct profile_description *description = &profile->description;
    struct profile_report report;
    struct child child = {.count = 0};
    add_program(profile, &child, profile->program, 0, 2);
    enum corun_status status = run_with_report(profile, &child, &report);
    if (status != CORUN_OK)
        return status;
    description->program = report.program;
    description->what = report.what;
    description->size_of = report.size_of;
    description->batch = report.batch;
    description->mean_size = report.mean_size;
    if (!profile->size_count) {
        uint32_t mean = report.mean_size ? report.mean_size : 1;
        const uint32_t sizes[] = {mean / 4 ? mean / 4 : 1, mean, 4 * mean, 10 * mean};
        profile->size_count = report.batch ? 1 : 4;
        memcpy(profile->sizes, report.batch ? &mean : sizes, profile->size_count * sizeof *sizes);
    }
    return CORUN_OK;
}

static enum corun_status find_programs(struct host_profile *profile)
{
    const char *slash = strrchr(profile->program, '/');
    profile->program = slash ? profile->program : text(profile, "./%s", profile->program);
    slash = strrchr(profile->program, '/');
    if (!profile->traced)
        profile->traced = text(profile, "%.*s/traced/%s", (int)(slash - profile->program), profile->program, slash + 1);
    profile->valgrind = "valgrind";
    enum corun_status status = command_existing(profile->program, profile->command.list);
    if (status == CORUN_OK)
        status = command_existing(profile->traced, profile->command.list);
    if (status == CORUN_NOT_FOUND && !access(profile->program, F_OK)) /* so it is the other one */
        (void)corun_report(profile->command.list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                           "a second build of the program, linked with corun_trace, is wanted "
                           "(docs/host-applications.md); --traced says where it is");
    return status;
}

static void table(struct host_profile *profile)
{
    static const char *const titles[] = {"<size",    "instructions", "ms alone", "2 threads", "by schedule",
                                         "speed-up", "1 way",        "half",     "all ways",  "GB/s"};
    const struct profile_description *description = &profile->description;
    const struct profile_grid *grid = &profile->grid;
    struct columns *columns = columns_create(profile->command.arena, titles, sizeof titles / sizeof titles[0]);
    uint32_t last = grid->curve_count - 1, points[] = {2, 1 + (grid->ways + 1) / 2, 1 + grid->ways};
    for (uint32_t i = 0; i < description->size_count; i++) {
        const struct profile_size *size = &description->sizes[i];
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%u", size->size);
        columns_set(columns, 1, PAINT_NONE, "%.3g", size->instructions);
        columns_set(columns, 2, PAINT_NONE, "%.3f", size->work_ns * 1e-6);
        if (size->real_ns[1] > 0)
            columns_set(columns, 3, PAINT_NONE, "%.3f", size->real_ns[1] * 1e-6);
        columns_set(columns, 4, PAINT_NONE, "%.3f", grid->cores > 1 ? size->work_ns / size->speedup[1] * 1e-6 : 0);
        columns_set(columns, 5, PAINT_NONE, "%.2f", size->speedup[grid->cores - 1]);
        for (uint32_t k = 0; k < 3; k++)
            columns_set(columns, 6 + k, PAINT_NONE, "%.3f",
                        size->private_misses > 0 ? size->misses[last][points[k]] / size->private_misses : 0);
        columns_set(columns, 9, PAINT_NONE, "%.1f", profile_bandwidth(description, size, last, points[2]) * 1e-9);
    }
    struct report_style style = output_style(stdout);
    printf("%s: %s; misses and bandwidth on %u cores, misses as parts of what leaves the private caches\n\n",
           description->program, description->what, grid->curve_cores[last]);
    columns_print(columns, &style, stdout);
}

static enum corun_status measure(struct host_profile *profile)
{
    enum corun_status status = ask_program(profile);
    if (status == CORUN_OK)
        status = profile_machine_measure(&profile->machine);
    for (uint32_t i = 0; i < profile->size_count && status == CORUN_OK; i++)
        status = measure_size(profile, profile->sizes[i]);
    return status;
}

static enum corun_status measure_in_folder(struct host_profile *profile)
{
    const char *temporary = getenv("TMPDIR");
    const char *beginning = text(profile, "%s/corun-profile", temporary && *temporary ? temporary : P_tmpdir);
    int problem = program_folder_make(profile->command.arena, beginning, &profile->folder);
    if (problem)
        return corun_report(profile->command.list, CORUN_FILE, (struct corun_place){beginning, 0, 0},
                            "no folder can be made there: %s", strerror(problem));
    enum corun_status status = measure(profile);
    program_folder_remove(profile->folder);
    return status;
}

static enum corun_status write_description(struct host_profile *profile)
{
    struct profile_description *description = &profile->description;
    if (profile->output.path && !profile->quiet && strcmp(profile->output.path, "-") != 0)
        table(profile);
    profile_describe(description, profile->output.file ? profile->output.file : stdout);
    return CORUN_OK;
}

static enum corun_status run_profile(void *user)
{
    struct host_profile *profile = user;
    time_t now = time(NULL);
    struct tm day;
    char date[32] = "";
    if (gmtime_r(&now, &day))
        strftime(date, sizeof date, "%Y-%m-%d", &day);
    profile_grid_points(&profile->grid);
    profile->description.machine = &profile->machine;
    profile->description.grid = &profile->grid;
    profile->description.date = text(profile, "%s", date);
    profile->description.command = text(profile, "corun host profile --queries=%" PRIu64 " --repeat=%u --rate=%u",
                                        profile->queries, profile->repeat, profile->rate);
    for (uint32_t i = 0; i < profile->grid.curve_count; i++)
        if (profile->grid.curve_cores[i] > profile->grid.cores)
            return corun_report(profile->command.list, CORUN_USAGE, CORUN_NOWHERE,
                                "--curves: more cores than --cores has");
    enum corun_status status = find_programs(profile);
    if (status == CORUN_OK)
        status = outputs_open(&profile->output, 1, profile->command.list);
    if (status != CORUN_OK)
        return status;
    guard_begin(&profile->guard);
    profile->progress = progress_begin(profile->quiet);
    status = measure_in_folder(profile);
    progress_end(profile->progress);
    guard_end(&profile->guard);
    if (status == CORUN_OK)
        status = write_description(profile);
    return outputs_close(&profile->output, 1, status, profile->command.list);
}

int host_command_profile(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "PROGRAM",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct host_profile profile = {
        .output = {.option = "--output"},
        .queries = 4,
        .repeat = 5,
        .rate = 16,
        .grid = {.cores = 12, .curve_cores = {1, 4, 12}, .curve_count = 3, .cache_bytes = 30 << 20, .ways = 16}};
    return command_perform(&profile.command, &argp, argc, argv, run_profile, &profile);
}
