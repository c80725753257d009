/* SPDX-License-Identifier: MIT */
/* Records of `corun split`, lines of JSON, are read and shown as tables of strategies, steps and rates, or as JSON. */
#include "report/split_record.h"

#include "report/json_writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static uint64_t bytes_of(const json_t *object, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(object, name));
}

static const json_t *list_of(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

/* Whether an object has what the tables need. */
static bool is_round(const json_t *round)
{
    const json_t *devices = list_of(round, "devices"), *steps = list_of(round, "steps");
    if (!json_is_array(devices) || !json_array_size(devices) || !json_is_array(steps) ||
        !json_is_string(json_object_get(round, "task")) || !json_is_string(json_object_get(round, "clock")) ||
        !json_is_number(json_object_get(round, "seconds")) || !json_is_number(json_object_get(round, "iterations")))
        return false;
    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *parts = list_of(json_array_get(steps, i), "parts");
        if (!json_is_array(parts) || json_array_size(parts) != json_array_size(devices))
            return false;
    }
    for (size_t i = 0; i < json_array_size(devices); i++)
        if (!json_is_string(json_object_get(json_array_get(devices, i), "name")))
            return false;
    return true;
}

enum corun_status split_record_read(struct split_case *item, const char *path, struct corun_diagnostics *list)
{
    char *line = NULL;
    size_t room = 0;
    uint32_t number_of_line = 0;
    enum corun_status status = CORUN_OK;
    FILE *file = fopen(path, "re");
    item->rounds = json_array();
    if (!item->rounds)
        status = CORUN_MEMORY;
    while (file && status == CORUN_OK && getline(&line, &room, file) > 0) {
        json_error_t error;
        json_t *round = json_loads(line, 0, &error);
        number_of_line++;
        if (!is_round(round))
            status = corun_report(list, CORUN_SYNTAX, (struct corun_place){path, number_of_line, 0},
                                  "this is no run of a divided task");
        else if (json_array_append(item->rounds, round))
            status = CORUN_MEMORY;
        json_decref(round);
    }
    free(line);
    if (file)
        fclose(file);
    if (status == CORUN_OK && !json_array_size(item->rounds))
        status = corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                              "the program has divided no task: it does not use corun/split.h, or has ended before");
    return status;
}

void split_record_free(struct split_report *report)
{
    for (uint32_t i = 0; i < report->count; i++)
        json_decref(report->cases[i].rounds);
    report->count = 0;
}

/* Over all rounds of a case. */
static double total(const struct split_case *item, const char *name)
{
    double sum = 0;
    for (size_t i = 0; i < json_array_size(item->rounds); i++)
        sum += number(json_array_get(item->rounds, i), name);
    return sum;
}

static double device_total(const struct split_case *item, size_t device, const char *name)
{
    double sum = 0;
    for (size_t i = 0; i < json_array_size(item->rounds); i++)
        sum += number(json_array_get(list_of(json_array_get(item->rounds, i), "devices"), device), name);
    return sum;
}

static size_t device_count(const struct split_case *item)
{
    return json_array_size(list_of(json_array_get(item->rounds, 0), "devices"));
}

/* Seconds in the unit that suits them. */
static const char *duration(double seconds, char text[32])
{
    double size = fabs(seconds);
    const char *unit = size >= 1 ? "s" : size >= 1e-3 ? "ms" : "us";
    snprintf(text, 32, "%.2f %s", seconds * (size >= 1 ? 1 : size >= 1e-3 ? 1e3 : 1e6), unit);
    return text;
}

static const char *failure_of(const struct split_case *item, size_t device)
{
    const json_t *last = json_array_get(item->rounds, json_array_size(item->rounds) - 1);
    return json_string_value(json_object_get(json_array_get(list_of(last, "devices"), device), "failure"));
}

static bool compare(const struct split_report *report, struct arena *arena, const struct report_style *style,
                    FILE *stream)
{
    static const char *const titles[] = {"<",         "time", "of the CPU's", "of the ideal", "steps", "profiled",
                                         "imbalance", "CPU",  "GPUs",         "CPU's share",  "<"};
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof *titles);
    double cpu = total(&report->cases[SPLIT_CPU], "seconds"), gpu = total(&report->cases[SPLIT_GPU], "seconds");
    char text[32];
    if (!columns)
        return false;
    for (uint32_t i = 0; i < report->count; i++) {
        const struct split_case *item = &report->cases[i];
        const json_t *first = json_array_get(item->rounds, 0);
        double seconds = total(item, "seconds"), gpus = 0, iterations = total(item, "iterations");
        const char *failure = NULL;
        if (i == SPLIT_SIZES)
            continue;
        for (size_t d = 1; d < device_count(item); d++) {
            gpus = fmax(gpus, device_total(item, d, "seconds"));
            failure = failure ? failure : failure_of(item, d);
        }
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", item->label);
        columns_set(columns, 1, PAINT_NONE, "%s", duration(seconds, text));
        columns_set(columns, 2, PAINT_NONE, "%.2f x", cpu / seconds);
        columns_set(columns, 3, PAINT_NONE, "%.1f %%", 100 / (1 / cpu + 1 / gpu) / seconds);
        columns_set(columns, 4, PAINT_NONE, "%zu", json_array_size(list_of(first, "steps")));
        columns_set(columns, 5, PAINT_NONE, "%.1f %%", 100 * number(first, "profiled"));
        columns_set(columns, 6, PAINT_NONE, "%.1f %%", 100 * number(first, "imbalance"));
        columns_set(columns, 7, PAINT_NONE, "%s", duration(device_total(item, 0, "seconds"), text));
        columns_set(columns, 8, PAINT_NONE, "%s", duration(gpus, text));
        columns_set(columns, 9, PAINT_NONE, "%.2f %%", 100 * device_total(item, 0, "iterations") / iterations);
        if (failure)
            columns_set(columns, 10, PAINT_BAD, "a GPU has failed: %s", failure);
    }
    return columns_print(columns, style, stream);
}

static bool show_steps(const struct split_case *item, struct arena *arena, const struct report_style *style,
                       FILE *stream)
{
    static const char *const titles[] = {"<step",      "iterations", "variance", "<device", "share",
                                         "iterations", "time",       "copies",   "in",      "out"};
    const json_t *first = json_array_get(item->rounds, 0), *steps = list_of(first, "steps");
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof *titles);
    char text[32], size[REPORT_SIZE_BYTES];
    if (!columns)
        return false;
    for (size_t i = 0; i < json_array_size(steps) && i < 12; i++) {
        const json_t *step = json_array_get(steps, i), *parts = list_of(step, "parts");
        double sum = 0;
        for (size_t d = 0; d < json_array_size(parts); d++)
            sum += number(json_array_get(parts, d), "end") - number(json_array_get(parts, d), "begin");
        for (size_t d = 0; d < json_array_size(parts); d++) {
            const json_t *part = json_array_get(parts, d);
            columns_row(columns);
            if (!d) {
                columns_set(columns, 0, PAINT_NONE, "%zu%s", i + 1,
                            json_is_true(json_object_get(step, "profiling")) ? "" : " (rest)");
                columns_set(columns, 1, PAINT_NONE, "%.0f", sum);
                if (json_is_number(json_object_get(step, "variance")))
                    columns_set(columns, 2, PAINT_NONE, "%.2g", number(step, "variance"));
            }
            columns_set(columns, 3, PAINT_NONE, "%s",
                        json_string_value(json_object_get(json_array_get(list_of(first, "devices"), d), "name")));
            columns_set(columns, 4, PAINT_NONE, "%.2f %%", 100 * number(part, "share"));
            columns_set(columns, 5, PAINT_NONE, "%.0f", number(part, "done"));
            columns_set(columns, 6, PAINT_NONE, "%s", duration(number(part, "seconds"), text));
            columns_set(columns, 7, PAINT_NONE, "%s", duration(number(part, "copy_seconds"), text));
            columns_set(columns, 8, PAINT_NONE, "%s", report_size(bytes_of(part, "bytes_in"), size));
            columns_set(columns, 9, PAINT_NONE, "%s", report_size(bytes_of(part, "bytes_out"), size));
        }
    }
    fprintf(stream, "\n%s, first run%s\n\n", item->label, json_array_size(steps) > 12 ? ", its first 12 steps" : "");
    return columns_print(columns, style, stream);
}

/* The GPU's rate with a part of that size, as a multiple of the CPU's alone. */
static void rate_row(struct columns *columns, double size, double rate, double most)
{
    static const char bar[] = "########################################";
    columns_row(columns);
    columns_set(columns, 0, PAINT_NONE, "%.3f %%", 100 * size);
    columns_set(columns, 1, PAINT_NONE, "%.2f", rate);
    columns_set(columns, 2, PAINT_NONE, "%.*s", (int)lround(40 * fmin(1, rate / most)), bar);
}

/* Figure 4-1 of the thesis: from the first run, as a later one finds bytes on the GPU. */
static bool show_rates(const struct split_report *report, struct arena *arena, const struct report_style *style,
                       FILE *stream)
{
    static const char *const titles[] = {"part of the task", "GPU's rate / CPU's", "<"};
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof *titles);
    const json_t *sizes = json_array_get(report->cases[SPLIT_SIZES].rounds, 0), *steps = list_of(sizes, "steps");
    const json_t *cpu = json_array_get(report->cases[SPLIT_CPU].rounds, 0);
    const json_t *gpu = json_array_get(report->cases[SPLIT_GPU].rounds, 0);
    double iterations = number(cpu, "iterations"), cpu_rate = iterations / number(cpu, "seconds"), most = 0;
    double whole = iterations / number(gpu, "seconds") / cpu_rate;
    if (!columns)
        return false;
    for (unsigned pass = 0; pass < 2; pass++) {
        most = fmax(most, whole);
        for (size_t i = 0; i < json_array_size(steps); i++) {
            const json_t *parts = list_of(json_array_get(steps, i), "parts"), *part = json_array_get(parts, 1);
            double done = number(part, "done"), rate = done / number(part, "seconds") / cpu_rate;
            if (!(done > 0) || !isfinite(rate))
                continue;
            most = fmax(most, rate);
            if (pass)
                rate_row(columns, done / iterations, rate, most);
        }
    }
    rate_row(columns, 1, whole, most);
    fprintf(stream, "\nrate of the first GPU over the size of its part\n\n");
    return columns_print(columns, style, stream);
}

static const char *clock_words(const json_t *round)
{
    return !strcmp(json_string_value(json_object_get(round, "clock")), "wall") ? "wall time"
           : json_is_false(json_object_get(round, "measured")) ? "GPUs in simulated time, the CPU by cpu_seconds"
                                                               : "GPUs in simulated time, the CPU in processor time";
}

bool split_tables(const struct split_report *report, struct arena *arena, const struct report_style *style,
                  FILE *stream)
{
    const json_t *first = json_array_get(report->cases[SPLIT_STRATEGIES].rounds, 0);
    fprintf(stream, "task %s, %.0f iterations, %zu run%s, %s\n", json_string_value(json_object_get(first, "task")),
            number(first, "iterations"), json_array_size(report->cases[SPLIT_STRATEGIES].rounds),
            json_array_size(report->cases[SPLIT_STRATEGIES].rounds) == 1 ? "" : "s", clock_words(first));
    for (size_t d = 0; d < device_count(&report->cases[SPLIT_STRATEGIES]); d++)
        fprintf(stream, "  %s\n",
                json_string_value(json_object_get(json_array_get(list_of(first, "devices"), d), "name")));
    fputc('\n', stream);
    if (!compare(report, arena, style, stream))
        return false;
    for (uint32_t i = SPLIT_STRATEGIES; i < report->count; i++)
        if (!show_steps(&report->cases[i], arena, style, stream))
            return false;
    return show_rates(report, arena, style, stream);
}

enum corun_status split_json(const struct split_report *report, FILE *stream)
{
    struct json_writer writer = {0};
    json_t *cases = json_array();
    for (uint32_t i = 0; i < report->count && cases; i++) {
        json_t *item = json_pack("{s:s, s:s, s:O}", "case", report->cases[i].label, "settings",
                                 report->cases[i].settings, "rounds", report->cases[i].rounds);
        if (!item || json_array_append_new(cases, item))
            writer.failed = true;
    }
    return json_write(&writer, json_pack("{s:o}", "cases", cases), stream);
}
