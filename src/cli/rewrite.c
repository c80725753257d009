/* SPDX-License-Identifier: MIT */
/* corun rewrite: passes over the kernels of PTX files. */
#include "cli/command.h"

#include "base/text_file.h"
#include "base/vector.h"
#include "report/rewrite_table.h"
#include "rewrite/borrow.h"
#include "rewrite/fence.h"
#include "rewrite/slice.h"
#include "rewrite/workers.h"

#include <stdlib.h>
#include <string.h>

#define PTX_MOST_BYTES (UINT64_C(1) << 30)

enum { KEY_OUTPUT = 'o', KEY_JSON = 'j', KEY_QUIET = 'q', KEY_FENCE = 256, KEY_DROP, KEY_BORROW };

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "FILE", 0, "where the new PTX of one file goes; - is standard output", 1},
    {"json", KEY_JSON, "FILE", 0, "the table as JSON (docs/json.md); - is standard output", 1},
    {"quiet", KEY_QUIET, NULL, 0, "no table", 1},
    {"fence", KEY_FENCE, NULL, 0, "accesses to global memory are bounded before the pass, as by the pass fence", 1},
    {"borrow", KEY_BORROW, NULL, 0, "variables are those of another module before the pass, as by the pass borrow", 1},
    {"drop", KEY_DROP, NULL, 0,
     "of workers: they can be told to leave in the middle of a thread block, where that may start again", 1},
    {0},
};

/* What can be done with kernels: P(name, what kernels are then, meaning). The pass is name_module. */
#define PASSES(P) \
    P(slice, "sliced", \
      "a launch may run any part of the grid; whatever the kernels read of their place is made right") \
    P(workers, "rewritten", \
      "thread blocks of a launch stay and run those of the grid one after the other, where a table owes them a place") \
    P(fence, "fenced", \
      "accesses to global memory are bounded to the application's own; the others are left out, the first is " \
      "recorded") \
    P(borrow, "borrowing", \
      "variables are those of the module that the program has loaded, whose addresses are written into a table")

enum rewrite_output { REWRITE_PTX, REWRITE_JSON, REWRITE_OUTPUTS };

struct rewrite_options {
    struct command command;
    const char *pass;
    VECTOR(const char *) paths;
    struct output outputs[REWRITE_OUTPUTS];
    bool quiet, fence, drop, borrow;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct rewrite_options *rewrite = state->input;
    switch (key) {
    case KEY_OUTPUT:
        rewrite->outputs[REWRITE_PTX].path = value;
        break;
    case KEY_JSON:
        rewrite->outputs[REWRITE_JSON].path = value;
        break;
    case KEY_QUIET:
        rewrite->quiet = true;
        break;
    case KEY_FENCE:
        rewrite->fence = true;
        break;
    case KEY_DROP:
        rewrite->drop = true;
        break;
    case KEY_BORROW:
        rewrite->borrow = true;
        break;
    case ARGP_KEY_ARG:
        if (!rewrite->pass)
            rewrite->pass = value;
        else if (!vector_push(&rewrite->paths, value))
            argp_failure(state, corun_status_exit(CORUN_MEMORY), 0, "out of memory at `%s`", value);
        break;
    case ARGP_KEY_END:
        if (!rewrite->pass)
            argp_error(state, "what is to be done is missing, as in `corun rewrite slice FILE.ptx`");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

struct pass_row {
    const char *name, *done;
    rewrite_pass *run, *fenced, *borrowing;
};

/* One file, whose text goes to the output if there is one. */
static enum corun_status rewrite_file(const struct rewrite_options *rewrite, const struct pass_row *pass,
                                      struct rewritten_file *file)
{
    struct corun_diagnostics *list = rewrite->command.list;
    char *text = NULL, *output = NULL;
    size_t bytes = 0, output_bytes = 0;
    enum corun_status status = text_file_read(file->path, PTX_MOST_BYTES, list, &text, &bytes);
    if (status == CORUN_OK)
        status = rewrite_text(rewrite->fence    ? pass->fenced
                              : rewrite->borrow ? pass->borrowing
                                                : pass->run,
                              file->path, text, bytes, list, &file->rewritten, &output, &output_bytes);
    FILE *stream = rewrite->outputs[REWRITE_PTX].file;
    if (status == CORUN_OK && stream)
        fwrite(output, 1, output_bytes, stream); /* whether that arrived, outputs_close says */
    free(output);
    free(text);
    return status;
}

/* A file that cannot be read does not keep the others from being told; the first status counts. */
static enum corun_status rewrite_files(struct rewrite_options *rewrite, const struct pass_row *pass)
{
    struct rewritten_file *files = ARENA_ARRAY(rewrite->command.arena, struct rewritten_file, rewrite->paths.count);
    struct rewrite_table table = {pass->name, pass->done, files, 0};
    enum corun_status first = files ? CORUN_OK : CORUN_MEMORY;
    for (size_t i = 0; files && i < rewrite->paths.count; i++) {
        files[table.count].path = rewrite->paths.data[i];
        enum corun_status status = rewrite_file(rewrite, pass, &files[table.count]);
        table.count += status == CORUN_OK;
        first = first == CORUN_OK ? status : first;
    }
    const struct output *outputs = rewrite->outputs;
    struct report_style style = output_style(stdout);
    bool taken = outputs[REWRITE_PTX].file == stdout || outputs[REWRITE_JSON].file == stdout;
    if (!rewrite->quiet && !taken && table.count &&
        !rewrite_table_print(&table, rewrite->command.arena, &style, stdout))
        first = CORUN_MEMORY;
    if (outputs[REWRITE_JSON].file && (first == CORUN_OK || table.count) &&
        rewrite_table_json(&table, outputs[REWRITE_JSON].file) != CORUN_OK)
        first = CORUN_MEMORY;
    for (size_t i = 0; i < table.count; i++)
        rewritten_destroy(&files[i].rewritten);
    return first;
}

#define FENCED_PASS(name, done, meaning) \
    static enum corun_status fenced_##name(const struct ptx_module *source, struct corun_diagnostics *list, \
                                           struct rewritten *rewritten) \
    { \
        rewrite_pass *pass = name##_module; \
        return pass == fence_module ? pass(source, list, rewritten) : fence_before(pass, source, list, rewritten); \
    }
PASSES(FENCED_PASS)

#define BORROWING_PASS(name, done, meaning) \
    static enum corun_status borrowing_##name(const struct ptx_module *source, struct corun_diagnostics *list, \
                                              struct rewritten *rewritten) \
    { \
        rewrite_pass *pass = name##_module; \
        return pass == borrow_module ? pass(source, list, rewritten) : borrow_before(pass, source, list, rewritten); \
    }
PASSES(BORROWING_PASS)

static enum corun_status fenced_dropping(const struct ptx_module *source, struct corun_diagnostics *list,
                                         struct rewritten *rewritten)
{
    return fence_before(workers_dropping_module, source, list, rewritten);
}

static enum corun_status borrowing_dropping(const struct ptx_module *source, struct corun_diagnostics *list,
                                            struct rewritten *rewritten)
{
    return borrow_before(workers_dropping_module, source, list, rewritten);
}

/* What does not go with what. */
static enum corun_status check_options(const struct rewrite_options *rewrite, const struct pass_row *pass)
{
    struct corun_diagnostics *list = rewrite->command.list;
    bool fences = rewrite->fence || pass->run == fence_module, borrows = rewrite->borrow || pass->run == borrow_module;
    if (rewrite->drop && pass->run != workers_module)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "--drop is for `workers`, not for `%s`", pass->name);
    if (fences && borrows)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE,
                            "fences or borrowed variables, not both: those would be outside of the bounds");
    if (!rewrite->paths.count)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "a PTX file is missing");
    if (rewrite->outputs[REWRITE_PTX].path && rewrite->paths.count > 1)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "--output takes the PTX of one file, here are %zu",
                            rewrite->paths.count);
    return CORUN_OK;
}

static enum corun_status run_rewrite(void *user)
{
    static const struct pass_row dropping = {"workers", "rewritten", workers_dropping_module, fenced_dropping,
                                             borrowing_dropping};
    static const struct pass_row passes[] = {
#define PASS_ROW(name, done, meaning) {#name, done, name##_module, fenced_##name, borrowing_##name},
        PASSES(PASS_ROW)
#undef PASS_ROW
    };
    enum { PASS_COUNT = sizeof passes / sizeof passes[0] };
    struct rewrite_options *rewrite = user;
    struct corun_diagnostics *list = rewrite->command.list;
    const char *names[PASS_COUNT];
    char hint[128];
    size_t pass = 0;
    for (size_t i = 0; i < PASS_COUNT; i++)
        names[i] = passes[i].name;
    while (pass < PASS_COUNT && strcmp(rewrite->pass, names[pass]) != 0)
        pass++;
    if (pass == PASS_COUNT)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "nothing rewrites kernels as `%s` says; %s",
                            rewrite->pass,
                            command_hint(rewrite->pass, names, PASS_COUNT,
                                         "there are `slice`, `workers`, `fence` and `borrow`", hint, sizeof hint));
    enum corun_status status = check_options(rewrite, &passes[pass]);
    for (size_t i = 0; i < rewrite->paths.count && status == CORUN_OK; i++)
        status = outputs_spare(rewrite->outputs, REWRITE_OUTPUTS, rewrite->paths.data[i], list);
    if (status == CORUN_OK)
        status = outputs_open(rewrite->outputs, REWRITE_OUTPUTS, list);
    if (status == CORUN_OK)
        status = outputs_close(rewrite->outputs, REWRITE_OUTPUTS,
                               rewrite_files(rewrite, rewrite->drop ? &dropping : &passes[pass]), list);
    return status;
}

int command_rewrite(int argc, char **argv)
{
#define PASS_DOC(name, done, meaning) "  " #name " - " meaning "\n"
    static const struct argp argp = {
        .options = options,
        .parser = parse_option,
        .args_doc = "PASS FILE.ptx...",
        .doc =
            "Rewrites the kernels of PTX files, and tells of each whether that can be done, what it costs in "
            "registers, "
            "and where its new parameter lies (docs/rewrite.md). A kernel that cannot be rewritten stays what it is.\v"
            "PASS is one of\n" PASSES(PASS_DOC),
        .help_filter = command_help_filter};
    struct rewrite_options rewrite = {
        .outputs = {[REWRITE_PTX] = {.option = "--output", .ending = ".ptx"}, [REWRITE_JSON] = {.option = "--json"}}};
    int exit_status = command_perform(&rewrite.command, &argp, argc, argv, run_rewrite, &rewrite);
    vector_free(&rewrite.paths);
    return exit_status;
}
