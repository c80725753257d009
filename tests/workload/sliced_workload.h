/* SPDX-License-Identifier: MIT */
/* A workload whose kernels have been sliced, and one run of it in slices: without timing, or on the simulated GPU. */
#ifndef TESTS_WORKLOAD_SLICED_WORKLOAD_H
#define TESTS_WORKLOAD_SLICED_WORKLOAD_H

#include "rewrite/borrow.h"
#include "rewrite/slice.h"
#include "rewritten_workload.h"

/* How every launch is cut. */
struct cutting {
    uint64_t
        divisor; /* 0: slices of `blocks`; else of the grid's thread blocks divided by this, and `blocks` more; 1: the whole grid */
    uint64_t blocks;
    bool shuffled; /* the slices of a launch in another order */
    bool borrows;  /* kernels of a module beside the workload's, with the variables of that */
};

struct sliced_run {
    struct rewritten_workload base;
    struct cutting cutting;
    /* The launch that is being run, its slices. */
    uint32_t launch;
    const struct launch *whole;
    uint64_t *firsts, blocks;
    size_t first_count, next_first;
    uint64_t slice_count, tb_count; /* of all launches so far */
};

static inline struct sliced_run sliced_run_create(const char *specification, const struct cutting *cutting)
{
    rewrite_pass *pass = !cutting ? NULL : cutting->borrows ? borrow_and_slice : slice_module;
    struct sliced_run run = {.base = rewritten_workload_create(specification, pass)};
    if (cutting)
        run.cutting = *cutting;
    return run;
}

static inline void sliced_run_destroy(struct sliced_run *run)
{
    free(run->firsts);
    rewritten_workload_destroy(&run->base);
}

/* Turns to the next launch, with the copies before it; false behind the last one. */
static inline bool next_launch(struct sliced_run *run)
{
    run->whole = (const struct launch *)corun_instance_grid(run->base.instance, run->launch++);
    if (!run->whole)
        return false;
    uint64_t total = total_of(run->whole), state = run->launch;
    const struct cutting *cutting = &run->cutting;
    run->blocks = cutting->divisor ? total / cutting->divisor + cutting->blocks : cutting->blocks;
    run->blocks = run->blocks > total ? total : run->blocks;
    run->blocks = run->blocks ? run->blocks : 1;
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
    struct slice_arguments arguments;
    slice_arguments_set(&arguments, (const uint32_t[]){whole->dim.x, whole->dim.y, whole->dim.z}, first, run->launch);
    run->slice_count++;
    run->tb_count += blocks;
    return rewritten_workload_grid(&run->base, whole, (struct corun_dim3){(uint32_t)blocks, 1, 1}, &arguments,
                                   sizeof arguments);
}

static inline void run_without_timing(struct sliced_run *run, struct corun_functional_result *sum)
{
    *sum = (struct corun_functional_result){0};
    for (struct corun_grid *grid; (grid = next_slice(run));) {
        struct corun_functional_result part;
        if (corun_run_functional(grid, 0, run->base.list, NULL, NULL, &part))
            stop_with(run->base.list, "running");
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
    if (corun_gpu_create(config, run->base.list, &gpu) || corun_gpu_add(gpu, &description, &application) ||
        corun_gpu_run(gpu, &limits, run->base.list))
        stop_with(run->base.list, "running with timing");
    corun_gpu_application(gpu, application, &result);
    if (result.status)
        stop_with(run->base.list, "running with timing");
    corun_gpu_destroy(gpu);
    return result;
}

#endif
