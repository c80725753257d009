/* SPDX-License-Identifier: MIT */
/* corun config: GPU descriptions of other simulators as ours. */
#include "cli/command.h"

#include "base/arena.h"
#include "base/text_file.h"
#include "corun/config.h"
#include "corun/workload.h"
#include "import/gpu_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_MOST_BYTES (UINT64_C(1) << 24)
#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" /* in every locale */

enum { KEY_OUTPUT = 'o', KEY_NAME = 'n', KEY_BASE = 'b', KEY_QUIET = 'q' };

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "FILE", 0,
     "where the YAML goes, and a table of what was not carried over to the standard output "
     "[the YAML to the standard output]",
     1},
    {"name", KEY_NAME, "NAME", 0, "what the GPU is to be called [the folder of a gpgpusim.config, or the file]", 1},
    {"base", KEY_BASE, "GPU", 0, "has the values that the file does not say [gtx980]", 1},
    {"quiet", KEY_QUIET, NULL, 0, "no table", 1},
    {0},
};

struct config_options {
    struct command command;
    const char *work, *path, *base;
    char name[64];
    struct output output;
    bool quiet;
};

/* As whoever reads the description wants it. */
static bool is_gpu_name(const char *name, size_t bytes)
{
    size_t length = strspn(name, LETTERS_AND_DIGITS "-_.+");
    return length > 0 && length < bytes && !name[length];
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct config_options *config = state->input;
    switch (key) {
    case KEY_OUTPUT:
        config->output.path = value;
        break;
    case KEY_NAME:
        if (!is_gpu_name(value, sizeof config->name))
            argp_error(state, "a name has 1 to %zu letters, digits, or one of - _ . +", sizeof config->name - 1);
        memcpy(config->name, value, strlen(value) + 1);
        break;
    case KEY_BASE:
        config->base = value;
        break;
    case KEY_QUIET:
        config->quiet = true;
        break;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            argp_error(state, "one file is expected, not also `%s`", value);
        *(state->arg_num ? &config->path : &config->work) = value;
        break;
    case ARGP_KEY_END:
        if (!config->path)
            argp_error(state, "expected what is to be done and a file, as in `corun config import gpgpusim.config`");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* Every folder of such files has one of the same name: the folder's name says which GPU it is. */
static void name_of(const char *path, char *name, size_t bytes)
{
    const char *end = strrchr(path, '/'), *file = end ? end + 1 : path, *begin = file;
    if (!strcmp(file, "gpgpusim.config") && end && end > path) {
        for (begin = end; begin > path && begin[-1] != '/';)
            begin--;
    } else {
        end = strrchr(file, '.');
        end = end && end > file ? end : file + strlen(file);
    }
    size_t length = 0;
    for (; begin < end && length + 1 < bytes; begin++)
        name[length++] = strchr(LETTERS_AND_DIGITS, *begin) ? (char)tolower((unsigned char)*begin) : '-';
    name[length] = 0;
}

static bool table_row(struct columns *columns, const struct imported_option *option)
{
    bool told = option->fate == OPTION_CHANGED || option->fate == OPTION_LEFT || option->fate == OPTION_UNKNOWN;
    if (!told)
        return false;
    columns_row(columns);
    columns_set(columns, 0, PAINT_NONE, "%u", option->line);
    columns_set(columns, 1, PAINT_NONE, "-%s", option->name);
    columns_set(columns, 2, option->fate == OPTION_UNKNOWN ? PAINT_BAD : PAINT_NONE, "%s",
                option_fate_text(option->fate));
    columns_set(columns, 3, PAINT_NONE, "%s", option->reason);
    return true;
}

/* How much was carried over, and what was not, line by line. */
static enum corun_status tell(const struct config_options *config, const struct imported_gpu *gpu)
{
    static const char *const titles[] = {"line", "<option", "<", "<why"};
    struct columns *columns = columns_create(config->command.arena, titles, sizeof titles / sizeof titles[0]);
    size_t fates[OPTION_FATES] = {0}, parameters = 0, count, told = 0;
    if (!columns)
        return CORUN_MEMORY;
    corun_gpu_parameters(&count);
    for (size_t i = 0; i < count; i++)
        parameters += gpu->sources[i] != NULL;
    for (size_t i = 0; i < gpu->option_count; i++) {
        fates[gpu->options[i].fate]++;
        told += table_row(columns, &gpu->options[i]);
    }
    struct report_style style = output_style(stdout);
    const char *heading =
        arena_format(config->command.arena,
                     "%s: %zu of %zu parameters from %zu of %zu options, the others as %s; %zu "
                     "options are about something else than timing\n%s",
                     gpu->config.name, parameters, count, fates[OPTION_CARRIED] + fates[OPTION_CHANGED],
                     gpu->option_count, config->base, fates[OPTION_NOT_TIMING], told ? "\n" : "");
    if (!heading)
        return CORUN_MEMORY;
    columns_text(heading, &style, stdout);
    if (!told)
        return CORUN_OK;
    return columns_print(columns, &style, stdout) ? CORUN_OK : CORUN_MEMORY;
}

static enum corun_status import_file(struct config_options *config)
{
    struct corun_diagnostics *list = config->command.list;
    struct corun_gpu_config base;
    struct imported_gpu gpu;
    char data[PATH_BYTES], *text = NULL;
    size_t bytes = 0;
    enum corun_status status = corun_data_directory(data, sizeof data, list);
    if (status == CORUN_OK)
        status = corun_gpu_config_load(config->base, data, list, &base);
    if (status == CORUN_OK)
        status = text_file_read(config->path, CONFIG_MOST_BYTES, list, &text, &bytes);
    if (status == CORUN_OK) {
        if (!*config->name)
            name_of(config->path, config->name, sizeof config->name);
        memcpy(base.name, config->name, sizeof base.name);
        status = gpgpusim_import(config->path, text, bytes, &base, config->command.arena, list, &gpu);
    }
    free(text);
    if (status != CORUN_OK)
        return status;
    gpu_file_write(&gpu, config->path, config->base, config->output.file ? config->output.file : stdout);
    bool taken = !config->output.file || config->output.file == stdout;
    return config->quiet || taken ? CORUN_OK : tell(config, &gpu);
}

static enum corun_status run_config(void *user)
{
    struct config_options *config = user;
    struct corun_diagnostics *list = config->command.list;
    if (strcmp(config->work, "import") != 0) {
        static const char *const names[] = {"import"};
        char hint[128];
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "nothing is done with descriptions as `%s` says; %s",
                            config->work, command_hint(config->work, names, 1, "there is `import`", hint, sizeof hint));
    }
    enum corun_status status = outputs_spare(&config->output, 1, config->path, list);
    if (status == CORUN_OK)
        status = outputs_open(&config->output, 1, list);
    if (status == CORUN_OK)
        status = outputs_close(&config->output, 1, import_file(config), list);
    return status;
}

int command_config(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse_option,
        .args_doc = "import FILE",
        .doc = "Makes a GPU description of ours of one for GPGPU-Sim or Accel-Sim, a gpgpusim.config (docs/import.md). "
               "Each value has the line that it comes from; what could not be carried over is told with the reason.",
        .help_filter = command_help_filter};
    struct config_options config = {.base = DEFAULT_GPU, .output = {.option = "--output", .ending = ".yaml"}};
    return command_perform(&config.command, &argp, argc, argv, run_config, &config);
}
