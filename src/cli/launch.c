/* SPDX-License-Identifier: MIT */
/* corun launch: one kernel of any PTX file with arguments from the command line. */
#include "cli/command.h"

#include "base/number.h"
#include "base/vector.h"
#include "case/launch.h"
#include "case/specification.h"
#include "corun/workload.h"
#include "report/json.h"
#include "report/table.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEY_GPU = 'g',
    KEY_KERNEL = 'k',
    KEY_ARG = 'a',
    KEY_SAVE = 's',
    KEY_FUNCTIONAL = 'f',
    KEY_JSON = 'j',
    KEY_QUIET = 'q',
    KEY_GRID = 0x100,
    KEY_BLOCK,
    KEY_SHARED,
    KEY_WATCHDOG,
    KEY_KERNEL_TIMEOUT,
    KEY_THREADS,
    KEY_CHECK
};

static const struct argp_option options[] = {
    {"kernel", KEY_KERNEL, "NAME", 0, "the kernel [the only one]", 1},
    {"grid", KEY_GRID, "X[,Y[,Z]]", 0, "thread blocks [1]", 1},
    {"block", KEY_BLOCK, "X[,Y[,Z]]", 0, "threads of a thread block [1]", 1},
    {"shared", KEY_SHARED, "BYTES", 0, "dynamic shared memory per thread block [0]", 1},
    {"arg", KEY_ARG, "ARGUMENT", 0, "the next argument of the kernel, see below", 1},
    {"save", KEY_SAVE, "N=FILE", 0, "after the run, write the buffer of argument N (from 0) to FILE; - as for --json",
     1},
    {"functional", KEY_FUNCTIONAL, NULL, 0, "execute without timing", 2},
    {"check", KEY_CHECK, "LIST", 0, COMMAND_CHECK_TEXT, 2},
    {"gpu", KEY_GPU, "GPU", 0,
     "a name (see `corun list gpus`) or a YAML file, with overrides: gtx980:sms=8,l2=4M,scheduler=lrr [gtx980]", 2},
    {"watchdog", KEY_WATCHDOG, "N", 0,
     "stop the kernel after N cycles without progress [5M]; with --functional: a thread block after N warp "
     "instructions [400M]",
     2},
    {"kernel-timeout", KEY_KERNEL_TIMEOUT, "TIME", 0,
     "stop a kernel that has run for so long on the simulated GPU: 10ms, 500us, 2s, or 5M cycles", 2},
    {"threads", KEY_THREADS, "N", 0, "host threads for the simulated GPU; the results do not depend on it [1]", 2},
    {"json", KEY_JSON, "FILE", 0,
     "write the results as JSON; - is standard output, in place of the summary (then the kernel's own text goes to "
     "standard error)",
     3},
    {"quiet", KEY_QUIET, NULL, 0, "no summary and no progress line", 3},
    {0},
};

static const char arguments_doc[] = "FILE.ptx";
static const char doc[] =
    "Launches one kernel of a PTX file on a simulated GPU. What it prints with printf goes to standard output.\v"
    "Arguments, one --arg for each parameter, in order:\n"
    "  u32=N  i32=N           a value of 32 bits, also for a parameter of 8 or 16\n"
    "  u64=N  i64=N           a value of 64 bits\n"
    "  f32=X  f64=X           a floating-point value, also inf, nan, 0xBITS\n"
    "  buf=BYTES              a buffer of zeroes\n"
    "  buf=BYTES:random:SEED  uniform f32 in [0, 1)\n"
    "  buf=BYTES:iota         u32 0, 1, 2, ...\n"
    "  buf=BYTES:f32=X        f32 of that value\n"
    "  buf=BYTES:u32=N        u32 of that value\n"
    "  buf=@FILE              a buffer with the contents of the file\n"
    "  bytes=@FILE            a structure by value\n"
    "BYTES takes K, M and G (powers of 1024).";

struct launch_options {
    struct command command;
    const char *gpu;
    const char *json_path;
    bool quiet;
    struct launch_request request;
    struct corun_gpu_config config;
    char data[PATH_BYTES];
    VECTOR(const char *) arguments;
    VECTOR(struct launch_save) saves;
    struct output *outputs; /* the JSON, then what is saved */
    bool stdout_is_taken;   /* by one of them */
    FILE *text;
    struct progress *progress;
};

static void add_save(struct launch_options *launch, const char *text)
{
    const char *equals = strchr(text, '=');
    char *number = equals ? arena_copy_text(launch->command.arena, text, (size_t)(equals - text)) : NULL;
    uint64_t argument;
    if (!number || !number_parse(number, 1000, &argument) || argument > UINT32_MAX || !equals[1]) {
        command_keep(&launch->command, corun_report(launch->command.list, CORUN_USAGE, CORUN_NOWHERE,
                                                    "--save: expected N=FILE, found `%s`", text));
        return;
    }
    if (!vector_push(&launch->saves, ((struct launch_save){(uint32_t)argument, equals + 1, NULL})))
        command_keep(&launch->command, CORUN_MEMORY);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct launch_options *launch = state->input;
    struct launch_request *request = &launch->request;
    switch (key) {
    case KEY_KERNEL:
        request->kernel = value;
        break;
    case KEY_GRID:
        command_keep(&launch->command, specify_dimensions(value, "--grid", launch->command.list, &request->grid));
        break;
    case KEY_BLOCK:
        command_keep(&launch->command, specify_dimensions(value, "--block", launch->command.list, &request->block));
        break;
    case KEY_SHARED:
        command_number(&launch->command, "--shared", value, 1024, 0, INT64_MAX, &request->dynamic_shared_bytes);
        break;
    case KEY_ARG:
        if (!vector_push(&launch->arguments, (const char *)value))
            command_keep(&launch->command, CORUN_MEMORY);
        break;
    case KEY_SAVE:
        add_save(launch, value);
        break;
    case KEY_FUNCTIONAL:
        request->functional = true;
        break;
    case KEY_CHECK:
        command_checks(&launch->command, value, &request->checks);
        break;
    case KEY_GPU:
        launch->gpu = value;
        break;
    case KEY_WATCHDOG:
        command_number(&launch->command, "--watchdog", value, 1000, 1, INT64_MAX, &request->watchdog);
        break;
    case KEY_KERNEL_TIMEOUT:
        if (!simulated_duration_parse(value, &request->timeout))
            argp_error(state, "--kernel-timeout is a time like 10ms, 500us or 2s, or a number of cycles, not `%s`",
                       value);
        break;
    case KEY_THREADS:
        command_count(&launch->command, "--threads", value, 1000, &request->threads);
        break;
    case KEY_JSON:
        launch->json_path = value;
        break;
    case KEY_QUIET:
        launch->quiet = true;
        break;
    case ARGP_KEY_ARG:
        if (state->arg_num)
            argp_error(state, "one PTX file is expected, not also `%s`", value);
        request->path = value;
        break;
    case ARGP_KEY_SUCCESS:
        if (request->functional && simulated_duration_cycles(&request->timeout, 1))
            argp_error(state, "--kernel-timeout is simulated time, which --functional has not");
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a PTX file is missing");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static bool show_progress(void *user, uint64_t cycle)
{
    struct launch_options *launch = user;
    return progress_cycles(launch->progress, launch->request.kernel ? launch->request.kernel : "kernel", cycle, 0);
}

static void print_text(void *user, const char *text, size_t bytes)
{
    fwrite(text, 1, bytes, ((struct launch_options *)user)->text);
}

static enum corun_status report(const struct launch_options *launch, const struct launch_result *result)
{
    FILE *json = launch->outputs[0].file;
    struct report_style style = output_style(stdout);
    if (!launch->quiet && !launch->stdout_is_taken && !table_launch(result, &style, stdout))
        return CORUN_MEMORY;
    return json ? json_launch(result, json) : CORUN_OK;
}

static enum corun_status load_gpu(struct launch_options *launch)
{
    struct launch_request *request = &launch->request;
    if (request->functional && !launch->gpu) /* without timing it only tells how many blocks fit an SM */
        return CORUN_OK;
    request->gpu = &launch->config;
    enum corun_status status = corun_data_directory(launch->data, sizeof launch->data, launch->command.list);
    return status == CORUN_OK ? corun_gpu_config_load(launch->gpu ? launch->gpu : DEFAULT_GPU, launch->data,
                                                      launch->command.list, &launch->config)
                              : status;
}

static enum corun_status open_outputs(struct launch_options *launch)
{
    struct corun_diagnostics *list = launch->command.list;
    size_t count = 1 + launch->saves.count;
    launch->outputs = ARENA_ARRAY(launch->command.arena, struct output, count);
    if (!launch->outputs)
        return CORUN_MEMORY;
    launch->outputs[0] = (struct output){.option = "--json", .path = launch->json_path};
    for (size_t i = 1; i < count; i++)
        launch->outputs[i] = (struct output){.option = "--save", .path = launch->saves.data[i - 1].path};
    enum corun_status status = outputs_spare(launch->outputs, count, launch->request.path, list);
    if (status == CORUN_OK)
        status = outputs_spare(launch->outputs, count, launch->gpu, list);
    for (size_t i = 0; i < launch->arguments.count && status == CORUN_OK; i++) {
        const char *at = strchr(launch->arguments.data[i], '@');
        status = outputs_spare(launch->outputs, count, at ? at + 1 : NULL, list);
    }
    if (status == CORUN_OK)
        status = outputs_open(launch->outputs, count, list);
    for (size_t i = 0; i < count; i++) {
        launch->stdout_is_taken = launch->stdout_is_taken || launch->outputs[i].file == stdout;
        if (i)
            launch->saves.data[i - 1].file = launch->outputs[i].file;
    }
    return status;
}

static enum corun_status run_launch(void *user)
{
    struct launch_options *launch = user;
    struct launch_request *request = &launch->request;
    struct launch_result result = {0};
    enum corun_status status = load_gpu(launch);
    if (status == CORUN_OK)
        status = open_outputs(launch);
    if (status != CORUN_OK)
        return status;
    request->arguments = launch->arguments.data;
    request->argument_count = launch->arguments.count;
    request->saves = launch->saves.data;
    request->save_count = launch->saves.count;
    launch->text = launch->stdout_is_taken ? stderr : stdout;
    request->print = print_text;
    request->progress = show_progress;
    request->print_user = request->progress_user = launch;
    if (!request->functional) /* which cannot be ended early: SIGINT ends the process */
        launch->progress = progress_begin(launch->quiet);
    status = launch_run(request, launch->command.list, &result);
    progress_end(launch->progress);
    if (status == CORUN_OK)
        status = report(launch, &result);
    status = outputs_close(launch->outputs, 1, status, launch->command.list);
    enum corun_status saved = outputs_close(launch->outputs + 1, launch->saves.count,
                                            result.saved ? CORUN_OK : CORUN_FILE, launch->command.list);
    if (result.interrupted)
        launch->command.exit_status = EXIT_INTERRUPTED;
    status = status == CORUN_OK ? result.status : status;
    return status == CORUN_OK && result.saved ? saved : status;
}

int command_launch(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = arguments_doc,
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct launch_options launch = {.request = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .threads = 1}};
    int exit_status = command_perform(&launch.command, &argp, argc, argv, run_launch, &launch);
    vector_free(&launch.arguments);
    vector_free(&launch.saves);
    return exit_status;
}
