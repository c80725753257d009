/* SPDX-License-Identifier: MIT */
/* From reports, traces and counts to a description. */
#include "profile/describe.h"

#include "profile/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the host of the thesis, Xeon E5-2650 v4: instructions that wait for their turn to end, and lines on their way to the first level. */
#define REORDER_INSTRUCTIONS 192.0
#define FILL_BUFFERS 10.0
/* At least this part of the time is work: more misses than that leaves room for did not wait for each other. */
#define LEAST_WORK 0.1

void profile_grid_points(struct profile_grid *grid)
{
    uint64_t way = grid->cache_bytes / grid->ways;
    grid->point_count = 0;
    grid->points[grid->point_count++] = way / 4;
    grid->points[grid->point_count++] = way / 2;
    for (uint32_t w = 1; w <= grid->ways; w++)
        grid->points[grid->point_count++] = way * w;
}

static enum corun_status schedule_all(const struct profile_report *report, uint32_t cores, double *speedup,
                                      double *work_ns)
{
    double one = 0;
    for (uint32_t c = 1; c <= cores; c++) {
        double sum = 0;
        for (uint32_t q = 0; q < report->query_count; q++) {
            uint64_t length_ns = 0;
            if (profile_schedule(&report->queries[q], c, NULL, &length_ns) != CORUN_OK)
                return CORUN_MEMORY;
            sum += (double)length_ns;
        }
        one = c == 1 ? sum : one;
        speedup[c - 1] = sum > 0 ? one / sum : 1;
    }
    *work_ns = one / report->query_count;
    return CORUN_OK;
}

/* Misses of a window of so many loads and stores, between the two nearest that were counted. */
static double groups_at(const struct profile_totals *totals, double window)
{
    double at = log2(window / (double)TRACE_WINDOW(0));
    at = at < 0 ? 0 : at > TRACE_WINDOWS - 1 ? TRACE_WINDOWS - 1 : at;
    uint32_t low = (uint32_t)at < TRACE_WINDOWS - 1 ? (uint32_t)at : TRACE_WINDOWS - 2;
    double part = at - low;
    return (double)totals->groups[low] * (1 - part) + (double)totals->groups[low + 1] * part;
}

static void count_private(const struct profile_trace *trace, uint32_t queries, double instructions,
                          struct profile_size *size)
{
    struct profile_totals totals;
    profile_totals(trace, &totals);
    double single = (double)(totals.misses - totals.streamed);
    double window = instructions > 0 ? REORDER_INSTRUCTIONS * (double)totals.accesses / (instructions * queries) : 0;
    double groups = groups_at(&totals, window);
    size->private_misses = (double)totals.misses / queries;
    size->streamed_share = totals.misses ? (double)totals.streamed / (double)totals.misses : 0;
    size->together = groups > 0 && single > groups ? fmin(single / groups, FILL_BUFFERS) : 1;
}

enum corun_status profile_size_make(const struct profile_report *report, const struct profile_trace *trace,
                                    const struct profile_description *description, double instructions,
                                    struct corun_diagnostics *list, struct profile_size *size)
{
    const struct profile_grid *grid = description->grid;
    if (report->query_count < 2)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "two queries at least: the first warms the caches");
    *size = (struct profile_size){.size = report->size, .instructions = instructions};
    count_private(trace, report->query_count - 1, instructions, size);
    uint64_t lines[PROFILE_MOST_POINTS + 1], counts[PROFILE_MOST_POINTS + 1];
    uint64_t machine_bytes = description->machine->cache_bytes ? description->machine->cache_bytes : grid->cache_bytes;
    for (uint32_t p = 0; p < grid->point_count; p++)
        lines[p] = grid->points[p] / TRACE_LINE_BYTES;
    lines[grid->point_count] = machine_bytes / TRACE_LINE_BYTES;
    struct profile_misses misses = {.lines = lines, .size_count = grid->point_count + 1, .misses = counts};
    enum corun_status status = profile_variation(trace, report->query_count, &size->variation);
    if (status == CORUN_OK)
        status = schedule_all(report, grid->cores, size->speedup, &size->work_ns);
    for (uint32_t c = 0; c < grid->curve_count && status == CORUN_OK; c++) {
        status = profile_curve(report, trace, grid->curve_cores[c], list, &misses);
        double scale = status == CORUN_OK && misses.accesses ? size->private_misses / (double)misses.accesses : 0;
        for (uint32_t p = 0; p < grid->point_count; p++)
            size->misses[c][p] = (double)counts[p] * scale;
        if (c == 0) {
            size->machine_misses = (double)counts[grid->point_count] * scale;
            size->written = counts[0] ? (double)misses.written / (double)counts[0] : 0;
        }
    }
    return status;
}

static const struct profile_size *profile_mean_size(const struct profile_description *description)
{
    const struct profile_size *nearest = &description->sizes[0];
    for (uint32_t i = 1; i < description->size_count; i++)
        if (fabs((double)description->sizes[i].size - description->mean_size) <
            fabs((double)nearest->size - description->mean_size))
            nearest = &description->sizes[i];
    return nearest;
}

struct profile_costs profile_costs(const struct profile_description *description, const struct profile_size *size)
{
    const struct profile_machine *machine = description->machine;
    double cost_ns =
        size->streamed_share * machine->stream_ns + (1 - size->streamed_share) * machine->memory_ns / size->together;
    double stall_ns = size->machine_misses * cost_ns, most_ns = size->work_ns * (1 - LEAST_WORK);
    if (stall_ns > most_ns) {
        cost_ns *= most_ns / stall_ns;
        stall_ns = most_ns;
    }
    return (struct profile_costs){
        .overlap = fmax(1, machine->memory_ns / cost_ns),
        .stall_share = size->work_ns > 0 ? stall_ns / size->work_ns : 0,
        .cycles_per_instruction =
            size->instructions > 0 ? (size->work_ns - stall_ns) * machine->clock_ghz / size->instructions : 0};
}

double profile_bandwidth(const struct profile_description *description, const struct profile_size *size, uint32_t curve,
                         uint32_t point)
{
    const struct profile_machine *machine = description->machine;
    struct profile_costs costs = profile_costs(description, size);
    uint32_t cores = description->grid->curve_cores[curve];
    double work_ns = size->instructions * costs.cycles_per_instruction / machine->clock_ghz +
                     size->misses[curve][point] * machine->memory_ns / costs.overlap;
    double lines = size->misses[curve][point] * (1 + size->written);
    return work_ns > 0 ? lines * TRACE_LINE_BYTES / (work_ns / size->speedup[cores - 1]) * 1e9 : 0;
}

static void describe_sizes(const struct profile_description *description, FILE *file)
{
    fprintf(file, "instructions: %s", description->batch ? "" : "[");
    for (uint32_t i = 0; i < description->size_count && !description->batch; i++)
        fprintf(file, "%s[%u, %.4g]", i ? ", " : "", description->sizes[i].size, description->sizes[i].instructions);
    if (description->batch)
        fprintf(file, "%.4g\n", profile_mean_size(description)->instructions);
    else
        fputs("]\n", file);
}

static void describe_speedup(const struct profile_description *description, FILE *file)
{
    fputs("speedup: # by list scheduling of the task graph\n", file);
    for (uint32_t i = 0; i < description->size_count; i++) {
        const struct profile_size *size = &description->sizes[i];
        fputs("  - ", file);
        if (!description->batch)
            fprintf(file, "size: %u\n    ", size->size);
        fputs("cores: [", file);
        for (uint32_t c = 0; c < description->grid->cores; c++)
            fprintf(file, "%s%.4g", c ? ", " : "", size->speedup[c]);
        fputs("]\n", file);
    }
}

static void describe_misses(const struct profile_description *description, FILE *file)
{
    const struct profile_grid *grid = description->grid;
    fprintf(file, "misses: # at a quarter and a half of a way, and at 1 to %u of the %u ways of %llu KB\n", grid->ways,
            grid->ways, (unsigned long long)grid->cache_bytes / 1024);
    for (uint32_t i = 0; i < description->size_count; i++)
        for (uint32_t c = 0; c < grid->curve_count; c++) {
            const struct profile_size *size = &description->sizes[i];
            fprintf(file, "  - threads: %u\n", grid->curve_cores[c]);
            if (!description->batch)
                fprintf(file, "    size: %u\n", size->size);
            fputs("    points: [", file);
            for (uint32_t p = 0; p < grid->point_count; p++)
                fprintf(file, "%s[%llu, %.4g]", p ? ", " : "", (unsigned long long)grid->points[p],
                        size->instructions > 0 ? size->misses[c][p] / size->instructions * 1000 : 0);
            fputs("]\n", file);
        }
}

/* What the numbers above were made of, for who reads them. */
static void describe_comments(const struct profile_description *description, FILE *file)
{
    const struct profile_machine *machine = description->machine;
    fprintf(file,
            "# %.2f GHz, %.0f ns from the last-level cache to memory and back, %.1f ns a line of a stream, when it was "
            "measured\n",
            machine->clock_ghz, machine->memory_ns, machine->stream_ns);
    fputs("# size: milliseconds on one core by its tasks, and in fact on one and on two threads (two by the schedule); "
          "private misses\n"
          "# for 1000 instructions, their part that is prefetched, of the others so many together\n",
          file);
    for (uint32_t i = 0; i < description->size_count; i++) {
        const struct profile_size *size = &description->sizes[i];
        fprintf(file, "# %u: %.4g, %.4g, %.4g (%.4g); %.3g, %.2f, %.3g\n", size->size, size->work_ns * 1e-6,
                size->real_ns[0] * 1e-6, size->real_ns[1] * 1e-6,
                description->grid->cores > 1 ? size->work_ns / size->speedup[1] * 1e-6 : 0,
                size->instructions > 0 ? size->private_misses / size->instructions * 1000 : 0, size->streamed_share,
                size->together);
    }
}

void profile_describe(const struct profile_description *description, FILE *file)
{
    const struct profile_size *mean = profile_mean_size(description);
    struct profile_costs costs = profile_costs(description, mean);
    fprintf(file, "application: %s\nkind: %s\nsummary: \"%s\"\n", description->program,
            description->batch ? "batch" : "service", description->what);
    fprintf(file, "measured: \"%s, on %s, %s\"\n", description->command, description->machine->name, description->date);
    describe_comments(description, file);
    fprintf(file, "threads: %u\n", description->grid->cores);
    if (!description->batch)
        fprintf(file,
                "unit: %s\nsizes: # an assumption: the thesis says that the longest queries have ten times the mean\n"
                "  exponential: {mean: %u, most: %u}\n",
                description->size_of, description->mean_size, 10 * description->mean_size);
    describe_sizes(description, file);
    if (!description->batch)
        fprintf(file, "variation: %.3g\n", mean->variation);
    fprintf(file, "cycles_per_instruction: %.3g\noverlap: %.3g\nwritebacks: %.3g\n", costs.cycles_per_instruction,
            costs.overlap, mean->written);
    describe_speedup(description, file);
    describe_misses(description, file);
}
