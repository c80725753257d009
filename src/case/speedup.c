/* SPDX-License-Identifier: MIT */
/*
 * Speed-up curves: each application of a case alone on 1..N SMs of its GPU, as policies want to know it beforehand
 * (Adriaens et al., "The case for GPGPU spatial multitasking", HPCA 2012, figure 2 and section 3.5). With all SMs it is
 * the isolated baseline.
 */
#include "case/baseline_pool.h"
#include "case/metrics.h"
#include "case/run.h"

#include <string.h>

#define NOT_RUN SIZE_MAX

/* A parameter of the policy; 0 if it has none of that name. */
static uint64_t parameter(const struct corun_case *job, const char *name)
{
    for (uint32_t p = 0; p < job->policy->parameter_count; p++) {
        if (!strcmp(job->policy->parameters[p].name, name))
            return (uint64_t)(job->parameters ? job->parameters[p] : job->policy->parameters[p].initial);
    }
    return 0;
}

/* Is the curve measured on so many SMs? `points` of them are spread from the first to the last. */
static bool is_point(uint32_t sms, uint32_t all, uint64_t points)
{
    if (points == 0 || points >= all || sms == 1 || sms == all)
        return true;
    for (uint64_t i = 1; i + 1 < points; i++) {
        if (1 + (i * (all - 1) + (points - 1) / 2) / (points - 1) == sms)
            return true;
    }
    return false;
}

static enum corun_status plan(struct baseline_pool *pool, struct member *member, size_t *tasks)
{
    struct run *run = pool->run;
    const struct corun_case *job = run->job;
    uint64_t window = parameter(job, "window"), points = parameter(job, "points");
    enum corun_status status = CORUN_OK;
    for (uint32_t sms = 1; sms <= job->gpu->sms && status == CORUN_OK; sms++) {
        tasks[sms - 1] = NOT_RUN;
        if (!is_point(sms, job->gpu->sms, points))
            continue;
        struct baseline_request request = run_baseline_request(run, member);
        struct corun_gpu_config *gpu = ARENA_NEW(run->arena, struct corun_gpu_config);
        const char *stage = arena_format(run->arena, "%s on %u SMs", member->info.name, sms);
        if (!gpu || !stage)
            return CORUN_MEMORY;
        *gpu = *job->gpu;
        gpu->sms = sms;
        request.gpu = gpu;
        if (window) {
            request.window = (struct baseline_window){.cycles = window, .watchdog_cycles = job->watchdog_cycles};
        }
        status = baseline_pool_add(pool, &request, stage, &tasks[sms - 1]);
    }
    return status;
}

/* Why an application has no curve. */
static enum corun_status refuse(const struct baseline_pool *pool, const struct member *member, uint32_t sms,
                                const struct baseline_task *task)
{
    diagnostics_pass_on(task->list, pool->run->list);
    return corun_report(pool->run->list, task->baseline.status ? task->baseline.status : CORUN_ARGUMENT, CORUN_NOWHERE,
                        "policy %s: %s has no speed-up curve: alone on %u SMs it %s", pool->run->job->policy->name,
                        member->info.name, sms,
                        task->baseline.status ? "was stopped" : "completed no instruction within the window");
}

/* What lies between two points is on the line between them. */
static enum corun_status draw(const struct baseline_pool *pool, struct member *member, const size_t *tasks)
{
    uint32_t all = pool->run->job->gpu->sms, last = 0;
    double *curve = ARENA_ARRAY(pool->run->arena, double, all);
    if (!curve)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < all; i++) {
        if (tasks[i] == NOT_RUN)
            continue;
        const struct baseline_task *task = &pool->tasks.data[tasks[i]];
        if (task->baseline.status || !task->baseline.thread_instructions)
            return refuse(pool, member, i + 1, task);
        curve[i] = metrics_ratio(task->baseline.thread_instructions, task->baseline.cycles);
        for (uint32_t k = last + 1; k < i; k++)
            curve[k] = curve[last] + (curve[i] - curve[last]) * (k - last) / (i - last);
        last = i;
    }
    for (uint32_t i = all; i-- > 0;)
        curve[i] /= curve[0];
    member->speedup = curve;
    member->speedup_count = all;
    return CORUN_OK;
}

enum corun_status run_find_speedups(struct run *run)
{
    const struct corun_case *job = run->job;
    if (!job->policy || !job->policy->needs_speedup)
        return CORUN_OK;
    struct baseline_pool pool;
    baseline_pool_begin(&pool, run);
    size_t *tasks = ARENA_ARRAY(run->arena, size_t, (size_t)job->application_count * job->gpu->sms);
    enum corun_status status = tasks ? CORUN_OK : CORUN_MEMORY;
    for (uint32_t a = 0; a < job->application_count && status == CORUN_OK; a++)
        status = plan(&pool, &run->members[a], tasks + (size_t)a * job->gpu->sms);
    if (status == CORUN_OK)
        status = baseline_pool_run(&pool);
    for (uint32_t a = 0; a < job->application_count && status == CORUN_OK && !run->interrupted; a++)
        status = draw(&pool, &run->members[a], tasks + (size_t)a * job->gpu->sms);
    baseline_pool_end(&pool);
    return status;
}
