/* SPDX-License-Identifier: MIT */
/* An isolated run is simulated on a GPU of its own; its figures are written to the cache as JSON and read back. */
#include "case/baseline.h"

#include "case/fingerprint.h"
#include "corun/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A thread block that runs longer than this without timing is taken to run for ever. */
#define FUNCTIONAL_WATCHDOG UINT64_C(1000000000)

enum corun_status baseline_digest_workload(struct content_digest *digest, const struct corun_workload *workload,
                                           uint64_t seed)
{
    void *content;
    size_t bytes;
    enum corun_status status = corun_workload_content(workload, seed, &content, &bytes);
    if (status != CORUN_OK)
        return status;
    content_digest_add(digest, "workload", content, bytes);
    content_digest_add_number(digest, "seed", seed);
    content_digest_add_number(digest, "machine code", corun_workload_rewrites(workload));
    content_digest_add_number(digest, "model version", CORUN_MODEL_VERSION);
    content_digest_add(digest, "model", model_fingerprint(), strlen(model_fingerprint()));
    content_digest_add_number(digest, "results version", CORUN_RESULTS_VERSION);
    free(content);
    return CORUN_OK;
}

void baseline_digest_gpu(struct content_digest *digest, const struct corun_gpu_config *gpu)
{
    size_t count;
    const struct corun_gpu_parameter *parameters = corun_gpu_parameters(&count);
    for (size_t i = 0; i < count; i++) {
        uint32_t value;
        memcpy(&value, (const char *)gpu + parameters[i].offset, sizeof value);
        content_digest_add_number(digest, parameters[i].name, value);
    }
}

void baseline_digest_kernels_gpu(struct content_digest *digest, const struct corun_gpu_config *gpu)
{
    struct corun_gpu_config without = *gpu;
    without.copy_engines = without.pcie_latency_ns = without.pcie_pinned_mbps = without.pcie_pageable_mbps = 0;
    baseline_digest_gpu(digest, &without);
}

enum corun_status baseline_key(const struct baseline_request *request, struct content_key *key)
{
    struct content_digest *digest = content_digest_create();
    if (!digest)
        return CORUN_MEMORY;
    content_digest_add(digest, "kind", "isolated", 8);
    enum corun_status status = baseline_digest_workload(digest, request->workload, request->seed);
    baseline_digest_gpu(digest, request->gpu);
    content_digest_add_number(digest, "window cycles", request->window.cycles);
    content_digest_add_number(digest, "window thread instructions", request->window.thread_instructions);
    content_digest_add_number(digest, "window runs", request->window.runs);
    content_digest_add_number(digest, "watchdog", request->window.watchdog_cycles);
    *key = content_digest_end(digest);
    return status;
}

/* What a cached result consists of, besides the kernels' names and counters: F(structure, field) */
#define BASELINE_FIELDS(F) \
    F(baseline, cycles) \
    F(baseline, thread_instructions) \
    F(baseline, runs) \
    F(baseline, memory.dram_cycles) \
    F(baseline, memory.dram_busy_cycles) \
    F(baseline, memory.icnt_cycles) \
    F(baseline, memory.icnt_busy_cycles)
#define KERNEL_FIELDS(F) \
    F(kernel, launches) \
    F(kernel, cycles) \
    F(kernel, tbs_per_sm) \
    F(kernel, registers_per_thread) \
    F(kernel, tb_shared_bytes) \
    F(kernel, tb_threads)

uint64_t baseline_curve_step(uint64_t window_cycles)
{
    return (window_cycles + BASELINE_POINTS - 1) / BASELINE_POINTS;
}

void baseline_curve_add(struct baseline_curve *curve, uint64_t cycles, uint64_t thread_instructions)
{
    if (!curve->count)
        curve->points[curve->count++] = (struct baseline_point){0, 0};
    const struct baseline_point *last = &curve->points[curve->count - 1];
    if (cycles > last->cycles && thread_instructions >= last->thread_instructions &&
        curve->count < sizeof curve->points / sizeof *curve->points)
        curve->points[curve->count++] = (struct baseline_point){cycles, thread_instructions};
}

static bool read_number(const json_t *values, const char *name, uint64_t *number)
{
    const json_t *value = json_object_get(values, name);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *number = (uint64_t)json_integer_value(value);
    return true;
}

static bool unpack_kernel(const json_t *values, struct arena *arena, struct corun_kernel_result *kernel)
{
    uint64_t number;
    const char *name = json_string_value(json_object_get(values, "name"));
    if (!name || !(kernel->name = arena_copy_text(arena, name, strlen(name))))
        return false;
#define READ(structure, field) \
    if (!read_number(values, #field, &number)) \
        return false; \
    structure->field = (__typeof__(structure->field))number;
    KERNEL_FIELDS(READ)
    size_t count;
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    const json_t *counters = json_object_get(values, "counters");
    for (size_t i = 0; i < count; i++) {
        if (!read_number(counters, rows[i].name, &number))
            return false;
        memcpy((char *)&kernel->counters + rows[i].offset, &number, sizeof number);
    }
    return true;
}

/* Cycles and instructions by turns. */
static bool unpack_curve(const json_t *values, struct baseline_curve *curve)
{
    size_t count = json_array_size(values);
    if (!json_is_array(values) || count % 2 || count > 2 * (sizeof curve->points / sizeof *curve->points))
        return false;
    for (size_t i = 0; i < count; i += 2) {
        json_int_t cycles = json_integer_value(json_array_get(values, i));
        json_int_t instructions = json_integer_value(json_array_get(values, i + 1));
        if (cycles < 0 || instructions < 0)
            return false;
        if (i || cycles || instructions)
            baseline_curve_add(curve, (uint64_t)cycles, (uint64_t)instructions);
    }
    return curve->count == count / 2;
}

static bool unpack(const json_t *values, struct arena *arena, struct baseline *baseline)
{
    uint64_t number;
    *baseline = (struct baseline){0};
    BASELINE_FIELDS(READ)
#undef READ
    const json_t *kernels = json_object_get(values, "kernels");
    size_t count = json_array_size(kernels);
    struct corun_kernel_result *copies = ARENA_ARRAY(arena, struct corun_kernel_result, count + 1);
    if (!json_is_array(kernels) || !copies)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!unpack_kernel(json_array_get(kernels, i), arena, &copies[i]))
            return false;
    }
    baseline->kernel_count = (uint32_t)count;
    baseline->kernels = copies;
    return unpack_curve(json_object_get(values, "curve"), &baseline->curve);
}

/* jansson reports a failure to allocate when the text is written: NULL is taken everywhere. */
static json_t *pack_kernel(const struct corun_kernel_result *kernel)
{
    json_t *values = json_object(), *counters = json_object();
    json_object_set_new(values, "name", json_string(kernel->name));
#define WRITE(structure, field) json_object_set_new(values, #field, json_integer((json_int_t)structure->field));
    KERNEL_FIELDS(WRITE)
    size_t count;
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    for (size_t i = 0; i < count; i++) {
        uint64_t number;
        memcpy(&number, (const char *)&kernel->counters + rows[i].offset, sizeof number);
        json_object_set_new(counters, rows[i].name, json_integer((json_int_t)number));
    }
    json_object_set_new(values, "counters", counters);
    return values;
}

static json_t *pack(const struct baseline *baseline)
{
    json_t *values = json_object(), *kernels = json_array(), *curve = json_array();
    BASELINE_FIELDS(WRITE)
#undef WRITE
    for (uint32_t i = 0; i < baseline->kernel_count; i++)
        json_array_append_new(kernels, pack_kernel(&baseline->kernels[i]));
    for (uint32_t i = 0; i < baseline->curve.count; i++) {
        json_array_append_new(curve, json_integer((json_int_t)baseline->curve.points[i].cycles));
        json_array_append_new(curve, json_integer((json_int_t)baseline->curve.points[i].thread_instructions));
    }
    json_object_set_new(values, "kernels", kernels);
    json_object_set_new(values, "curve", curve);
    return values;
}

bool baseline_load(const char *cache_directory, const struct content_key *key, struct arena *arena,
                   struct corun_diagnostics *list, struct baseline *baseline)
{
    json_t *values = cache_directory ? cache_load(cache_directory, key, list) : NULL;
    bool loaded = values && unpack(values, arena, baseline);
    if (values && !loaded)
        corun_report(list, CORUN_OK, CORUN_NOWHERE, "cached result %s is not used: values are missing", key->hex);
    json_decref(values);
    return loaded;
}

void baseline_store(const char *cache_directory, const struct content_key *key, const struct baseline_request *request,
                    const struct baseline *baseline, struct corun_diagnostics *list)
{
    if (!cache_directory || baseline->status != CORUN_OK || baseline->interrupted)
        return;
    json_t *values = pack(baseline);
    struct corun_workload_info info;
    corun_workload_describe(request->workload, &info);
    char about[256];
    snprintf(about, sizeof about, "%s@%s alone on %s", info.name, info.size ? info.size : "-", request->gpu->name);
    if (values)
        cache_store(cache_directory, key, about, values, list);
    json_decref(values);
}

enum corun_status baseline_take(const struct corun_gpu *gpu, uint32_t application, struct arena *arena,
                                struct baseline *baseline)
{
    struct corun_application_result result;
    corun_gpu_application(gpu, application, &result);
    struct corun_kernel_result *kernels = ARENA_ARRAY(arena, struct corun_kernel_result, result.kernel_count + 1);
    if (!kernels)
        return CORUN_MEMORY;
    for (uint32_t k = 0; k < result.kernel_count; k++) {
        corun_gpu_kernel(gpu, application, k, &kernels[k]);
        kernels[k].name = arena_copy_text(arena, kernels[k].name, strlen(kernels[k].name));
        if (!kernels[k].name)
            return CORUN_MEMORY;
    }
    *baseline = (struct baseline){.status = result.status,
                                  .cycles = result.ended_cycle - result.arrived_cycle,
                                  .thread_instructions = result.thread_instructions,
                                  .runs = result.runs,
                                  .kernel_count = result.kernel_count,
                                  .kernels = kernels};
    corun_gpu_memory(gpu, &baseline->memory);
    return CORUN_OK;
}

enum corun_status baseline_copy(struct arena *arena, const struct baseline *from, struct baseline *to)
{
    struct corun_kernel_result *kernels = ARENA_ARRAY(arena, struct corun_kernel_result, from->kernel_count + 1);
    *to = *from;
    to->kernels = kernels;
    for (uint32_t k = 0; kernels && k < from->kernel_count; k++) {
        kernels[k] = from->kernels[k];
        kernels[k].name = arena_copy_text(arena, from->kernels[k].name, strlen(from->kernels[k].name));
        if (!kernels[k].name)
            return CORUN_MEMORY;
    }
    return kernels ? CORUN_OK : CORUN_MEMORY;
}

struct corun_counters baseline_counters(const struct baseline *baseline)
{
    struct corun_counters sum = {0};
    for (uint32_t k = 0; k < baseline->kernel_count; k++)
        corun_counters_add(&sum, &baseline->kernels[k].counters);
    return sum;
}

/* Remembers that the run was ended early: such a result must not be kept. */
struct watch {
    bool (*progress)(void *user, uint64_t cycle);
    void *user;
    bool interrupted;
    const struct corun_gpu *gpu;
    struct baseline_curve curve;
};

/* Another point of the curve; the run goes on. */
static bool watch_curve(void *user, uint64_t cycle)
{
    struct watch *watch = user;
    struct corun_application_result result;
    corun_gpu_application(watch->gpu, 0, &result);
    baseline_curve_add(&watch->curve, cycle, result.thread_instructions);
    return false;
}

static bool watch_progress(void *user, uint64_t cycle)
{
    struct watch *watch = user;
    if (watch->progress && !watch->progress(watch->user, cycle))
        watch->interrupted = true;
    return !watch->interrupted;
}

enum corun_status baseline_compute(const struct baseline_request *request, struct arena *arena,
                                   struct corun_diagnostics *list, bool (*progress)(void *user, uint64_t cycle),
                                   void *user, struct baseline *baseline)
{
    struct corun_gpu *gpu = NULL;
    struct corun_instance *instance = NULL;
    struct watch watch = {.progress = progress, .user = user};
    enum corun_status status = corun_gpu_create(request->gpu, list, &gpu);
    if (status == CORUN_OK)
        status = corun_instance_create_from(request->workload, 0, request->seed, request->record, list, &instance);
    if (status == CORUN_OK) {
        struct corun_application_description description = {0};
        uint32_t application;
        corun_instance_fill(instance, &description);
        status = corun_gpu_add(gpu, &description, &application);
    }
    if (status == CORUN_OK) {
        struct corun_limits limits = {.cycles = request->window.cycles,
                                      .thread_instructions = request->window.thread_instructions,
                                      .runs = request->window.runs,
                                      .watchdog_cycles = request->window.watchdog_cycles,
                                      .threads = request->threads,
                                      .progress = watch_progress,
                                      .look = request->window.cycles ? watch_curve : NULL,
                                      .look_cycles = baseline_curve_step(request->window.cycles),
                                      .user = &watch};
        watch.gpu = gpu;
        status = corun_gpu_run(gpu, &limits, list);
    }
    if (status == CORUN_OK)
        status = baseline_take(gpu, 0, arena, baseline);
    if (status == CORUN_OK) {
        baseline->interrupted = watch.interrupted;
        baseline->curve = watch.curve;
        if (request->window.cycles)
            baseline_curve_add(&baseline->curve, baseline->cycles, baseline->thread_instructions);
    }
    corun_gpu_destroy(gpu); /* before the instance, whose grids it refers to */
    corun_instance_destroy(instance);
    return status;
}

enum corun_status baseline_run_instructions(const struct corun_workload *workload, uint64_t seed,
                                            const char *cache_directory, struct corun_diagnostics *list,
                                            uint64_t *thread_instructions)
{
    struct content_digest *digest = content_digest_create();
    if (!digest)
        return CORUN_MEMORY;
    content_digest_add(digest, "kind", "one run", 7);
    enum corun_status status = baseline_digest_workload(digest, workload, seed);
    struct content_key key = content_digest_end(digest);
    if (status != CORUN_OK)
        return status;
    json_t *values = cache_directory ? cache_load(cache_directory, &key, list) : NULL;
    json_int_t stored = -1;
    if (values && json_unpack(values, "{s:I}", "thread_instructions", &stored) == 0 && stored >= 0) {
        *thread_instructions = (uint64_t)stored;
        json_decref(values);
        return CORUN_OK;
    }
    json_decref(values);

    struct corun_instance *instance;
    status = corun_instance_create(workload, 0, seed, list, &instance);
    if (status != CORUN_OK)
        return status;
    struct corun_functional_result result;
    status = corun_instance_run(instance, FUNCTIONAL_WATCHDOG, list, NULL, NULL, &result);
    corun_instance_destroy(instance);
    if (status != CORUN_OK)
        return status;
    *thread_instructions = result.thread_instructions;
    if (cache_directory &&
        (values = json_pack("{s:I}", "thread_instructions", (json_int_t)result.thread_instructions))) {
        struct corun_workload_info info;
        char about[256];
        corun_workload_describe(workload, &info);
        snprintf(about, sizeof about, "instructions of one run of %s@%s", info.name, info.size ? info.size : "-");
        cache_store(cache_directory, &key, about, values, list);
        json_decref(values);
    }
    return CORUN_OK;
}
