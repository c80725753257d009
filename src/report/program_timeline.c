/* SPDX-License-Identifier: MIT */
/*
 * What a CUDA program did over time, in the Trace Event Format, one event a line: every device of every process is a process of the trace,
 * every stream a thread, launches and copies are slices. Counters have how many kernels and copies are under way.
 */
#include "report/program_record.h"

#include "report/figures.h"
#include "report/json_writer.h"
#include "report/kernel_labels.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A change of the number of kernels or copies that are under way on a device. */
struct step {
    const struct program_event *event;
    uint64_t cycle;
    int change;
};

struct program_trace {
    const struct program_record *record;
    struct arena *arena;
    FILE *stream;
    bool first, failed;
    VECTOR(const char *) symbols; /* of all kernels, each once */
    const char *const *labels;
};

static const char *const copy_names[] = {[PROGRAM_COPY_TO_DEVICE] = "copy to the device",
                                         [PROGRAM_COPY_TO_HOST] = "copy to the host",
                                         [PROGRAM_COPY_WITHIN] = "copy within the device",
                                         [PROGRAM_FILL] = "fill"};

static size_t device_id(const struct program_trace *trace, const struct program_event *event)
{
    const struct program_device *device = program_event_device(trace->record, event);
    return device ? (size_t)(device - trace->record->devices.data) + 1 : 0;
}

static void put(struct program_trace *trace, json_t *event)
{
    char *text = event ? json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    trace->failed |= !text;
    if (text)
        fprintf(trace->stream, "%s%s", trace->first ? "" : ",\n", text);
    trace->first = false;
    free(text);
    json_decref(event);
}

/* An event with its arguments, which are taken. */
static void put_event(struct program_trace *trace, const char *phase, size_t process, uint64_t thread, const char *name,
                      double microseconds, double duration, json_t *arguments)
{
    struct json_writer writer = {!arguments};
    json_t *event = json_object();
    json_put(&writer, event, "ph", json_text(phase));
    json_put(&writer, event, "pid", json_count(process));
    json_put(&writer, event, "tid", json_count(thread));
    json_put(&writer, event, "name", json_text(name));
    if (*phase != 'M')
        json_put(&writer, event, "ts", json_real(microseconds));
    if (*phase == 'X')
        json_put(&writer, event, "dur", json_real(duration));
    json_put(&writer, event, "args", arguments);
    trace->failed |= writer.failed;
    put(trace, event);
}

static json_t *name_argument(const char *name)
{
    return json_pack("{s:o}", "name", json_text(name));
}

static void put_devices(struct program_trace *trace)
{
    for (size_t i = 0; i < trace->record->devices.count; i++) {
        const struct program_device *device = &trace->record->devices.data[i];
        const char *name = arena_format(trace->arena, "%s%s%s, device %" PRIu32 " of process %" PRIu32,
                                        device->program ? device->program : "", device->program ? ": " : "",
                                        device->name, device->ordinal, device->process);
        put_event(trace, "M", i + 1, 0, "process_name", 0, 0, name ? name_argument(name) : NULL);
    }
}

static int by_device_and_stream(const void *left, const void *right)
{
    const struct program_event *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static void put_streams(struct program_trace *trace)
{
    size_t count = trace->record->events.count;
    struct program_event *events = malloc((count + 1) * sizeof *events);
    trace->failed |= !events;
    if (!events)
        return;
    if (count)
        memcpy(events, trace->record->events.data, count * sizeof *events);
    qsort(events, count, sizeof *events, by_device_and_stream);
    for (size_t i = 0; i < count; i++) {
        if (i && !by_device_and_stream(&events[i - 1], &events[i]))
            continue;
        const char *name = arena_format(trace->arena, "stream %" PRIu64, events[i].stream);
        put_event(trace, "M", device_id(trace, &events[i]), events[i].stream, "thread_name", 0, 0,
                  name ? name_argument(name) : NULL);
    }
    free(events);
}

static size_t symbol_of(const struct program_trace *trace, const char *name)
{
    size_t i = 0;
    while (i < trace->symbols.count && strcmp(trace->symbols.data[i], name) != 0)
        i++;
    return i;
}

static void name_kernels(struct program_trace *trace)
{
    for (size_t i = 0; i < trace->record->events.count; i++) {
        const struct program_event *event = &trace->record->events.data[i];
        if (event->kind == PROGRAM_LAUNCH && symbol_of(trace, event->name) == trace->symbols.count)
            trace->failed |= !vector_push(&trace->symbols, event->name);
    }
    trace->labels = kernel_labels(trace->arena, trace->symbols.data, (uint32_t)trace->symbols.count);
    trace->failed |= !trace->labels;
}

static void put_rate(struct json_writer *writer, json_t *object, const char *key, double value)
{
    if (!isnan(value))
        json_put(writer, object, key, json_number(value));
}

static json_t *launch_arguments(const struct program_record *record, const struct program_event *event)
{
    const struct program_kernel_place *place = program_event_place(record, event);
    struct json_writer writer = {false};
    json_t *object = json_object();
    uint64_t cycles = event->end_cycle - event->start_cycle;
    char text[64];
    snprintf(text, sizeof text, "%" PRIu32 " x %" PRIu32 " x %" PRIu32, event->grid[0], event->grid[1], event->grid[2]);
    json_put(&writer, object, "grid", json_text(text));
    snprintf(text, sizeof text, "%" PRIu32 " x %" PRIu32 " x %" PRIu32, event->block[0], event->block[1],
             event->block[2]);
    json_put(&writer, object, "block", json_text(text));
    json_put(&writer, object, "registers per thread", json_count(event->registers));
    json_put(&writer, object, "shared bytes",
             json_count((uint64_t)event->static_shared_bytes + event->dynamic_shared_bytes));
    json_put(&writer, object, "start_cycle", json_count(event->start_cycle));
    json_put(&writer, object, "end_cycle", json_count(event->end_cycle));
    if (cycles)
        put_rate(&writer, object, "IPC", (double)event->counters.thread_instructions / (double)cycles);
    put_rate(&writer, object, "L1 hit rate", figure_l1_hit_rate(&event->counters));
    put_rate(&writer, object, "L2 hit rate", figure_l2_hit_rate(&event->counters));
    json_put(&writer, object, "DRAM bytes",
             json_count(event->counters.dram_read_bytes + event->counters.dram_write_bytes));
    json_put(&writer, object, "symbol", json_text(event->name));
    if (place)
        json_put(&writer, object, "PTX", json_text(place->ptx));
    if (place && *place->source)
        json_put(&writer, object, "source", json_text(place->source));
    if (writer.failed)
        json_decref(object);
    return writer.failed ? NULL : object;
}

static json_t *copy_arguments(const struct program_event *event, double nanoseconds)
{
    struct json_writer writer = {false};
    json_t *object = json_object();
    json_put(&writer, object, "bytes", json_count(event->bytes));
    if (nanoseconds > 0)
        json_put(&writer, object, "GB/s", json_number((double)event->bytes / nanoseconds));
    if (event->kind == PROGRAM_COPY_TO_DEVICE || event->kind == PROGRAM_COPY_TO_HOST)
        json_put(&writer, object, "host memory", json_text(event->pageable ? "pageable" : "pinned"));
    json_put(&writer, object, "start_cycle", json_count(event->start_cycle));
    json_put(&writer, object, "end_cycle", json_count(event->end_cycle));
    if (writer.failed)
        json_decref(object);
    return writer.failed ? NULL : object;
}

static void put_slices(struct program_trace *trace, const struct program_event **order)
{
    for (size_t i = 0; i < trace->record->events.count; i++) {
        const struct program_event *event = order[i];
        double start = program_nanoseconds(trace->record, event, event->start_cycle);
        double time = program_nanoseconds(trace->record, event, event->end_cycle - event->start_cycle);
        bool launch = event->kind == PROGRAM_LAUNCH;
        put_event(trace, "X", device_id(trace, event), event->stream,
                  launch ? trace->labels[symbol_of(trace, event->name)] : copy_names[event->kind], start / 1e3,
                  time / 1e3, launch ? launch_arguments(trace->record, event) : copy_arguments(event, time));
    }
}

static int by_device_and_cycle(const void *left, const void *right)
{
    const struct step *a = left, *b = right;
    if (a->event->process != b->event->process)
        return a->event->process < b->event->process ? -1 : 1;
    if (a->event->device != b->event->device)
        return a->event->device < b->event->device ? -1 : 1;
    if (a->cycle != b->cycle)
        return a->cycle < b->cycle ? -1 : 1;
    return a->change - b->change;
}

/* One counter: a value wherever the number has changed, after all changes of that cycle. */
static void put_counter(struct program_trace *trace, const struct step *steps, size_t count, const char *name)
{
    int64_t under_way = 0;
    for (size_t i = 0; i < count; i++) {
        const struct step *step = &steps[i], *next = i + 1 < count ? &steps[i + 1] : NULL;
        under_way += step->change;
        bool same_device =
            next && next->event->process == step->event->process && next->event->device == step->event->device;
        if (same_device && next->cycle == step->cycle)
            continue;
        put_event(trace, "C", device_id(trace, step->event), 0, name,
                  program_nanoseconds(trace->record, step->event, step->cycle) / 1e3, 0,
                  json_pack("{s:I}", name, (json_int_t)under_way));
    }
}

static void put_counters(struct program_trace *trace)
{
    size_t events = trace->record->events.count;
    struct step *steps = malloc((2 * events + 1) * sizeof *steps);
    trace->failed |= !steps;
    for (int launches = 1; steps && launches >= 0; launches--) {
        size_t count = 0;
        for (size_t i = 0; i < events; i++) {
            const struct program_event *event = &trace->record->events.data[i];
            if ((event->kind == PROGRAM_LAUNCH) != launches || event->start_cycle == event->end_cycle)
                continue;
            steps[count++] = (struct step){event, event->start_cycle, 1};
            steps[count++] = (struct step){event, event->end_cycle, -1};
        }
        qsort(steps, count, sizeof *steps, by_device_and_cycle);
        put_counter(trace, steps, count, launches ? "kernels" : "copies");
    }
    free(steps);
}

enum corun_status program_timeline(const struct program_record *record, FILE *stream)
{
    struct program_trace trace = {.record = record, .arena = arena_create(), .stream = stream, .first = true};
    const struct program_event **order = program_events_in_order(record);
    trace.failed = !trace.arena || !order;
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", stream);
    if (!trace.failed)
        name_kernels(&trace);
    if (!trace.failed) {
        put_devices(&trace);
        put_streams(&trace);
        put_slices(&trace, order);
        put_counters(&trace);
    }
    fputs("\n]}\n", stream);
    free(order);
    vector_free(&trace.symbols);
    if (trace.arena)
        arena_destroy(trace.arena);
    return trace.failed ? CORUN_MEMORY : CORUN_OK;
}
