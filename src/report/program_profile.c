/* SPDX-License-Identifier: MIT */
/* Lines of the processes of a program, summed up for each kernel. */
#include "report/program_profile.h"

#include "base/kernel_name.h"
#include "case/profile.h"
#include "report/json.h"
#include "report/kernel_labels.h"
#include "report/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct profile {
    uint32_t count;
    struct corun_case_kernel *kernels; /* name and profile of each, in the order in which they were recorded */
};

/* Cycles of warps that issued there, or waited there. */
static uint64_t warp_cycles(const struct corun_profile_row *row)
{
    return row->warp_instructions + row->stall_data + row->stall_memory_data + row->stall_pipeline + row->stall_memory +
           row->stall_barrier + row->stall_other;
}

static int by_line(const void *left, const void *right)
{
    const struct corun_profile_line *a = left, *b = right;
    return a->line != b->line ? (a->line < b->line ? -1 : 1) : strcmp(a->text, b->text);
}

static int by_source(const void *left, const void *right)
{
    const struct corun_profile_line *a = left, *b = right;
    return strcmp(a->source, b->source);
}

static int by_cycles(const void *left, const void *right)
{
    const struct corun_profile_line *a = left, *b = right;
    uint64_t cycles = warp_cycles(&a->counts), other = warp_cycles(&b->counts);
    return cycles != other ? (cycles < other ? 1 : -1) : strcmp(a->source, b->source);
}

static bool take_kernel(const struct program_record *record, const char *name, struct arena *arena,
                        struct corun_case_kernel *kernel)
{
    uint32_t count = 0;
    struct corun_profile_line *lines = ARENA_ARRAY(arena, struct corun_profile_line, record->profile.count + 1);
    for (size_t i = 0; lines && i < record->profile.count; i++)
        if (!strcmp(record->profile.data[i].kernel, name))
            lines[count++] = record->profile.data[i].line;
    kernel->result.name = name;
    kernel->profile = lines;
    kernel->profile_count = lines ? profile_merge(lines, count, by_line) : 0;
    return lines != NULL;
}

static bool take_kernels(const struct program_record *record, struct arena *arena, struct profile *profile)
{
    *profile = (struct profile){0, ARENA_ARRAY(arena, struct corun_case_kernel, record->profile.count + 1)};
    for (size_t i = 0; profile->kernels && i < record->profile.count; i++) {
        const char *name = record->profile.data[i].kernel;
        bool known = false;
        for (uint32_t k = 0; k < profile->count && !known; k++)
            known = !strcmp(profile->kernels[k].result.name, name);
        if (!known && !take_kernel(record, name, arena, &profile->kernels[profile->count++]))
            return false;
    }
    return profile->kernels != NULL;
}

/* By line of the CUDA source, where the PTX names lines at all. */
static bool print_sources(const struct corun_case_kernel *kernel, struct arena *arena, const struct report_style *style,
                          FILE *stream)
{
    static const char *const titles[] = {"<source",  "share",  "warps",   "data", "memory data",
                                         "pipeline", "memory", "barrier", "other"};
    struct corun_profile_line *lines = ARENA_ARRAY(arena, struct corun_profile_line, kernel->profile_count + 1);
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof *titles);
    uint64_t all = 0;
    if (!lines || !columns)
        return false;
    memcpy(lines, kernel->profile, kernel->profile_count * sizeof *lines);
    uint32_t count = profile_merge(lines, kernel->profile_count, by_source);
    qsort(lines, count, sizeof *lines, by_cycles);
    for (uint32_t i = 0; i < count; i++)
        all += warp_cycles(&lines[i].counts);
    if (count == 1 && !*lines[0].source)
        return true;
    for (uint32_t i = 0; i < count; i++) {
        const struct corun_profile_row *row = &lines[i].counts;
        const uint64_t counts[] = {row->warp_instructions, row->stall_data,   row->stall_memory_data,
                                   row->stall_pipeline,    row->stall_memory, row->stall_barrier,
                                   row->stall_other};
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", *lines[i].source ? lines[i].source : "not known");
        columns_set(columns, 1, PAINT_NONE, "%.1f %%", all ? 100 * (double)warp_cycles(row) / (double)all : 0.0);
        for (uint32_t c = 0; c < sizeof counts / sizeof *counts; c++)
            columns_set(columns, 2 + c, PAINT_NONE, "%" PRIu64, counts[c]);
    }
    return columns_print(columns, style, stream) && fputc('\n', stream) != EOF;
}

static bool print_kernels(const struct profile *profile, struct arena *arena, const struct report_style *style,
                          FILE *stream)
{
    const char **symbols = ARENA_ARRAY(arena, const char *, profile->count + 1);
    for (uint32_t k = 0; symbols && k < profile->count; k++)
        symbols[k] = profile->kernels[k].result.name;
    const char *const *labels = symbols ? kernel_labels(arena, symbols, profile->count) : NULL;
    for (uint32_t k = 0; labels && k < profile->count; k++)
        symbols[k] = labels[k];
    bool whole = labels && columns_shorten_names(symbols, profile->count, sizeof "kernel :" - 1, style, arena);
    for (uint32_t k = 0; k < profile->count && whole; k++) {
        const char *heading =
            arena_format(arena, "\nkernel %s: warp instructions, and warp cycles waited before them for\n", symbols[k]);
        if (!heading)
            return false;
        columns_text(heading, style, stream);
        whole = print_sources(&profile->kernels[k], arena, style, stream) &&
                table_kernel_profile(&profile->kernels[k], arena, style, stream);
    }
    return whole;
}

bool program_profile_table(const struct program_record *record, const struct report_style *style, FILE *stream)
{
    struct arena *arena = arena_create();
    struct profile profile;
    bool whole = arena && take_kernels(record, arena, &profile) && print_kernels(&profile, arena, style, stream);
    arena_destroy(arena);
    return whole;
}

json_t *program_profile_json(struct json_writer *writer, const struct program_record *record)
{
    struct arena *arena = arena_create();
    struct profile profile;
    json_t *array = json_array();
    bool whole = arena && take_kernels(record, arena, &profile);
    writer->failed |= !whole;
    for (uint32_t k = 0; whole && k < profile.count; k++) {
        char name[256];
        json_t *object = json_object();
        kernel_name(profile.kernels[k].result.name, name, sizeof name);
        json_put(writer, object, "kernel", json_text(name));
        json_put(writer, object, "symbol", json_text(profile.kernels[k].result.name));
        json_put(writer, object, "lines", json_kernel_profile(writer, &profile.kernels[k]));
        json_push(writer, array, object);
    }
    arena_destroy(arena);
    return array;
}
