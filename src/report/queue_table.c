/* SPDX-License-Identifier: MIT */
/* Queues that were served as tables. */
#include "report/queue_report.h"

#include <math.h>
#include <string.h>

struct page {
    const struct serve_result *result;
    struct arena *arena;
    const struct report_style *style;
    FILE *stream;
};

/* A time of the queue in the unit that suits it. */
static const char *duration(const struct serve_result *result, double ticks, char text[32])
{
    double seconds = ticks / (1e3 * result->device.clock_khz);
    const char *unit = seconds >= 1 ? "s" : seconds >= 1e-3 ? "ms" : "us";
    snprintf(text, 32, "%.2f %s", seconds * (seconds >= 1 ? 1 : seconds >= 1e-3 ? 1e3 : 1e6), unit);
    return text;
}

static double peak(const struct serve_result *result)
{
    return result->device.schedulers_per_sm * result->device.issue_rate;
}

static void heading(const struct page *page)
{
    const struct serve_result *result = page->result;
    char rate[64] = "all at once";
    if (result->load.rate_per_second > 0)
        snprintf(rate, sizeof rate, "Poisson, %g a second of each", result->load.rate_per_second);
    fprintf(page->stream, "%s: %u SM%s at %u MHz; %u launch%s of each of %u kernel%s, %s, seed %llu; %s%s\n\n",
            result->gpu.name, result->gpu.sms, result->gpu.sms == 1 ? "" : "s", result->gpu.core_clock_khz / 1000,
            result->load.instances, result->load.instances == 1 ? "" : "es", result->kernel_count,
            result->kernel_count == 1 ? "" : "s", rate, (unsigned long long)result->seed,
            result->driven ? "through a CUDA driver"
            : result->full ? "simulated cycle by cycle"
                           : "by events, at measured speeds",
            !result->transfers ? ""
            : result->overlap  ? "; every launch brings its data"
                               : "; every launch brings its data, copies and kernels apart");
}

static bool kernels(const struct page *page)
{
    static const char *const titles[] = {"<kernel", "<workload", "thread blocks", "per SM",
                                         "fills",   "alone",     "IPC",           "PUR",
                                         "MUR",     "R_m",       "uncoalesced",   "smallest slice"};
    struct columns *columns = columns_create(page->arena, titles, sizeof titles / sizeof *titles);
    char text[32];
    if (!columns)
        return false;
    for (uint32_t k = 0; k < page->result->kernel_count; k++) {
        const struct serve_kernel_result *kernel = &page->result->kernels[k];
        const struct corun_queue_profile *profile = &kernel->profile;
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", kernel->name);
        columns_set(columns, 1, PAINT_NONE, "%s@%s", kernel->workload, kernel->size);
        columns_set(columns, 2, PAINT_NONE, "%u", profile->tbs);
        columns_set(columns, 3, PAINT_NONE, "%u", profile->tbs_per_sm);
        columns_set(columns, 4, PAINT_NONE, "%.1f", serve_fills(page->result, k));
        columns_set(columns, 5, PAINT_NONE, "%s", duration(page->result, (double)profile->alone_ticks, text));
        columns_set(columns, 6, PAINT_NONE, "%.3f", profile->ipc);
        columns_set(columns, 7, PAINT_NONE, "%.3f", profile->pipeline_utilization);
        columns_set(columns, 8, PAINT_NONE, "%.3f", profile->memory_utilization);
        columns_set(columns, 9, PAINT_NONE, "%.3f", profile->memory_share);
        columns_set(columns, 10, PAINT_NONE, "%.3f", profile->uncoalesced_share);
        columns_set(columns, 11, PAINT_NONE, "%u", profile->smallest_slice);
    }
    return columns_print(columns, page->style, page->stream);
}

/* The kernels that ran beside this one, the longest time first: "tea 61 %, pc 30 %". */
static const char *companions(const struct page *page, const struct queue_run_kind_result *kind)
{
    const struct serve_result *result = page->result;
    uint32_t count = result->kernel_count;
    bool *told = ARENA_ARRAY(page->arena, bool, count + 1);
    const char *text = "";
    double all = 0;
    if (!told)
        return text;
    memset(told, 0, (count + 1) * sizeof *told);
    for (uint32_t k = 0; k <= count; k++)
        all += (double)kind->beside[k];
    for (uint32_t n = 0; n <= count && text; n++) {
        uint32_t best = count + 1;
        for (uint32_t k = 0; k <= count; k++) {
            if (!told[k] && kind->beside[k] && (best > count || kind->beside[k] > kind->beside[best]))
                best = k;
        }
        if (best > count)
            break;
        told[best] = true;
        text =
            arena_format(page->arena, "%s%s%s %.0f %%", text, *text ? ", " : "",
                         best < count ? result->kernels[best].name : "alone", 100 * (double)kind->beside[best] / all);
    }
    return text ? text : "";
}

static bool one_run(const struct page *page, const struct serve_run *run)
{
    static const char *const titles[] = {"<kernel",   "launches", "mean response", "P99",
                                         "mean wait", "slices",   "<beside"};
    struct columns *columns = columns_create(page->arena, titles, sizeof titles / sizeof *titles);
    char text[32];
    if (!columns)
        return false;
    for (uint32_t k = 0; k < page->result->kernel_count; k++) {
        const struct queue_run_kind_result *kind = &run->result->kinds[k];
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", page->result->kernels[k].name);
        columns_set(columns, 1, PAINT_NONE, "%llu", (unsigned long long)kind->launches);
        columns_set(columns, 2, PAINT_NONE, "%s", duration(page->result, kind->mean_response_ticks, text));
        columns_set(columns, 3, PAINT_NONE, "%s", duration(page->result, (double)kind->p99_response_ticks, text));
        columns_set(columns, 4, PAINT_NONE, "%s", duration(page->result, kind->mean_wait_ticks, text));
        columns_set(columns, 5, PAINT_NONE, "%llu", (unsigned long long)kind->slices);
        columns_set(columns, 6, PAINT_NONE, "%s", companions(page, kind));
    }
    fprintf(page->stream, "\n%s\n\n", run->scheduler);
    return columns_print(columns, page->style, page->stream);
}

/* For each pair: the balanced ratio, as predicted and measured, and the best measured one. */
static bool pairs(const struct page *page)
{
    static const char *const titles[] = {"<pair",    "residents",      "predicted profit",
                                         "measured", "best residents", "measured"};
    struct columns *columns = columns_create(page->arena, titles, sizeof titles / sizeof *titles);
    const struct serve_result *result = page->result;
    if (!columns)
        return false;
    for (uint32_t i = 0, next; i < result->pair_count; i = next) {
        const struct serve_pair *first = &result->pairs[i], *balanced = first, *best = first;
        for (next = i; next < result->pair_count && result->pairs[next].kernels[0] == first->kernels[0] &&
                       result->pairs[next].kernels[1] == first->kernels[1];
             next++) {
            const struct serve_pair *pair = &result->pairs[next];
            balanced = pair->balanced ? pair : balanced;
            best = pair->measured_profit > best->measured_profit ? pair : best;
        }
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s + %s", result->kernels[first->kernels[0]].name,
                    result->kernels[first->kernels[1]].name);
        columns_set(columns, 1, PAINT_NONE, "%u + %u", balanced->residents[0], balanced->residents[1]);
        columns_set(columns, 2, PAINT_NONE, "%.1f %%", 100 * balanced->predicted_profit);
        columns_set(columns, 3, PAINT_NONE, "%.1f %%", 100 * balanced->measured_profit);
        columns_set(columns, 4, PAINT_NONE, "%u + %u", best->residents[0], best->residents[1]);
        columns_set(columns, 5, PAINT_NONE, "%.1f %%", 100 * best->measured_profit);
    }
    fputs("\n", page->stream);
    return columns_print(columns, page->style, page->stream);
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : NAN;
}

static bool comparison(const struct page *page)
{
    static const char *const titles[] = {"<scheduler",    "makespan",      "launches/s", "GPU busy",
                                         "issue slots",   "copies hidden", "plans",      "slices",
                                         "time per plan", "longest",       "queue"};
    struct columns *columns = columns_create(page->arena, titles, sizeof titles / sizeof *titles);
    char text[32], size[REPORT_SIZE_BYTES];
    if (!columns)
        return false;
    const struct serve_result *result = page->result;
    for (uint32_t i = 0; i < result->run_count; i++) {
        const struct queue_run_result *run = result->runs[i].result;
        double ticks = (double)run->makespan_ticks, seconds = ticks / (1e3 * result->device.clock_khz), launches = 0;
        double slots =
            ticks * result->device.core_khz / result->device.clock_khz * result->device.sm_count * peak(result);
        for (uint32_t k = 0; k < result->kernel_count; k++)
            launches += (double)run->kinds[k].launches;
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", result->runs[i].scheduler);
        columns_set(columns, 1, PAINT_NONE, "%s", duration(result, ticks, text));
        columns_set(columns, 2, PAINT_NONE, "%.1f", launches / seconds);
        columns_set(columns, 3, PAINT_NONE, "%.1f %%", percent((double)run->busy_ticks, ticks));
        columns_set(columns, 4, PAINT_NONE, "%.1f %%", percent(run->warp_instructions, slots));
        if (run->copy_ticks)
            columns_set(columns, 5, PAINT_NONE, "%.1f %%",
                        percent((double)run->overlapped_copy_ticks, (double)run->copy_ticks));
        columns_set(columns, 6, PAINT_NONE, "%llu", (unsigned long long)run->costs.plans);
        columns_set(columns, 7, PAINT_NONE, "%llu", (unsigned long long)run->costs.slices);
        columns_set(columns, 8, PAINT_NONE, "%.2f us",
                    1e6 * run->costs.seconds / (double)(run->costs.plans ? run->costs.plans : 1));
        columns_set(columns, 9, PAINT_NONE, "%.0f us", 1e6 * run->costs.longest_seconds);
        columns_set(columns, 10, PAINT_NONE, "%s", report_size(run->costs.bytes, size));
    }
    fputs("\n", page->stream);
    return columns_print(columns, page->style, page->stream);
}

bool queue_tables(const struct serve_result *result, struct arena *arena, const struct report_style *style,
                  FILE *stream)
{
    const struct page page = {result, arena, style, stream};
    heading(&page);
    bool whole = kernels(&page);
    if (whole && result->pair_count)
        whole = pairs(&page);
    for (uint32_t i = 0; i < result->run_count && whole; i++)
        whole = one_run(&page, &result->runs[i]);
    if (whole && result->run_count)
        whole = comparison(&page);
    if (result->interrupted)
        fputs("\ninterrupted: what was measured so far is kept\n", stream);
    return whole;
}
