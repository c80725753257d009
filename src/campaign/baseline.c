#include "campaign/baseline.h"

#include "campaign/fingerprint.h"
#include "corun/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A thread block that runs longer than this without timing is taken to run for ever. */
#define FUNCTIONAL_WATCHDOG UINT64_C(1000000000)

static enum corun_status digest_workload(struct content_digest *digest, const struct corun_workload *workload,
                                         uint64_t seed)
{
    void *content;
    size_t bytes;
    enum corun_status status = corun_workload_content(workload, seed, &content, &bytes);
    if (status != CORUN_OK)
        return status;
    content_digest_add(digest, "workload", content, bytes);
    content_digest_add_number(digest, "seed", seed);
    content_digest_add_number(digest, "model version", CORUN_MODEL_VERSION);
    content_digest_add(digest, "model", model_fingerprint(), strlen(model_fingerprint()));
    content_digest_add_number(digest, "results version", CORUN_RESULTS_VERSION);
    free(content);
    return CORUN_OK;
}

enum corun_status baseline_key(const struct baseline_request *request, struct content_key *key)
{
    struct content_digest *digest = content_digest_create();
    if (!digest)
        return CORUN_MEMORY;
    content_digest_add(digest, "kind", "isolated", 8);
    enum corun_status status = digest_workload(digest, request->workload, request->seed);
    size_t count;
    const struct corun_gpu_parameter *parameters = corun_gpu_parameters(&count);
    for (size_t i = 0; i < count; i++) {
        uint32_t value;
        memcpy(&value, (const char *)request->gpu + parameters[i].offset, sizeof value);
        content_digest_add_number(digest, parameters[i].name, value);
    }
    content_digest_add_number(digest, "window cycles", request->window.cycles);
    content_digest_add_number(digest, "window thread instructions", request->window.thread_instructions);
    content_digest_add_number(digest, "window runs", request->window.runs);
    content_digest_add_number(digest, "watchdog", request->window.watchdog_cycles);
    *key = content_digest_end(digest);
    return status;
}

static bool unpack(json_t *values, struct arena *arena, struct baseline *baseline)
{
    json_int_t cycles, thread_instructions;
    json_t *kernels;
    if (json_unpack(values, "{s:I, s:I, s:o}", "cycles", &cycles, "thread_instructions", &thread_instructions,
                    "kernels", &kernels) ||
        !json_is_array(kernels) || cycles < 0 || thread_instructions < 0)
        return false;
    size_t count = json_array_size(kernels);
    struct baseline_kernel *copies = ARENA_ARRAY(arena, struct baseline_kernel, count + 1);
    if (!copies)
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *name;
        json_int_t kernel_cycles, kernel_instructions;
        if (json_unpack(json_array_get(kernels, i), "{s:s, s:I, s:I}", "name", &name, "cycles", &kernel_cycles,
                        "thread_instructions", &kernel_instructions) ||
            kernel_cycles < 0 || kernel_instructions < 0)
            return false;
        copies[i] = (struct baseline_kernel){arena_copy_text(arena, name, strlen(name)), (uint64_t)kernel_cycles,
                                             (uint64_t)kernel_instructions};
        if (!copies[i].name)
            return false;
    }
    *baseline = (struct baseline){.cycles = (uint64_t)cycles,
                                  .thread_instructions = (uint64_t)thread_instructions,
                                  .kernel_count = (uint32_t)count,
                                  .kernels = copies};
    return true;
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
    json_t *kernels = json_array();
    for (uint32_t i = 0; kernels && i < baseline->kernel_count; i++) {
        const struct baseline_kernel *kernel = &baseline->kernels[i];
        json_array_append_new(kernels,
                              json_pack("{s:s, s:I, s:I}", "name", kernel->name, "cycles", (json_int_t)kernel->cycles,
                                        "thread_instructions", (json_int_t)kernel->thread_instructions));
    }
    json_t *values = json_pack("{s:I, s:I, s:o}", "cycles", (json_int_t)baseline->cycles, "thread_instructions",
                               (json_int_t)baseline->thread_instructions, "kernels", kernels);
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
    struct baseline_kernel *kernels = ARENA_ARRAY(arena, struct baseline_kernel, result.kernel_count + 1);
    if (!kernels)
        return CORUN_MEMORY;
    for (uint32_t k = 0; k < result.kernel_count; k++) {
        struct corun_kernel_result kernel;
        corun_gpu_kernel(gpu, application, k, &kernel);
        kernels[k] = (struct baseline_kernel){arena_copy_text(arena, kernel.name, strlen(kernel.name)), kernel.cycles,
                                              kernel.counters.thread_instructions};
        if (!kernels[k].name)
            return CORUN_MEMORY;
    }
    *baseline = (struct baseline){.status = result.status,
                                  .cycles = result.ended_cycle - result.arrived_cycle,
                                  .thread_instructions = result.thread_instructions,
                                  .kernel_count = result.kernel_count,
                                  .kernels = kernels};
    return CORUN_OK;
}

/* Remembers that the run was ended early: such a result must not be kept. */
struct watch {
    bool (*progress)(void *user, uint64_t cycle);
    void *user;
    bool interrupted;
};

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
    struct watch watch = {progress, user, false};
    enum corun_status status = corun_gpu_create(request->gpu, list, &gpu);
    if (status == CORUN_OK)
        status = corun_instance_create(request->workload, 0, request->seed, list, &instance);
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
                                      .user = &watch};
        status = corun_gpu_run(gpu, &limits, list);
    }
    if (status == CORUN_OK)
        status = baseline_take(gpu, 0, arena, baseline);
    if (status == CORUN_OK)
        baseline->interrupted = watch.interrupted;
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
    enum corun_status status = digest_workload(digest, workload, seed);
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
