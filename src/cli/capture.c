/* SPDX-License-Identifier: MIT */
/* corun capture: what a CUDA program does with its GPU, as a workload. */
#include "cli/program.h"

#include "workload/capture.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define REPLAY_WATCHDOG \
    UINT64_C(20000000000) /* warp instructions of a thread block, as for `corun exec --functional` */
#define REASON_BYTES 512u

enum { KEY_GPU = 'g', KEY_VERIFY = 0x100, KEY_OUTPUT = 'o', KEY_QUIET = 'q' };

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
    struct command command;
    struct program program;
    const char *output;
    bool verify, quiet;
    const char *folder, *file; /* beside the output: what is whole is moved to its place */
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
        if (capture->program.gpus)
            argp_error(state, "one GPU is captured");
        capture->program.gpus = value;
        break;
    case KEY_VERIFY:
        capture->verify = true;
        break;
    case KEY_QUIET:
        capture->quiet = true;
        break;
    default:
        return program_option(key, state, &capture->program);
    }
    return 0;
}

/* The file of the one process that used the GPU. */
static enum corun_status find_file(struct capture_options *capture)
{
    const char *program = capture->program.words[0];
    DIR *folder = opendir(capture->folder);
    size_t count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.' && count++ == 0)
            capture->file = arena_format(capture->command.arena, "%s/%s", capture->folder, entry->d_name);
    if (folder)
        closedir(folder);
    if (count == 1 && !capture->file)
        return CORUN_MEMORY;
    if (count == 0)
        return corun_report(capture->command.list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                            "%s has launched no kernel: there is nothing to capture", program);
    if (count > 1)
        return corun_report(capture->command.list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                            "%zu processes of %s have used the GPU: only one can be captured", count, program);
    return CORUN_OK;
}

static enum corun_status cannot_be_written(const struct capture_options *capture, int problem)
{
    return corun_report(capture->command.list, CORUN_FILE, (struct corun_place){capture->output, 0, 0},
                        "cannot be written: %s", strerror(problem));
}

/* Moves it to its place; a process whose work cannot be captured leaves the reason in place of its work. */
static enum corun_status take_file(const struct capture_options *capture)
{
    struct corun_diagnostics *list = capture->command.list;
    const char *problem = strrchr(capture->file, '.'), *name = strrchr(capture->file, '/');
    if (problem && problem > name) /* what it could not write it tells in its name */
        return cannot_be_written(capture, (int)strtol(problem + 1, NULL, 10));
    char head[REASON_BYTES];
    FILE *file = fopen(capture->file, "re");
    size_t bytes = file ? fread(head, 1, sizeof head - 1, file) : 0;
    if (file)
        fclose(file);
    if (!capture_is(head, bytes)) {
        bool unfinished = !bytes || !head[0];
        head[bytes] = 0;
        head[strcspn(head, "\n")] = 0;
        return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE, "%s cannot be captured: %s",
                            capture->program.words[0],
                            unfinished ? "it did not end by itself (a signal, or _exit)" : head);
    }
    if (!rename(capture->file, capture->output))
        return CORUN_OK;
    return cannot_be_written(capture, errno);
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
    enum corun_status status = capture_load(capture->output, 0, capture->command.list, &captured);
    if (!status && !capture->quiet)
        summarise(captured, capture->output);
    capture_destroy(captured);
    if (status)
        return status;
    status = corun_workload_load(capture->output, NULL, capture->command.list, &workload);
    if (!status)
        status = corun_instance_create(workload, 0, 1, capture->command.list, &instance);
    if (!status && capture->verify)
        status = corun_instance_run(instance, REPLAY_WATCHDOG, capture->command.list, NULL, NULL, NULL);
    if (!status && capture->verify)
        status = corun_instance_verify(instance, capture->command.list, NULL);
    corun_instance_destroy(instance);
    corun_workload_destroy(workload);
    return status;
}

/* That it cannot be written there should be known before the program runs. The guard holds signals from here on. */
static enum corun_status make_folder(struct capture_options *capture)
{
    guard_begin(&capture->program.guard);
    struct stat about;
    int problem = EISDIR;
    if (stat(capture->output, &about) || !S_ISDIR(about.st_mode))
        problem = program_folder_make(capture->command.arena, capture->output, &capture->folder);
    if (!problem)
        return CORUN_OK;
    guard_end(&capture->program.guard);
    return cannot_be_written(capture, problem);
}

static enum corun_status run_capture(void *user)
{
    struct capture_options *capture = user;
    const char *name = capture->program.words[0], *slash = strrchr(name, '/');
    if (!capture->output)
        capture->output = arena_format(capture->command.arena, "%s" CAPTURE_ENDING, slash ? slash + 1 : name);
    if (!capture->output)
        return CORUN_MEMORY;
    enum corun_status status = program_find(&capture->program, capture->command.list);
    if (status == CORUN_OK)
        status = make_folder(capture);
    if (status != CORUN_OK)
        return status;
    capture->program.functional = true;
    capture->program.capture = capture->folder;
    status = program_run(&capture->program, capture->command.list);
    capture->command.exit_status = capture->program.exit_status;
    if (status == CORUN_OK)
        status = find_file(capture);
    if (status == CORUN_OK)
        status = take_file(capture);
    program_folder_remove(capture->folder);
    guard_end(&capture->program.guard);
    return status == CORUN_OK ? look_at(capture) : status;
}

int command_capture(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "-- PROGRAM [ARGUMENT...]",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct capture_options capture = {.command = {.rest_is_not_ours = true}};
    return command_perform(&capture.command, &argp, argc, argv, run_capture, &capture);
}
