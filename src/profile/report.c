/* SPDX-License-Identifier: MIT */
/* Reads a program's report. */
#include "profile/report.h"

#include <jansson.h>
#include <string.h>

#define VERSION 1
#define MOST_TIME (INT64_C(1) << 50) /* nanoseconds: thirteen days, so that sums of all do not overflow */

struct reader {
    const char *path;
    struct arena *arena;
    struct corun_diagnostics *list;
    enum corun_status status;
};

static void complain(struct reader *reader, enum corun_status status, const char *key, const char *what)
{
    if (reader->status == CORUN_OK)
        reader->status =
            corun_report(reader->list, status, (struct corun_place){reader->path, 0, 0}, "`%s` %s", key, what);
}

static uint64_t read_number(struct reader *reader, json_t *value, const char *key, int64_t most)
{
    int64_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    if (number < 0 || number > most) {
        complain(reader, CORUN_SYNTAX, key, "is missing, or no whole number in its range");
        return 0;
    }
    return (uint64_t)number;
}

static const char *read_text(struct reader *reader, json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!text || !*text) {
        complain(reader, CORUN_SYNTAX, key, "is missing, or no text");
        return "";
    }
    const char *copy = arena_copy_text(reader->arena, text, strlen(text));
    if (!copy)
        complain(reader, CORUN_MEMORY, key, "does not fit the memory");
    return copy ? copy : "";
}

static void *allocate(struct reader *reader, size_t count, size_t bytes, const char *key)
{
    void *memory = arena_allocate(reader->arena, (count ? count : 1) * bytes);
    if (!memory)
        complain(reader, CORUN_MEMORY, key, "does not fit the memory");
    return memory;
}

static json_t *read_list(struct reader *reader, json_t *object, const char *key, uint32_t *count)
{
    json_t *list = json_object_get(object, key);
    if (!json_is_array(list) || json_array_size(list) > UINT32_MAX / 2)
        complain(reader, CORUN_SYNTAX, key, "is missing, or no list");
    *count = reader->status == CORUN_OK ? (uint32_t)json_array_size(list) : 0;
    return list;
}

static void read_need(struct reader *reader, json_t *pair, uint32_t task_count, struct profile_need *need)
{
    need->task = (uint32_t)read_number(reader, json_array_get(pair, 0), "needs", (int64_t)task_count - 1);
    need->earlier = (uint32_t)read_number(reader, json_array_get(pair, 1), "needs", (int64_t)need->task - 1);
}

static void read_phase(struct reader *reader, json_t *object, struct profile_phase *phase)
{
    phase->name = read_text(reader, object, "name");
    phase->serial_ns = read_number(reader, json_object_get(object, "serial_ns"), "serial_ns", MOST_TIME);
    json_t *times = read_list(reader, object, "tasks_ns", &phase->task_count);
    json_t *needs = read_list(reader, object, "needs", &phase->need_count);
    phase->task_ns = allocate(reader, phase->task_count, sizeof *phase->task_ns, "tasks_ns");
    phase->needs = allocate(reader, phase->need_count, sizeof *phase->needs, "needs");
    for (uint32_t i = 0; i < phase->task_count && reader->status == CORUN_OK; i++)
        phase->task_ns[i] = read_number(reader, json_array_get(times, i), "tasks_ns", MOST_TIME);
    for (uint32_t i = 0; i < phase->need_count && reader->status == CORUN_OK; i++)
        read_need(reader, json_array_get(needs, i), phase->task_count, &phase->needs[i]);
}

static void read_query(struct reader *reader, json_t *object, struct profile_query *query)
{
    query->wall_ns = read_number(reader, json_object_get(object, "wall_ns"), "wall_ns", MOST_TIME);
    query->serial_ns = read_number(reader, json_object_get(object, "serial_ns"), "serial_ns", MOST_TIME);
    json_t *phases = read_list(reader, object, "phases", &query->phase_count);
    query->phases = allocate(reader, query->phase_count, sizeof *query->phases, "phases");
    for (uint32_t i = 0; i < query->phase_count && reader->status == CORUN_OK; i++)
        read_phase(reader, json_array_get(phases, i), &query->phases[i]);
}

static void read_report(struct reader *reader, json_t *object, struct profile_report *report)
{
    if (read_number(reader, json_object_get(object, "version"), "version", INT32_MAX) != VERSION)
        complain(reader, CORUN_SYNTAX, "version", "is not 1");
    report->program = read_text(reader, object, "program");
    report->what = read_text(reader, object, "what");
    report->size_of = read_text(reader, object, "size_of");
    const char *kind = read_text(reader, object, "kind");
    report->batch = !strcmp(kind, "batch");
    if (!report->batch && strcmp(kind, "service") != 0)
        complain(reader, CORUN_SYNTAX, "kind", "is neither service nor batch");
    report->size = (uint32_t)read_number(reader, json_object_get(object, "size"), "size", UINT32_MAX);
    report->mean_size = (uint32_t)read_number(reader, json_object_get(object, "mean_size"), "mean_size", UINT32_MAX);
    report->threads = (uint32_t)read_number(reader, json_object_get(object, "threads"), "threads", UINT32_MAX);
    json_t *queries = read_list(reader, object, "queries", &report->query_count);
    report->queries = allocate(reader, report->query_count, sizeof *report->queries, "queries");
    for (uint32_t i = 0; i < report->query_count && reader->status == CORUN_OK; i++)
        read_query(reader, json_array_get(queries, i), &report->queries[i]);
}

enum corun_status profile_report_parse(const char *path, const char *text, size_t bytes, struct arena *arena,
                                       struct corun_diagnostics *list, struct profile_report *report)
{
    struct reader reader = {path, arena, list, CORUN_OK};
    json_error_t error;
    *report = (struct profile_report){0};
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return corun_report(list, CORUN_SYNTAX,
                            (struct corun_place){path, error.line > 0 ? (uint32_t)error.line : 0,
                                                 error.column > 0 ? (uint32_t)error.column : 0},
                            "%s", error.text);
    read_report(&reader, root, report);
    json_decref(root);
    return reader.status;
}

uint64_t profile_query_work(const struct profile_query *query)
{
    uint64_t sum = query->serial_ns;
    for (uint32_t p = 0; p < query->phase_count; p++) {
        sum += query->phases[p].serial_ns;
        for (uint32_t i = 0; i < query->phases[p].task_count; i++)
            sum += query->phases[p].task_ns[i];
    }
    return sum;
}
