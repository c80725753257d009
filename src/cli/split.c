/* SPDX-License-Identifier: MIT */
/* corun split: a program that divides a task between CPU and GPU, under one strategy after the other. */
#include "cli/program.h"

#include "campaign/commands.h"
#include "report/split_record.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_GPU = 'g', KEY_JSON = 'j', KEY_QUIET = 'q', KEY_STRATEGY = 's', KEY_NATIVE = 0x100, KEY_THREADS, KEY_SET };

static const struct argp_option options[] = {
    {"gpu", KEY_GPU, "GPU", 0,
     "a simulated one, as for `corun exec`; given again, the task is divided among all of them [gtx980]", 1},
    {"native", KEY_NATIVE, NULL, 0, "the GPUs of this machine, in wall time", 1},
    {"threads", KEY_THREADS, "N", 0, "threads of the CPU, or `all` [all]", 1},
    {"strategy", KEY_STRATEGY, "NAME,...", 0, "what is compared [" SPLIT_DEFAULT_STRATEGIES "]", 2},
    {"set", KEY_SET, "NAME=VALUE,...", 0, "parameters of all strategies (docs/split.md)", 2},
    {"json", KEY_JSON, "FILE", 0, "every run with its steps; - is standard output", 3},
    {"quiet", KEY_QUIET, NULL, 0, "no tables", 3},
    {0},
};

static const char doc[] =
    "Runs a program that uses corun/split.h again and again: with the CPU alone, with the GPUs alone, with parts of "
    "growing "
    "size, and with each strategy. Then says how long each took, how near that is to the ideal (both sides at their "
    "best "
    "rate, at no cost), how the task was divided in each step, and how the GPU's rate grows with the size of its part.";

/* The most words of --strategy. */
enum { MOST_STRATEGIES = 16 };

struct split_options {
    struct command command;
    struct program program;
    struct output output;
    bool quiet, native;
    const char *threads, *parameters, *folder;
    char *strategies;
    struct split_case cases[SPLIT_STRATEGIES + MOST_STRATEGIES];
    struct split_report report;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct split_options *split = state->input;
    struct program *program = &split->program;
    struct arena *arena = split->command.arena;
    switch (key) {
    case KEY_GPU:
        program->gpus = program->gpus ? arena_format(arena, "%s;%s", program->gpus, value) : value;
        if (!program->gpus)
            command_keep(&split->command, CORUN_MEMORY);
        break;
    case KEY_NATIVE:
        split->native = true;
        break;
    case KEY_THREADS:
        split->threads = value;
        break;
    case KEY_STRATEGY:
        split->strategies = arena_copy_text(arena, value, strlen(value));
        if (!split->strategies)
            command_keep(&split->command, CORUN_MEMORY);
        break;
    case KEY_SET:
        split->parameters = split->parameters ? arena_format(arena, "%s,%s", split->parameters, value) : value;
        if (!split->parameters)
            command_keep(&split->command, CORUN_MEMORY);
        break;
    case KEY_JSON:
        split->output.path = value;
        break;
    case KEY_QUIET:
        split->quiet = true;
        break;
    case ARGP_KEY_END:
        if (split->native && program->gpus)
            argp_error(state, "--native and --gpu exclude each other");
        break;
    default:
        return program_option(key, state, program);
    }
    return 0;
}

static enum corun_status add_case(struct split_options *split, const char *label, const char *words)
{
    struct split_case *item = &split->cases[split->report.count];
    if (split->report.count == sizeof split->cases / sizeof split->cases[0])
        return corun_report(split->command.list, CORUN_USAGE, CORUN_NOWHERE, "--strategy: more than %d strategies",
                            MOST_STRATEGIES);
    const char *threads = split->threads ? split->threads : "all", *given = split->parameters ? split->parameters : "";
    item->label = label;
    item->settings = arena_format(split->command.arena, "threads=%s,%s%s%s", threads, given, *given ? "," : "", words);
    split->report.count++;
    return item->settings ? CORUN_OK : CORUN_MEMORY;
}

/* What is run. Steps that double from very small ones and never settle show the GPU at every size. */
static enum corun_status list_cases(struct split_options *split)
{
    char defaults[] = SPLIT_DEFAULT_STRATEGIES, *rest = split->strategies ? split->strategies : defaults, *name;
    split->report.cases = split->cases;
    enum corun_status status = add_case(split, "CPU alone", "strategy=static,cpu_share=1");
    if (status == CORUN_OK)
        status = add_case(split, "GPUs alone", "strategy=static,cpu_share=0");
    if (status == CORUN_OK)
        status = add_case(split, "sizes", "strategy=cap,variance=0,patience=1e9,rest=1,first=1/4096,growth=2");
    while (status == CORUN_OK && (name = strsep(&rest, ","))) {
        const char *label = arena_copy_text(split->command.arena, name, strlen(name));
        const char *words = arena_format(split->command.arena, "strategy=%s", name);
        status = label && words ? add_case(split, label, words) : CORUN_MEMORY;
    }
    return status;
}

static enum corun_status run_case(struct split_options *split, uint32_t index)
{
    struct split_case *item = &split->cases[index];
    struct corun_diagnostics *list = split->command.list;
    const char *record = arena_format(split->command.arena, "%s/%u", split->folder, index);
    if (!record || setenv("CORUN_SPLIT", item->settings, 1) || setenv("CORUN_SPLIT_RECORD", record, 1))
        return CORUN_MEMORY;
    enum corun_status status = program_run(&split->program, list);
    if (status == CORUN_OK && split->program.exit_status) {
        split->command.exit_status = split->program.exit_status;
        return corun_report(list, CORUN_MISMATCH, CORUN_NOWHERE, "%s: the program has ended with status %d",
                            item->label, split->program.exit_status);
    }
    if (status == CORUN_OK)
        status = split_record_read(item, record, list);
    if (status == CORUN_OK && index < SPLIT_STRATEGIES &&
        json_array_size(json_object_get(json_array_get(item->rounds, 0), "devices")) < 2)
        status = corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "there is no GPU to divide the task with");
    return status;
}

static enum corun_status report(struct split_options *split)
{
    struct report_style style = output_style(stdout);
    if (!split->quiet && !split_tables(&split->report, split->command.arena, &style, stdout))
        return CORUN_MEMORY;
    return split->output.file ? split_json(&split->report, split->output.file) : CORUN_OK;
}

static enum corun_status run_cases(struct split_options *split)
{
    const char *temporary = getenv("TMPDIR");
    const char *beginning =
        arena_format(split->command.arena, "%s/corun-split", temporary && *temporary ? temporary : P_tmpdir);
    if (!beginning)
        return CORUN_MEMORY;
    int problem = program_folder_make(split->command.arena, beginning, &split->folder);
    if (problem)
        return corun_report(split->command.list, CORUN_FILE, (struct corun_place){beginning, 0, 0},
                            "no folder can be made there: %s", strerror(problem));
    enum corun_status status = list_cases(split);
    for (uint32_t i = 0; i < split->report.count && status == CORUN_OK; i++)
        status = run_case(split, i);
    if (status == CORUN_OK)
        status = report(split);
    split_record_free(&split->report);
    program_folder_remove(split->folder);
    return status;
}

/* A value that the program would refuse, before anything has run. */
static enum corun_status check_option(struct split_options *split, const char *option, const char *value)
{
    struct corun_diagnostics *said = corun_diagnostics_create();
    if (!said)
        return CORUN_MEMORY;
    enum corun_status status = value ? split_command.check(option, value, split->command.arena, said) : CORUN_OK;
    if (status != CORUN_OK && status != CORUN_MEMORY)
        status = corun_report(split->command.list, CORUN_USAGE, CORUN_NOWHERE, "--%s: %s", option,
                              corun_diagnostics_get(said, 0)->message);
    corun_diagnostics_destroy(said);
    return status;
}

static enum corun_status run_split(void *user)
{
    struct split_options *split = user;
    split->program.native = split->native;
    split->program.output_to_errors = true;
    enum corun_status status = check_option(split, "threads", split->threads);
    if (status == CORUN_OK)
        status = check_option(split, "strategy", split->strategies);
    if (status == CORUN_OK)
        status = check_option(split, "set", split->parameters);
    if (status == CORUN_OK)
        status = program_find(&split->program, split->command.list);
    if (status == CORUN_OK)
        status = outputs_open(&split->output, 1, split->command.list);
    if (status == CORUN_OK)
        status = outputs_close(&split->output, 1, run_cases(split), split->command.list);
    return split->command.exit_status ? CORUN_OK : status; /* the program's own, after a message */
}

int command_split(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "-- PROGRAM [ARGUMENT...]",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct split_options split = {.command = {.rest_is_not_ours = true}, .output = {.option = "--json"}};
    return command_perform(&split.command, &argp, argc, argv, run_split, &split);
}
