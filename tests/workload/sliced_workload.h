/* SPDX-License-Identifier: MIT */
/* A workload whose kernels have been sliced, and one run of it in slices: without timing, or on the simulated GPU. */
#ifndef TESTS_WORKLOAD_SLICED_WORKLOAD_H
#define TESTS_WORKLOAD_SLICED_WORKLOAD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corun/workload.h"
#include "isa/executor.h"
#include "rewrite/slice.h"
#include "workload/instance.h"

/* How every launch is cut. */
struct cutting {
    uint64_t
        divisor; /* 0: slices of `blocks`; else of the grid's thread blocks divided by this, and `blocks` more; 1: the whole grid */
    uint64_t blocks;
    bool shuffled; /* the slices of a launch in another order */
};

struct sliced_run {
    struct corun_diagnostics *list;
    struct corun_workload *workload;
    struct corun_instance *instance;
    struct rewritten slices; /* module NULL: not sliced */
    struct cutting cutting;
    /* The launch that is being run, its slices, and every grid that was made. */
    uint32_t launch;
    const struct launch *whole;
    uint64_t *firsts, blocks;
    size_t first_count, next_first;
    VECTOR(struct corun_grid *) grids;
    uint64_t slice_count, tb_count; /* of all launches so far */
};

static inline void __attribute__((noreturn)) stop_with(const struct corun_diagnostics *list, const char *what)
{
    size_t count = corun_diagnostics_count(list);
    const struct corun_diagnostic *last = count ? corun_diagnostics_get(list, count - 1) : NULL;
    fail_msg("%s: %s:%u: %s", what, last && last->place.file ? last->place.file : "", last ? last->place.line : 0,
             last ? last->message : "");
    abort();
}

/* The workload's kernels become the sliced ones, which take no more arguments from the description than before. */
static inline void slice_kernels(struct sliced_run *run)
{
    struct corun_workload *workload = run->workload;
    struct corun_module *module;
    char *text;
    size_t bytes;
    if (rewrite_text(slice_module, workload->ptx_path, workload->ptx, workload->ptx_bytes, run->list, &run->slices,
                     &text, &bytes) ||
        corun_module_load(workload->ptx_path, text, bytes, run->list, &module))
        stop_with(run->list, "slicing");
    free(text);
    assert_int_equal(run->slices.rewritten_count, run->slices.kernel_count);
    for (uint32_t i = 0; i < module->kernel_count; i++)
        module->kernels[i].info.parameter_count--;
    for (uint32_t i = 0; i < workload->description->kernel_launches; i++)
        workload->kernels[i] = corun_module_kernel(module, workload->kernels[i]->info.name);
    corun_module_destroy(workload->module);
    workload->module = module;
}

static inline struct sliced_run sliced_run_create(const char *specification, const struct cutting *cutting)
{
    struct sliced_run run = {.list = corun_diagnostics_create()};
    char data[4096];
    if (corun_data_directory(data, sizeof data, run.list) ||
        corun_workload_load(specification, data, run.list, &run.workload))
        stop_with(run.list, specification);
    if (cutting) {
        run.cutting = *cutting;
        slice_kernels(&run);
    }
    if (corun_instance_create(run.workload, 0, 1, run.list, &run.instance))
        stop_with(run.list, specification);
    return run;
}

static inline void sliced_run_destroy(struct sliced_run *run)
{
    for (size_t i = 0; i < run->grids.count; i++)
        corun_grid_destroy(run->grids.data[i]);
    vector_free(&run->grids);
    free(run->firsts);
    corun_instance_destroy(run->instance);
    corun_workload_destroy(run->workload);
    rewritten_destroy(&run->slices);
    corun_diagnostics_destroy(run->list);
}

static inline uint64_t total_of(const struct launch *launch)
{
    return (uint64_t)launch->dim.x * launch->dim.y * launch->dim.z;
}

/* Turns to the next launch, with the copies before it; false behind the last one. */
static inline bool next_launch(struct sliced_run *run)
{
    run->whole = (const struct launch *)corun_instance_grid(run->instance, run->launch++);
    if (!run->whole)
        return false;
    uint64_t total = total_of(run->whole), state = run->launch;
    const struct cutting *cutting = &run->cutting;
    run->blocks = cutting->divisor ? total / cutting->divisor + cutting->blocks : cutting->blocks;
    run->blocks = run->blocks > total ? total : run->blocks ? run->blocks : 1;
    free(run->firsts);
    run->first_count = (size_t)((total + run->blocks - 1) / run->blocks);
    run->next_first = 0;
    run->firsts = calloc(run->first_count + 1, sizeof *run->firsts);
    for (size_t i = 0; i < run->first_count; i++)
        run->firsts[i] = i * run->blocks;
    for (size_t i = run->first_count; cutting->shuffled && i > 1; i--) {
        size_t k = (size_t)(corun_random(&state) % i);
        uint64_t kept = run->firsts[i - 1];
        run->firsts[i - 1] = run->firsts[k];
        run->firsts[k] = kept;
    }
    return true;
}

/* The next slice of the run, or the next launch whole if the kernels are what they were; NULL at its end. */
static inline struct corun_grid *next_slice(struct sliced_run *run)
{
    if (run->next_first == run->first_count && !next_launch(run))
        return NULL;
    const struct launch *whole = run->whole;
    uint64_t first = run->firsts[run->next_first++], rest = total_of(whole) - first;
    uint64_t blocks = run->blocks < rest ? run->blocks : rest;
    uint8_t *parameters = malloc(whole->parameter_bytes + 1u);
    struct corun_launch_description description = {.kernel = whole->kernel,
                                                   .grid = whole->dim,
                                                   .block = whole->block,
                                                   .dynamic_shared_bytes = whole->dynamic_shared_bytes,
                                                   .parameters = parameters,
                                                   .parameter_bytes = whole->parameter_bytes};
    memcpy(parameters, whole->parameters, whole->parameter_bytes);
    if (run->slices.module) {
        const struct rewritten_kernel *kernel = rewritten_kernel_find(&run->slices, whole->kernel->info.name);
        struct slice_arguments arguments;
        slice_arguments_set(&arguments, (const uint32_t[]){whole->dim.x, whole->dim.y, whole->dim.z}, first,
                            run->launch);
        memcpy(parameters + kernel->parameter_offset, &arguments, sizeof arguments);
        description.grid = (struct corun_dim3){(uint32_t)blocks, 1, 1};
    }
    struct corun_grid *grid = NULL;
    if (corun_grid_create(run->instance->module, &description, run->list, &grid))
        stop_with(run->list, "launching");
    free(parameters);
    assert_true(vector_push(&run->grids, grid));
    run->slice_count++;
    run->tb_count += blocks;
    return grid;
}

static inline void run_without_timing(struct sliced_run *run, struct corun_functional_result *sum)
{
    *sum = (struct corun_functional_result){0};
    for (struct corun_grid *grid; (grid = next_slice(run));) {
        struct corun_functional_result part;
        if (corun_run_functional(grid, 0, run->list, NULL, NULL, &part))
            stop_with(run->list, "running");
        sum->warp_instructions += part.warp_instructions;
        sum->thread_instructions += part.thread_instructions;
    }
}

static inline const struct corun_grid *slice_for_machine(void *user, uint32_t index)
{
    (void)index;
    return next_slice(user);
}

/* One run, alone on a GPU. */
static inline struct corun_application_result run_with_timing(struct sliced_run *run,
                                                              const struct corun_gpu_config *config)
{
    struct corun_application_description description = {
        .name = "slices", .grid = slice_for_machine, .user = run, .goal = CORUN_GOAL_NONE};
    struct corun_limits limits = {.cycles = UINT64_C(2000000000), .runs = 1};
    struct corun_application_result result;
    struct corun_gpu *gpu;
    uint32_t application;
    if (corun_gpu_create(config, run->list, &gpu) || corun_gpu_add(gpu, &description, &application) ||
        corun_gpu_run(gpu, &limits, run->list))
        stop_with(run->list, "running with timing");
    corun_gpu_application(gpu, application, &result);
    if (result.status)
        stop_with(run->list, "running with timing");
    corun_gpu_destroy(gpu);
    return result;
}

/* What all buffers hold, by their names; the caller frees it. */
static inline uint8_t *contents_of(const struct sliced_run *run, size_t *bytes)
{
    size_t used = 0;
    *bytes = 0;
    for (size_t i = 0; i < corun_instance_buffer_count(run->instance); i++) {
        struct corun_buffer_info info;
        corun_instance_buffer_at(run->instance, i, &info);
        *bytes += info.bytes;
    }
    uint8_t *contents = malloc(*bytes + 1);
    for (size_t i = 0; i < corun_instance_buffer_count(run->instance); i++) {
        struct corun_buffer_info info;
        corun_instance_buffer_at(run->instance, i, &info);
        assert_int_equal(
            corun_memory_read(corun_instance_memory(run->instance), info.address, contents + used, info.bytes),
            CORUN_OK);
        used += info.bytes;
    }
    return contents;
}

#endif
