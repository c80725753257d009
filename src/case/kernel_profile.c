/* SPDX-License-Identifier: MIT */
/* Profiles of a workload's main kernel: from the counters of its isolated run, which is kept, and from a sample of thread blocks. */
#include "case/kernel_profile.h"

#include <math.h>
#include <string.h>

/* A thread block that runs longer than this without timing is taken to run for ever. */
#define SAMPLE_WATCHDOG UINT64_C(100000000)

static enum corun_status run_alone(const struct kernel_profile_request *request, struct arena *arena,
                                   struct corun_diagnostics *list, bool (*progress)(void *user, uint64_t cycle),
                                   void *user, struct baseline *baseline)
{
    const struct baseline_request isolated = {.gpu = request->config,
                                              .workload = request->workload,
                                              .seed = request->seed,
                                              .window = {.cycles = request->cycles},
                                              .threads = 1};
    struct content_key key;
    enum corun_status status = baseline_key(&isolated, &key);
    if (status != CORUN_OK)
        return status;
    if (request->cache_directory && baseline_load(request->cache_directory, &key, arena, list, baseline))
        return baseline->status;
    status = baseline_compute(&isolated, arena, list, progress, user, baseline);
    if (status == CORUN_OK && baseline->interrupted)
        return CORUN_TIMEOUT;
    if (status == CORUN_OK && baseline->status == CORUN_OK && request->cache_directory)
        baseline_store(request->cache_directory, &key, &isolated, baseline, list);
    return status == CORUN_OK ? baseline->status : status;
}

/* In which most of the time goes by. */
static const struct corun_kernel_result *main_kernel(const struct baseline *baseline)
{
    const struct corun_kernel_result *longest = NULL;
    for (uint32_t k = 0; k < baseline->kernel_count; k++)
        if (!longest || baseline->kernels[k].cycles > longest->cycles)
            longest = &baseline->kernels[k];
    return longest;
}

/* What is wrong with a view, in its own words: those of the list that it had for itself. */
static void fail(struct kernel_view *view, struct arena *arena, enum corun_status status,
                 const struct corun_diagnostics *list, const char *otherwise)
{
    size_t count = list ? corun_diagnostics_count(list) : 0;
    const char *text = count ? corun_diagnostics_get(list, count - 1)->message : otherwise;
    view->status = status;
    view->message = arena_copy_text(arena, text, strlen(text));
    if (!view->message)
        view->message = otherwise;
}

static void predict(const struct kernel_profile_request *request, struct arena *arena, uint32_t residents,
                    struct kernel_view *view)
{
    if (view->status != CORUN_OK)
        return;
    view->status = model_predict(request->gpu, &view->inputs, residents, MODEL_EXACT, &view->prediction);
    if (view->status != CORUN_OK)
        fail(view, arena, view->status, NULL, "the model has no answer for these numbers");
}

/* Launches up to the kernel's first one run without timing; some of its thread blocks then are the sample. */
static void sample(const struct kernel_profile_request *request, struct arena *arena, struct corun_instance *instance,
                   const char *name, struct kernel_view *view)
{
    struct corun_diagnostics *own = corun_diagnostics_create();
    enum corun_status status = own ? corun_instance_restart(instance) : CORUN_MEMORY;
    if (status == CORUN_OK)
        status = CORUN_NOT_FOUND;
    for (uint32_t i = 0; status == CORUN_NOT_FOUND; i++) {
        const struct corun_grid *grid = corun_instance_grid(instance, i);
        if (!grid)
            break;
        if (!strcmp(grid->name, name)) {
            struct corun_gpu_config config = *request->config; /* with the L1 that the kernel has */
            config.l1_bytes = corun_gpu_l1_bytes(&config, corun_gpu_shared_setting(&config, grid));
            status = model_profile_sample(&config, grid, request->samples, SAMPLE_WATCHDOG, own, &view->inputs);
        } else {
            struct corun_functional_result unused;
            enum corun_status ran =
                corun_run_functional((struct corun_grid *)(uintptr_t)grid, SAMPLE_WATCHDOG, own, NULL, NULL, &unused);
            status = ran == CORUN_OK ? CORUN_NOT_FOUND : ran;
        }
    }
    if (status != CORUN_OK)
        fail(view, arena, status, own, "the kernel is not among the launches");
    corun_diagnostics_destroy(own);
}

static const struct corun_grid *first_grid(const struct corun_instance *instance, const char *name)
{
    for (uint32_t i = 0; i < corun_instance_grid_count(instance); i++) {
        const struct corun_grid *grid = corun_instance_grid_at(instance, i);
        if (grid && !strcmp(grid->name, name))
            return grid;
    }
    return NULL;
}

/* As many thread blocks as fit on an SM, and as there are for it. */
static uint32_t residents_of(const struct model_gpu *gpu, const struct model_kernel *kernel)
{
    uint32_t fit = model_kernel_residents(gpu, kernel);
    uint64_t there = (kernel->tbs + gpu->sms - 1) / gpu->sms;
    return there < fit ? (uint32_t)there : fit;
}

static enum corun_status view_both(const struct kernel_profile_request *request, struct arena *arena,
                                   struct corun_instance *instance, const struct corun_kernel_result *counted,
                                   struct corun_diagnostics *list, struct kernel_profile *profile)
{
    const struct corun_grid *grid = first_grid(instance, counted->name);
    if (!grid)
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "%s: %s is not among its launches", profile->workload,
                            profile->kernel);
    profile->counted.status =
        model_profile_counters(request->config, grid, &counted->counters, counted->cycles, &profile->counted.inputs);
    if (profile->counted.status != CORUN_OK)
        fail(&profile->counted, arena, profile->counted.status, NULL,
             "it issued no instruction in the window: more cycles are needed");
    if (request->samples)
        sample(request, arena, instance, counted->name, &profile->sampled);
    else
        fail(&profile->sampled, arena, CORUN_NOT_FOUND, NULL, "nothing was sampled");
    if (profile->counted.status == CORUN_OK && isnan(profile->counted.inputs.tb_instructions)) {
        if (profile->sampled.status == CORUN_OK)
            profile->counted.inputs.tb_instructions = profile->sampled.inputs.tb_instructions;
        else
            fail(&profile->counted, arena, CORUN_ARGUMENT, NULL,
                 "no thread block of it was completed in the window: more cycles are needed, or a sample");
    }
    const struct kernel_view *known = profile->counted.status == CORUN_OK ? &profile->counted : &profile->sampled;
    profile->residents = known->status == CORUN_OK ? residents_of(request->gpu, &known->inputs) : 0;
    predict(request, arena, profile->residents, &profile->counted);
    predict(request, arena, profile->residents, &profile->sampled);
    return CORUN_OK;
}

enum corun_status kernel_profile_measure(const struct kernel_profile_request *request, struct arena *arena,
                                         struct corun_diagnostics *list, bool (*progress)(void *user, uint64_t cycle),
                                         void *user, struct kernel_profile *profile)
{
    struct corun_workload_info info;
    struct baseline baseline;
    struct corun_instance *instance = NULL;
    corun_workload_describe(request->workload, &info);
    *profile = (struct kernel_profile){.counted = {.message = ""}, .sampled = {.message = ""}};
    profile->workload = arena_format(arena, "%s@%s", info.name, info.size ? info.size : "");
    enum corun_status status = profile->workload ? CORUN_OK : CORUN_MEMORY;
    if (status == CORUN_OK && info.size_count == 0)
        status = corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                              "%s is a captured program: its launches are not known before they are made", info.name);
    if (status == CORUN_OK)
        status = run_alone(request, arena, list, progress, user, &baseline);
    if (status != CORUN_OK)
        return status;
    const struct corun_kernel_result *counted = main_kernel(&baseline);
    if (!counted)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s launched nothing in the window",
                            profile->workload);
    profile->kernel = counted->name;
    profile->cycles = counted->cycles;
    profile->counters = counted->counters;
    status = corun_instance_create(request->workload, 0, request->seed, list, &instance);
    if (status == CORUN_OK)
        status = view_both(request, arena, instance, counted, list, profile);
    corun_instance_destroy(instance);
    return status;
}
