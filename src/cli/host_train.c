/* SPDX-License-Identifier: MIT */
/* corun host train: a predictor of a service's queries from samples. */
#include "cli/host.h"

#include "base/text_file.h"
#include "model/predictor.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES (64u << 20)

enum { KEY_OUTPUT = 'o', KEY_QUIET = 'q', KEY_NAME = 0x100, KEY_TRAIN_SEED };

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "MODEL", 0, "the file of the predictor; - is standard output", 1},
    {"name", KEY_NAME, "NAME", 0, "of the service, in the file [that of the samples' file]", 2},
    {"seed", KEY_TRAIN_SEED, "N", 0, "of the division of the samples, and of what models begin with [1]", 2},
    {"quiet", KEY_QUIET, NULL, 0, "no table", 3},
    {0},
};

static const char doc[] = "Learns from samples of a service's single queries how long a query takes, and at how many "
                          "instructions per cycle: by each kind of model "
                          "from 80 % of the samples, judged by the other 20 %. The best kind is chosen for each of the "
                          "two (docs/predictors.md).\v"
                          "SAMPLES is a CSV file with the columns size, cores, ways, duration_ns and ipc, or - for "
                          "standard input. R2 is the coefficient of "
                          "determination: 1 is perfect, 0 is no better than the mean.";

struct train_options {
    struct command command;
    struct output output;
    const char *samples, *name;
    uint64_t seed;
    bool quiet;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct train_options *train = state->input;
    switch (key) {
    case KEY_OUTPUT:
        train->output.path = value;
        break;
    case KEY_NAME:
        train->name = command_name("--name", value, state);
        break;
    case KEY_TRAIN_SEED:
        command_number(&train->command, "--seed", value, 1000, 0, UINT64_MAX, &train->seed);
        break;
    case KEY_QUIET:
        train->quiet = true;
        break;
    case ARGP_KEY_ARG:
        if (train->samples)
            argp_error(state, "one file of samples: '%s' is one too many", value);
        train->samples = value;
        break;
    case ARGP_KEY_END:
        if (!train->samples)
            argp_error(state, "the file of samples is missing");
        if (!train->output.path && train->quiet)
            argp_error(state, "nothing is to be told and nothing to be written: --output MODEL is missing");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static enum corun_status print_table(const struct predictor *predictor, struct arena *arena, FILE *stream)
{
    static const char *const titles[] = {"<model", "R2 of the duration", "R2 of the IPC"};
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof titles[0]);
    size_t learned, held_out;
    predictor_sample_counts(predictor, &learned, &held_out);
    for (uint32_t kind = 0; kind < PREDICTOR_KIND_COUNT; kind++) {
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", predictor_word((enum predictor_kind)kind));
        for (uint32_t t = 0; t < PREDICTOR_TARGETS; t++) {
            enum predictor_target target = (enum predictor_target)t;
            bool chosen = predictor_chosen(predictor, target) == (enum predictor_kind)kind;
            const char *mark = chosen ? "* " : "";
            if (predictor_has_r2(predictor, target))
                columns_set(columns, 1 + t, chosen ? PAINT_GOOD : PAINT_NONE, "%s%.4f", mark,
                            predictor_r2(predictor, (enum predictor_kind)kind, target));
            else /* those to judge by are all alike */
                columns_set(columns, 1 + t, chosen ? PAINT_GOOD : PAINT_NONE, "%snot defined", mark);
        }
    }
    fprintf(stream, "%zu samples to learn from, %zu to judge by; * is what predictions take\n\n", learned, held_out);
    struct report_style style = output_style(stream);
    return columns_print(columns, &style, stream) ? CORUN_OK : CORUN_MEMORY;
}

static enum corun_status learn(struct train_options *train, struct predictor **predictor)
{
    struct corun_diagnostics *list = train->command.list;
    struct predictor_sample *samples = NULL;
    char *text = NULL;
    size_t bytes, count;
    enum predictor_work work;
    const char *path = strcmp(train->samples, "-") != 0 ? train->samples : "/dev/stdin";
    enum corun_status status = text_file_read(path, MOST_BYTES, list, &text, &bytes);
    if (status == CORUN_OK)
        status = predictor_samples_read(train->samples, text, bytes, list, &samples, &count, &work);
    if (status == CORUN_OK)
        status = predictor_train(samples, count, train->seed, list, predictor);
    if (status == CORUN_OK)
        predictor_set_work(*predictor, work);
    free(samples);
    free(text);
    return status;
}

static enum corun_status run_train(void *user)
{
    struct train_options *train = user;
    struct corun_diagnostics *list = train->command.list;
    struct predictor *predictor = NULL;
    enum corun_status status = outputs_spare(&train->output, 1, train->samples, list);
    if (status == CORUN_OK)
        status = outputs_open(&train->output, 1, list);
    if (status != CORUN_OK)
        return status;
    status = learn(train, &predictor);
    const char *slash = strrchr(train->samples, '/');
    const char *name = train->name ? train->name : slash ? slash + 1 : train->samples;
    if (status == CORUN_OK && train->output.file)
        status = predictor_write(predictor, name, train->output.file);
    if (status == CORUN_OK && !train->quiet && train->output.file != stdout)
        status = print_table(predictor, train->command.arena, stdout);
    predictor_destroy(predictor);
    return outputs_close(&train->output, 1, status, list);
}

int host_command_train(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "SAMPLES",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct train_options train = {.output = {.option = "--output"}, .seed = 1};
    return command_perform(&train.command, &argp, argc, argv, run_train, &train);
}
