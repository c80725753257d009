/* SPDX-License-Identifier: MIT */
/* A launch of `corun launch`: module, arguments, grid, then a GPU or a functional run, and what is saved afterwards. */
#include "case/launch.h"

#include "base/launch_bounds.h"
#include "base/nearest.h"
#include "case/metrics.h"
#include "case/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A thread block that runs longer than this without timing is taken to run for ever. */
#define FUNCTIONAL_WATCHDOG UINT64_C(400000000)

struct launch {
    const struct launch_request *request;
    struct corun_diagnostics *list;
    struct arena *arena;
    struct corun_module *module;
    struct corun_memory *memory;
    struct corun_module_instance *instance;
    struct corun_grid *grid;
    struct corun_gpu *gpu;
    struct argument *arguments;
    bool interrupted;
};

static enum corun_status find_kernel(struct launch *launch, const struct corun_kernel **kernel)
{
    const struct launch_request *request = launch->request;
    size_t count = corun_module_kernel_count(launch->module);
    struct corun_place place = {request->path, 0, 0};
    *kernel = request->kernel ? corun_module_kernel(launch->module, request->kernel) : NULL;
    if (*kernel)
        return CORUN_OK;
    if (!count)
        return corun_report(launch->list, CORUN_NOT_FOUND, place, "it has no kernel (.entry)");
    if (!request->kernel && count == 1) {
        *kernel = corun_module_kernel_at(launch->module, 0);
        return CORUN_OK;
    }
    const char **names = ARENA_ARRAY(launch->arena, const char *, count);
    const char *all = "";
    for (size_t i = 0; names && all && i < count; i++) {
        struct corun_kernel_info info;
        corun_kernel_describe(corun_module_kernel_at(launch->module, i), &info);
        names[i] = info.name;
        all = i < 20 ? arena_format(launch->arena, "%s%s%s", all, i ? ", " : "", info.name) : all;
    }
    if (!names || !all)
        return CORUN_MEMORY;
    if (!request->kernel)
        return corun_report(launch->list, CORUN_USAGE, place, "it has %zu kernels: name one with --kernel (%s)", count,
                            all);
    const char *nearest = nearest_name(request->kernel, names, count);
    if (nearest)
        return corun_report(launch->list, CORUN_NOT_FOUND, place, "there is no kernel `%s`; did you mean `%s`?",
                            request->kernel, nearest);
    return corun_report(launch->list, CORUN_NOT_FOUND, place, "there is no kernel `%s`; it has %s", request->kernel,
                        all);
}

static enum corun_status prepare_arguments(struct launch *launch)
{
    const struct launch_request *request = launch->request;
    launch->arguments = ARENA_ARRAY(launch->arena, struct argument, request->argument_count + 1);
    if (!launch->arguments)
        return CORUN_MEMORY;
    for (size_t i = 0; i < request->argument_count; i++) {
        enum corun_status status =
            argument_parse(request->arguments[i], launch->arena, launch->list, &launch->arguments[i]);
        if (status != CORUN_OK)
            return status;
    }
    for (size_t i = 0; i < request->save_count; i++) {
        uint32_t argument = request->saves[i].argument;
        if (argument >= request->argument_count)
            return corun_report(launch->list, CORUN_USAGE, CORUN_NOWHERE,
                                "--save %u=%s: there are %zu arguments, counted from 0", argument,
                                request->saves[i].path, request->argument_count);
        if (launch->arguments[argument].kind != ARGUMENT_BUFFER)
            return corun_report(launch->list, CORUN_USAGE, CORUN_NOWHERE,
                                "--save %u=%s: argument %u is not a buffer (%s)", argument, request->saves[i].path,
                                argument, request->arguments[argument]);
    }
    return CORUN_OK;
}

static enum corun_status make_grid(struct launch *launch, const struct corun_kernel *kernel,
                                   const struct corun_kernel_info *info)
{
    const struct launch_request *request = launch->request;
    if (request->dynamic_shared_bytes > UINT32_MAX)
        return corun_report(launch->list, CORUN_LIMIT, CORUN_NOWHERE,
                            "%llu bytes of shared memory are more than any SM has",
                            (unsigned long long)request->dynamic_shared_bytes);
    for (size_t i = 0; i < request->argument_count; i++) {
        enum corun_status status = argument_place(&launch->arguments[i], launch->memory, launch->list);
        if (status != CORUN_OK)
            return status;
    }
    void *block = NULL;
    enum corun_status status =
        argument_pack(launch->arguments, request->argument_count, info, launch->arena, launch->list, &block);
    if (status != CORUN_OK)
        return status;
    struct corun_launch_description description = {.kernel = kernel,
                                                   .grid = request->grid,
                                                   .block = request->block,
                                                   .dynamic_shared_bytes = (uint32_t)request->dynamic_shared_bytes,
                                                   .parameters = block,
                                                   .parameter_bytes = info->parameter_bytes};
    status = corun_grid_create(launch->instance, &description, launch->list, &launch->grid);
    if (status != CORUN_OK)
        launch->grid = NULL;
    return status;
}

static const struct corun_grid *next_grid(void *user, uint32_t index)
{
    return index ? NULL : ((struct launch *)user)->grid;
}

static void print_text(void *user, const char *text, size_t bytes)
{
    const struct launch_request *request = ((struct launch *)user)->request;
    if (request->print)
        request->print(request->print_user, text, bytes);
}

static bool watch_progress(void *user, uint64_t cycle)
{
    struct launch *launch = user;
    const struct launch_request *request = launch->request;
    if (request->progress && !request->progress(request->progress_user, cycle))
        launch->interrupted = true;
    return !launch->interrupted;
}

static enum corun_status run_timed(struct launch *launch, struct launch_result *result)
{
    const struct launch_request *request = launch->request;
    enum corun_status status = corun_gpu_create(request->gpu, launch->list, &launch->gpu);
    if (status != CORUN_OK) {
        launch->gpu = NULL;
        return status;
    }
    struct corun_application_description description = {
        .name = result->kernel, .grid = next_grid, .print = print_text, .user = launch};
    uint32_t application;
    status = corun_gpu_add(launch->gpu, &description, &application);
    struct corun_limits limits = {.runs = 1,
                                  .watchdog_cycles = request->watchdog,
                                  .launch_cycles =
                                      simulated_duration_cycles(&request->timeout, request->gpu->core_clock_khz),
                                  .threads = request->threads,
                                  .progress = watch_progress,
                                  .user = launch};
    run_threads_warn(request->threads, request->gpu, launch->list);
    double start = run_clock();
    if (status == CORUN_OK)
        status = corun_gpu_run(launch->gpu, &limits, launch->list);
    result->wall_seconds = run_clock() - start;
    if (status != CORUN_OK)
        return status;
    struct corun_application_result measured;
    corun_gpu_application(launch->gpu, application, &measured);
    result->status = measured.status;
    result->interrupted = launch->interrupted;
    result->cycles = corun_gpu_cycles(launch->gpu);
    result->profiled_cycles = result->cycles + launch->request->gpu->profiled_launch_cycles;
    result->thread_instructions = measured.thread_instructions;
    result->warp_instructions = measured.warp_instructions;
    result->ipc = metrics_ratio(result->thread_instructions, result->cycles);
    for (uint32_t k = 0; k < measured.kernel_count; k++) {
        struct corun_kernel_result kernel;
        corun_gpu_kernel(launch->gpu, application, k, &kernel);
        corun_counters_add(&result->counters, &kernel.counters);
    }
    corun_gpu_memory(launch->gpu, &result->memory);
    corun_gpu_energy(launch->gpu, &result->energy);
    return CORUN_OK;
}

static void run_functional(struct launch *launch, struct launch_result *result)
{
    const struct launch_request *request = launch->request;
    struct corun_functional_result counts = {0};
    double start = run_clock();
    result->status = corun_run_functional(launch->grid, request->watchdog ? request->watchdog : FUNCTIONAL_WATCHDOG,
                                          launch->list, print_text, launch, &counts);
    result->wall_seconds = run_clock() - start;
    result->functional = true;
    result->ipc = (double)NAN;
    result->thread_instructions = counts.thread_instructions;
    result->warp_instructions = counts.warp_instructions;
}

/* Whether all of it has arrived, the files tell when they are closed. */
static enum corun_status save_buffers(const struct launch *launch, struct launch_result *result)
{
    for (size_t i = 0; i < launch->request->save_count; i++) {
        const struct launch_save *save = &launch->request->saves[i];
        const struct argument *argument = &launch->arguments[save->argument];
        const void *data = corun_memory_pointer(launch->memory, argument->address, argument->bytes);
        if (!data)
            return CORUN_MEMORY;
        fwrite(data, 1, argument->bytes, save->file);
    }
    result->saved = true;
    return CORUN_OK;
}

static enum corun_status run_launch(struct launch *launch, struct launch_result *result)
{
    const struct launch_request *request = launch->request;
    const struct corun_kernel *kernel = NULL;
    struct corun_kernel_info info;
    enum corun_status status = prepare_arguments(launch);
    if (status == CORUN_OK)
        status = corun_module_assemble_file(request->path, request->gpu ? request->gpu->machine_code : 0, launch->list,
                                            &launch->module);
    if (status == CORUN_OK)
        status = find_kernel(launch, &kernel);
    if (status != CORUN_OK)
        return status;
    corun_kernel_describe(kernel, &info);
    snprintf(result->kernel, sizeof result->kernel, "%s", info.name);
    launch->memory = corun_memory_create(0);
    if (!launch->memory)
        return CORUN_MEMORY;
    status = corun_module_instance_create(launch->module, launch->memory, launch->list, &launch->instance);
    if (status != CORUN_OK) {
        launch->instance = NULL;
        return status;
    }
    corun_module_instance_check(launch->instance, request->checks);
    if (request->gpu)
        corun_module_instance_architecture(launch->instance, request->gpu->compute_capability);
    status = make_grid(launch, kernel, &info);
    if (status != CORUN_OK)
        return status;
    result->registers_per_thread = launch->grid->registers_per_thread;
    result->shared_bytes = launch->grid->tb_shared_bytes;
    if (request->gpu) {
        result->registers_per_thread =
            launch_bounds_registers(request->gpu, launch->grid->registers_per_thread, &launch->grid->bounds);
        result->tbs_per_sm = corun_gpu_occupancy(request->gpu, launch->grid, NULL);
    }
    if (request->functional)
        run_functional(launch, result);
    else
        status = run_timed(launch, result);
    result->warp_instructions_per_second =
        result->wall_seconds > 0 ? (double)result->warp_instructions / result->wall_seconds : (double)NAN;
    (void)corun_module_instance_outside(launch->instance, launch->list);
    if (status == CORUN_OK && result->status == CORUN_OK && !result->interrupted)
        status = save_buffers(launch, result);
    return status;
}

enum corun_status launch_run(const struct launch_request *request, struct corun_diagnostics *list,
                             struct launch_result *result)
{
    memset(result, 0, sizeof *result);
    struct launch launch = {.request = request, .list = list, .arena = arena_create()};
    enum corun_status status = launch.arena ? run_launch(&launch, result) : CORUN_MEMORY;
    if (status == CORUN_MEMORY && !corun_diagnostics_count(list))
        corun_report(list, status, CORUN_NOWHERE, "out of memory");
    if (launch.gpu)
        corun_gpu_destroy(launch.gpu);
    if (launch.grid)
        corun_grid_destroy(launch.grid);
    if (launch.instance)
        corun_module_instance_destroy(launch.instance);
    if (launch.memory)
        corun_memory_destroy(launch.memory);
    if (launch.module)
        corun_module_destroy(launch.module);
    arena_destroy(launch.arena);
    return status;
}
