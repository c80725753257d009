/* SPDX-License-Identifier: MIT */
/* YAML of an imported GPU (gpu_file.h). */
#include "import/gpu_file.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

const char *option_fate_text(enum option_fate fate)
{
    static const char *const texts[OPTION_FATES] = {
        [OPTION_CARRIED] = "carried over",  [OPTION_CHANGED] = "carried over, changed",
        [OPTION_LEFT] = "not carried over", [OPTION_UNKNOWN] = "not known",
        [OPTION_NOT_TIMING] = "no timing",  [OPTION_OVERRIDDEN] = "overridden"};
    return texts[fate];
}

/* Text in double quotes; what is no printable ASCII becomes a question mark. */
static void write_quoted(const char *text, FILE *stream)
{
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', stream);
        fputc(isprint((unsigned char)*text) && (unsigned char)*text < 128 ? *text : '?', stream);
    }
    fputc('"', stream);
}

static void write_value(const struct corun_gpu_parameter *row, uint32_t value, FILE *stream)
{
    if (row->words)
        fputs(row->words[value], stream);
    else if (!strcmp(row->unit, "bool"))
        fputs(value ? "true" : "false", stream);
    else if (!strcmp(row->unit, "bytes") && value >= 1024 && value % 1024 == 0)
        fprintf(stream, "%" PRIu32 "K", value / 1024);
    else
        fprintf(stream, "%" PRIu32, value);
}

static void write_parameters(const struct imported_gpu *gpu, const char *base, FILE *stream)
{
    size_t count;
    const struct corun_gpu_parameter *rows = corun_gpu_parameters(&count);
    fputs("parameters:\n", stream);
    for (size_t i = 0; i < count; i++) {
        fprintf(stream, "  %s: {value: ", rows[i].name);
        write_value(&rows[i], *(const uint32_t *)((const char *)&gpu->config + rows[i].offset), stream);
        fprintf(stream, ", unit: %s, source: ", rows[i].unit);
        char text[256];
        if (gpu->sources[i])
            snprintf(text, sizeof text, "gpgpusim: %s", gpu->sources[i]);
        else
            snprintf(text, sizeof text, "assumed: as %s", base);
        write_quoted(text, stream);
        fputs("}\n", stream);
    }
}

static void write_comments(const struct imported_gpu *gpu, enum option_fate fate, FILE *stream)
{
    for (size_t i = 0; i < gpu->option_count; i++) {
        const struct imported_option *option = &gpu->options[i];
        if (option->fate != fate)
            continue;
        fprintf(stream, "# line %" PRIu32 ", %s: -", option->line, option_fate_text(fate));
        for (const char *c = option->name; *c; c++)
            fputc(isprint((unsigned char)*c) && (unsigned char)*c < 128 ? *c : '?', stream);
        fprintf(stream, "%s%s\n", option->reason ? ": " : "", option->reason ? option->reason : "");
    }
}

void gpu_file_write(const struct imported_gpu *gpu, const char *path, const char *base, FILE *stream)
{
    const char *file = strrchr(path, '/');
    fputs("name: ", stream);
    write_quoted(gpu->config.name, stream);
    fputs("\nsources:\n  gpgpusim: ", stream);
    write_quoted(file ? file + 1 : path, stream);
    fputs("\n", stream);
    write_parameters(gpu, base, stream);
    write_comments(gpu, OPTION_CHANGED, stream);
    write_comments(gpu, OPTION_LEFT, stream);
    write_comments(gpu, OPTION_UNKNOWN, stream);
}
