/* SPDX-License-Identifier: MIT */
/* Characterisations as JSON (docs/json.md). */
#include "report/characterization.h"

#include "report/figures.h"
#include "report/json_writer.h"

static json_t *json_sweep(struct json_writer *writer, const struct corun_characterization *item, int sweep)
{
    json_t *object = json_object(), *points = json_array();
    for (uint32_t i = 0; i < item->sweeps[sweep].count; i++) {
        const struct corun_sweep_point *point = &item->sweeps[sweep].points[i];
        json_t *row = json_object();
        json_put(writer, row, sweep == CORUN_SWEEP_SMS ? "sms" : "khz", json_count(point->value));
        json_put(writer, row, "ipc", json_number(point->ipc));
        json_put(writer, row, "speed_up", json_number(point->speed_up));
        json_push(writer, points, row);
    }
    json_put(writer, object, "exponent", json_number(item->exponents[sweep]));
    json_put(writer, object, "points", points);
    return object;
}

static json_t *json_kernels(struct json_writer *writer, const struct corun_characterization *item)
{
    json_t *kernels = json_array();
    for (uint32_t k = 0; k < item->kernel_count; k++) {
        const struct corun_kernel_result *kernel = &item->kernels[k];
        json_t *row = json_object();
        json_put(writer, row, "name", json_text(kernel->name));
        json_put(writer, row, "launches", json_count(kernel->launches));
        json_put(writer, row, "cycles", json_count(kernel->cycles));
        json_put(writer, row, "threads_per_tb", json_count(kernel->tb_threads));
        json_put(writer, row, "registers_per_thread", json_count(kernel->registers_per_thread));
        json_put(writer, row, "shared_bytes", json_count(kernel->tb_shared_bytes));
        json_put(writer, row, "tbs_per_sm", json_count(kernel->tbs_per_sm));
        json_push(writer, kernels, row);
    }
    return kernels;
}

static json_t *json_item(struct json_writer *writer, const struct corun_characterization *item)
{
    static const char *const names[] = {"sms", "memory_clock", "interconnect_clock"};
    struct corun_workload_info info;
    corun_workload_describe(item->workload, &info);
    json_t *object = json_object();
    json_put(writer, object, "workload", json_text(info.name));
    json_put(writer, object, "size", json_text(info.size));
    json_put(writer, object, "stated", json_text(corun_character_word(info.character)));
    json_put(writer, object, "complete", json_boolean(item->complete));
    json_put(writer, object, "error", item->status ? json_text(item->message) : json_null());
    if (!item->complete)
        return object;
    json_put(writer, object, "class", json_text(corun_character_word(item->measured)));
    json_put(writer, object, "clause", json_text(item->clause));
    json_put(writer, object, "cycles", json_count(item->cycles));
    json_put(writer, object, "runs", json_count(item->runs));
    json_put(writer, object, "thread_instructions", json_count(item->thread_instructions));
    json_put(writer, object, "filled", json_number(item->fill));
    json_put(writer, object, "dram_utilisation", json_number(figure_dram_utilisation(&item->memory)));
    size_t count;
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    json_t *counters = json_object();
    for (size_t i = 0; i < count; i++)
        json_put(writer, counters, rows[i].name, json_count(figure_counter(&item->counters, &rows[i])));
    json_put(writer, object, "counters", counters);
    json_put(writer, object, "kernels", json_kernels(writer, item));
    for (int sweep = 0; sweep < CORUN_SWEEP_COUNT; sweep++)
        json_put(writer, object, names[sweep], json_sweep(writer, item, sweep));
    return object;
}

enum corun_status characterization_json(const struct corun_characterize_result *result, FILE *stream)
{
    struct json_writer writer = {0};
    json_t *object = json_object(), *items = json_array();
    json_put(&writer, object, "gpu", json_text(result->gpu.name));
    json_put(&writer, object, "window_cycles", json_count(result->cycles));
    json_put(&writer, object, "seed", json_seed(result->seed));
    json_put(&writer, object, "interrupted", json_boolean(result->interrupted));
    for (size_t i = 0; i < result->count; i++)
        json_push(&writer, items, json_item(&writer, &result->items[i]));
    json_put(&writer, object, "workloads", items);
    return json_write(&writer, object, stream);
}
