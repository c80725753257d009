/* SPDX-License-Identifier: MIT */
/*
 * A GPU that is driven from outside (corun_gpu_open): applications come and go, launches are given to them, and whoever does that
 * advances the GPU until something has happened. Between two calls no time passes.
 */
#include "gpu/gpu.h"

enum corun_status corun_gpu_open(struct corun_gpu *gpu, const struct corun_limits *limits,
                                 struct corun_diagnostics *list)
{
    if (gpu->started)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "a GPU is opened once: create another one");
    uint32_t slots = limits->applications ? limits->applications : gpu->application_count;
    if (slots < gpu->application_count || slots > CORUN_MAX_APPLICATIONS)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "a GPU with %u applications cannot be opened for %u; %u are possible",
                            gpu->application_count, slots, CORUN_MAX_APPLICATIONS);
    for (; gpu->application_count < slots; gpu->application_count++)
        gpu->applications[gpu->application_count] =
            (struct application){.description.start_cycle = NEVER, .wake = NEVER};
    gpu->started = gpu->opened = true;
    gpu->limits = *limits;
    gpu->limits.cycles = gpu->limits.thread_instructions = gpu->limits.runs = 0;
    gpu->list = list;
    gpu->busy = true;
    enum corun_status status = gpu_prepare(gpu);
    if (status == CORUN_OK)
        status = applications_advance(gpu);
    gpu->busy = false;
    return status;
}

/* ---- applications ---- */

enum corun_status corun_gpu_add(struct corun_gpu *gpu, const struct corun_application_description *description,
                                uint32_t *application)
{
    if (gpu->started && (!gpu->opened || gpu->busy))
        return CORUN_ARGUMENT;
    uint32_t slot = gpu->application_count;
    if (gpu->opened)
        slot = slot_find_free(gpu);
    if (slot >= CORUN_MAX_APPLICATIONS) /* or NOTHING */
        return CORUN_LIMIT;
    enum corun_status status = slot_fill(gpu, slot, description);
    if (status != CORUN_OK)
        return status;
    if (!gpu->opened)
        gpu->application_count++;
    *application = handle_of(gpu, slot);
    if (!gpu->opened || description->start_cycle > gpu->now)
        return CORUN_OK;
    gpu->busy = true;
    status = application_arrive(gpu, slot);
    gpu->busy = false;
    return status;
}

enum corun_status corun_gpu_leave(struct corun_gpu *gpu, uint32_t handle)
{
    struct application *application = application_of(gpu, handle);
    if (!gpu->opened || gpu->busy || !application || application->released)
        return CORUN_ARGUMENT;
    enum corun_status status = CORUN_OK;
    uint32_t slot = slot_of(gpu, application);
    gpu->busy = true;
    if (application->state == CORUN_APPLICATION_RUNNING)
        status = application_withdraw(gpu, slot);
    gpu->busy = false;
    application->state = CORUN_APPLICATION_LEFT; /* also one that never came */
    application->released = true;
    application_forget_launches(application);
    for (size_t i = 0; i < application->kernels.count; i++)
        for (struct machine_kernel *kernel = application->kernels.data[i]; kernel; kernel = kernel->twin)
            kernel_forget_code(kernel);
    governor_unseat(gpu->governor, slot);
    return status;
}

/* ---- launches ---- */

enum corun_status corun_gpu_launch(struct corun_gpu *gpu, uint32_t handle, const struct corun_grid *grid,
                                   uint64_t cycle, int32_t priority, uint32_t *launch)
{
    struct application *application = application_of(gpu, handle);
    if (!application)
        return CORUN_ARGUMENT;
    uint32_t before = application->launch_count;
    bool busy = gpu->busy; /* it launches by itself */
    gpu->busy = true;
    enum corun_status status = application_launch(gpu, slot_of(gpu, application), grid, cycle, priority);
    gpu->busy = busy;
    if (status == CORUN_OK && application->launch_count == before) /* it can never fit: the application was stopped */
        status = application->status;
    *launch = before;
    return status;
}

void corun_gpu_launched(struct corun_gpu *gpu, uint32_t handle, uint32_t index, struct corun_launched *launched)
{
    const struct application *application = application_of(gpu, handle);
    const struct launch *launch = application ? application_find_launch(application, index) : NULL;
    *launched = (struct corun_launched){.ended = true, .status = CORUN_ARGUMENT};
    if (application && application->status != CORUN_OK)
        launched->status = application->status;
    if (!launch)
        return;
    *launched = (struct corun_launched){.status = application->status,
                                        .ended = launch->kernel->running != launch,
                                        .first_cycle = launch->first_cycle,
                                        .last_cycle = launch->last_cycle,
                                        .estimated = launch->sample && launch->sample->estimated};
    for (uint32_t s = 0; launched->ended && s < gpu->config.sms; s++) /* those that sleep: account for it */
        if (gpu->sms[s]->now < gpu->now)
            sm_run(gpu->sms[s], gpu->now);
}

enum corun_status corun_gpu_forget(struct corun_gpu *gpu, uint32_t handle, uint32_t index)
{
    struct application *application = application_of(gpu, handle);
    struct launch *launch = application ? application_find_launch(application, index) : NULL;
    if (!launch || launch->kernel->running == launch)
        return CORUN_ARGUMENT;
    application_forget_launch(application, launch);
    return CORUN_OK;
}

uint64_t corun_gpu_copy(struct corun_gpu *gpu, enum corun_copy_engine engine, uint64_t since, uint64_t cycles)
{
    uint64_t *free_cycle = &gpu->engine_free_cycle[engine];
    if (engine == CORUN_COPY_TO_HOST && gpu->config.copy_engines < 2)
        free_cycle = &gpu->engine_free_cycle[CORUN_COPY_TO_DEVICE];
    uint64_t start = since > *free_cycle ? since : *free_cycle;
    *free_cycle = start + cycles;
    return start;
}

/* ---- time ---- */

void corun_gpu_wake(struct corun_gpu *gpu, uint32_t handle, uint64_t cycle)
{
    struct application *application = application_of(gpu, handle);
    if (handle == CORUN_NO_APPLICATION)
        gpu->wake = cycle;
    else if (application && !application->released)
        application->wake = cycle;
}

/* Nothing is under way anywhere until somebody wakes: epochs of that time need not be looked at one by one. */
static enum corun_status sleep_until(struct corun_gpu *gpu, uint64_t wake)
{
    for (uint32_t a = 0; a < gpu->application_count; a++)
        if (gpu->applications[a].running)
            return CORUN_OK;
    (void)follower_memory(gpu->follower); /* SMs know of all replies then */
    for (uint32_t s = 0; s < gpu->config.sms; s++)
        if (gpu->use[s].tbs || sm_next(gpu->sms[s]) < wake)
            return CORUN_OK;
    if (wake <= gpu->now || wake == NEVER || gpu->power_next < wake)
        return CORUN_OK;
    if (!follower_skip_to(gpu->follower, wake))
        return CORUN_MEMORY;
    gpu->now = wake;
    gpu->no_tb_since = gpu->no_quota_since = wake;
    governor_skip_epochs(gpu->governor, wake);
    return CORUN_OK;
}

enum corun_status corun_gpu_advance(struct corun_gpu *gpu, uint64_t until)
{
    enum corun_status status = sleep_until(gpu, application_next_moment(gpu));
    gpu->attention = false;
    gpu->busy = true;
    if (gpu->dispatch_due)
        dispatch(gpu);
    gpu->busy = false;
    while (status == CORUN_OK && gpu->now < until && !gpu->attention && gpu_may_continue(gpu))
        status = gpu_step(gpu);
    return status;
}
