/* SPDX-License-Identifier: MIT */
/*
 * Timelines of simulated hosts in the Trace Event Format, one event a line. Process 1 is the host, with a counter for the memory; process 2 + a is
 * application a, with counters of its cores, ways and queries, and its queries as asynchronous slices.
 */
#include "report/host_timeline.h"

#include "report/json_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TENANTS 64u

struct shown {
    struct corun_host_share share;
    uint32_t running, waiting;
    bool known;
};

struct host_timeline {
    FILE *stream;
    bool failed, named;
    double memory_load;
    uint64_t last_ns;
    struct shown tenants[TENANTS];
    struct {
        bool running;
        uint64_t id;
        uint32_t application;
    } queries[CORUN_HOST_QUERIES];
};

struct host_timeline *host_timeline_create(FILE *stream, const struct host_machine *machine)
{
    struct host_timeline *timeline = calloc(1, sizeof *timeline);
    if (!timeline)
        return NULL;
    timeline->stream = stream;
    timeline->memory_load = -1;
    fprintf(stream, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    fprintf(stream, "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"%s\"}}", machine->name);
    return timeline;
}

/* Up to the arguments of the event; times are microseconds. */
static void begin(struct host_timeline *timeline, char phase, uint32_t process, uint64_t at_ns, const char *name)
{
    fprintf(timeline->stream,
            ",\n{\"ph\":\"%c\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ts\":%" PRIu64 ".%03" PRIu64
            ",\"name\":\"%s\"",
            phase, process, process, at_ns / 1000, at_ns % 1000, name);
}

static void name_tenants(struct host_timeline *timeline, const struct corun_host_view *view)
{
    for (uint32_t a = 0; a < view->application_count && a < TENANTS; a++) {
        json_t *json = json_text(view->applications[a].name);
        char *quoted = json ? json_dumps(json, JSON_ENCODE_ANY) : NULL;
        timeline->failed |= !quoted;
        fprintf(timeline->stream,
                ",\n{\"ph\":\"M\",\"pid\":%" PRIu32 ",\"name\":\"process_name\",\"args\":{\"name\":%s}}", 2 + a,
                quoted ? quoted : "\"\"");
        free(quoted);
        json_decref(json);
    }
    timeline->named = true;
}

static void show_tenant(struct host_timeline *timeline, const struct host_snapshot *snapshot, uint32_t a)
{
    const struct corun_host_application_view *application = &snapshot->view->applications[a];
    struct shown *shown = &timeline->tenants[a];
    struct corun_host_share share = snapshot->given[a];
    if (application->kind == CORUN_HOST_BATCH && !share.cores)
        share = snapshot->common;
    if (!shown->known || shown->share.cores != share.cores || shown->share.ways != share.ways) {
        begin(timeline, 'C', 2 + a, snapshot->from_ns, "cores");
        fprintf(timeline->stream, ",\"args\":{\"cores\":%" PRIu32 "}}", share.cores);
        begin(timeline, 'C', 2 + a, snapshot->from_ns, "ways");
        fprintf(timeline->stream, ",\"args\":{\"ways\":%" PRIu32 "}}", share.ways);
    }
    if (!shown->known || shown->running != application->running || shown->waiting != application->waiting) {
        begin(timeline, 'C', 2 + a, snapshot->from_ns, application->kind == CORUN_HOST_BATCH ? "instances" : "queries");
        fprintf(timeline->stream, ",\"args\":{\"running\":%" PRIu32 ",\"waiting\":%" PRIu32 "}}", application->running,
                application->waiting);
    }
    *shown = (struct shown){share, application->running, application->waiting, true};
}

static void end_query(struct host_timeline *timeline, uint32_t q, uint64_t at_ns)
{
    if (!timeline->queries[q].running)
        return;
    begin(timeline, 'e', 2 + timeline->queries[q].application, at_ns, "query");
    fprintf(timeline->stream, ",\"cat\":\"query\",\"id\":%" PRIu64 "}", timeline->queries[q].id);
    timeline->queries[q].running = false;
}

static void show_query(struct host_timeline *timeline, const struct host_snapshot *snapshot, uint32_t q)
{
    const struct corun_host_query_view *query = q < snapshot->view->query_count ? &snapshot->view->queries[q] : NULL;
    bool running = query && query->state == CORUN_HOST_QUERY_RUNNING;
    if (timeline->queries[q].running && (!running || query->id != timeline->queries[q].id))
        end_query(timeline, q, snapshot->from_ns);
    if (!running || timeline->queries[q].running)
        return;
    begin(timeline, 'b', 2 + query->application, query->started_ns, "query");
    fprintf(timeline->stream,
            ",\"cat\":\"query\",\"id\":%" PRIu64 ",\"args\":{\"query\":%" PRIu64 ",\"waited_us\":%.3f}}", query->id,
            query->id, (double)(query->started_ns - query->arrived_ns) / 1e3);
    timeline->queries[q].running = true;
    timeline->queries[q].id = query->id;
    timeline->queries[q].application = query->application;
}

void host_timeline_observe(void *user, const struct host_snapshot *snapshot)
{
    struct host_timeline *timeline = user;
    if (!timeline->named)
        name_tenants(timeline, snapshot->view);
    if (timeline->memory_load != snapshot->memory_load) {
        begin(timeline, 'C', 1, snapshot->from_ns, "memory");
        fprintf(timeline->stream, ",\"args\":{\"load\":%.4f}}", snapshot->memory_load);
        timeline->memory_load = snapshot->memory_load;
    }
    for (uint32_t a = 0; a < snapshot->view->application_count && a < TENANTS; a++)
        show_tenant(timeline, snapshot, a);
    for (uint32_t q = 0; q < CORUN_HOST_QUERIES; q++)
        show_query(timeline, snapshot, q);
    timeline->last_ns = snapshot->to_ns;
}

enum corun_status host_timeline_end(struct host_timeline *timeline)
{
    enum corun_status status = timeline->failed ? CORUN_MEMORY : CORUN_OK;
    for (uint32_t q = 0; q < CORUN_HOST_QUERIES; q++)
        end_query(timeline, q, timeline->last_ns);
    fputs("\n]}\n", timeline->stream);
    free(timeline);
    return status;
}
