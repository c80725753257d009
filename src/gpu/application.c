/* SPDX-License-Identifier: MIT */
/* Applications on the GPU: they arrive, launch one grid after the other, start over, leave, or are stopped. */
#include "base/kernel_name.h"
#include "base/later.h"
#include "base/launch_bounds.h"
#include "gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void observe_launch(const struct corun_gpu *gpu, uint32_t index, const struct launch *launch, bool starts,
                           uint64_t cycle)
{
    observe(gpu, &(struct corun_observation){.kind = starts ? CORUN_OBSERVED_LAUNCH_START : CORUN_OBSERVED_LAUNCH_END,
                                             .cycle = cycle,
                                             .application = index,
                                             .launch = launch->number,
                                             .grid = launch->grid,
                                             .stopped = !starts && launch->completed < launch->grid->tb_count});
}

/* In flight from now on: behind those that are as urgent. */
static void enter(struct application *application, struct launch *launch)
{
    struct launch **link = &application->running;
    while (*link && (*link)->priority <= launch->priority)
        link = &(*link)->next;
    launch->next = *link;
    *link = launch;
    launch->kernel->running = launch;
    application->in_flight++;
}

static void leave(struct corun_gpu *gpu, struct application *application, struct launch *launch)
{
    struct launch **link = &application->running;
    while (*link != launch)
        link = &(*link)->next;
    *link = launch->next;
    launch->next = NULL;
    launch->kernel->running = NULL;
    application->in_flight--;
    kernel_settle(gpu, launch->kernel);
}

/* ---- launches that may be asked about ---- */

/* Where it stands, or would stand: their indices rise. */
static size_t launch_position(const struct application *application, uint32_t index)
{
    size_t first = application->launches_first, end = application->launches.count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (application->launches.data[middle]->index < index)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

struct launch *application_find_launch(const struct application *application, uint32_t index)
{
    size_t at = launch_position(application, index);
    bool found = at < application->launches.count && application->launches.data[at]->index == index;
    return found ? application->launches.data[at] : NULL;
}

static void launch_destroy(struct launch *launch)
{
    vector_free(&launch->returned);
    free(launch->sample);
    free(launch);
}

void application_forget_launch(struct application *application, struct launch *launch)
{
    struct launch **data = application->launches.data;
    size_t *first = &application->launches_first, *count = &application->launches.count;
    size_t at = launch_position(application, launch->index);
    launch_destroy(launch);
    if (at == *first)
        ++*first;
    else
        memmove(&data[at], &data[at + 1], (--*count - at) * sizeof *data);
    if (*first <= *count / 2)
        return;
    *count -= *first;
    memmove(data, &data[*first], *count * sizeof *data);
    *first = 0;
}

void application_forget_launches(struct application *application)
{
    for (size_t i = application->launches_first; i < application->launches.count; i++)
        launch_destroy(application->launches.data[i]);
    vector_free(&application->launches);
    application->launches_first = 0;
}

static enum corun_status launch_grid(struct corun_gpu *gpu, uint32_t index, const struct corun_grid *grid,
                                     uint64_t cycle, int32_t priority)
{
    struct application *application = &gpu->applications[index];
    const char *limit;
    uint32_t tbs_per_sm = corun_gpu_occupancy(&gpu->config, grid, &limit);
    if (tbs_per_sm == 0) {
        char text[256];
        snprintf(
            text, sizeof text,
            "kernel %s can never fit an SM of %s: a thread block of %u threads with %u registers each and %u bytes "
            "of shared memory exceeds its %s",
            KERNEL_NAME(grid->name), gpu->config.name, grid->tb_threads,
            launch_bounds_registers(&gpu->config, grid->registers_per_thread, &grid->bounds), grid->tb_shared_bytes,
            limit);
        application_stop(gpu, index, CORUN_LIMIT, CORUN_NOWHERE, text);
        return CORUN_OK;
    }
    char problem[320];
    if (cluster_problem(gpu, grid, tbs_per_sm, problem, sizeof problem)) {
        application_stop(gpu, index, CORUN_LIMIT, CORUN_NOWHERE, problem);
        return CORUN_OK;
    }
    struct launch *launch = calloc(1, sizeof *launch);
    struct machine_kernel *kernel = kernel_take(gpu, index, grid);
    if (!launch || !kernel || grid->operations->attach(grid, gpu->config.sms, gpu->config.core_clock_khz) != CORUN_OK ||
        !vector_push(&application->launches, launch)) {
        free(launch);
        return CORUN_MEMORY;
    }
    kernel->tbs_per_sm = tbs_per_sm;
    kernel->registers_per_thread = launch_bounds_registers(&gpu->config, grid->registers_per_thread, &grid->bounds);
    kernel->tb_shared_bytes = grid->tb_shared_bytes;
    kernel->tb_threads = grid->tb_threads;
    *launch = (struct launch){.grid = grid,
                              .kernel = kernel,
                              .number = ++gpu->launch_numbers,
                              .index = application->launch_count++,
                              .tbs = grid->tb_count,
                              .priority = priority,
                              .earliest = cycle + gpu->config.dispatch_latency};
    if (launch->earliest < gpu->now)
        launch->earliest = gpu->now;
    enter(application, launch);
    application->progress_cycle = gpu->now;
    gpu->dispatch_due = true;
    observe_launch(gpu, index, launch, true, launch->earliest);
    if (gpu->sampling)
        sampling_begin(gpu, launch);
    return governed_moment(gpu, CORUN_EVENT_KERNEL_START, 0, index);
}

static enum corun_status run_complete(struct corun_gpu *gpu, uint32_t index, uint64_t cycle);

/* An application that launches by itself is asked for more. */
static enum corun_status proceed(struct corun_gpu *gpu, uint32_t index)
{
    struct application *application = &gpu->applications[index];
    struct corun_proceeding proceeding = {.start_cycle = application->run_started_cycle};
    application->wake = NEVER;
    enum corun_status status = application->description.proceed(application->description.user, gpu, index, &proceeding);
    if (application->state != CORUN_APPLICATION_RUNNING)
        return CORUN_OK;
    if (status != CORUN_OK) {
        application_stop(gpu, index, status, CORUN_NOWHERE, "it could not proceed");
        return CORUN_OK;
    }
    if (!proceeding.ended && !application->running && application->wake == NEVER)
        application_stop(gpu, index, CORUN_ARGUMENT, CORUN_NOWHERE, "it waits for nothing");
    return proceeding.ended ? run_complete(gpu, index, proceeding.end_cycle) : CORUN_OK;
}

static enum corun_status start_run(struct corun_gpu *gpu, uint32_t index, uint64_t cycle)
{
    struct application *application = &gpu->applications[index];
    application->grid_index = 0;
    application->run_started_cycle = cycle;
    if (application->description.proceed)
        return proceed(gpu, index);
    const struct corun_grid *grid = application->description.grid(application->description.user, 0);
    if (!grid) {
        application_stop(gpu, index, CORUN_ARGUMENT, CORUN_NOWHERE, "the application launches no kernel");
        return CORUN_OK;
    }
    return launch_grid(gpu, index, grid, cycle, 0);
}

void application_leave(struct corun_gpu *gpu, uint32_t index)
{
    struct application *application = &gpu->applications[index];
    application->state = CORUN_APPLICATION_LEFT;
    application->ended_cycle = gpu->now;
    application->wake = NEVER;
    while (application->running)
        leave(gpu, application, application->running);
    gpu->dispatch_due = true;
    gpu->attention = true;
}

/* What is resident on the SM or announced is taken back from the account with the needs it was entered with. */
static void withdraw_from(struct corun_gpu *gpu, uint32_t index, uint32_t s)
{
    struct sm *sm = gpu->sms[s];
    for (uint32_t i = 0; i < MAX_TBS; i++)
        if (sm->tbs[i].source && sm->tbs[i].launch->kernel->application == index)
            dispatcher_release(gpu, s,
                               &(struct news){.cycle = gpu->now,
                                              .launch = sm->tbs[i].launch,
                                              .needs = sm->tbs[i].needs,
                                              .tb_index = sm->tbs[i].index,
                                              .application = (uint8_t)index});
    for (size_t i = sm->incoming_taken; i < sm->incoming.count; i++)
        if (sm->incoming.data[i].launch->kernel->application == index) {
            struct news news = {.cycle = gpu->now,
                                .launch = sm->incoming.data[i].launch,
                                .tb_index = sm->incoming.data[i].tb_index,
                                .application = (uint8_t)index};
            tb_needs_compute(&gpu->config, sm->incoming.data[i].launch->grid, &news.needs);
            dispatcher_release(gpu, s, &news);
        }
    sm_remove_application(sm, index);
}

enum corun_status application_withdraw(struct corun_gpu *gpu, uint32_t index)
{
    for (const struct launch *launch = gpu->applications[index].running; launch; launch = launch->next)
        observe_launch(gpu, index, launch, false, gpu->now);
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        if (gpu->sms[s]->now < gpu->now) /* it slept; what it is free to do from now on must not happen before */
            sm_run(gpu->sms[s], gpu->now);
        withdraw_from(gpu, index, s);
    }
    preemption_remove_application(gpu, index);
    clusters_remove_application(gpu, index);
    application_leave(gpu, index);
    return governed_moment(gpu, CORUN_EVENT_LEAVE, 0, index);
}

void application_stop(struct corun_gpu *gpu, uint32_t index, enum corun_status status, struct corun_place place,
                      const char *message)
{
    struct application *application = &gpu->applications[index];
    if (application->state == CORUN_APPLICATION_LEFT)
        return;
    struct corun_diagnostics *own = application->description.list;
    corun_report(own ? own : gpu->list, status, place, "application %s stopped at cycle %llu: %s",
                 KERNEL_NAME(application->name), (unsigned long long)gpu->now, message);
    application->status = status;
    (void)application_withdraw(gpu, index);
}

uint64_t application_next_moment(const struct corun_gpu *gpu)
{
    uint64_t next = gpu->wake;
    for (uint32_t a = 0; a < gpu->application_count; a++) {
        const struct application *application = &gpu->applications[a];
        if (application->state == CORUN_APPLICATION_ABSENT && application->description.start_cycle < next)
            next = application->description.start_cycle;
        if (application->wake < next)
            next = application->wake;
        for (const struct launch *launch = application->running; launch && gpu->sampling; launch = launch->next)
            if (sampling_moment(launch) < next)
                next = sampling_moment(launch);
    }
    return next;
}

enum corun_status application_arrive(struct corun_gpu *gpu, uint32_t index)
{
    struct application *application = &gpu->applications[index];
    application->state = CORUN_APPLICATION_RUNNING;
    application->arrived_cycle = gpu->now;
    application->arrival_order = gpu->arrivals++;
    enum corun_status status = governed_moment(gpu, CORUN_EVENT_ARRIVE, 0, index);
    bool by_itself = application->description.grid || application->description.proceed;
    return status == CORUN_OK && by_itself ? start_run(gpu, index, gpu->now) : status;
}

enum corun_status application_launch(struct corun_gpu *gpu, uint32_t index, const struct corun_grid *grid,
                                     uint64_t cycle, int32_t priority)
{
    struct application *application = &gpu->applications[index];
    if (application->state != CORUN_APPLICATION_RUNNING || application->description.grid)
        return CORUN_ARGUMENT;
    return launch_grid(gpu, index, grid, cycle, priority);
}

/* Of the kernel. `last_answer`: the latest one so far. */
static struct kernel_writes sum_writes(const struct corun_gpu *gpu, const struct machine_kernel *kernel)
{
    struct kernel_writes sum = {0};
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        const struct sm *sm = gpu->sms[s];
        if (kernel->slot >= sm->counters_capacity) /* never was here */
            continue;
        const struct kernel_writes *writes = &sm->port.writes[kernel->slot];
        sum.last_answer = later(sum.last_answer, writes->last_answer);
        sum.under_way += writes->under_way;
        const struct load_store *unit = &sm->load_store;
        for (uint32_t i = 0; i < unit->count; i++)
            sum.under_way += unit->entries[(unit->head + i) & unit->mask].kernel == kernel->slot;
    }
    return sum;
}

static enum corun_status run_complete(struct corun_gpu *gpu, uint32_t index, uint64_t cycle)
{
    struct application *application = &gpu->applications[index];
    if (application->runs++ == 0)
        application->first_run_cycles = cycle - application->run_started_cycle;
    if (gpu->limits.runs && application->runs >= gpu->limits.runs) {
        application_leave(gpu, index);
        application->ended_cycle = cycle;
        return governed_moment(gpu, CORUN_EVENT_LEAVE, 0, index);
    }
    enum corun_status status = governed_moment(gpu, CORUN_EVENT_RUN_COMPLETE, 0, index);
    if (status != CORUN_OK)
        return status;
    if (application->description.restart) {
        enum corun_status restarted = application->description.restart(application->description.user);
        if (restarted != CORUN_OK) {
            application_stop(gpu, index, restarted, CORUN_NOWHERE, "it could not be started again");
            return CORUN_OK;
        }
    }
    return start_run(gpu, index, cycle + gpu->config.launch_latency);
}

/* A grid has ended when all its thread blocks have and everything that they wrote has been performed. */
static bool has_ended(struct corun_gpu *gpu, uint32_t index, struct launch *launch)
{
    if (launch->sample)
        sampling_look(gpu, launch);
    if (launch->completed < launch->tbs)
        return false;
    bool estimated = launch->sample && launch->sample->state == SAMPLE_ESTIMATED;
    if (!estimated) {
        struct kernel_writes writes = sum_writes(gpu, launch->kernel);
        if (writes.under_way)
            return false;
        launch->last_cycle = later(launch->last_cycle, writes.last_answer);
    }
    if (launch->sample && !sampling_ends(gpu, index, launch))
        return false;
    launch->kernel->launches++;
    launch->kernel->cycles += launch->last_cycle - launch->first_cycle;
    observe_launch(gpu, index, launch, false, launch->last_cycle);
    leave(gpu, &gpu->applications[index], launch);
    gpu->applications[index].grid_index++;
    return true;
}

static enum corun_status advance(struct corun_gpu *gpu, uint32_t index)
{
    struct application *application = &gpu->applications[index];
    bool ended = false;
    uint64_t last_cycle = 0;
    for (struct launch *launch = application->running, *next; launch; launch = next) {
        next = launch->next;
        bool has = has_ended(gpu, index, launch);
        if (application->state != CORUN_APPLICATION_RUNNING) /* what ran without timing has stopped it */
            return CORUN_OK;
        if (!has)
            continue;
        ended = true;
        last_cycle = launch->last_cycle;
        if (application->description.grid) /* nobody asks about it */
            application_forget_launch(application, launch);
    }
    if (!ended && application->wake > gpu->now)
        return CORUN_OK;
    if (application->description.proceed)
        return proceed(gpu, index);
    if (!application->description.grid) {
        application->wake = NEVER;
        gpu->attention = true;
        return CORUN_OK;
    }
    if (!ended) { /* somebody wakes one that asks for its launches itself */
        application->wake = NEVER;
        return CORUN_OK;
    }
    const struct corun_grid *grid =
        application->description.grid(application->description.user, application->grid_index);
    if (grid)
        return launch_grid(gpu, index, grid, last_cycle + gpu->config.launch_latency, 0);
    return run_complete(gpu, index, last_cycle);
}

enum corun_status applications_advance(struct corun_gpu *gpu)
{
    enum corun_status status = CORUN_OK;
    if (gpu->wake <= gpu->now) {
        gpu->wake = NEVER;
        gpu->attention = true;
    }
    for (uint32_t a = 0; a < gpu->application_count && status == CORUN_OK; a++) {
        struct application *application = &gpu->applications[a];
        if (application->state == CORUN_APPLICATION_ABSENT && application->description.start_cycle <= gpu->now)
            status = application_arrive(gpu, a);
        else if (application->state == CORUN_APPLICATION_RUNNING)
            status = advance(gpu, a);
    }
    return status;
}

void application_destroy(struct application *application)
{
    for (size_t i = 0; i < application->kernels.count; i++) {
        free(application->kernels.data[i]->profile);
        for (struct machine_kernel *kernel = application->kernels.data[i], *twin; kernel; kernel = twin) {
            twin = kernel->twin;
            kernel_destroy(kernel);
        }
    }
    application_forget_launches(application);
    watchdog_forget(application);
    vector_free(&application->kernels);
    free(application->name);
}
