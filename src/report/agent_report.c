/* SPDX-License-Identifier: MIT */
/* Tables and JSON of runs on this machine. */
#include "report/agent_report.h"

#include "report/json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *milliseconds(double ns, char text[32])
{
    snprintf(text, 32, "%.2f ms", ns / 1e6);
    return text;
}

static double mean_of(const struct governor_cost *cost)
{
    return cost->count ? cost->total_ns / (double)cost->count : 0;
}

static void head(const struct agent_report *report, FILE *stream)
{
    const struct agent_outcome *outcome = report->outcome;
    const struct agent_means *means = &outcome->means;
    char size[REPORT_SIZE_BYTES];
    fprintf(stream, "%s: %u cores, a cache of %s\n",
            *outcome->topology.model ? outcome->topology.model : "this machine", outcome->topology.core_count,
            report_size(outcome->topology.cache_bytes, size));
    fprintf(stream, "cores by %s; ways %s; instructions %s; memory traffic %s; priority %s\n\n", means->cores,
            means->ways, means->counters, means->bandwidth, means->priority);
}

/* Of who has ended otherwise than a program that has done its work: its row says no more than that it did little. */
static void failures(const char *name, uint32_t count, FILE *stream)
{
    if (count)
        fprintf(stream, "%s: %u %s ended with an error\n", name, count, count == 1 ? "program" : "programs");
}

static void foot(const struct agent_report *report, FILE *stream)
{
    const struct agent_outcome *outcome = report->outcome;
    fprintf(stream,
            "\n%" PRIu64 " decisions of %.1f us processor time on average, %.1f us at most; obeyed %" PRIu64
            " times, %.1f us on average, %.1f us at most\n",
            outcome->decided.count, mean_of(&outcome->decided) / 1e3, outcome->decided.longest_ns / 1e3,
            outcome->obeyed.count, mean_of(&outcome->obeyed) / 1e3, outcome->obeyed.longest_ns / 1e3);
    if (outcome->failed_moves)
        fprintf(stream, "the kernel refused %u changes, the first one: %s\n", outcome->failed_moves,
                outcome->first_failure);
    if (outcome->refused)
        fprintf(stream, "%" PRIu64 " connections ended for what they said, or were not let in\n", outcome->refused);
    for (uint32_t s = 0; s < outcome->service_count; s++)
        failures(outcome->service_names[s], outcome->services[s].failures, stream);
    for (uint32_t b = 0; b < outcome->batch_count; b++)
        failures(outcome->batch_names[b], outcome->batches[b].failures, stream);
}

static void service_row(struct columns *columns, const struct agent_outcome *outcome, uint32_t s)
{
    const struct host_service_outcome *service = &outcome->services[s].common;
    char text[32];
    columns_set(columns, 1, PAINT_NONE, "%s", outcome->service_names[s]);
    columns_set(columns, 2, PAINT_NONE, "%s", milliseconds(service->p50_ns, text));
    columns_set(columns, 3, PAINT_NONE, "%s", milliseconds(service->p95_ns, text));
    columns_set(columns, 4, PAINT_NONE, "%s", milliseconds(service->p99_ns, text));
    if (outcome->goals_ns[s])
        columns_set(columns, 5, service->tail > 1 ? PAINT_BAD : PAINT_GOOD, "%.3f", service->tail);
    columns_set(columns, 6, PAINT_NONE, "%u of %u", service->late, service->queries);
    columns_set(columns, 7, outcome->services[s].lost ? PAINT_BAD : PAINT_NONE, "%u", outcome->services[s].lost);
    columns_set(columns, 8, PAINT_NONE, "%s", milliseconds(service->mean_wait_ns, text));
    columns_set(columns, 9, PAINT_NONE, "%.2f", service->cores);
}

static void batch_row(struct columns *columns, const struct agent_outcome *outcome, uint32_t b)
{
    const struct agent_batch_outcome *batch = &outcome->batches[b];
    columns_set(columns, 1, PAINT_NONE, "%s x %u", outcome->batch_names[b], outcome->instances[b]);
    columns_set(columns, 9, PAINT_NONE, "%.2f", batch->common.cores);
    columns_set(columns, 10, PAINT_NONE, "%.4g %s/s", batch->rate, agent_work_word(batch->work_by));
    if (isfinite(batch->common.throughput))
        columns_set(columns, 11, PAINT_NONE, "%.3f", batch->common.throughput);
}

bool agent_report_table(const struct agent_report *report, struct arena *arena, const struct report_style *style,
                        FILE *stream)
{
    static const char *const titles[] = {"<policy", "<application", "P50",   "P95",   "P99",  "of the goal",
                                         "late",    "lost",         "waits", "cores", "work", "throughput"};
    const struct agent_outcome *outcome = report->outcome;
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof *titles);
    if (!columns)
        return false;
    head(report, stream);
    for (uint32_t i = 0; i < outcome->service_count + outcome->batch_count; i++) {
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", i ? "" : report->policy);
        if (i < outcome->service_count)
            service_row(columns, outcome, i);
        else
            batch_row(columns, outcome, i - outcome->service_count);
    }
    bool printed = columns_print(columns, style, stream);
    foot(report, stream);
    return printed;
}

/* ---- JSON ---- */

static json_t *service_json(struct json_writer *writer, const struct agent_outcome *outcome, uint32_t s)
{
    const struct host_service_outcome *service = &outcome->services[s].common;
    json_t *object = json_object();
    json_put(writer, object, "application", json_text(outcome->service_names[s]));
    json_put(writer, object, "goal_ns", json_count(outcome->goals_ns[s]));
    json_put(writer, object, "queries", json_count(service->queries));
    json_put(writer, object, "late", json_count(service->late));
    json_put(writer, object, "lost", json_count(outcome->services[s].lost));
    json_put(writer, object, "mean_ns", json_number(service->mean_ns));
    json_put(writer, object, "p50_ns", json_number(service->p50_ns));
    json_put(writer, object, "p95_ns", json_number(service->p95_ns));
    json_put(writer, object, "p99_ns", json_number(service->p99_ns));
    json_put(writer, object, "longest_ns", json_number(service->longest_ns));
    json_put(writer, object, "mean_wait_ns", json_number(service->mean_wait_ns));
    json_put(writer, object, "p99_of_goal", json_number(outcome->goals_ns[s] ? service->tail : NAN));
    json_put(writer, object, "cores", json_number(service->cores));
    json_put(writer, object, "ways", json_number(service->ways));
    json_put(writer, object, "work_by", json_text(agent_work_word(outcome->services[s].work)));
    return object;
}

static json_t *batch_json(struct json_writer *writer, const struct agent_outcome *outcome, uint32_t b)
{
    const struct agent_batch_outcome *batch = &outcome->batches[b];
    json_t *object = json_object();
    json_put(writer, object, "application", json_text(outcome->batch_names[b]));
    json_put(writer, object, "instances", json_count(outcome->instances[b]));
    json_put(writer, object, "throughput", json_number(batch->common.throughput));
    json_put(writer, object, "work", json_number(batch->work));
    json_put(writer, object, "per_second", json_number(batch->rate));
    json_put(writer, object, "work_by", json_text(agent_work_word(batch->work_by)));
    json_put(writer, object, "runs", json_count(batch->runs));
    json_put(writer, object, "failures", json_count(batch->failures));
    json_put(writer, object, "cores", json_number(batch->common.cores));
    json_put(writer, object, "ways", json_number(batch->common.ways));
    json_put(writer, object, "bytes_per_second", json_number(batch->common.traffic));
    return object;
}

static json_t *cost_json(struct json_writer *writer, const struct governor_cost *cost)
{
    json_t *object = json_object();
    json_put(writer, object, "count", json_count(cost->count));
    json_put(writer, object, "mean_ns", json_number(cost->count ? mean_of(cost) : NAN));
    json_put(writer, object, "longest_ns", json_number(cost->longest_ns));
    return object;
}

static json_t *host_json(struct json_writer *writer, const struct agent_outcome *outcome)
{
    const struct topology *topology = &outcome->topology;
    const struct agent_means *means = &outcome->means;
    json_t *object = json_object();
    json_put(writer, object, "name", json_text(topology->model));
    json_put(writer, object, "cores", json_count(topology->core_count));
    json_put(writer, object, "clock_khz", json_count(topology->clock_khz));
    json_put(writer, object, "ways", json_count(topology->ways));
    json_put(writer, object, "cache_bytes", json_count(topology->cache_bytes));
    json_put(writer, object, "cores_by", json_text(means->cores));
    json_put(writer, object, "ways_by", json_text(means->ways));
    json_put(writer, object, "ways_enforced", json_boolean(means->ways_enforced));
    json_put(writer, object, "instructions", json_text(means->counters));
    json_put(writer, object, "memory_traffic", json_text(means->bandwidth));
    json_put(writer, object, "priority", json_text(means->priority));
    return object;
}

static json_t *case_json(struct json_writer *writer, const struct agent_report *report)
{
    const struct agent_outcome *outcome = report->outcome;
    json_t *object = json_object(), *services = json_array(), *batches = json_array();
    json_put(writer, object, "policy", json_text(report->policy));
    for (uint32_t s = 0; s < outcome->service_count; s++)
        json_push(writer, services, service_json(writer, outcome, s));
    for (uint32_t b = 0; b < outcome->batch_count; b++)
        json_push(writer, batches, batch_json(writer, outcome, b));
    json_put(writer, object, "services", services);
    json_put(writer, object, "batches", batches);
    json_put(writer, object, "throughput", json_number(outcome->throughput));
    json_put(writer, object, "violations", json_count(outcome->violations));
    json_put(writer, object, "interval_ns", json_count(outcome->interval_ns));
    json_put(writer, object, "end_ns", json_count(outcome->run_ns));
    json_put(writer, object, "moves", json_count(outcome->moves));
    json_put(writer, object, "decisions", cost_json(writer, &outcome->decided));
    json_put(writer, object, "obeyed", cost_json(writer, &outcome->obeyed));
    json_put(writer, object, "refused_connections", json_count(outcome->refused));
    json_put(writer, object, "refused_changes", json_count(outcome->failed_moves));
    json_put(writer, object, "first_refused_change",
             outcome->failed_moves ? json_text(outcome->first_failure) : json_null());
    return object;
}

enum corun_status agent_report_json(const struct agent_report *report, FILE *stream)
{
    struct json_writer writer = {0};
    json_t *object = json_object(), *cases = json_array();
    json_put(&writer, object, "host", host_json(&writer, report->outcome));
    json_push(&writer, cases, case_json(&writer, report));
    json_put(&writer, object, "cases", cases);
    json_put(&writer, object, "wall_seconds", json_number(report->seconds));
    return json_write(&writer, object, stream);
}

/* ---- a running agent ---- */

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "?";
}

static void status_rows(struct columns *columns, const json_t *array, bool services)
{
    size_t index;
    const json_t *row;
    json_array_foreach(array, index, row)
    {
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", text_of(row, "application"));
        columns_set(columns, 1, PAINT_NONE, "%.0f", number_of(row, "running"));
        columns_set(columns, 3, PAINT_NONE, "%.0f", number_of(row, "cores_now"));
        columns_set(columns, 4, PAINT_NONE, "%.0f", number_of(row, "ways_now"));
        if (!services) {
            columns_set(columns, 9, PAINT_NONE, "%.4g %s/s", number_of(row, "per_second"), text_of(row, "work_by"));
            continue;
        }
        double tail = number_of(row, "p99_of_goal");
        columns_set(columns, 2, PAINT_NONE, "%.0f", number_of(row, "waiting"));
        columns_set(columns, 5, PAINT_NONE, "%.0f", number_of(row, "queries"));
        columns_set(columns, 6, PAINT_NONE, "%.0f", number_of(row, "late"));
        columns_set(columns, 7, PAINT_NONE, "%.2f ms", number_of(row, "p99_ns") / 1e6);
        if (isfinite(tail))
            columns_set(columns, 8, tail > 1 ? PAINT_BAD : PAINT_GOOD, "%.3f", tail);
    }
}

enum corun_status agent_report_status(const char *text, struct arena *arena, const struct report_style *style,
                                      struct corun_diagnostics *list, FILE *stream)
{
    static const char *const titles[] = {"<application", "running", "waiting", "cores",       "ways",
                                         "queries",      "late",    "P99",     "of the goal", "work"};
    json_error_t error;
    json_t *status = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(status)) {
        json_decref(status);
        return corun_report(list, CORUN_SYNTAX, CORUN_NOWHERE, "an agent said what is no JSON: %s", error.text);
    }
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof *titles);
    if (columns) {
        fprintf(stream, "policy %s for %.0f s: %.0f of %.0f cores common, %.0f decisions of %.1f us on average%s\n\n",
                text_of(status, "policy"), number_of(status, "run_ns") / 1e9, number_of(status, "common_cores"),
                number_of(status, "cores"), number_of(status, "decisions"), number_of(status, "decision_mean_ns") / 1e3,
                json_is_true(json_object_get(status, "ways_enforced")) ? "" : "; ways are not enforced here");
        status_rows(columns, json_object_get(status, "services"), true);
        status_rows(columns, json_object_get(status, "batches"), false);
    }
    bool printed = columns && columns_print(columns, style, stream);
    json_decref(status);
    return printed ? CORUN_OK : CORUN_MEMORY;
}
