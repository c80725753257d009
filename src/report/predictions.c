/* SPDX-License-Identifier: MIT */
/* Predictions of the analytical model as tables and as JSON. */
#include "report/predictions.h"

#include "report/json_writer.h"

#include <math.h>

static const char *const access_names[MODEL_ACCESSES] = {
    [MODEL_COALESCED] = "coalesced", [MODEL_UNCOALESCED] = "uncoalesced"};

/* ---- tables ---- */

static void set_view(struct columns *columns, uint32_t from, const struct kernel_view *view)
{
    const struct model_kernel *inputs = &view->inputs;
    if (view->status != CORUN_OK)
        return;
    columns_set(columns, from, PAINT_NONE, "%.4f", inputs->memory_share);
    columns_set(columns, from + 1, PAINT_NONE, "%.3f", inputs->uncoalesced_share);
    columns_set(columns, from + 2, PAINT_NONE, "%.1f", inputs->uncoalesced_requests);
    columns_set(columns, from + 3, PAINT_NONE, "%.0f", inputs->tb_instructions);
    columns_set(columns, from + 4, PAINT_TITLE, "%.3f", view->prediction.total);
}

static bool print_kernels(const struct predictions *predictions, struct arena *arena, const struct report_style *style,
                          FILE *stream)
{
    static const char *const titles[] = {"<workload",    "<kernel",   "warps", "tbs/SM",      "IPC",
                                         "utilised",     "DRAM",      "R_m",   "uncoalesced", "requests",
                                         "instructions", "predicted", "R_m",   "uncoalesced", "requests",
                                         "instructions", "predicted"};
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < predictions->count; i++) {
        const struct kernel_profile *profile = &predictions->profiles[i];
        const struct model_kernel *counted = &profile->counted.inputs;
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", profile->workload);
        columns_set(columns, 1, PAINT_NONE, "%s", profile->kernel);
        if (profile->counted.status == CORUN_OK) {
            columns_set(columns, 2, PAINT_NONE, "%u", counted->tb_warps);
            columns_set(columns, 3, PAINT_NONE, "%u", profile->residents);
            columns_set(columns, 4, PAINT_TITLE, "%.3f", counted->ipc);
            columns_set(columns, 5, PAINT_NONE, "%.1f %%", 100 * counted->pipeline_utilization);
            columns_set(columns, 6, PAINT_NONE, "%.1f %%", 100 * counted->memory_utilization);
        }
        set_view(columns, 7, &profile->counted);
        set_view(columns, 12, &profile->sampled);
    }
    columns_format(
        style, stream,
        "\nalone: IPC as measured; then from counters, and from a sample of thread blocks without timing\n\n");
    return columns_print(columns, style, stream);
}

static void add_co_schedule(struct columns *columns, const struct predictions *predictions,
                            const struct predicted_pair *pair, const struct model_co_schedule *one, const char *why)
{
    columns_row(columns);
    for (uint32_t k = 0; k < 2; k++) {
        columns_set(columns, k, PAINT_NONE, "%s", predictions->profiles[pair->members[k]].workload);
        columns_set(columns, 2 + k, PAINT_NONE, "%u", one->residents[k]);
        columns_set(columns, 4 + k, PAINT_NONE, "%.3f", one->ipc[k]);
    }
    columns_set(columns, 6, PAINT_TITLE, "%.1f %%", 100 * one->profit);
    columns_set(columns, 7, PAINT_NONE, "%.1f %%", 100 * one->imbalance);
    columns_set(columns, 8, PAINT_NONE, "%u", pair->count);
    columns_set(columns, 9, PAINT_NONE, "%s", why);
}

static bool print_pairs(const struct predictions *predictions, struct arena *arena, const struct report_style *style,
                        FILE *stream)
{
    static const char *const titles[] = {"<first", "<second", "tbs/SM",    "tbs/SM",     "IPC",
                                         "IPC",    "profit",  "imbalance", "candidates", "<chosen"};
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < predictions->pair_count; i++) {
        const struct predicted_pair *pair = &predictions->pairs[i];
        const struct model_co_schedule *balanced = model_balanced(pair->list, pair->count);
        const struct model_co_schedule *best = model_most_profitable(pair->list, pair->count);
        if (balanced)
            add_co_schedule(columns, predictions, pair, balanced,
                            balanced == best ? "balanced, most profit" : "balanced");
        if (best && best != balanced)
            add_co_schedule(columns, predictions, pair, best, "most profit");
    }
    if (columns_empty(columns))
        return true;
    columns_format(style, stream, "\nside by side: slices that end together (balanced), and the most profit\n\n");
    return columns_print(columns, style, stream);
}

bool predictions_print(const struct predictions *predictions, const struct report_style *style, FILE *stream)
{
    struct arena *arena = arena_create();
    if (!arena)
        return false;
    columns_format(style, stream, "%s: peak %.3g warp instructions per cycle and SM, %u virtual SMs each\n",
                   predictions->gpu_name, model_gpu_peak(predictions->gpu), predictions->gpu->schedulers);
    for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++) {
        const struct latency_line *line = &predictions->lines[kind];
        columns_format(style, stream,
                       "%s accesses: latency %.2f x + %.0f cycles (%u points, %.0f %% off in the mean)\n",
                       access_names[kind], line->line.slope, line->line.intercept, line->count, 100 * line->residual);
    }
    bool whole = predictions->count == 0 || print_kernels(predictions, arena, style, stream);
    whole = print_pairs(predictions, arena, style, stream) && whole;
    for (size_t i = 0; i < predictions->count; i++) {
        const struct kernel_profile *profile = &predictions->profiles[i];
        if (profile->counted.status != CORUN_OK)
            columns_format(style, stream, "\n%s: not counted: %s\n", profile->workload, profile->counted.message);
        if (profile->sampled.status != CORUN_OK)
            columns_format(style, stream, "\n%s: not sampled: %s\n", profile->workload, profile->sampled.message);
    }
    arena_destroy(arena);
    return whole;
}

/* ---- JSON ---- */

static json_t *line_object(struct json_writer *writer, const struct latency_line *line)
{
    json_t *object = json_object(), *points = json_array();
    json_put(writer, object, "slope", json_number(line->line.slope));
    json_put(writer, object, "intercept", json_number(line->line.intercept));
    json_put(writer, object, "residual", json_number(line->residual));
    for (uint32_t i = 0; i < line->count; i++) {
        json_t *point = json_array();
        json_push(writer, point, json_number(line->points[i].requests));
        json_push(writer, point, json_number(line->points[i].cycles));
        json_push(writer, points, point);
    }
    json_put(writer, object, "points", points);
    return object;
}

static json_t *view_object(struct json_writer *writer, const struct kernel_view *view)
{
    const struct model_kernel *inputs = &view->inputs;
    json_t *object = json_object();
    json_put(writer, object, "status", json_text(corun_status_name(view->status)));
    json_put(writer, object, "message", json_text(view->message));
    if (view->status != CORUN_OK)
        return object;
    json_put(writer, object, "memory_share", json_number(inputs->memory_share));
    json_put(writer, object, "uncoalesced_share", json_number(inputs->uncoalesced_share));
    json_put(writer, object, "coalesced_requests", json_number(inputs->coalesced_requests));
    json_put(writer, object, "uncoalesced_requests", json_number(inputs->uncoalesced_requests));
    json_put(writer, object, "tb_instructions", json_number(inputs->tb_instructions));
    json_put(writer, object, "predicted_ipc", json_number(view->prediction.total));
    json_put(writer, object, "predicted_stalled", json_number(view->prediction.stalled));
    json_put(writer, object, "predicted_idle_warps", json_number(view->prediction.idle_warps));
    return object;
}

static json_t *profile_object(struct json_writer *writer, const struct kernel_profile *profile)
{
    json_t *object = json_object(), *counters = json_object();
    const struct model_kernel *counted = &profile->counted.inputs;
    bool known = profile->counted.status == CORUN_OK;
    size_t rows;
    const struct corun_counter_row *row = corun_counter_rows(&rows);
    json_put(writer, object, "workload", json_text(profile->workload));
    json_put(writer, object, "kernel", json_text(profile->kernel));
    json_put(writer, object, "cycles", json_count(profile->cycles));
    json_put(writer, object, "residents", json_count(profile->residents));
    json_put(writer, object, "tb_warps", json_count(known ? counted->tb_warps : profile->sampled.inputs.tb_warps));
    json_put(writer, object, "tbs", json_count(known ? counted->tbs : profile->sampled.inputs.tbs));
    json_put(writer, object, "ipc", json_number(known ? counted->ipc : (double)NAN));
    json_put(writer, object, "pipeline_utilization", json_number(known ? counted->pipeline_utilization : (double)NAN));
    json_put(writer, object, "memory_utilization", json_number(known ? counted->memory_utilization : (double)NAN));
    json_put(writer, object, "counted", view_object(writer, &profile->counted));
    json_put(writer, object, "sampled", view_object(writer, &profile->sampled));
    for (size_t i = 0; i < rows; i++)
        json_put(writer, counters, row[i].name,
                 json_count(*(const uint64_t *)((const char *)&profile->counters + row[i].offset)));
    json_put(writer, object, "counters", counters);
    return object;
}

static json_t *pair_object(struct json_writer *writer, const struct predictions *predictions,
                           const struct predicted_pair *pair)
{
    json_t *object = json_object(), *workloads = json_array(), *list = json_array();
    const struct model_co_schedule *balanced = model_balanced(pair->list, pair->count);
    const struct model_co_schedule *best = model_most_profitable(pair->list, pair->count);
    for (uint32_t k = 0; k < 2; k++)
        json_push(writer, workloads, json_text(predictions->profiles[pair->members[k]].workload));
    for (uint32_t i = 0; i < pair->count; i++) {
        const struct model_co_schedule *one = &pair->list[i];
        json_t *item = json_object(), *residents = json_array(), *ipc = json_array(), *seconds = json_array();
        for (uint32_t k = 0; k < 2; k++) {
            json_push(writer, residents, json_count(one->residents[k]));
            json_push(writer, ipc, json_number(one->ipc[k]));
            json_push(writer, seconds, json_number(one->seconds[k]));
        }
        json_put(writer, item, "residents", residents);
        json_put(writer, item, "ipc", ipc);
        json_put(writer, item, "profit", json_number(one->profit));
        json_put(writer, item, "seconds", seconds);
        json_put(writer, item, "imbalance", json_number(one->imbalance));
        json_put(writer, item, "balanced", json_boolean(one == balanced));
        json_put(writer, item, "most_profit", json_boolean(one == best));
        json_push(writer, list, item);
    }
    json_put(writer, object, "workloads", workloads);
    json_put(writer, object, "co_schedules", list);
    return object;
}

enum corun_status predictions_json(const struct predictions *predictions, FILE *stream)
{
    struct json_writer writer = {false};
    json_t *object = json_object(), *latency = json_object(), *kernels = json_array(), *pairs = json_array();
    json_put(&writer, object, "gpu", json_text(predictions->gpu_name));
    json_put(&writer, object, "cycles", json_count(predictions->cycles));
    json_put(&writer, object, "model_version", json_count(CORUN_MODEL_VERSION));
    json_put(&writer, object, "peak_ipc", json_number(model_gpu_peak(predictions->gpu)));
    json_put(&writer, object, "virtual_sms", json_count(predictions->gpu->schedulers));
    for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++)
        json_put(&writer, latency, access_names[kind], line_object(&writer, &predictions->lines[kind]));
    json_put(&writer, object, "latency", latency);
    for (size_t i = 0; i < predictions->count; i++)
        json_push(&writer, kernels, profile_object(&writer, &predictions->profiles[i]));
    for (size_t i = 0; i < predictions->pair_count; i++)
        json_push(&writer, pairs, pair_object(&writer, predictions, &predictions->pairs[i]));
    json_put(&writer, object, "kernels", kernels);
    json_put(&writer, object, "pairs", pairs);
    return json_write(&writer, object, stream);
}
