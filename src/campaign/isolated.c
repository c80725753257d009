/* The isolated baselines of a case: which are needed, which are in the cache, and the rest side by side. */
#include "campaign/metrics.h"
#include "campaign/parallel.h"
#include "campaign/run.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* One isolated run that several members may wait for. */
struct baseline_task {
    struct baseline_request request;
    struct content_key key;
    const char *stage;
    bool loaded;
    enum corun_status status;
    struct corun_diagnostics *list;
    struct arena *arena;
    struct baseline baseline;
};

struct baseline_work {
    struct run *run;
    struct baseline_task tasks[CORUN_MAX_APPLICATIONS];
    uint32_t task_count;
    uint32_t next;
    pthread_mutex_t lock; /* of `next`, of run->interrupted and of calls of progress() */
};

struct baseline_watch {
    struct baseline_work *work;
    const struct baseline_task *task;
};

static bool baseline_progress(void *user, uint64_t cycle)
{
    struct baseline_watch *watch = user;
    pthread_mutex_lock(&watch->work->lock);
    bool go_on = run_progress(watch->work->run, watch->task->stage, cycle, watch->task->request.window.cycles);
    pthread_mutex_unlock(&watch->work->lock);
    return go_on;
}

static void *baseline_worker(void *user)
{
    struct baseline_work *work = user;
    for (;;) {
        pthread_mutex_lock(&work->lock);
        while (work->next < work->task_count && work->tasks[work->next].loaded)
            work->next++;
        bool done = work->next == work->task_count || work->run->interrupted;
        struct baseline_task *task = done ? NULL : &work->tasks[work->next++];
        pthread_mutex_unlock(&work->lock);
        if (done)
            return NULL;
        struct baseline_watch watch = {work, task};
        task->status =
            baseline_compute(&task->request, task->arena, task->list, baseline_progress, &watch, &task->baseline);
    }
}

static void run_workers(struct baseline_work *work)
{
    uint32_t to_do = 0;
    for (uint32_t t = 0; t < work->task_count; t++)
        to_do += !work->tasks[t].loaded;
    uint32_t jobs = parallel_jobs(work->run->job->baseline_jobs);
    parallel_run(jobs < to_do ? jobs : to_do, baseline_worker, work);
}

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
                                     .seed = run->job->seed,
                                     .window = baseline_window(run->job, member->request),
                                     .threads = run->job->threads};
}

/* Alone and without a policy, the run that follows is its own baseline. */
static bool needs_baseline(const struct corun_case *job, const struct member *member)
{
    if (job->application_count == 1 && !job->policy)
        return false;
    return !job->no_baselines || member->request->goal == CORUN_GOAL_FRACTION ||
           (job->policy && job->policy->needs_isolated_ipc);
}

/* Makes the tasks: members with the same content share one. `task_of` tells which one a member waits for. */
static enum corun_status plan_baselines(struct baseline_work *work, uint32_t *task_of)
{
    struct run *run = work->run;
    for (uint32_t a = 0; a < run->job->application_count; a++) {
        struct member *member = &run->members[a];
        task_of[a] = UINT32_MAX;
        if (!needs_baseline(run->job, member))
            continue;
        struct baseline_task *task = &work->tasks[work->task_count];
        *task = (struct baseline_task){.request = run_baseline_request(run, member)};
        enum corun_status status = baseline_key(&task->request, &task->key);
        if (status != CORUN_OK)
            return status;
        for (uint32_t t = 0; t < work->task_count; t++) {
            if (!strcmp(work->tasks[t].key.hex, task->key.hex))
                task_of[a] = t;
        }
        if (task_of[a] != UINT32_MAX)
            continue;
        task_of[a] = work->task_count;
        task->list = corun_diagnostics_create();
        task->arena = arena_create();
        task->stage = arena_format(run->arena, "isolated %s", member->info.name);
        work->task_count++;
        if (!task->list || !task->arena || !task->stage)
            return CORUN_MEMORY;
        task->loaded = baseline_load(run->job->cache_directory, &task->key, task->arena, run->list, &task->baseline);
    }
    return CORUN_OK;
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
    struct baseline_work work = {.run = run};
    uint32_t task_of[CORUN_MAX_APPLICATIONS] = {0};
    pthread_mutex_init(&work.lock, NULL);
    enum corun_status status = plan_baselines(&work, task_of);
    if (status == CORUN_OK) {
        double start = run_clock();
        run_workers(&work);
        run->baseline_seconds = run_clock() - start;
    }
    for (uint32_t t = 0; t < work.task_count && status == CORUN_OK; t++) {
        struct baseline_task *task = &work.tasks[t];
        if (task->status != CORUN_OK) {
            diagnostics_pass_on(task->list, run->list);
            status = task->status;
        } else if (!task->loaded) {
            baseline_store(run->job->cache_directory, &task->key, &task->request, &task->baseline, run->list);
        }
    }
    for (uint32_t a = 0; a < run->job->application_count && status == CORUN_OK; a++) {
        if (task_of[a] == UINT32_MAX || run->interrupted)
            continue;
        /* An application that is stopped when alone has no baseline; the shared run will say why it is stopped. */
        const struct baseline_task *task = &work.tasks[task_of[a]];
        run->members[a].has_baseline = task->baseline.status == CORUN_OK && !task->baseline.interrupted;
        run->members[a].from_cache = task->loaded;
        status = baseline_copy(run->arena, &task->baseline, &run->members[a].baseline);
    }
    for (uint32_t t = 0; t < work.task_count; t++) {
        corun_diagnostics_destroy(work.tasks[t].list);
        arena_destroy(work.tasks[t].arena);
    }
    pthread_mutex_destroy(&work.lock);
    return status;
}

double run_isolated_ipc(const struct member *member)
{
    return member->has_baseline ? metrics_ratio(member->baseline.thread_instructions, member->baseline.cycles)
                                : (double)NAN;
}
