/* corun capture: what a CUDA program does with its GPU, as a workload. */
#include "cli/command.h"

#include "cuda/settings.h"
#include "workload/capture.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPLAY_WATCHDOG \
    UINT64_C(20000000000) /* warp instructions of a thread block, as for `corun exec --functional` */
#define REASON_BYTES 512u

enum { KEY_GPU = 1000, KEY_VERIFY, KEY_OUTPUT = 'o', KEY_QUIET = 'q' };

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "FILE", 0, "where to; it ends in " CAPTURE_ENDING " [PROGRAM" CAPTURE_ENDING "]", 1},
    {"gpu", KEY_GPU, "GPU", 0, "what the program sees; as for `corun exec` [" DEFAULT_GPU "]", 1},
    {"verify", KEY_VERIFY, NULL, 0, "replay it, and compare with what the program read", 1},
    {"quiet", KEY_QUIET, NULL, 0, "no summary", 2},
    {0},
};

static const char doc[] =
    "Runs a CUDA program without timing and writes what it does with its GPU to a file: modules, launches in order, "
    "and the memory that they read. The file is a workload: `corun run --policy even hotspot" CAPTURE_ENDING
    " sgemm`.\vThe program is as for `corun exec`; its exit status is that of corun. docs/captures.md says what is in "
    "the file.";

struct capture_options {
    struct corun_diagnostics *list;
    const char *output, *gpu;
    char **program;
    bool verify, quiet;
    char default_output[PATH_BYTES], folder[256], file[512];
};

static bool ends_well(const char *path)
{
    size_t length = strlen(path), ending = strlen(CAPTURE_ENDING);
    return length > ending && strcmp(path + length - ending, CAPTURE_ENDING) == 0;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct capture_options *capture = state->input;
    switch (key) {
    case KEY_OUTPUT:
        if (!ends_well(value))
            argp_error(state, "the name of the file must end in " CAPTURE_ENDING ", and `%s` does not", value);
        capture->output = value;
        break;
    case KEY_GPU:
        if (capture->gpu)
            argp_error(state, "one GPU is captured");
        capture->gpu = value;
        break;
    case KEY_VERIFY:
        capture->verify = true;
        break;
    case KEY_QUIET:
        capture->quiet = true;
        break;
    case ARGP_KEY_ARG: /* everything from here on is the program's */
        capture->program = &state->argv[state->next - 1];
        state->next = state->argc;
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a program is missing");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* `corun exec --functional`, whose libraries find the folder in the environment. */
static int run_program(const struct capture_options *capture, char *title)
{
    size_t count = 0;
    while (capture->program[count])
        count++;
    char **arguments = calloc(count + 8, sizeof *arguments);
    if (!arguments || setenv(setting_CAPTURE, capture->folder, 1)) {
        free(arguments);
        corun_report(capture->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
        return corun_status_exit(CORUN_MEMORY);
    }
    char functional[] = "--functional", quiet[] = "--quiet", gpu[] = "--gpu", end[] = "--";
    int used = 0;
    arguments[used++] = title;
    arguments[used++] = functional;
    arguments[used++] = quiet;
    if (capture->gpu) {
        arguments[used++] = gpu;
        arguments[used++] = (char *)(uintptr_t)capture->gpu;
    }
    arguments[used++] = end;
    for (size_t i = 0; i < count; i++)
        arguments[used++] = capture->program[i];
    int result = command_exec(used, arguments);
    unsetenv(setting_CAPTURE);
    free(arguments);
    return result;
}

/* The file of the one process that used the GPU. */
static enum corun_status find_file(struct capture_options *capture)
{
    DIR *folder = opendir(capture->folder);
    size_t count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.' && count++ == 0)
            snprintf(capture->file, sizeof capture->file, "%s/%.200s", capture->folder, entry->d_name);
    if (folder)
        closedir(folder);
    if (count == 0)
        return corun_report(capture->list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                            "%s has launched no kernel: there is nothing to capture", capture->program[0]);
    if (count > 1)
        return corun_report(capture->list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                            "%zu processes of %s have used the GPU: only one can be captured", count,
                            capture->program[0]);
    return CORUN_OK;
}

static enum corun_status copy_file(struct capture_options *capture)
{
    char data[1 << 16];
    FILE *from = fopen(capture->file, "re");
    size_t bytes = from ? fread(data, 1, sizeof data, from) : 0;
    if (!from || !capture_is(data, bytes)) {
        bool unfinished = !bytes || !data[0];
        char reason[REASON_BYTES];
        snprintf(reason, sizeof reason, "%.*s", (int)(bytes < REASON_BYTES ? bytes : REASON_BYTES - 1), data);
        reason[strcspn(reason, "\n")] = 0;
        if (from)
            fclose(from);
        return corun_report(capture->list, CORUN_UNSUPPORTED, CORUN_NOWHERE, "%s cannot be captured: %s",
                            capture->program[0], unfinished ? "it did not end by itself (a signal, or _exit)" : reason);
    }
    FILE *to = output_open(capture->output, capture->list);
    bool good = to != NULL;
    while (good && bytes) {
        good = fwrite(data, 1, bytes, to) == bytes;
        bytes = good ? fread(data, 1, sizeof data, from) : 0;
    }
    good = good && !ferror(from);
    fclose(from);
    enum corun_status status = to ? output_close(to, capture->output, capture->list) : CORUN_FILE;
    if (!status && !good)
        status = corun_report(capture->list, CORUN_FILE, (struct corun_place){capture->output, 0, 0},
                              "not everything could be written");
    return status;
}

static void take_away(const struct capture_options *capture)
{
    DIR *folder = opendir(capture->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s/%.200s", capture->folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (folder)
        closedir(folder);
    rmdir(capture->folder);
}

static void summarise(const struct captured *captured, const char *output)
{
    size_t streams = 0;
    for (size_t i = 0; i < captured->operations.count; i++)
        streams += captured->operations.data[i].kind == CAPTURE_STREAM;
    const char *plural = captured->launches.count == 1 ? "" : "es";
    fprintf(stderr, "%s: %zu launch%s, %zu different; %zu stream%s; ", output, captured->launches.count, plural,
            captured->shapes.count, streams, streams == 1 ? "" : "s");
    char whole[REPORT_SIZE_BYTES], packed[REPORT_SIZE_BYTES];
    fprintf(stderr, "%u result%s to compare; %s, in the file %s\n", captured->checks, captured->checks == 1 ? "" : "s",
            report_size(captured->bytes, whole), report_size(captured->file_bytes, packed));
}

/* A file that could not be replayed should be known now. */
static enum corun_status look_at(const struct capture_options *capture)
{
    struct corun_workload *workload;
    struct corun_instance *instance = NULL;
    struct captured *captured = NULL;
    enum corun_status status = capture_load(capture->output, capture->list, &captured);
    if (!status && !capture->quiet)
        summarise(captured, capture->output);
    capture_destroy(captured);
    if (status)
        return status;
    status = corun_workload_load(capture->output, NULL, capture->list, &workload);
    if (!status)
        status = corun_instance_create(workload, 0, 1, capture->list, &instance);
    if (!status && capture->verify)
        status = corun_instance_run(instance, REPLAY_WATCHDOG, capture->list, NULL, NULL, NULL);
    if (!status && capture->verify)
        status = corun_instance_verify(instance, capture->list, NULL);
    corun_instance_destroy(instance);
    corun_workload_destroy(workload);
    return status;
}

int command_capture(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "-- PROGRAM [ARGUMENT...]",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct capture_options capture = {.list = corun_diagnostics_create()};
    if (!capture.list)
        return output_diagnostics(NULL, CORUN_MEMORY);
    command_parse_in_order(&argp, argc, argv, &capture);
    if (!capture.output) {
        const char *slash = strrchr(capture.program[0], '/');
        snprintf(capture.default_output, sizeof capture.default_output, "%.200s" CAPTURE_ENDING,
                 slash ? slash + 1 : capture.program[0]);
        capture.output = capture.default_output;
    }
    const char *temporary = getenv("TMPDIR");
    snprintf(capture.folder, sizeof capture.folder, "%.200s/corun-capture-XXXXXX",
             temporary && *temporary ? temporary : P_tmpdir);
    enum corun_status status = CORUN_OK;
    int result = 0;
    if (!mkdtemp(capture.folder)) {
        status = corun_report(capture.list, CORUN_FILE, (struct corun_place){capture.folder, 0, 0},
                              "no folder can be made: %s", strerror(errno));
    } else {
        result = run_program(&capture, argv[0]);
        status = find_file(&capture);
        /* Whoever could not be started has been told so. */
        if (status && !capture.file[0] && result) {
            take_away(&capture);
            corun_diagnostics_destroy(capture.list);
            return result;
        }
        if (!status)
            status = copy_file(&capture);
        take_away(&capture);
        if (!status)
            status = look_at(&capture);
    }
    int own = output_diagnostics(capture.list, status);
    corun_diagnostics_destroy(capture.list);
    return status ? own : result;
}
