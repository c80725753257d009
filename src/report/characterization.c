/* SPDX-License-Identifier: MIT */
/* Characterisations as tables for a terminal and as the Markdown pages docs/workloads*.md. */
#include "report/characterization.h"

#include "corun/gpu.h"
#include "report/figures.h"
#include "report/kernel_labels.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct page {
    const struct corun_characterize_result *result;
    const struct report_style *style;
    struct arena *arena;
    FILE *stream;
    bool whole; /* no table ran out of memory */
};

static const char *title(const struct corun_characterization *item, char *text, size_t bytes)
{
    struct corun_workload_info info;
    corun_workload_describe(item->workload, &info);
    snprintf(text, bytes, "%s@%s", info.name, info.size);
    return text;
}

static void set_percent(struct columns *columns, uint32_t column, double value)
{
    if (!isnan(value))
        columns_set(columns, column, PAINT_NONE, "%.0f %%", 100 * value);
}

static void heading(const struct page *page, const char *text)
{
    columns_format(page->style, page->stream, page->style->markdown ? "\n## %s\n\n" : "\n%s\n\n", text);
}

/* A table with its heading; nothing if it has no row. */
static void print_columns(struct page *page, const char *text, struct columns *columns)
{
    if (columns_empty(columns))
        return;
    heading(page, text);
    page->whole = columns_print(columns, page->style, page->stream) && page->whole;
}

static double stall_share(const struct corun_counters *counters, uint64_t cycles)
{
    uint64_t all = figure_scheduler_cycles(counters);
    return all ? (double)cycles / (double)all : (double)NAN;
}

static void print_limits(struct page *page)
{
    static const char *const titles[] = {"<workload", "IPC",          "issued",     "data",    "memory data", "memory",
                                         "pipeline",  "barrier",      "L1 hits",    "L2 hits", "DRAM busy",   "filled",
                                         "SMs",       "memory clock", "icnt clock", "<class",  "<stated"};
    struct columns *columns = columns_create(page->arena, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < page->result->count; i++) {
        const struct corun_characterization *item = &page->result->items[i];
        const struct corun_counters *counters = &item->counters;
        char name[128];
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", title(item, name, sizeof name));
        if (!item->complete)
            continue;
        columns_set(columns, 1, PAINT_NONE, "%.1f", (double)item->thread_instructions / (double)item->cycles);
        const uint64_t cycles[] = {counters->issue_cycles, counters->stall_data,     counters->stall_memory_data,
                                   counters->stall_memory, counters->stall_pipeline, counters->stall_barrier};
        for (uint32_t c = 0; c < 6; c++)
            set_percent(columns, 2 + c, stall_share(counters, cycles[c]));
        set_percent(columns, 8, figure_l1_hit_rate(counters));
        set_percent(columns, 9, figure_l2_hit_rate(counters));
        set_percent(columns, 10, figure_dram_utilisation(&item->memory));
        set_percent(columns, 11, item->fill);
        for (uint32_t sweep = 0; sweep < CORUN_SWEEP_COUNT; sweep++)
            columns_set(columns, 12 + sweep, PAINT_NONE, "%.2f", item->exponents[sweep]);
        struct corun_workload_info info;
        corun_workload_describe(item->workload, &info);
        columns_set(columns, 15, PAINT_TITLE, "%s", corun_character_word(item->measured));
        columns_set(columns, 16, info.character == item->measured ? PAINT_NONE : PAINT_BAD, "%s",
                    corun_character_word(info.character));
    }
    print_columns(page, "What limits each", columns);
}

/* Thread blocks of a launch of the kernel, mean over the launches of one run. */
static double mean_tbs(const struct corun_workload *workload, const char *kernel)
{
    double tbs = 0, launches = 0;
    for (size_t i = 0; i < corun_workload_launch_count(workload); i++) {
        struct corun_workload_launch launch;
        struct corun_kernel_info info;
        corun_workload_launch_at(workload, i, &launch);
        corun_kernel_describe(launch.kernel, &info);
        if (strcmp(info.name, kernel))
            continue;
        tbs += (double)launch.grid.x * launch.grid.y * launch.grid.z * launch.launches;
        launches += launch.launches;
    }
    return launches > 0 ? tbs / launches : (double)NAN;
}

static struct corun_grid grid_of(const struct corun_kernel_result *kernel)
{
    return (struct corun_grid){.name = kernel->name,
                               .tb_count = 1,
                               .tb_threads = kernel->tb_threads,
                               .tb_warps = (kernel->tb_threads + CORUN_WARP_LANES - 1) / CORUN_WARP_LANES,
                               .tb_shared_bytes = kernel->tb_shared_bytes,
                               .registers_per_thread = kernel->registers_per_thread,
                               .barrier_count = 1};
}

static double time_share(const struct corun_characterization *item, const struct corun_kernel_result *kernel)
{
    uint64_t all = 0;
    for (uint32_t k = 0; k < item->kernel_count; k++)
        all += item->kernels[k].cycles;
    return all ? (double)kernel->cycles / (double)all : 0;
}

/* Those of its kernels; NULL when out of memory. */
static const char *const *labels_of(const struct page *page, const struct corun_characterization *item)
{
    const char **symbols = ARENA_ARRAY(page->arena, const char *, item->kernel_count + 1);
    for (uint32_t k = 0; symbols && k < item->kernel_count; k++)
        symbols[k] = item->kernels[k].name;
    return symbols ? kernel_labels(page->arena, symbols, item->kernel_count) : NULL;
}

static void print_kernels(struct page *page)
{
    static const char *const titles[] = {"<workload",      "<kernel",   "time",   "launches",   "TBs",
                                         "threads per TB", "registers", "shared", "TBs per SM", "<limited by"};
    struct columns *columns = columns_create(page->arena, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < page->result->count; i++) {
        const struct corun_characterization *item = &page->result->items[i];
        const char *const *labels = labels_of(page, item);
        for (uint32_t k = 0; k < item->kernel_count; k++) {
            const struct corun_kernel_result *kernel = &item->kernels[k];
            char name[128];
            const char *limit = NULL;
            struct corun_grid grid = grid_of(kernel);
            uint32_t tbs = corun_gpu_occupancy(&page->result->gpu, &grid, &limit);
            columns_row(columns);
            columns_set(columns, 0, PAINT_NONE, "%s", k ? "" : title(item, name, sizeof name));
            columns_set(columns, 1, PAINT_NONE, "%s", labels ? labels[k] : kernel->name);
            columns_set(columns, 2, PAINT_NONE, "%.1f %%", 100 * time_share(item, kernel));
            columns_set(columns, 3, PAINT_NONE, "%u", kernel->launches);
            columns_set(columns, 4, PAINT_NONE, "%.0f", mean_tbs(item->workload, kernel->name));
            columns_set(columns, 5, PAINT_NONE, "%u", kernel->tb_threads);
            columns_set(columns, 6, PAINT_NONE, "%u", kernel->registers_per_thread);
            columns_set(columns, 7, PAINT_NONE, "%u", kernel->tb_shared_bytes);
            columns_set(columns, 8, PAINT_NONE, "%u", tbs);
            columns_set(columns, 9, PAINT_NONE, "%s", limit ? limit : "");
        }
    }
    print_columns(page, "Kernels", columns);
}

static void sweep_value(int sweep, uint32_t value, char *text, size_t bytes)
{
    if (sweep == CORUN_SWEEP_SMS)
        snprintf(text, bytes, "%u", value);
    else
        snprintf(text, bytes, "%.0f MHz", value / 1e3);
}

static void print_curve(struct page *page, int sweep)
{
    const struct corun_characterize_result *result = page->result;
    const struct corun_characterization *first = NULL;
    for (size_t i = 0; i < result->count && !first; i++)
        first = result->items[i].complete ? &result->items[i] : NULL;
    if (!first)
        return;
    char texts[CORUN_SWEEP_MAX_POINTS][32];
    const char *titles[CORUN_SWEEP_MAX_POINTS + 1] = {"<workload"};
    uint32_t count = first->sweeps[sweep].count;
    for (uint32_t i = 0; i < count; i++) {
        sweep_value(sweep, first->sweeps[sweep].points[i].value, texts[i], sizeof texts[i]);
        titles[i + 1] = texts[i];
    }
    struct columns *columns = columns_create(page->arena, titles, count + 1);
    for (size_t i = 0; i < result->count; i++) {
        const struct corun_characterization *item = &result->items[i];
        char name[128];
        if (!item->complete)
            continue;
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", title(item, name, sizeof name));
        for (uint32_t p = 0; p < item->sweeps[sweep].count; p++)
            columns_set(columns, p + 1, PAINT_NONE, "%.2f", item->sweeps[sweep].points[p].speed_up);
    }
    char text[100];
    snprintf(text, sizeof text, "Speed over the %s", corun_sweep_title(sweep));
    print_columns(page, text, columns);
}

static void print_work(struct page *page)
{
    static const char *const titles[] = {"<workload", "outputs",    "thread instructions",  "per output",
                                         "bytes",     "per output", "instructions per byte"};
    struct columns *columns = columns_create(page->arena, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < page->result->count; i++) {
        const struct corun_characterization *item = &page->result->items[i];
        struct corun_workload_work work;
        char name[128];
        corun_workload_stated_work(item->workload, &work);
        if (!work.stated)
            continue;
        double outputs = (double)work.outputs, bytes = (double)work.global_bytes;
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", title(item, name, sizeof name));
        columns_set(columns, 1, PAINT_NONE, "%" PRIu64, work.outputs);
        columns_set(columns, 2, PAINT_NONE, "%" PRIu64, work.thread_instructions);
        columns_set(columns, 3, PAINT_NONE, "%.4g", (double)work.thread_instructions / outputs);
        columns_set(columns, 4, PAINT_NONE, "%" PRIu64, work.global_bytes);
        columns_set(columns, 5, PAINT_NONE, "%.4g", bytes / outputs);
        if (bytes > 0)
            columns_set(columns, 6, PAINT_NONE, "%.3g", (double)work.thread_instructions / bytes);
    }
    print_columns(page, "Work of one run", columns);
}

/* Different kernels that one run launches, reached by the window or not. */
static uint32_t count_kernels(const struct corun_workload *workload)
{
    uint32_t kernels = 0;
    for (size_t i = 0; i < corun_workload_launch_count(workload); i++) {
        struct corun_workload_launch launch, earlier = {0};
        corun_workload_launch_at(workload, i, &launch);
        bool known = launch.launches == 0;
        for (size_t k = 0; k < i && !known; k++) {
            corun_workload_launch_at(workload, k, &earlier);
            known = earlier.kernel == launch.kernel && earlier.launches > 0;
        }
        kernels += !known;
    }
    return kernels;
}

/* The kernel that most time was spent in. */
static const struct corun_kernel_result *main_kernel(const struct corun_characterization *item)
{
    const struct corun_kernel_result *longest = NULL;
    for (uint32_t k = 0; k < item->kernel_count; k++) {
        if (!longest || item->kernels[k].cycles > longest->cycles)
            longest = &item->kernels[k];
    }
    return longest;
}

/* Mean over the kernels, weighted by their time (HPCA 2012, equation 1). */
static double weighted(const struct corun_characterization *item, bool thread_blocks)
{
    double sum = 0;
    for (uint32_t k = 0; k < item->kernel_count; k++) {
        const struct corun_kernel_result *kernel = &item->kernels[k];
        double value = thread_blocks ? mean_tbs(item->workload, kernel->name) : kernel->tb_threads;
        sum += time_share(item, kernel) * value;
    }
    return sum;
}

/* Our figure of that name as text; "" if we have none. */
static void our_figure(const struct page *page, const struct corun_characterization *item, const char *name, char *text,
                       size_t bytes)
{
    const struct corun_gpu_config *gpu = &page->result->gpu;
    const struct corun_kernel_result *kernel = main_kernel(item);
    text[0] = 0;
    if (!kernel)
        return;
    struct corun_grid grid = grid_of(kernel);
    const char *limit;
    double tbs = corun_gpu_occupancy(gpu, &grid, &limit), share = (double)NAN;
    if (!strcmp(name, "registers"))
        share = tbs * grid.tb_warps * CORUN_WARP_LANES * grid.registers_per_thread / gpu->registers_per_sm;
    else if (!strcmp(name, "shared"))
        share = tbs * grid.tb_shared_bytes / gpu->shared_bytes_per_sm;
    else if (!strcmp(name, "threads"))
        share = tbs * grid.tb_threads / gpu->threads_per_sm;
    else if (!strcmp(name, "stall"))
        share = 1 - stall_share(&item->counters, item->counters.issue_cycles);
    else if (!strcmp(name, "kernels"))
        snprintf(text, bytes, "%u", count_kernels(item->workload));
    else if (!strcmp(name, "thread blocks"))
        snprintf(text, bytes, "%.0f", weighted(item, true));
    else if (!strcmp(name, "threads per block"))
        snprintf(text, bytes, "%.0f", weighted(item, false));
    if (!isnan(share))
        snprintf(text, bytes, "%.1f%%", 100 * share);
}

static void print_papers(struct page *page)
{
    static const char *const titles[] = {"<workload",    "<paper",      "<there",
                                         "<class there", "<class here", "<figures there (here)"};
    struct columns *columns = columns_create(page->arena, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < page->result->count; i++) {
        const struct corun_characterization *item = &page->result->items[i];
        struct corun_workload_info info;
        corun_workload_describe(item->workload, &info);
        for (size_t p = 0; p < info.paper_count && item->complete; p++) {
            const struct corun_paper_claim *claim = &info.papers[p];
            bool says = claim->character != CORUN_CHARACTER_COUNT;
            char name[128], figures[256] = "", ours[32];
            for (size_t f = 0; f < claim->figure_count; f++) {
                size_t used = strlen(figures);
                our_figure(page, item, claim->figures[f].name, ours, sizeof ours);
                snprintf(figures + used, sizeof figures - used, "%s%s %s%s%s%s", used ? ", " : "",
                         claim->figures[f].name, claim->figures[f].text, ours[0] ? " (" : "", ours, ours[0] ? ")" : "");
            }
            columns_row(columns);
            columns_set(columns, 0, PAINT_NONE, "%s", p ? "" : title(item, name, sizeof name));
            columns_set(columns, 1, PAINT_NONE, "%s", claim->paper);
            columns_set(columns, 2, PAINT_NONE, "%s", claim->name);
            columns_set(columns, 3, PAINT_NONE, "%s", says ? corun_character_word(claim->character) : "");
            columns_set(columns, 4, says && claim->character != item->measured ? PAINT_BAD : PAINT_NONE, "%s",
                        corun_character_word(item->measured));
            columns_set(columns, 5, PAINT_NONE, "%s", figures);
        }
    }
    print_columns(page, "What the papers say", columns);
}

static void print_notes(struct page *page)
{
    bool any = false;
    for (size_t i = 0; i < page->result->count; i++) {
        struct corun_workload_info info;
        corun_workload_describe(page->result->items[i].workload, &info);
        for (size_t p = 0; p < info.paper_count; p++) {
            if (!info.papers[p].note[0])
                continue;
            if (!any)
                heading(page, "Where ours differs from the papers' program");
            any = true;
            columns_format(page->style, page->stream, "%s%s (%s): %s\n", page->style->markdown ? "* " : "", info.name,
                           info.papers[p].paper, info.papers[p].note);
        }
    }
}

/* On a page, the rule stands above. */
static void print_clauses(struct page *page)
{
    if (page->style->markdown)
        return;
    heading(page, "Classes, by the clause of the rule that holds first");
    for (size_t i = 0; i < page->result->count; i++) {
        const struct corun_characterization *item = &page->result->items[i];
        char name[128];
        if (item->complete)
            columns_format(page->style, page->stream, "%s: %s, as %s\n", title(item, name, sizeof name),
                           corun_character_word(item->measured), item->clause);
    }
}

static void print_failures(struct page *page)
{
    for (size_t i = 0; i < page->result->count; i++) {
        const struct corun_characterization *item = &page->result->items[i];
        char name[128];
        if (item->status)
            columns_format(page->style, page->stream, "\n%s does not run on %s: %s\n", title(item, name, sizeof name),
                           page->result->gpu.name, item->message);
        else if (!item->complete)
            columns_format(page->style, page->stream, "\n%s is not complete: interrupted\n",
                           title(item, name, sizeof name));
    }
}

static bool print_all(const struct corun_characterize_result *result, const struct report_style *style, FILE *stream)
{
    struct page page = {result, style, arena_create(), stream, true};
    if (!page.arena)
        return false;
    print_limits(&page);
    print_clauses(&page);
    print_failures(&page);
    print_kernels(&page);
    for (int sweep = 0; sweep < CORUN_SWEEP_COUNT; sweep++)
        print_curve(&page, sweep);
    print_work(&page);
    print_papers(&page);
    print_notes(&page);
    arena_destroy(page.arena);
    return page.whole;
}

static void print_conditions(const struct corun_characterize_result *result, FILE *stream)
{
    fprintf(stream, "%s: %u SM%s at %u MHz; window of %" PRIu64 " cycles, seed %" PRIu64 "\n", result->gpu.name,
            result->gpu.sms, result->gpu.sms == 1 ? "" : "s", result->gpu.core_clock_khz / 1000, result->cycles,
            result->seed);
}

bool characterization_print(const struct corun_characterize_result *result, const struct report_style *style,
                            FILE *stream)
{
    print_conditions(result, stream);
    return print_all(result, style, stream);
}

bool characterization_page(const struct corun_characterize_result *result, const char *command, FILE *stream)
{
    const struct report_style style = {.markdown = true};
    fprintf(stream, "# Workloads on the %s\n\nMade by `%s`: do not edit. ", result->gpu.name, command);
    print_conditions(result, stream);
    fprintf(stream, "\nTiming model: version %u.\n", CORUN_MODEL_VERSION);
    fputs(
        "\nEvery workload alone. On the GPU as configured it runs for the window, starting over when it ends; at every "
        "other number of SMs and\nclock, until it has completed as many thread instructions as it did there.\n\n"
        "The columns *SMs*, *memory clock* and *icnt clock* are exponents: speed grows as the resource to that power "
        "between half of\nit and all that the GPU has; 1 is linear, 0 indifferent. The interconnect clock takes that "
        "of the L2 slices with it. *filled* is how much of the places that the SMs\nhave for its thread blocks was "
        "taken on average. *stated* is what the description says.\n"
        "*issued* to *barrier* are parts of the scheduler cycles with live warps; *data* waits for arithmetic, "
        "*memory data* for loads, *memory* for room in the\nload/store unit.\n",
        stream);
    fputs("\nThe class follows by a fixed rule; the first clause that holds gives it:\n\n", stream);
#define PRINT_CLAUSE(character, condition, words) \
    fprintf(stream, "1. **%s**: %s\n", corun_character_word(CORUN_CHARACTER_##character), words);
    CORUN_CLASS_RULE(PRINT_CLAUSE)
#undef PRINT_CLAUSE
    return print_all(result, &style, stream);
}
