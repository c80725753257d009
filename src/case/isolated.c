/* SPDX-License-Identifier: MIT */
/* The isolated baselines of a case: which are needed, and for whom. */
#include "case/baseline_pool.h"
#include "case/metrics.h"
#include "case/run.h"

#include <math.h>

static struct baseline_window baseline_window(const struct corun_case *job,
                                              const struct corun_case_application *request)
{
    return (struct baseline_window){.cycles = job->cycles ? job->cycles - request->start_cycle : 0,
                                    .thread_instructions = job->thread_instructions,
                                    .runs = job->runs,
                                    .watchdog_cycles = job->watchdog_cycles};
}

struct baseline_request run_baseline_request(const struct run *run, const struct member *member)
{
    return (struct baseline_request){.gpu = run->job->gpu,
                                     .workload = member->workload,
                                     .record = member->record,
                                     .seed = run->job->seed,
                                     .window = baseline_window(run->job, member->request),
                                     .threads = run->job->threads};
}

/* Alone and without a policy, the run that follows is its own baseline. */
static bool needs_baseline(const struct corun_case *job, const struct member *member)
{
    if (job->application_count == 1 && !job->policy)
        return false;
    return !job->no_baselines || job->settle || member->request->goal == CORUN_GOAL_FRACTION ||
           (job->policy && job->policy->needs_isolated_ipc);
}

/* Members with the same content share a task. `task_of` tells which one a member waits for; NONE: it needs none. */
#define NONE SIZE_MAX

static enum corun_status plan_baselines(struct baseline_pool *pool, size_t *task_of)
{
    struct run *run = pool->run;
    enum corun_status status = CORUN_OK;
    for (uint32_t a = 0; a < CORUN_MAX_APPLICATIONS; a++)
        task_of[a] = NONE;
    for (uint32_t a = 0; a < run->job->application_count && status == CORUN_OK; a++) {
        struct member *member = &run->members[a];
        if (!needs_baseline(run->job, member))
            continue;
        struct baseline_request request = run_baseline_request(run, member);
        const char *stage = arena_format(run->arena, "isolated %s", member->info.name);
        status = stage ? baseline_pool_add(pool, &request, stage, &task_of[a]) : CORUN_MEMORY;
    }
    return status;
}

void diagnostics_pass_on(const struct corun_diagnostics *from, struct corun_diagnostics *to)
{
    for (size_t i = 0; i < corun_diagnostics_count(from); i++) {
        const struct corun_diagnostic *item = corun_diagnostics_get(from, i);
        corun_report(to, item->status, item->place, "%s", item->message);
    }
}

enum corun_status run_find_baselines(struct run *run)
{
    struct baseline_pool pool;
    size_t task_of[CORUN_MAX_APPLICATIONS];
    baseline_pool_begin(&pool, run);
    enum corun_status status = plan_baselines(&pool, task_of);
    if (status == CORUN_OK)
        status = baseline_pool_run(&pool);
    for (uint32_t a = 0; a < run->job->application_count && status == CORUN_OK; a++) {
        if (task_of[a] == NONE || !pool.tasks.data[task_of[a]].finished)
            continue;
        /* An application that is stopped when alone has no baseline; the shared run will say why it is stopped. */
        const struct baseline_task *task = &pool.tasks.data[task_of[a]];
        run->members[a].has_baseline = task->baseline.status == CORUN_OK;
        run->members[a].from_cache = task->loaded;
        status = baseline_copy(run->arena, &task->baseline, &run->members[a].baseline);
    }
    baseline_pool_end(&pool);
    return status;
}

double run_isolated_ipc(const struct member *member)
{
    return member->has_baseline ? metrics_ratio(member->baseline.thread_instructions, member->baseline.cycles)
                                : (double)NAN;
}
