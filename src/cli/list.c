/* SPDX-License-Identifier: MIT */
/* corun list: GPUs, parameters, workloads, policies and counters as tables. */
#include "cli/command.h"

#include "corun/case.h"
#include "corun/queue.h"
#include "corun/workload.h"
#include "share/parameter_words.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* What can be listed: L(name, meaning) */
#define LISTS(L) \
    L(gpus, "GPU configurations") \
    L(parameters, "what a GPU configuration says, and --gpu NAME:parameter=value changes") \
    L(workloads, "workloads and their sizes") \
    L(policies, "sharing policies and their parameters") \
    L(schedulers, "kernel schedulers of `corun queue` and their parameters") \
    L(counters, "what the simulated GPU counts, as the JSON names it")

struct lister {
    struct command command;
    const char *what;
    char data[PATH_BYTES];
};

static enum corun_status print(struct columns *columns)
{
    struct report_style style = output_style(stdout);
    return columns_print(columns, &style, stdout) ? CORUN_OK : CORUN_MEMORY;
}

/* What `list` writes, in lines of the terminal. */
static enum corun_status print_text(void (*list)(FILE *stream))
{
    struct report_style style = output_style(stdout);
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream)
        return CORUN_MEMORY;
    list(stream);
    bool whole = !fclose(stream) && text;
    if (whole)
        columns_text(text, &style, stdout);
    free(text);
    return whole ? CORUN_OK : CORUN_MEMORY;
}

static int is_yaml(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 5 && !strcmp(entry->d_name + length - 5, ".yaml");
}

static void list_gpu(struct lister *lister, struct columns *columns, const char *file)
{
    struct corun_gpu_config gpu;
    char *name = arena_copy_text(lister->command.arena, file, strlen(file) - 5);
    columns_row(columns);
    columns_set(columns, 0, PAINT_NONE, "%s", name ? name : file);
    if (!name || corun_gpu_config_load(name, lister->data, lister->command.list, &gpu) != CORUN_OK) {
        columns_set(columns, 1, PAINT_BAD, "broken");
        return;
    }
    columns_set(columns, 1, PAINT_NONE, "%u", gpu.sms);
    columns_set(columns, 2, PAINT_NONE, "%u", gpu.core_clock_khz / 1000);
    columns_set(columns, 3, PAINT_NONE, "%u", gpu.schedulers_per_sm);
    columns_set(columns, 4, PAINT_NONE, "%u", gpu.threads_per_sm);
    columns_set(columns, 5, PAINT_NONE, "%u", gpu.registers_per_sm);
    columns_set(columns, 6, PAINT_NONE, "%u", gpu.shared_bytes_per_sm / 1024);
    columns_set(columns, 7, PAINT_NONE, "%u", gpu.l1_bytes / 1024);
    columns_set(columns, 8, PAINT_NONE, "%u", gpu.l2_bytes / 1024);
    columns_set(columns, 9, PAINT_NONE, "%u", gpu.memory_controllers);
}

static enum corun_status list_gpus(struct lister *lister)
{
    static const char *const titles[] = {"<GPU",      "SMs",       "MHz",   "schedulers", "threads",
                                         "registers", "shared KB", "L1 KB", "L2 KB",      "controllers"};
    enum corun_status status = corun_data_directory(lister->data, sizeof lister->data, lister->command.list);
    if (status != CORUN_OK)
        return status;
    char *folder = arena_format(lister->command.arena, "%s/gpu", lister->data);
    struct dirent **entries = NULL;
    int count = folder ? scandir(folder, &entries, is_yaml, alphasort) : -1;
    if (count < 0)
        return corun_report(lister->command.list, CORUN_FILE, (struct corun_place){folder, 0, 0},
                            "the folder cannot be read");
    struct columns *columns = columns_create(lister->command.arena, titles, sizeof titles / sizeof titles[0]);
    for (int i = 0; i < count; i++) {
        list_gpu(lister, columns, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    status = print(columns);
    return status == CORUN_OK && corun_diagnostics_count(lister->command.list)
               ? corun_diagnostics_get(lister->command.list, 0)->status
               : status;
}

static enum corun_status list_parameters(struct lister *lister)
{
    static const char *const titles[] = {"<parameter", "default", "lowest", "highest", "<unit", "<meaning"};
    struct columns *columns = columns_create(lister->command.arena, titles, sizeof titles / sizeof titles[0]);
    size_t count;
    const struct corun_gpu_parameter *rows = corun_gpu_parameters(&count);
    for (size_t i = 0; i < count; i++) {
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", rows[i].name);
        if (rows[i].words) {
            columns_set(columns, 1, PAINT_NONE, "%s", rows[i].words[rows[i].initial]);
        } else {
            columns_set(columns, 1, PAINT_NONE, "%u", rows[i].initial);
            columns_set(columns, 2, PAINT_NONE, "%u", rows[i].lowest);
            columns_set(columns, 3, PAINT_NONE, "%u", rows[i].highest);
        }
        columns_set(columns, 4, PAINT_NONE, "%s", rows[i].unit);
        columns_set(columns, 5, PAINT_NONE, "%s", rows[i].meaning);
    }
    return print(columns);
}

/* With a space between them; NULL when out of memory. */
static const char *join(struct lister *lister, const char *const *words, size_t count)
{
    const char *text = "";
    for (size_t i = 0; i < count && text; i++)
        text = arena_format(lister->command.arena, "%s%s%s", text, i ? " " : "", words[i]);
    return text;
}

/* The papers that use a workload, each once. */
static void list_papers(struct lister *lister, const struct corun_workload_info *info, struct columns *columns)
{
    const char **papers = ARENA_ARRAY(lister->command.arena, const char *, info->paper_count + 1);
    size_t count = 0;
    for (size_t i = 0; papers && i < info->paper_count; i++) {
        bool known = false;
        for (size_t k = 0; k < count && !known; k++)
            known = !strcmp(papers[k], info->papers[i].paper);
        if (!known)
            papers[count++] = info->papers[i].paper;
    }
    const char *text = papers ? join(lister, papers, count) : NULL;
    columns_set(columns, 4, PAINT_NONE, "%s", text ? text : "");
}

static enum corun_status list_workloads(struct lister *lister)
{
    static const char *const titles[] = {"<workload",   "<limited by", "<sizes",
                                         "<parameters", "<papers",     "<what it does"};
    struct corun_workload_list *workloads = NULL;
    enum corun_status status = corun_data_directory(lister->data, sizeof lister->data, lister->command.list);
    if (status == CORUN_OK)
        status = corun_workload_list_create(lister->data, lister->command.list, &workloads);
    if (status != CORUN_OK)
        return status;
    struct columns *columns = columns_create(lister->command.arena, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < corun_workload_list_count(workloads); i++) {
        const struct corun_workload_info *info = corun_workload_list_get(workloads, i);
        const char *sizes = join(lister, info->sizes, info->size_count);
        const char *parameters = join(lister, info->parameters, info->parameter_count);
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", info->name);
        columns_set(columns, 1, PAINT_NONE, "%s", corun_character_word(info->character));
        columns_set(columns, 2, PAINT_NONE, "%s", sizes ? sizes : "");
        columns_set(columns, 3, PAINT_NONE, "%s", parameters ? parameters : "");
        list_papers(lister, info, columns);
        columns_set(columns, 5, PAINT_NONE, "%s", info->summary ? info->summary : "");
    }
    status = print(columns);
    corun_workload_list_destroy(workloads);
    return status == CORUN_OK && corun_diagnostics_count(lister->command.list)
               ? corun_diagnostics_get(lister->command.list, 0)->status
               : status;
}

/* One parameter, or one list of them; how many that were. */
static uint32_t list_policy_parameter(const struct corun_policy_parameter *rows, uint32_t count, uint32_t index,
                                      FILE *stream)
{
    struct parameter_group group = parameter_group_at(rows, count, index);
    const struct corun_policy_parameter *parameter = &rows[index];
    char text[PARAMETER_TEXT_BYTES];
    parameter_group_text(rows, &group, NULL, text, sizeof text);
    fprintf(stream, "    %.*s=%s (", (int)group.name_length, parameter->name, text);
    if (parameter->choices)
        fprintf(stream, "%s", parameter->choices);
    else
        fprintf(stream, "%g to %g", parameter->lowest, parameter->highest);
    if (group.is_list)
        fprintf(stream, ", up to %u as A/B/...", group.count);
    fprintf(stream, "): %s\n", parameter->meaning);
    return group.count;
}

static void print_policies(FILE *stream)
{
    fprintf(stream, "%s\n    " NO_POLICY_MEANING "\n", CORUN_NO_POLICY);
    for (size_t i = 0; corun_policy_at(i); i++) {
        const struct corun_policy *policy = corun_policy_at(i);
        fprintf(stream, "%s\n    %s\n    %s\n", policy->name, policy->summary, policy->paper);
        for (uint32_t p = 0; p < policy->parameter_count;)
            p += list_policy_parameter(policy->parameters, policy->parameter_count, p, stream);
    }
}

static enum corun_status list_policies(struct lister *lister)
{
    (void)lister;
    return print_text(print_policies);
}

static void print_schedulers(FILE *stream)
{
    for (size_t i = 0; corun_queue_scheduler_at(i); i++) {
        const struct corun_queue_scheduler *scheduler = corun_queue_scheduler_at(i);
        fprintf(stream, "%s\n    %s\n    %s\n", scheduler->name, scheduler->summary, scheduler->paper);
        for (uint32_t p = 0; p < scheduler->parameter_count;)
            p += list_policy_parameter(scheduler->parameters, scheduler->parameter_count, p, stream);
    }
}

static enum corun_status list_schedulers(struct lister *lister)
{
    (void)lister;
    return print_text(print_schedulers);
}

static enum corun_status list_counters(struct lister *lister)
{
    static const char *const titles[] = {"<counter", "<unit", "<meaning"};
    struct columns *columns = columns_create(lister->command.arena, titles, sizeof titles / sizeof titles[0]);
    size_t count;
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    for (size_t i = 0; i < count; i++) {
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", rows[i].name);
        columns_set(columns, 1, PAINT_NONE, "%s", rows[i].unit);
        columns_set(columns, 2, PAINT_NONE, "%s", rows[i].meaning);
    }
    return print(columns);
}

static const struct {
    const char *name;
    enum corun_status (*list)(struct lister *lister);
} lists[] = {
#define LIST_ROW(name, meaning) {#name, list_##name},
    LISTS(LIST_ROW)
#undef LIST_ROW
};
#define LIST_COUNT (sizeof lists / sizeof lists[0])

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct lister *lister = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (state->arg_num)
            argp_error(state, "one list at a time, not also `%s`", value);
        lister->what = value;
        break;
    case ARGP_KEY_NO_ARGS:
#define LIST_WORD(name, meaning) " " #name
        argp_error(state, "what to list is missing: one of" LISTS(LIST_WORD));
#undef LIST_WORD
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static enum corun_status run_list(void *user)
{
    struct lister *lister = user;
    const char *names[LIST_COUNT];
    char hint[128];
    for (size_t i = 0; i < LIST_COUNT; i++) {
        names[i] = lists[i].name;
        if (!strcmp(lister->what, names[i]))
            return lists[i].list(lister);
    }
    return corun_report(lister->command.list, CORUN_USAGE, CORUN_NOWHERE, "there is no list of `%s`; %s", lister->what,
                        command_hint(lister->what, names, LIST_COUNT, "see `corun list --help`", hint, sizeof hint));
}

int command_list(int argc, char **argv)
{
#define LIST_DOC(name, meaning) "  " #name " - " meaning "\n"
    static const struct argp argp = {.parser = parse_option,
                                     .args_doc = "LIST",
                                     .doc = "Lists what there is.\vLIST is one of\n" LISTS(LIST_DOC),
                                     .help_filter = command_help_filter};
    struct lister lister = {0};
    return command_perform(&lister.command, &argp, argc, argv, run_list, &lister);
}
