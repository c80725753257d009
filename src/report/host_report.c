/* SPDX-License-Identifier: MIT */
/* Tables and JSON of simulated hosts. */
#include "report/host_report.h"

#include "report/json_writer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char *milliseconds(double ns, char text[32])
{
    snprintf(text, 32, "%.1f ms", ns / 1e6);
    return text;
}

static void head(const struct host_report *report, FILE *stream)
{
    const struct host_machine *machine = report->machine;
    char size[REPORT_SIZE_BYTES];
    fprintf(stream, "%s: %u cores at %u MHz, %u ways of %s, %.1f GB/s, seed %llu\n\n", machine->name, machine->cores,
            machine->clock_khz / 1000, machine->ways, report_size(machine->cache_bytes / machine->ways, size),
            machine->memory_mbps / 1000.0, (unsigned long long)report->settings[0].seed);
}

static void service_row(struct columns *columns, const struct host_service_setting *setting,
                        const struct host_service_outcome *outcome)
{
    char text[32];
    enum report_paint paint = !setting->goal_ns ? PAINT_NONE : outcome->tail > 1 ? PAINT_BAD : PAINT_GOOD;
    columns_set(columns, 1, PAINT_NONE, "%s", setting->known->application->name);
    columns_set(columns, 2, PAINT_NONE, "%s", milliseconds(outcome->p50_ns, text));
    columns_set(columns, 3, PAINT_NONE, "%s", milliseconds(outcome->p95_ns, text));
    columns_set(columns, 4, PAINT_NONE, "%s", milliseconds(outcome->p99_ns, text));
    if (setting->goal_ns) {
        columns_set(columns, 5, paint, "%.3f", outcome->tail);
        columns_set(columns, 6, PAINT_NONE, "%u of %u", outcome->late, outcome->queries);
    }
    columns_set(columns, 7, PAINT_NONE, "%s", milliseconds(outcome->mean_wait_ns, text));
    if (outcome->cores > 0) {
        columns_set(columns, 8, PAINT_NONE, "%.2f", outcome->cores);
        columns_set(columns, 9, PAINT_NONE, "%.2f", outcome->ways);
    }
}

static void batch_row(struct columns *columns, const struct host_batch_setting *setting,
                      const struct host_batch_outcome *outcome, uint32_t instances)
{
    columns_set(columns, 1, PAINT_NONE, "%s x %u", setting->known->application->name, instances);
    columns_set(columns, 8, PAINT_NONE, "%.2f", outcome->cores);
    columns_set(columns, 9, PAINT_NONE, "%.2f", outcome->ways);
    columns_set(columns, 10, PAINT_NONE, "%.1f", outcome->traffic / 1e9);
    columns_set(columns, 11, PAINT_NONE, "%.3f", outcome->throughput);
}

/* What the times leave open. */
static void say_unanswered(const struct host_report *report, FILE *stream)
{
    const char *between = "\n";
    for (size_t i = 0; i < report->count; i++) {
        const struct host_setting *setting = &report->settings[i];
        for (uint32_t s = 0; s < setting->service_count; s++) {
            const struct host_service_outcome *outcome = &report->outcomes[i].services[s];
            if (!outcome->unanswered)
                continue;
            fprintf(stream,
                    "%s%s: %u of %u queries of %s were not answered before the end, and count as if they were then\n",
                    between, report->policies[i], outcome->unanswered, outcome->queries,
                    setting->services[s].known->application->name);
            between = "";
        }
    }
}

bool host_report_table(const struct host_report *report, struct arena *arena, const struct report_style *style,
                       FILE *stream)
{
    static const char *const titles[] = {"<policy", "<application", "P50",   "P95",  "P99",  "of the goal",
                                         "late",    "waits",        "cores", "ways", "GB/s", "throughput"};
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof *titles);
    if (!columns)
        return false;
    head(report, stream);
    for (size_t i = 0; i < report->count; i++) {
        const struct host_setting *setting = &report->settings[i];
        const struct host_outcome *outcome = &report->outcomes[i];
        for (uint32_t s = 0; s < setting->service_count; s++) {
            columns_row(columns);
            columns_set(columns, 0, PAINT_NONE, "%s", s ? "" : report->policies[i]);
            service_row(columns, &setting->services[s], &outcome->services[s]);
        }
        for (uint32_t b = 0; b < setting->batch_count; b++) {
            uint32_t present = setting->batches[b].instances;
            columns_row(columns);
            columns_set(columns, 0, PAINT_NONE, "%s", b || setting->service_count ? "" : report->policies[i]);
            batch_row(columns, &setting->batches[b], &outcome->batches[b],
                      setting->search_instances && outcome->instances < present ? outcome->instances : present);
        }
    }
    bool printed = columns_print(columns, style, stream);
    say_unanswered(report, stream);
    return printed;
}

/* Over the cases of one policy. */
struct sums {
    const char *policy;
    size_t cases, violations;
    double worst, tail, throughput;
};

static struct sums sum_up(const struct host_report *report, size_t first)
{
    struct sums sums = {.policy = report->policies[first]};
    for (size_t i = 0; i < report->count; i++) {
        if (strcmp(report->policies[i], sums.policy) != 0)
            continue;
        sums.cases++;
        sums.violations += report->outcomes[i].violations > 0;
        sums.worst = fmax(sums.worst, report->outcomes[i].services[0].tail);
        sums.tail += report->outcomes[i].services[0].tail;
        sums.throughput += report->outcomes[i].throughput;
    }
    return sums;
}

/* Policies follow one another in the same order in each pair: their number. */
static size_t policies_of(const struct host_report *report)
{
    size_t count = 1; /* also of an empty report, whose tables have no rows */
    while (count < report->count && strcmp(report->policies[count], report->policies[0]) != 0)
        count++;
    return count;
}

bool host_report_pairs(const struct host_report *report, struct arena *arena, const struct report_style *style,
                       FILE *stream)
{
    static const char *const sum_titles[] = {"<policy",   "co-locations", "violations",
                                             "worst P99", "mean P99",     "throughput"};
    size_t policies = policies_of(report);
    assert(policies > 0);
    const char *titles[COLUMNS_MAX] = {"<service", "<batch"};
    uint32_t shown = (uint32_t)(policies < (COLUMNS_MAX - 2) / 2 ? policies : (COLUMNS_MAX - 2) / 2);
    for (uint32_t p = 0; p < shown; p++) {
        titles[2 + 2 * p] = arena_format(arena, "%s: P99", report->policies[p]);
        titles[3 + 2 * p] = "throughput";
        if (!titles[2 + 2 * p])
            return false;
    }
    struct columns *pairs = columns_create(arena, titles, 2 + 2 * shown);
    struct columns *sums = columns_create(arena, sum_titles, sizeof sum_titles / sizeof *sum_titles);
    if (!pairs || !sums)
        return false;
    head(report, stream);
    for (size_t i = 0; i < report->count; i++) {
        const struct host_setting *setting = &report->settings[i];
        const struct host_outcome *outcome = &report->outcomes[i];
        size_t policy = i % policies;
        if (!policy) {
            columns_row(pairs);
            columns_set(pairs, 0, PAINT_NONE, "%s", setting->services[0].known->application->name);
            columns_set(pairs, 1, PAINT_NONE, "%s", setting->batches[0].known->application->name);
        }
        if (policy >= shown)
            continue;
        columns_set(pairs, 2 + 2 * (uint32_t)policy, outcome->violations ? PAINT_BAD : PAINT_GOOD, "%.3f",
                    outcome->services[0].tail);
        columns_set(pairs, 3 + 2 * (uint32_t)policy, PAINT_NONE, "%.3f", outcome->throughput);
    }
    for (size_t p = 0; p < policies; p++) {
        struct sums of = sum_up(report, p);
        columns_row(sums);
        columns_set(sums, 0, PAINT_NONE, "%s", of.policy);
        columns_set(sums, 1, PAINT_NONE, "%zu", of.cases);
        columns_set(sums, 2, of.violations ? PAINT_BAD : PAINT_GOOD, "%zu", of.violations);
        columns_set(sums, 3, PAINT_NONE, "%.3f", of.worst);
        columns_set(sums, 4, PAINT_NONE, "%.3f", of.tail / (double)of.cases);
        columns_set(sums, 5, PAINT_NONE, "%.3f", of.throughput / (double)of.cases);
    }
    bool whole = columns_print(pairs, style, stream);
    fputs("\n", stream);
    return columns_print(sums, style, stream) && whole;
}

static void cluster_row(struct columns *columns, const struct host_report *report, size_t first, size_t end)
{
    static const double levels[] = {1, 1.2, 2, INFINITY}; /* of the goal */
    size_t nodes[4] = {0};
    double throughput = 0, count = (double)(end - first);
    for (size_t i = first; i < end; i++) {
        size_t level = 0;
        while (report->outcomes[i].services[0].tail > levels[level])
            level++;
        nodes[level]++;
        throughput += report->outcomes[i].throughput;
    }
    columns_row(columns);
    columns_set(columns, 0, PAINT_NONE, "%s", report->policies[first]);
    columns_set(columns, 1, PAINT_NONE, "%zu", end - first);
    for (uint32_t level = 0; level < 4; level++)
        columns_set(columns, 2 + level, PAINT_NONE, "%.1f %%", 100 * (double)nodes[level] / count);
    columns_set(columns, 6, PAINT_NONE, "%.3f", throughput / count);
}

bool host_report_cluster(const struct host_report *report, struct arena *arena, const struct report_style *style,
                         FILE *stream)
{
    static const char *const titles[] = {"<policy",       "nodes",       "goal met",  "up to 1.2 times",
                                         "up to 2 times", "above twice", "throughput"};
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof *titles);
    if (!columns)
        return false;
    head(report, stream);
    for (size_t first = 0, end; first < report->count; first = end) {
        for (end = first + 1; end < report->count && !strcmp(report->policies[end], report->policies[first]);)
            end++;
        cluster_row(columns, report, first, end);
    }
    return columns_print(columns, style, stream);
}

static json_t *service_json(struct json_writer *writer, const struct host_service_setting *setting,
                            const struct host_service_outcome *outcome)
{
    json_t *object = json_object();
    json_put(writer, object, "application", json_text(setting->known->application->name));
    json_put(writer, object, "goal_ns", json_count(setting->goal_ns));
    json_put(writer, object, "load", json_number(setting->load));
    json_put(writer, object, "alone_ns", json_number(setting->known->alone));
    json_put(writer, object, "queries", json_count(outcome->queries));
    json_put(writer, object, "late", json_count(outcome->late));
    json_put(writer, object, "unanswered", json_count(outcome->unanswered));
    json_put(writer, object, "mean_ns", json_number(outcome->mean_ns));
    json_put(writer, object, "p50_ns", json_number(outcome->p50_ns));
    json_put(writer, object, "p95_ns", json_number(outcome->p95_ns));
    json_put(writer, object, "p99_ns", json_number(outcome->p99_ns));
    json_put(writer, object, "longest_ns", json_number(outcome->longest_ns));
    json_put(writer, object, "mean_wait_ns", json_number(outcome->mean_wait_ns));
    json_put(writer, object, "p99_of_goal", json_number(setting->goal_ns ? outcome->tail : NAN));
    json_put(writer, object, "cores", json_number(outcome->cores));
    json_put(writer, object, "ways", json_number(outcome->ways));
    return object;
}

static json_t *batch_json(struct json_writer *writer, const struct host_batch_setting *setting,
                          const struct host_batch_outcome *outcome)
{
    json_t *object = json_object();
    json_put(writer, object, "application", json_text(setting->known->application->name));
    json_put(writer, object, "instances", json_count(setting->instances));
    json_put(writer, object, "throughput", json_number(outcome->throughput));
    json_put(writer, object, "cores", json_number(outcome->cores));
    json_put(writer, object, "ways", json_number(outcome->ways));
    json_put(writer, object, "bytes_per_second", json_number(outcome->traffic));
    return object;
}

static json_t *case_json(struct json_writer *writer, const struct host_report *report, size_t index)
{
    const struct host_setting *setting = &report->settings[index];
    const struct host_outcome *outcome = &report->outcomes[index];
    json_t *object = json_object(), *services = json_array(), *batches = json_array();
    json_put(writer, object, "policy", json_text(report->policies[index]));
    for (uint32_t s = 0; s < setting->service_count; s++)
        json_push(writer, services, service_json(writer, &setting->services[s], &outcome->services[s]));
    for (uint32_t b = 0; b < setting->batch_count; b++)
        json_push(writer, batches, batch_json(writer, &setting->batches[b], &outcome->batches[b]));
    json_put(writer, object, "services", services);
    json_put(writer, object, "batches", batches);
    json_put(writer, object, "throughput", json_number(outcome->throughput));
    json_put(writer, object, "violations", json_count(outcome->violations));
    json_put(writer, object, "instances", setting->search_instances ? json_count(outcome->instances) : json_null());
    json_put(writer, object, "interval_ns", json_count(setting->interval_ns));
    json_put(writer, object, "end_ns", json_count(outcome->result.end_ns));
    json_put(writer, object, "events", json_count(outcome->result.events));
    json_put(writer, object, "moves", json_count(outcome->result.moves));
    json_put(writer, object, "busiest_memory_load", json_number(outcome->result.busiest_load));
    return object;
}

enum corun_status host_report_json(const struct host_report *report, FILE *stream)
{
    struct json_writer writer = {0};
    json_t *object = json_object(), *host = json_object(), *cases = json_array();
    json_put(&writer, host, "name", json_text(report->machine->name));
#define P(name, lowest, highest, unit, meaning) json_put(&writer, host, #name, json_count(report->machine->name));
#include "host/machine_parameters.def"
#undef P
    json_put(&writer, object, "host", host);
    json_put(&writer, object, "seed", json_seed(report->count ? report->settings[0].seed : 0));
    for (size_t i = 0; i < report->count; i++)
        json_push(&writer, cases, case_json(&writer, report, i));
    json_put(&writer, object, "cases", cases);
    json_put(&writer, object, "wall_seconds", json_number(report->seconds));
    return json_write(&writer, object, stream);
}
