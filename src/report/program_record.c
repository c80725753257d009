/* SPDX-License-Identifier: MIT */
/* Record files are read line by line; half a line, as a killed program may leave it, is skipped. */
#include "report/program_record.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FIELDS 256u

struct program_record *program_record_create(bool events)
{
    struct program_record *record = calloc(1, sizeof *record);
    if (record)
        record->keeps_events = events;
    if (record && !(record->arena = arena_create())) {
        free(record);
        return NULL;
    }
    return record;
}

void program_record_destroy(struct program_record *record)
{
    if (!record)
        return;
    vector_free(&record->devices);
    vector_free(&record->events);
    vector_free(&record->kernels);
    vector_free(&record->copies);
    vector_free(&record->places);
    vector_free(&record->refusals);
    vector_free(&record->sampled);
    vector_free(&record->profile);
    arena_destroy(record->arena);
    free(record);
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

static bool triple(const char *text, uint32_t values[3])
{
    return sscanf(text, "%" SCNu32 ",%" SCNu32 ",%" SCNu32, &values[0], &values[1], &values[2]) == 3;
}

static void set_counter(struct corun_counters *counters, const char *field)
{
    size_t count, length = strcspn(field, "=");
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    for (size_t i = 0; i < count; i++)
        if (field[length] && strlen(rows[i].name) == length && !memcmp(rows[i].name, field, length))
            *(uint64_t *)((char *)counters + rows[i].offset) = number(field + length + 1);
}

/* Of the process that is being read. NULL when out of memory. */
static struct program_kernel_sum *sum_of_kernel(struct program_record *record, const char *name)
{
    for (size_t i = record->kernels.count; i-- > 0 && record->kernels.data[i].process == record->processes;)
        if (!strcmp(record->kernels.data[i].name, name))
            return &record->kernels.data[i];
    struct program_kernel_sum sum = {.process = record->processes,
                                     .name = arena_copy_text(record->arena, name, strlen(name))};
    return sum.name && vector_push(&record->kernels, sum) ? &record->kernels.data[record->kernels.count - 1] : NULL;
}

static void sum_launch(const struct program_record *record, const struct program_event *event,
                       struct program_kernel_sum *sum)
{
    sum->untimed += event->untimed;
    sum->launches += !event->untimed;
    if (event->untimed)
        return;
    sum->cycles += event->end_cycle - event->start_cycle;
    sum->nanoseconds += program_nanoseconds(record, event, event->end_cycle - event->start_cycle);
    corun_counters_add(&sum->counters, &event->counters);
}

static bool sum_copy(struct program_record *record, const struct program_event *event)
{
    struct program_copy_sum *sum = NULL;
    for (size_t i = record->copies.count; !sum && i-- > 0 && record->copies.data[i].process == record->processes;)
        if (record->copies.data[i].kind == event->kind && record->copies.data[i].pageable == event->pageable)
            sum = &record->copies.data[i];
    if (!sum && vector_push(&record->copies,
                            ((struct program_copy_sum){
                                .process = record->processes, .kind = event->kind, .pageable = event->pageable})))
        sum = &record->copies.data[record->copies.count - 1];
    if (!sum)
        return false;
    sum->count++;
    sum->bytes += event->bytes;
    sum->nanoseconds += program_nanoseconds(record, event, event->end_cycle - event->start_cycle);
    return true;
}

static bool read_launch(struct program_record *record, char **fields, size_t count, struct program_event *event)
{
    if (count < 11)
        return false;
    event->kind = PROGRAM_LAUNCH;
    event->device = (uint32_t)number(fields[1]);
    event->stream = number(fields[2]);
    struct program_kernel_sum *sum = sum_of_kernel(record, fields[3]);
    event->registers = (uint32_t)number(fields[6]);
    event->static_shared_bytes = (uint32_t)number(fields[7]);
    event->dynamic_shared_bytes = (uint32_t)number(fields[8]);
    event->start_cycle = number(fields[9]);
    event->end_cycle = number(fields[10]);
    for (size_t i = 11; i < count; i++) {
        event->untimed |= !strcmp(fields[i], "untimed");
        event->estimated |= !strcmp(fields[i], "estimated");
        set_counter(&event->counters, fields[i]);
    }
    if (!sum || !triple(fields[4], event->grid) || !triple(fields[5], event->block))
        return false;
    event->name = sum->name;
    sum_launch(record, event, sum);
    return true;
}

static bool read_copy(char **fields, size_t count, struct program_event *event)
{
    static const char *const kinds[] = {[PROGRAM_COPY_TO_DEVICE] = "to_device",
                                        [PROGRAM_COPY_TO_HOST] = "to_host",
                                        [PROGRAM_COPY_WITHIN] = "within",
                                        [PROGRAM_FILL] = "fill"};
    if (count != 8)
        return false;
    event->device = (uint32_t)number(fields[1]);
    event->stream = number(fields[2]);
    event->bytes = number(fields[4]);
    event->pageable = !strcmp(fields[5], "pageable");
    event->start_cycle = number(fields[6]);
    event->end_cycle = number(fields[7]);
    for (int kind = PROGRAM_COPY_TO_DEVICE; kind <= PROGRAM_FILL; kind++)
        if (!strcmp(fields[3], kinds[kind])) {
            event->kind = (enum program_event_kind)kind;
            return true;
        }
    return false;
}

static bool read_sampled(struct program_record *record, char **fields)
{
    struct corun_sampled_group group = {.name = arena_copy_text(record->arena, fields[2], strlen(fields[2])),
                                        .tb_count = (uint32_t)number(fields[3]),
                                        .tb_threads = (uint32_t)number(fields[4]),
                                        .launches = (uint32_t)number(fields[5]),
                                        .timed = (uint32_t)number(fields[6]),
                                        .parted = (uint32_t)number(fields[7]),
                                        .cycles = number(fields[8]),
                                        .estimated_cycles = number(fields[9]),
                                        .margin_cycles = number(fields[10]),
                                        .warp_instructions = number(fields[11]),
                                        .timed_warp_instructions = number(fields[12])};
    return group.name && vector_push(&record->sampled, group);
}

static bool read_profile(struct program_record *record, char **fields)
{
    struct program_profile_line row = {.process = record->processes,
                                       .device = (uint32_t)number(fields[1]),
                                       .kernel = arena_copy_text(record->arena, fields[2], strlen(fields[2])),
                                       .line = {.line = (uint32_t)number(fields[3]),
                                                .source = arena_copy_text(record->arena, fields[4], strlen(fields[4])),
                                                .text = arena_copy_text(record->arena, fields[13], strlen(fields[13])),
                                                .counts = {.warp_instructions = number(fields[5]),
                                                           .thread_instructions = number(fields[6]),
                                                           .stall_data = number(fields[7]),
                                                           .stall_memory_data = number(fields[8]),
                                                           .stall_pipeline = number(fields[9]),
                                                           .stall_memory = number(fields[10]),
                                                           .stall_barrier = number(fields[11]),
                                                           .stall_other = number(fields[12])}}};
    return row.kernel && row.line.source && row.line.text && vector_push(&record->profile, row);
}

static bool read_line(struct program_record *record, char *line)
{
    char *fields[MOST_FIELDS], *rest = line;
    size_t count = 0;
    line[strcspn(line, "\n")] = 0;
    while (rest && count < MOST_FIELDS)
        fields[count++] = strsep(&rest, "\t");
    struct program_event event = {.process = record->processes};
    if (!strcmp(fields[0], "device") && count == 6) {
        struct program_device device = {record->processes,
                                        (uint32_t)number(fields[1]),
                                        (uint32_t)number(fields[3]),
                                        (uint32_t)number(fields[5]),
                                        fields[4][0] == '1',
                                        arena_copy_text(record->arena, fields[2], strlen(fields[2])),
                                        NULL};
        return device.name && device.clock_khz && vector_push(&record->devices, device);
    }
    if (!strcmp(fields[0], "sampled") && count == 13)
        return read_sampled(record, fields);
    if (!strcmp(fields[0], "profile") && count == 14)
        return read_profile(record, fields);
    if (!strcmp(fields[0], "place") && count == 4) {
        struct program_kernel_place place = {record->processes,
                                             arena_copy_text(record->arena, fields[1], strlen(fields[1])),
                                             arena_copy_text(record->arena, fields[2], strlen(fields[2])),
                                             arena_copy_text(record->arena, fields[3], strlen(fields[3]))};
        return place.kernel && place.ptx && place.source && vector_push(&record->places, place);
    }
    if (!strcmp(fields[0], "refusal") && count == 3) {
        struct program_refusal refusal = {arena_copy_text(record->arena, fields[1], strlen(fields[1])),
                                          arena_copy_text(record->arena, fields[2], strlen(fields[2]))};
        return refusal.kernel && refusal.reason && vector_push(&record->refusals, refusal);
    }
    bool launch = !strcmp(fields[0], "launch");
    if (launch ? !read_launch(record, fields, count, &event)
               : strcmp(fields[0], "copy") || !read_copy(fields, count, &event) || !sum_copy(record, &event))
        return false;
    return !record->keeps_events || vector_push(&record->events, event);
}

enum corun_status program_record_read(struct program_record *record, const char *path, struct corun_diagnostics *list)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return corun_report(list, CORUN_FILE, (struct corun_place){path, 0, 0}, "cannot be opened");
    static const char header[] = "record\t";
    char *line = NULL;
    size_t room = 0;
    bool whole = true;
    uint32_t number_of_line = 0;
    enum corun_status status = CORUN_OK;
    ssize_t length;
    while (status == CORUN_OK && (length = getline(&line, &room, file)) > 0) {
        number_of_line++;
        if (!strncmp(line, header, strlen(header))) {
            whole = !strncmp(line + strlen(header), "whole", strlen("whole"));
            continue;
        }
        /* A program that was killed may have left half a line. */
        if (line[length - 1] == '\n' && !read_line(record, line))
            status = corun_report(list, CORUN_SYNTAX, (struct corun_place){path, number_of_line, 0},
                                  "not a line of a record");
    }
    free(line);
    fclose(file);
    record->processes++;
    if (status == CORUN_OK && (!number_of_line || !whole))
        status = corun_report(list, CORUN_FILE, (struct corun_place){path, 0, 0},
                              "not all that the program launched could be recorded");
    return status;
}

const struct program_kernel_place *program_event_place(const struct program_record *record,
                                                       const struct program_event *event)
{
    for (size_t i = 0; event->kind == PROGRAM_LAUNCH && i < record->places.count; i++)
        if (record->places.data[i].process == event->process && !strcmp(record->places.data[i].kernel, event->name))
            return &record->places.data[i];
    return NULL;
}

const struct program_device *program_event_device(const struct program_record *record,
                                                  const struct program_event *event)
{
    for (size_t i = 0; i < record->devices.count; i++)
        if (record->devices.data[i].process == event->process && record->devices.data[i].ordinal == event->device)
            return &record->devices.data[i];
    return NULL;
}

double program_nanoseconds(const struct program_record *record, const struct program_event *event, uint64_t cycles)
{
    const struct program_device *device = program_event_device(record, event);
    return device ? (double)cycles * 1e6 / device->clock_khz : 0;
}

/* Events of one process lie one behind the other, and nearly in order. */
const struct program_event **program_events_in_order(const struct program_record *record)
{
    const struct program_event **order = malloc((record->events.count + 1) * sizeof *order);
    for (size_t i = 0; order && i < record->events.count; i++) {
        const struct program_event *event = &record->events.data[i];
        size_t at = i;
        while (at && (order[at - 1]->process > event->process ||
                      (order[at - 1]->process == event->process && order[at - 1]->start_cycle > event->start_cycle))) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = event;
    }
    return order;
}

bool program_record_add_profile(struct program_record *record, const char *kernel,
                                const struct corun_profile_line *line)
{
    struct program_profile_line row = {.kernel = arena_copy_text(record->arena, kernel, strlen(kernel)), .line = *line};
    row.line.text = arena_copy_text(record->arena, line->text, strlen(line->text));
    row.line.source = arena_copy_text(record->arena, line->source, strlen(line->source));
    return row.kernel && row.line.text && row.line.source && vector_push(&record->profile, row);
}
