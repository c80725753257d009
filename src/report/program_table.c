/* SPDX-License-Identifier: MIT */
/* A program's launches and copies as a table, CSV and JSON. */
#include "base/kernel_name.h"
#include "report/program_record.h"

#include "report/figures.h"
#include "report/json_writer.h"
#include "report/kernel_labels.h"
#include "report/program_profile.h"
#include "report/sampled.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Processes from `first` on, `end` excluded. */
struct range {
    uint32_t first, end;
};

static bool is_in(struct range range, uint32_t process)
{
    return process >= range.first && process < range.end;
}

static const char *const copy_names[] = {[PROGRAM_COPY_TO_DEVICE] = "host to device",
                                         [PROGRAM_COPY_TO_HOST] = "device to host",
                                         [PROGRAM_COPY_WITHIN] = "within the device",
                                         [PROGRAM_FILL] = "fill"};

/* Whether a process has simulated time: of programs that share a GPU each may have, or not. */
static bool is_timed(const struct program_record *record, uint32_t process)
{
    for (size_t i = 0; i < record->devices.count; i++)
        if (record->devices.data[i].process == process)
            return record->devices.data[i].timed;
    return record->devices.count && record->devices.data[0].timed;
}

static int by_cycles(const void *left, const void *right)
{
    const struct program_kernel_sum *a = left, *b = right;
    if (a->cycles != b->cycles)
        return a->cycles < b->cycles ? 1 : -1;
    if (a->counters.warp_instructions != b->counters.warp_instructions)
        return a->counters.warp_instructions < b->counters.warp_instructions ? 1 : -1;
    return strcmp(a->name, b->name);
}

static const char *duration(double time, char text[32])
{
    if (time >= 1e9)
        snprintf(text, 32, "%.3f s", time / 1e9);
    else if (time >= 1e6)
        snprintf(text, 32, "%.3f ms", time / 1e6);
    else
        snprintf(text, 32, "%.2f us", time / 1e3);
    return text;
}

static void set_rate(struct columns *columns, uint32_t column, double value)
{
    if (isnan(value))
        columns_set(columns, column, PAINT_NONE, "-");
    else
        columns_set(columns, column, PAINT_NONE, "%.1f %%", value * 100);
}

/* The timed ones of these processes, those of one name together. */
static struct program_kernel_sum *sum_kernels(const struct program_record *record, struct range range, size_t *count)
{
    struct program_kernel_sum *sums = calloc(record->kernels.count + 1, sizeof *sums);
    *count = 0;
    for (size_t i = 0; sums && i < record->kernels.count; i++) {
        const struct program_kernel_sum *one = &record->kernels.data[i];
        if (!one->launches || !is_in(range, one->process))
            continue;
        size_t k = 0;
        while (k < *count && strcmp(sums[k].name, one->name))
            k++;
        *count += k == *count;
        sums[k].name = one->name;
        sums[k].launches += one->launches;
        sums[k].cycles += one->cycles;
        sums[k].nanoseconds += one->nanoseconds;
        corun_counters_add(&sums[k].counters, &one->counters);
    }
    if (sums)
        qsort(sums, *count, sizeof *sums, by_cycles);
    return sums;
}

/* NULL when out of memory. */
static const char *const *labels_of(const struct program_kernel_sum *sums, size_t count, struct arena *arena)
{
    const char **symbols = ARENA_ARRAY(arena, const char *, count + 1);
    for (size_t i = 0; symbols && i < count; i++)
        symbols[i] = sums[i].name;
    return symbols ? kernel_labels(arena, symbols, (uint32_t)count) : NULL;
}

static bool print_kernels(const struct program_record *record, struct range range, struct arena *arena,
                          const struct report_style *style, FILE *stream)
{
    static const char *const titles[] = {"<kernel", "launches", "cycles",  "time",    "mean",
                                         "share",   "IPC",      "L1 hits", "L2 hits", "DRAM"};
    static const char *const functional_titles[] = {"<kernel", "launches", "warp instructions", "thread instructions"};
    size_t count;
    bool timed = is_timed(record, range.first);
    struct program_kernel_sum *sums = sum_kernels(record, range, &count);
    struct columns *columns = columns_create(arena, timed ? titles : functional_titles, timed ? 10 : 4);
    const char *const *labels = sums ? labels_of(sums, count, arena) : NULL;
    double all = 0;
    for (size_t i = 0; sums && i < count; i++)
        all += sums[i].nanoseconds;
    for (size_t i = 0; labels && i < count; i++) {
        char text[32];
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", labels[i]);
        columns_set(columns, 1, PAINT_NONE, "%" PRIu64, sums[i].launches);
        if (!timed) {
            columns_set(columns, 2, PAINT_NONE, "%" PRIu64, sums[i].counters.warp_instructions);
            columns_set(columns, 3, PAINT_NONE, "%" PRIu64, sums[i].counters.thread_instructions);
            continue;
        }
        columns_set(columns, 2, PAINT_NONE, "%" PRIu64, sums[i].cycles);
        columns_set(columns, 3, PAINT_NONE, "%s", duration(sums[i].nanoseconds, text));
        columns_set(columns, 4, PAINT_NONE, "%s", duration(sums[i].nanoseconds / (double)sums[i].launches, text));
        set_rate(columns, 5, all > 0 ? sums[i].nanoseconds / all : (double)NAN);
        columns_set(columns, 6, PAINT_NONE, "%.2f",
                    sums[i].cycles ? (double)sums[i].counters.thread_instructions / (double)sums[i].cycles : 0.0);
        set_rate(columns, 7, figure_l1_hit_rate(&sums[i].counters));
        set_rate(columns, 8, figure_l2_hit_rate(&sums[i].counters));
        columns_set(columns, 9, PAINT_NONE, "%s",
                    report_size(sums[i].counters.dram_read_bytes + sums[i].counters.dram_write_bytes, text));
    }
    bool whole = labels && columns_print(columns, style, stream);
    free(sums);
    return whole;
}

static bool print_copies(const struct program_record *record, struct range range, struct arena *arena,
                         const struct report_style *style, FILE *stream)
{
    static const char *const titles[] = {"<copies", "count", "bytes", "time", "rate"};
    struct program_copy_sum sums[PROGRAM_FILL + 1][2] = {0};
    for (size_t i = 0; i < record->copies.count; i++) {
        const struct program_copy_sum *one = &record->copies.data[i];
        struct program_copy_sum *sum = &sums[one->kind][one->pageable];
        if (!is_in(range, one->process))
            continue;
        sum->count += one->count;
        sum->bytes += one->bytes;
        sum->nanoseconds += one->nanoseconds;
    }
    struct columns *columns = columns_create(arena, titles, is_timed(record, range.first) ? 5 : 3);
    for (int kind = PROGRAM_COPY_TO_DEVICE; kind <= PROGRAM_FILL; kind++)
        for (int pageable = 0; pageable < 2; pageable++) {
            const struct program_copy_sum *sum = &sums[kind][pageable];
            char text[32];
            if (!sum->count)
                continue;
            columns_row(columns);
            columns_set(columns, 0, PAINT_NONE, "%s%s", copy_names[kind], pageable ? ", pageable" : "");
            columns_set(columns, 1, PAINT_NONE, "%" PRIu64, sum->count);
            columns_set(columns, 2, PAINT_NONE, "%s", report_size(sum->bytes, text));
            if (!is_timed(record, range.first))
                continue;
            columns_set(columns, 3, PAINT_NONE, "%s", duration(sum->nanoseconds, text));
            if (sum->nanoseconds > 0)
                columns_set(columns, 4, PAINT_NONE, "%.2f GB/s", (double)sum->bytes / sum->nanoseconds);
        }
    if (columns_empty(columns))
        return true;
    fputc('\n', stream);
    return columns_print(columns, style, stream);
}

static uint64_t launches_in(const struct program_record *record, struct range range, uint64_t *untimed)
{
    uint64_t launches = 0;
    *untimed = 0;
    for (size_t i = 0; i < record->kernels.count; i++)
        if (is_in(range, record->kernels.data[i].process)) {
            launches += record->kernels.data[i].launches + record->kernels.data[i].untimed;
            *untimed += record->kernels.data[i].untimed;
        }
    return launches;
}

uint64_t program_launches(const struct program_record *record, uint32_t first_process, uint32_t processes)
{
    uint64_t untimed;
    return launches_in(record, (struct range){first_process, first_process + processes}, &untimed);
}

static bool print_range(const struct program_record *record, struct range range, struct arena *arena,
                        const struct report_style *style, FILE *stream)
{
    uint64_t untimed, launches = launches_in(record, range, &untimed);
    if (record->devices.count)
        fprintf(stream, "%s at %" PRIu32 " MHz%s: %" PRIu64 " launch%s", record->devices.data[0].name,
                record->devices.data[0].clock_khz / 1000, is_timed(record, range.first) ? "" : ", without timing",
                launches, launches == 1 ? "" : "es");
    if (untimed)
        fprintf(stream, ", %" PRIu64 " of them timed", launches - untimed);
    bool kernels = launches != untimed;
    if (record->devices.count)
        fputs(kernels ? "\n\n" : "\n", stream);
    return (!kernels || print_kernels(record, range, arena, style, stream)) &&
           print_copies(record, range, arena, style, stream);
}

bool program_table_of(const struct program_record *record, uint32_t first_process, uint32_t processes,
                      const struct report_style *style, FILE *stream)
{
    struct range range = {first_process, first_process + processes};
    struct arena *arena = arena_create();
    bool whole = arena && print_range(record, range, arena, style, stream);
    arena_destroy(arena);
    return whole;
}

bool program_table(const struct program_record *record, const struct report_style *style, FILE *stream)
{
    struct range all = {0, UINT32_MAX};
    struct arena *arena = arena_create();
    bool whole = arena && print_range(record, all, arena, style, stream);
    if (whole && record->sampled.count) {
        fputc('\n', stream);
        whole = sampled_table(record->sampled.data, (uint32_t)record->sampled.count, arena, style, stream);
    }
    arena_destroy(arena);
    return whole && (!record->profile.count || program_profile_table(record, style, stream));
}

static void csv_rate(FILE *stream, double value)
{
    if (!isnan(value))
        fprintf(stream, "%.4f", value);
}

bool program_csv(const struct program_record *record, FILE *stream)
{
    const struct program_event **order = program_events_in_order(record);
    if (!order)
        return false;
    fputs(
        "Start (ns),Duration (ns),Grid X,Grid Y,Grid Z,Block X,Block Y,Block Z,Registers Per Thread,"
        "Static SMem (B),Dynamic SMem (B),Size (B),Throughput (GB/s),SrcMemType,DstMemType,Process,Device,Stream,Name,"
        "Cycles,Warp Instructions,Thread Instructions,IPC,L1 Hit Rate,L2 Hit Rate,DRAM Read (B),DRAM Write (B)\n",
        stream);
    for (size_t i = 0; i < record->events.count; i++) {
        const struct program_event *event = order[i];
        uint64_t cycles = event->end_cycle - event->start_cycle;
        double time = program_nanoseconds(record, event, cycles);
        fprintf(stream, "%.1f,%.1f,", program_nanoseconds(record, event, event->start_cycle), time);
        if (event->kind == PROGRAM_LAUNCH)
            fprintf(stream, "%u,%u,%u,%u,%u,%u,%u,%u,%u,,,", event->grid[0], event->grid[1], event->grid[2],
                    event->block[0], event->block[1], event->block[2], event->registers, event->static_shared_bytes,
                    event->dynamic_shared_bytes);
        else
            fprintf(stream, ",,,,,,,,,%" PRIu64 ",%.4f,", event->bytes, time > 0 ? (double)event->bytes / time : 0.0);
        const char *host = event->pageable ? "Pageable" : "Pinned";
        fprintf(stream, "%s,%s,%u,%u,%" PRIu64 ",",
                event->kind == PROGRAM_LAUNCH || event->kind == PROGRAM_FILL ? ""
                : event->kind == PROGRAM_COPY_TO_DEVICE                      ? host
                                                                             : "Device",
                event->kind == PROGRAM_LAUNCH         ? ""
                : event->kind == PROGRAM_COPY_TO_HOST ? host
                                                      : "Device",
                event->process, event->device, event->stream);
        if (event->kind != PROGRAM_LAUNCH) {
            static const char *const names[] = {[PROGRAM_COPY_TO_DEVICE] = "[CUDA memcpy HtoD]",
                                                [PROGRAM_COPY_TO_HOST] = "[CUDA memcpy DtoH]",
                                                [PROGRAM_COPY_WITHIN] = "[CUDA memcpy DtoD]",
                                                [PROGRAM_FILL] = "[CUDA memset]"};
            fprintf(stream, "%s,%" PRIu64 ",,,,,,,\n", names[event->kind], cycles);
            continue;
        }
        fprintf(stream, "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.4f,", event->name, cycles,
                event->counters.warp_instructions, event->counters.thread_instructions,
                cycles ? (double)event->counters.thread_instructions / (double)cycles : 0.0);
        csv_rate(stream, figure_l1_hit_rate(&event->counters));
        fputc(',', stream);
        csv_rate(stream, figure_l2_hit_rate(&event->counters));
        fprintf(stream, ",%" PRIu64 ",%" PRIu64 "\n", event->counters.dram_read_bytes,
                event->counters.dram_write_bytes);
    }
    free(order);
    return true;
}

static json_t *json_dimensions(struct json_writer *writer, const uint32_t values[3])
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < 3; i++)
        json_push(writer, array, json_count(values[i]));
    return array;
}

/* Without timing instructions are counted as a whole; what else there is to count is not known then, which is not 0. */
static bool is_known_untimed(const struct corun_counter_row *row)
{
    return row->offset == offsetof(struct corun_counters, warp_instructions) ||
           row->offset == offsetof(struct corun_counters, thread_instructions) ||
           row->offset == offsetof(struct corun_counters, ptx_thread_instructions);
}

static json_t *json_counters(struct json_writer *writer, const struct program_event *event, bool timed)
{
    json_t *counters = json_object();
    size_t count;
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    for (size_t i = 0; i < count; i++) {
        bool known = timed || is_known_untimed(&rows[i]);
        json_put(writer, counters, rows[i].name,
                 known ? json_count(figure_counter(&event->counters, &rows[i])) : json_null());
    }
    return counters;
}

static json_t *json_event(struct json_writer *writer, const struct program_record *record,
                          const struct program_event *event)
{
    json_t *object = json_object();
    json_put(writer, object, "process", json_count(event->process));
    json_put(writer, object, "device", json_count(event->device));
    json_put(writer, object, "stream", json_count(event->stream));
    json_put(writer, object, "start_cycle", json_count(event->start_cycle));
    json_put(writer, object, "cycles", json_count(event->end_cycle - event->start_cycle));
    json_put(writer, object, "start_ns", json_number(program_nanoseconds(record, event, event->start_cycle)));
    json_put(writer, object, "duration_ns",
             json_number(program_nanoseconds(record, event, event->end_cycle - event->start_cycle)));
    if (event->kind != PROGRAM_LAUNCH) {
        json_put(writer, object, "direction", json_text(copy_names[event->kind]));
        json_put(writer, object, "bytes", json_count(event->bytes));
        json_put(writer, object, "pageable", json_boolean(event->pageable));
        return object;
    }
    char name[256];
    kernel_name(event->name, name, sizeof name);
    const struct program_device *device = program_event_device(record, event);
    bool timed = is_timed(record, event->process) && !event->untimed;
    json_put(writer, object, "profiled_cycles",
             json_count(event->end_cycle - event->start_cycle + (device && timed ? device->launch_cycles : 0)));
    json_put(writer, object, "kernel", json_text(name));
    json_put(writer, object, "timed", json_boolean(timed));
    json_put(writer, object, "estimated", json_boolean(event->estimated));
    json_put(writer, object, "symbol", json_text(event->name));
    json_put(writer, object, "grid", json_dimensions(writer, event->grid));
    json_put(writer, object, "block", json_dimensions(writer, event->block));
    json_put(writer, object, "registers_per_thread", json_count(event->registers));
    json_put(writer, object, "static_shared_bytes", json_count(event->static_shared_bytes));
    json_put(writer, object, "dynamic_shared_bytes", json_count(event->dynamic_shared_bytes));
    json_put(writer, object, "counters", json_counters(writer, event, timed));
    return object;
}

static void put_events(struct json_stream *json, const struct program_record *record, bool launches)
{
    struct json_writer writer = {false};
    json_stream_list(json, launches ? "launches" : "copies");
    for (size_t i = 0; i < record->events.count; i++)
        if ((record->events.data[i].kind == PROGRAM_LAUNCH) == launches)
            json_stream_item(json, json_event(&writer, record, &record->events.data[i]));
    json_stream_list_end(json);
    json->failed |= writer.failed;
}

void program_json_put(struct json_stream *json, const struct program_record *record)
{
    struct json_writer writer = {false};
    json_t *devices = json_array();
    for (size_t i = 0; i < record->devices.count; i++) {
        const struct program_device *device = &record->devices.data[i];
        json_t *row = json_object();
        json_put(&writer, row, "process", json_count(device->process));
        json_put(&writer, row, "device", json_count(device->ordinal));
        json_put(&writer, row, "gpu", json_text(device->name));
        json_put(&writer, row, "core_clock_khz", json_count(device->clock_khz));
        json_put(&writer, row, "timed", json_boolean(device->timed));
        json_push(&writer, devices, row);
    }
    json_stream_member(json, "devices", devices);
    put_events(json, record, true);
    put_events(json, record, false);
    if (record->sampled.count)
        json_stream_member(json, "sampling",
                           sampled_json(&writer, record->sampled.data, (uint32_t)record->sampled.count));
    if (record->profile.count)
        json_stream_member(json, "profile", program_profile_json(&writer, record));
    json->failed |= writer.failed;
}

enum corun_status program_json(const struct program_record *record, FILE *stream)
{
    struct json_stream json;
    json_stream_begin(&json, stream);
    program_json_put(&json, record);
    return json_stream_end(&json);
}
