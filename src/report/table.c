/* SPDX-License-Identifier: MIT */
/* The tables of `corun run` and `corun launch`: applications, the split over time, stalls, memory, energy, profiles. */
#include "report/table.h"

#include "base/kernel_name.h"
#include "report/figures.h"
#include "report/kernel_labels.h"
#include "report/sampled.h"
#include "share/parameter_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPLIT_COLUMNS 10u /* that show how the split of the SMs moved */

/* 1234567 as "1 234 567". */
static const char *grouped(uint64_t value, char text[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, value), out = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            text[out++] = ' ';
        text[out++] = digits[i];
    }
    text[out] = 0;
    return text;
}

static void set_number(struct columns *columns, uint32_t column, int digits, double value)
{
    if (isnan(value))
        columns_set(columns, column, PAINT_NONE, "-");
    else
        columns_set(columns, column, PAINT_NONE, "%.*f", digits, value);
}

static void set_percent(struct columns *columns, uint32_t column, double value)
{
    if (isnan(value))
        columns_set(columns, column, PAINT_NONE, "-");
    else
        columns_set(columns, column, PAINT_NONE, "%.1f %%", value * 100);
}

static const char *title(const struct corun_case_application_result *application, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s%s%s", application->name, application->size[0] ? "@" : "", application->size);
    return text;
}

/* Text that is collected, to be printed in lines of the terminal. */
struct lines {
    FILE *stream;
    char *text;
    size_t bytes;
};

static bool begin_lines(struct lines *lines)
{
    *lines = (struct lines){0};
    lines->stream = open_memstream(&lines->text, &lines->bytes);
    return lines->stream != NULL;
}

/* False when memory ran out. */
static bool end_lines(struct lines *lines, const struct report_style *style, FILE *stream)
{
    bool whole = !fclose(lines->stream) && lines->text;
    if (whole)
        columns_text(lines->text, style, stream);
    free(lines->text);
    return whole;
}

static void print_heading(const struct corun_case_result *result, FILE *stream)
{
    char cycles[32];
    fprintf(stream, "%s: %u SM%s at %u MHz, policy %s", result->gpu.name, result->gpu.sms,
            result->gpu.sms == 1 ? "" : "s", result->gpu.core_clock_khz / 1000, result->policy);
    for (uint32_t p = 0; p < result->parameter_count;) {
        struct parameter_group group = parameter_group_at(result->parameters, result->parameter_count, p);
        char text[PARAMETER_TEXT_BYTES];
        parameter_group_text(result->parameters, &group, result->parameter_values, text, sizeof text);
        fprintf(stream, "%s%.*s=%s", p ? "," : ":", (int)group.name_length, result->parameters[p].name, text);
        p += group.count;
    }
    fprintf(stream, ", %s cycles, seed %" PRIu64 "%s\n\n", grouped(result->cycles, cycles), result->seed,
            result->interrupted ? " (ended early)" : "");
}

void table_set_goal(struct columns *columns, uint32_t met, const struct corun_case_application_result *application)
{
    enum { GOAL = 1 };
    char goal[48];
    figure_goal(application, goal, sizeof goal);
    columns_set(columns, GOAL, PAINT_NONE, "%s", goal[0] ? goal : "-");
    double distance = application->goal_distance * 100;
    if (application->result.status != CORUN_OK)
        columns_set(columns, met, PAINT_BAD, "stopped: %s", corun_status_name(application->result.status));
    else if (application->goal_outcome == CORUN_GOAL_MET)
        columns_set(columns, met, PAINT_GOOD, fabs(distance) < 1e6 ? "yes, %.1f %% above" : "yes, %.3g %% above",
                    fabs(distance));
    else if (application->goal_outcome == CORUN_GOAL_OUT_OF_REACH)
        columns_set(columns, met, PAINT_BAD, "out of reach: %.1f %% short, %.1f %% of it in the best epoch",
                    fabs(distance), application->result.best_epoch_ipc / application->goal_ipc * 100);
    else if (application->goal_outcome == CORUN_GOAL_MISSED)
        columns_set(columns, met, PAINT_BAD, "no, %.1f %% short", fabs(distance));
    else
        columns_set(columns, met, PAINT_NONE, application->goal_outcome == CORUN_GOAL_NOT_SET ? "-" : "not known");
}

/* Those of an application, in its order. NULL when out of memory. */
static const char *const *labels_of(const struct corun_case_application_result *application, struct arena *arena)
{
    const char **symbols = ARENA_ARRAY(arena, const char *, application->kernel_count + 1);
    for (uint32_t k = 0; symbols && k < application->kernel_count; k++)
        symbols[k] = application->kernels[k].result.name;
    return symbols ? kernel_labels(arena, symbols, application->kernel_count) : NULL;
}

/* It was there, and the window ended before it had a kernel to run: then there is no speed. */
static bool ran_nothing(const struct corun_case_application_result *application)
{
    return application->result.status == CORUN_OK && !application->counters.warp_instructions &&
           !application->result.thread_instructions && !application->kernel_count;
}

static void print_idle(const struct corun_case_result *result, FILE *stream)
{
    bool first = true;
    for (uint32_t a = 0; a < result->application_count; a++) {
        const struct corun_case_application_result *application = &result->applications[a];
        char name[256], cycles[32];
        if (!ran_nothing(application))
            continue;
        /* Of an application without a launch, the software machine counts no cycles. */
        fprintf(stream, "%s%s: the window of %s cycles ended before its first kernel began\n", first ? "\n" : "",
                title(application, name, sizeof name),
                grouped(application->cycles ? application->cycles : result->cycles, cycles));
        first = false;
    }
}

static bool print_speed(const struct corun_case_result *result, struct arena *arena, const struct report_style *style,
                        FILE *stream)
{
    static const char *const titles[] = {"<application", "goal", "runs", "IPC", "isolated", "normalised", "<goal met"};
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof titles[0]);
    for (uint32_t a = 0; a < result->application_count; a++) {
        const struct corun_case_application_result *application = &result->applications[a];
        const char *const *labels = labels_of(application, arena);
        char name[256];
        if (!labels)
            return false;
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", title(application, name, sizeof name));
        columns_set(columns, 2, PAINT_NONE, "%u", application->result.runs);
        set_number(columns, 3, 2, ran_nothing(application) ? (double)NAN : application->ipc);
        set_number(columns, 4, 2, application->ipc_isolated);
        set_number(columns, 5, 3, ran_nothing(application) ? (double)NAN : application->normalised_ipc);
        table_set_goal(columns, 6, application);
        for (uint32_t k = 0; k < application->kernel_count; k++) {
            const struct corun_case_kernel *kernel = &application->kernels[k];
            columns_row(columns);
            columns_set(columns, 0, PAINT_NONE, "  %s", labels[k]);
            columns_set(columns, 2, PAINT_NONE, "%u", kernel->result.launches);
            set_number(columns, 3, 2, kernel->ipc);
            set_number(columns, 4, 2, kernel->ipc_isolated);
            set_number(columns, 5, 3, kernel->normalised_ipc);
        }
    }
    return columns_print(columns, style, stream);
}

/* Of an interval: SMs that hold thread blocks of an application; behind the last one, SMs that are switched off. */
static double split_of(const struct corun_case_result *result, uint32_t interval, uint32_t row)
{
    const struct corun_case_history *history = &result->history;
    return row < result->application_count ? history->shares[(size_t)interval * result->application_count + row].sms
                                           : result->gpu.sms - history->powered_sms[interval];
}

/* The mean over `per` intervals, from `first` on, as far as there are so many. */
static double mean_split(const struct corun_case_result *result, uint32_t row, uint32_t first, uint32_t per)
{
    const struct corun_case_history *history = &result->history;
    uint64_t begin = first ? history->end_cycles[first - 1] : 0, before = begin;
    double sum = 0;
    for (uint32_t i = first; i < first + per && i < history->count; i++) {
        sum += split_of(result, i, row) * (double)(history->end_cycles[i] - before);
        before = history->end_cycles[i];
    }
    return sum / (double)(before - begin);
}

/* 20 000 as "20K", 1 234 000 as "1.23M". */
static void short_cycles(uint64_t cycles, char *text, size_t bytes)
{
    double scaled = cycles >= 1000000 ? (double)cycles / 1e6 : (double)cycles / 1e3;
    if (cycles < 1000)
        snprintf(text, bytes, "%" PRIu64, cycles);
    else
        snprintf(text, bytes, scaled < 100 ? "%.3g%c" : "%.0f%c", scaled, cycles >= 1000000 ? 'M' : 'K');
}

/* Only where it moved: by a whole SM, for some application. */
static bool print_split(const struct corun_case_result *result, struct arena *arena, const struct report_style *style,
                        FILE *stream)
{
    const struct corun_case_history *history = &result->history;
    uint32_t per = (history->count + SPLIT_COLUMNS - 1) / SPLIT_COLUMNS, count = 1;
    char words[SPLIT_COLUMNS][16];
    const char *titles[SPLIT_COLUMNS + 1] = {"<SMs in use, until"};
    for (uint32_t end = per; end < history->count + per && count <= SPLIT_COLUMNS; end += per, count++) {
        uint32_t last = end < history->count ? end : history->count;
        short_cycles(history->end_cycles[last - 1], words[count - 1], sizeof *words);
        titles[count] = words[count - 1];
    }
    struct columns *columns = columns_create(arena, titles, count);
    bool moved = false;
    for (uint32_t row = 0; row <= result->application_count; row++) {
        double means[SPLIT_COLUMNS], least = INFINITY, most = 0;
        for (uint32_t c = 0; c + 1 < count; c++) {
            means[c] = mean_split(result, row, c * per, per);
            least = fmin(least, means[c]);
            most = fmax(most, means[c]);
        }
        if (row == result->application_count && !(most > 0))
            break;
        char name[256] = "switched off";
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s",
                    row < result->application_count ? title(&result->applications[row], name, sizeof name) : name);
        for (uint32_t c = 0; c + 1 < count; c++)
            set_number(columns, 1 + c, 1, means[c]);
        moved = moved || most - least >= 1;
    }
    if (!moved)
        return true;
    fputc('\n', stream);
    return columns_print(columns, style, stream);
}

/* The columns are the causes of stalling that occurred at all. */
static bool print_stalls(const struct corun_case_result *result, struct arena *arena, const struct report_style *style,
                         FILE *stream)
{
    size_t row_count;
    const struct corun_counter_row *rows = corun_counter_rows(&row_count);
    const char *titles[COLUMNS_MAX] = {"<scheduler cycles", "issued"};
    const struct corun_counter_row *causes[COLUMNS_MAX];
    uint32_t count = 2;
    for (size_t i = 0; i < row_count && count < COLUMNS_MAX; i++) {
        if (!figure_stall_name(&rows[i]) || !figure_counter(&result->counters, &rows[i]))
            continue;
        char *name = arena_copy_text(arena, figure_stall_name(&rows[i]), strlen(figure_stall_name(&rows[i])));
        if (!name)
            return false;
        for (char *c = name; *c; c++)
            *c = *c == '_' ? ' ' : *c;
        causes[count] = &rows[i];
        titles[count++] = name;
    }
    struct columns *columns = columns_create(arena, titles, count);
    for (uint32_t a = 0; a < result->application_count; a++) {
        const struct corun_case_application_result *application = &result->applications[a];
        double all = (double)figure_scheduler_cycles(&application->counters);
        char name[256];
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", title(application, name, sizeof name));
        set_percent(columns, 1, all > 0 ? (double)application->counters.issue_cycles / all : (double)NAN);
        for (uint32_t c = 2; c < count; c++)
            set_percent(columns, c,
                        all > 0 ? (double)figure_counter(&application->counters, causes[c]) / all : (double)NAN);
    }
    return columns_print(columns, style, stream);
}

static bool print_memory(const struct corun_case_result *result, struct arena *arena, const struct report_style *style,
                         FILE *stream)
{
    static const char *const titles[] = {"<memory",  "occupancy",  "L1 hits",     "L2 hits",
                                         "row hits", "DRAM reads", "DRAM writes", "GB/s"};
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof titles[0]);
    for (uint32_t a = 0; a < result->application_count; a++) {
        const struct corun_case_application_result *application = &result->applications[a];
        const struct corun_counters *counters = &application->counters;
        double seconds = (double)application->cycles / (result->gpu.core_clock_khz * 1e3);
        char name[256];
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", title(application, name, sizeof name));
        set_percent(columns, 1, figure_occupancy(&result->gpu, result->gpu.sms, application->cycles, counters));
        set_percent(columns, 2, figure_l1_hit_rate(counters));
        set_percent(columns, 3, figure_l2_hit_rate(counters));
        set_percent(columns, 4, figure_row_hit_rate(counters));
        columns_set(columns, 5, PAINT_NONE, "%.2f MB", (double)counters->dram_read_bytes / 1e6);
        columns_set(columns, 6, PAINT_NONE, "%.2f MB", (double)counters->dram_write_bytes / 1e6);
        set_number(columns, 7, 1, seconds > 0 ? (double)figure_dram_bytes(counters) / seconds / 1e9 : (double)NAN);
    }
    return columns_print(columns, style, stream);
}

static void print_percent(FILE *stream, double value)
{
    if (isnan(value))
        fputs("-", stream);
    else
        fprintf(stream, "%.1f %%", value * 100);
}

/* 1234567 as "1.23 million". */
static void print_scaled(FILE *stream, double value)
{
    if (value >= 1e9)
        fprintf(stream, "%.2f billion", value / 1e9);
    else if (value >= 1e6)
        fprintf(stream, "%.2f million", value / 1e6);
    else if (value >= 1e3)
        fprintf(stream, "%.2f thousand", value / 1e3);
    else
        fprintf(stream, "%.0f", value);
}

static void print_rate(FILE *stream, uint64_t warp_instructions, double seconds, double rate)
{
    print_scaled(stream, (double)warp_instructions);
    fprintf(stream, " warp instructions in %.2f s", seconds);
    if (isnan(rate))
        return;
    fputs(": ", stream);
    print_scaled(stream, rate);
    fputs(" per second", stream);
}

static void print_energy(const struct corun_energy_result *energy, uint64_t thread_instructions, FILE *stream)
{
    static const struct {
        const char *name;
        size_t offset;
    } parts[] = {
#define G(name, meaning) {#name, offsetof(struct corun_energy_result, name)},
        CORUN_DYNAMIC_ENERGIES(G)
#undef G
    };
    double rate = figure_instructions_per_joule(thread_instructions, energy->total);
    if (isnan(rate))
        return;
    fprintf(stream, "energy %.3g mJ, %.1f W on average, ", energy->total * 1e3, energy->average_watts);
    print_percent(stream, figure_static_part(energy));
    fputs(" of it static   ", stream);
    print_scaled(stream, rate);
    fputs(" thread instructions per joule\ndynamic energy:", stream);
    double dynamic = energy->total * (1 - figure_static_part(energy));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        double joules;
        memcpy(&joules, (const char *)energy + parts[i].offset, sizeof joules);
        fprintf(stream, "%s %s ", i ? "," : "", parts[i].name);
        print_percent(stream, dynamic > 0 ? joules / dynamic : (double)NAN);
    }
    fputc('\n', stream);
}

/* "settled after 640 000 of 2 000 000 cycles: …". */
static void print_settled(const struct corun_case_result *result, FILE *stream)
{
    char cycle[32], window[32];
    if (!result->settle)
        return;
    if (!result->settled_cycle) {
        fprintf(stream, "not settled to %.3g %%: all of the window was simulated\n", result->settle / 1e4);
        return;
    }
    fprintf(stream,
            "settled after %s of %s cycles; IPC, STP, ANTT, fairness and goals are estimates for all of them, 95 %%:",
            grouped(result->settled_cycle, cycle), grouped(result->window_cycles, window));
    for (uint32_t a = 0; a < result->application_count; a++) {
        const struct corun_case_application_result *row = &result->applications[a];
        fprintf(stream, "%s %s ± %.2f %%", a ? "," : "", row->name, row->ipc_half_width / row->ipc * 100);
    }
    fputs("; all else is of what was simulated\n", stream);
}

static void print_end(const struct corun_case_result *result, FILE *stream)
{
    print_settled(result, stream);
    if (!isnan(result->stp))
        fprintf(stream, "STP %.3f of %u   ANTT %.3f   fairness %.3f\n", result->stp, result->application_count,
                result->antt, result->fairness);
    fputs("DRAM ", stream);
    print_percent(stream, figure_dram_utilisation(&result->memory));
    fputs(" busy, ", stream);
    print_percent(stream, figure_row_hit_rate(&result->counters));
    fputs(" row hits   interconnect ", stream);
    print_percent(stream, figure_interconnect_utilisation(&result->memory));
    fputs(" busy", stream);
    double latency = figure_interconnect_latency(&result->counters);
    if (!isnan(latency))
        fprintf(stream, ", %.1f cycles per packet", latency);
    fputc('\n', stream);
    print_energy(&result->energy, figure_completed_instructions(&result->counters), stream);
    fputs("simulated ", stream);
    print_rate(stream, result->counters.warp_instructions, result->wall_seconds, result->warp_instructions_per_second);
    fprintf(stream, " on %u thread%s", result->threads, result->threads == 1 ? "" : "s");
    if (result->baseline_wall_seconds >= 0.01)
        fprintf(stream, "; the isolated runs before took %.2f s", result->baseline_wall_seconds);
    fputc('\n', stream);
}

/* All that is known of a case that was interrupted before the applications ran together. */
static bool print_isolated(const struct corun_case_result *result, struct arena *arena,
                           const struct report_style *style, FILE *stream)
{
    static const char *const titles[] = {"<application", "isolated IPC"};
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof titles[0]);
    fputs("interrupted during the isolated runs: the applications have not run together yet\n\n", stream);
    for (uint32_t a = 0; a < result->application_count; a++) {
        char name[256];
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", title(&result->applications[a], name, sizeof name));
        if (isnan(result->applications[a].ipc_isolated))
            columns_set(columns, 1, PAINT_NONE, "not finished");
        else
            set_number(columns, 1, 2, result->applications[a].ipc_isolated);
    }
    return columns_print(columns, style, stream);
}

bool table_case(const struct corun_case_result *result, const struct report_style *style, FILE *stream)
{
    struct arena *arena = arena_create();
    struct lines lines;
    if (!arena || !begin_lines(&lines)) {
        arena_destroy(arena);
        return false;
    }
    print_heading(result, lines.stream);
    bool whole = end_lines(&lines, style, stream);
    if (result->interrupted && !result->cycles) {
        whole = print_isolated(result, arena, style, stream) && whole;
        arena_destroy(arena);
        return whole;
    }
    whole = whole && print_speed(result, arena, style, stream);
    print_idle(result, stream);
    if (!result->estimated) /* what was not simulated has no SMs */
        whole = whole && print_split(result, arena, style, stream);
    fputc('\n', stream);
    whole = whole && print_stalls(result, arena, style, stream);
    fputc('\n', stream);
    whole = whole && print_memory(result, arena, style, stream);
    fputc('\n', stream);
    if (result->estimated)
        whole = whole && sampled_table(result->sampled, result->sampled_count, arena, style, stream);
    if (result->estimated)
        fputc('\n', stream);
    if (begin_lines(&lines)) {
        print_end(result, lines.stream);
        whole = end_lines(&lines, style, stream) && whole;
    } else {
        whole = false;
    }
    arena_destroy(arena);
    return whole;
}

/* How launches went to the device, and how long runs took. */
static bool print_launches(const struct evaluate_result *result, struct arena *arena, const struct report_style *style,
                           FILE *stream)
{
    static const char *const titles[] = {"<launches", "all",         "whole",  "slices",       "crews",
                                         "workers",   "run, cycles", "median", "99th centile", "<remark"};
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof titles[0]);
    for (uint32_t a = 0; a < result->common.application_count; a++) {
        const struct evaluate_application *row = &result->applications[a];
        char name[256], text[32];
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", title(&result->common.applications[a], name, sizeof name));
        columns_set(columns, 1, PAINT_NONE, "%" PRIu64, row->launches);
        columns_set(columns, 2, PAINT_NONE, "%" PRIu64, row->whole);
        columns_set(columns, 3, PAINT_NONE, "%" PRIu64, row->slices);
        columns_set(columns, 4, PAINT_NONE, "%" PRIu64, row->crews);
        columns_set(columns, 5, PAINT_NONE, "%" PRIu64, row->workers);
        const uint64_t times[] = {row->mean_run_cycles, row->median_run_cycles, row->p99_run_cycles};
        for (uint32_t i = 0; i < 3; i++)
            columns_set(columns, 6 + i, PAINT_NONE, "%s", times[i] ? grouped(times[i], text) : "-");
        if (row->failure)
            columns_set(columns, 9, PAINT_BAD, "%s", row->failure);
        else if (row->mismatches)
            columns_set(columns, 9, PAINT_BAD, "%u run%s left something else", row->mismatches,
                        row->mismatches == 1 ? "" : "s");
        else if (row->refusal)
            columns_set(columns, 9, PAINT_NONE, "%s", row->refusal);
        else if (row->kept)
            columns_set(columns, 9, PAINT_NONE, "%s drains: %s", row->kept, row->keeps);
        else if (row->returned)
            columns_set(columns, 9, PAINT_NONE, "%" PRIu64 " thread block%s given back", row->returned,
                        row->returned == 1 ? "" : "s");
        else
            columns_set(columns, 9, PAINT_NONE, "%s", "");
    }
    return columns_print(columns, style, stream);
}

static void print_control(const struct evaluate_result *result, FILE *stream)
{
    const struct software_control *row = &result->control;
    char text[32];
    fprintf(stream, "epochs of %s cycles: %" PRIu64 "; looks: %" PRIu64, grouped(result->epoch_cycles, text),
            row->epochs, row->looks);
    if (row->looks)
        fprintf(stream, ", %.1f us each", (double)row->look_ns / 1e3 / (double)row->looks);
    fprintf(stream, "; limits written: %" PRIu64 "; SMs that changed hands: %" PRIu64, row->writes, row->hand_overs);
    if (row->hand_overs)
        fprintf(stream, ", in %.1f us", (double)row->hand_over_ns / 1e3 / (double)row->hand_overs);
    fputc('\n', stream);
}

static void print_requests(const struct evaluate_result *result, FILE *stream)
{
    if (result->load > 0)
        fprintf(stream, "%" PRIu32 " request%s came to the first application, at a load of %g %%; done: %" PRIu32 "\n",
                result->applications[0].requests, result->applications[0].requests == 1 ? "" : "s", result->load * 100,
                result->common.applications[0].result.runs);
}

static void print_favour(const struct evaluate_result *result, FILE *stream)
{
    if (result->favour == SOFTWARE_PRIORITY)
        fputs("launches of the first application have the highest priority\n", stream);
    if (result->favour == SOFTWARE_OWN_SMS)
        fprintf(stream, "the first application has %" PRIu32 " SMs of its own, and no others\n", result->own_sms);
    if (result->apart_sms)
        fprintf(stream, "launches that are kept apart run on %" PRIu32 " SMs, and those beside them on the rest\n",
                result->apart_sms);
}

static bool print_software(const struct evaluate_result *result, struct arena *arena, const struct report_style *style,
                           FILE *stream)
{
    const struct corun_case_result *common = &result->common;
    print_heading(common, stream);
    fprintf(stream, "on the software machine, launches as %s, %s\n",
            result->launching == SOFTWARE_WORKERS  ? "workers"
            : result->launching == SOFTWARE_SLICES ? "slices"
                                                   : "the programs have them",
            result->simulated ? "through corun's driver on the simulated GPU" : "through the driver of this machine");
    print_favour(result, stream);
    fputc('\n', stream);
    bool whole = print_speed(common, arena, style, stream);
    print_idle(common, stream);
    whole = whole && print_split(common, arena, style, stream);
    fputc('\n', stream);
    whole = whole && print_launches(result, arena, style, stream);
    print_requests(result, stream);
    fputc('\n', stream);
    if (result->launching == SOFTWARE_WORKERS)
        print_control(result, stream);
    if (!isnan(common->stp))
        fprintf(stream, "STP %.3f of %u   ANTT %.3f   fairness %.3f\n", common->stp, common->application_count,
                common->antt, common->fairness);
    fprintf(stream, "the shared run took %.2f s, the isolated runs before %.2f s\n", common->wall_seconds,
            common->baseline_wall_seconds);
    return whole;
}

/* What software control costs: the same case, obeyed in hardware and in software. */
static bool print_both(const struct corun_case_result *hardware, const struct evaluate_result *software,
                       struct arena *arena, const struct report_style *style, FILE *stream)
{
    static const char *const titles[] = {"<normalised", "goal", "hardware", "<met", "software", "<met"};
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof titles[0]);
    const struct corun_case_result *const results[] = {hardware, &software->common};
    for (uint32_t a = 0; a < hardware->application_count; a++) {
        char text[256];
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", title(&hardware->applications[a], text, sizeof text));
        figure_goal(&hardware->applications[a], text, sizeof text);
        columns_set(columns, 1, PAINT_NONE, "%s", text[0] ? text : "-");
        for (uint32_t i = 0; i < 2; i++) {
            const struct corun_case_application_result *row = &results[i]->applications[a];
            bool has_goal = row->goal_outcome != CORUN_GOAL_NOT_SET && row->goal_outcome != CORUN_GOAL_NOT_KNOWN;
            bool met = row->goal_outcome == CORUN_GOAL_MET;
            set_number(columns, 2 + 2 * i, 3, row->normalised_ipc);
            columns_set(columns, 3 + 2 * i,
                        !has_goal ? PAINT_NONE
                        : met     ? PAINT_GOOD
                                  : PAINT_BAD,
                        "%s",
                        !has_goal ? "-"
                        : met     ? "yes"
                                  : "no");
        }
    }
    columns_row(columns);
    columns_set(columns, 0, PAINT_NONE, "STP");
    for (uint32_t i = 0; i < 2; i++)
        set_number(columns, 2 + 2 * i, 3, results[i]->stp);
    fputc('\n', stream);
    return columns_print(columns, style, stream);
}

bool table_machines(const struct corun_case_result *hardware, const struct evaluate_result *software,
                    const struct report_style *style, FILE *stream)
{
    struct arena *arena = arena_create();
    if (!arena)
        return false;
    bool whole = !hardware || table_case(hardware, style, stream);
    if (hardware)
        fputc('\n', stream);
    whole = whole && print_software(software, arena, style, stream);
    whole = whole && (!hardware || print_both(hardware, software, arena, style, stream));
    arena_destroy(arena);
    return whole;
}

bool table_kernel_profile(const struct corun_case_kernel *kernel, struct arena *arena, const struct report_style *style,
                          FILE *stream)
{
    static const char *const titles[] = {"line",   "warps",   "lanes", "data", "memory data", "pipeline",
                                         "memory", "barrier", "other", "<PTX", "<source"};
    uint32_t count = sizeof titles / sizeof titles[0] - 1;
    for (uint32_t i = 0; i < kernel->profile_count; i++)
        if (*kernel->profile[i].source)
            count = sizeof titles / sizeof titles[0];
    struct columns *columns = columns_create(arena, titles, count);
    for (uint32_t i = 0; i < kernel->profile_count; i++) {
        const struct corun_profile_line *line = &kernel->profile[i];
        const struct corun_profile_row *counts = &line->counts;
        const uint64_t waits[] = {counts->stall_data,   counts->stall_memory_data, counts->stall_pipeline,
                                  counts->stall_memory, counts->stall_barrier,     counts->stall_other};
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%u", line->line);
        columns_set(columns, 1, PAINT_NONE, "%" PRIu64, counts->warp_instructions);
        set_number(columns, 2, 1,
                   counts->warp_instructions ? (double)counts->thread_instructions / (double)counts->warp_instructions
                                             : (double)NAN);
        for (uint32_t w = 0; w < sizeof waits / sizeof waits[0]; w++)
            columns_set(columns, 3 + w, PAINT_NONE, "%" PRIu64, waits[w]);
        columns_set(columns, 9, PAINT_NONE, "%.60s", line->text);
        if (count > 10)
            columns_set(columns, 10, PAINT_NONE, "%s", line->source);
    }
    return columns_print(columns, style, stream);
}

bool table_profile(const struct corun_case_result *result, const struct report_style *style, FILE *stream)
{
    struct arena *arena = arena_create();
    bool whole = arena != NULL;
    for (uint32_t a = 0; a < result->application_count && whole; a++) {
        const struct corun_case_application_result *application = &result->applications[a];
        const char *const *labels = labels_of(application, arena);
        const char **names = ARENA_ARRAY(arena, const char *, application->kernel_count + 1);
        char name[256];
        title(application, name, sizeof name);
        for (uint32_t k = 0; labels && names && k < application->kernel_count; k++)
            names[k] = labels[k];
        whole = labels && names &&
                columns_shorten_names(names, application->kernel_count,
                                      (uint32_t)(strlen(name) + sizeof ", kernel :" - 1), style, arena);
        for (uint32_t k = 0; k < application->kernel_count && whole; k++) {
            if (!application->kernels[k].profile_count)
                continue;
            const char *heading = arena_format(
                arena, "\n%s, kernel %s: warp instructions, mean active lanes, and warp cycles waited before it for\n",
                name, names[k]);
            if (!heading)
                break;
            columns_text(heading, style, stream);
            whole = table_kernel_profile(&application->kernels[k], arena, style, stream);
        }
    }
    arena_destroy(arena);
    return whole;
}

static void print_launch(const struct launch_result *result, FILE *stream)
{
    char cycles[32], threads[32], name[sizeof result->kernel];
    kernel_name(result->kernel, name, sizeof name);
    fprintf(stream, "%s%s: %u registers per thread, %u bytes of shared memory", name,
            result->interrupted ? " (ended early)" : "", result->registers_per_thread, result->shared_bytes);
    if (result->tbs_per_sm)
        fprintf(stream, ", %u thread block%s per SM", result->tbs_per_sm, result->tbs_per_sm == 1 ? "" : "s");
    fprintf(stream, "\n%s thread instructions", grouped(result->thread_instructions, threads));
    if (!result->functional) {
        fprintf(stream, " in %s cycles: IPC ", grouped(result->cycles, cycles));
        if (isnan(result->ipc))
            fputs("-", stream);
        else
            fprintf(stream, "%.2f", result->ipc);
        fputs("\nL1 hits ", stream);
        print_percent(stream, figure_l1_hit_rate(&result->counters));
        fputs(", L2 hits ", stream);
        print_percent(stream, figure_l2_hit_rate(&result->counters));
        fprintf(stream, ", DRAM %.2f MB\n", (double)figure_dram_bytes(&result->counters) / 1e6);
        print_energy(&result->energy, result->thread_instructions, stream);
    } else {
        fputc('\n', stream);
    }
    fprintf(stream, "%s ", result->functional ? "executed" : "simulated");
    print_rate(stream, result->warp_instructions, result->wall_seconds, result->warp_instructions_per_second);
    fputc('\n', stream);
}

bool table_launch(const struct launch_result *result, const struct report_style *style, FILE *stream)
{
    struct lines lines;
    if (!begin_lines(&lines))
        return false;
    print_launch(result, lines.stream);
    return end_lines(&lines, style, stream);
}
