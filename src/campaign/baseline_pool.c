#include "campaign/baseline_pool.h"

#include "campaign/parallel.h"

#include <string.h>

struct baseline_watch {
    struct baseline_pool *pool;
    struct baseline_task *task;
};

static bool baseline_progress(void *user, uint64_t cycle)
{
    struct baseline_watch *watch = user;
    uint64_t cycles = 0;
    pthread_mutex_lock(&watch->pool->lock);
    watch->task->cycle = cycle;
    for (size_t t = 0; t < watch->pool->tasks.count; t++)
        cycles += watch->pool->tasks.data[t].cycle;
    bool go_on = run_progress(watch->pool->run, watch->task->stage, cycle, watch->task->request.window.cycles, cycles);
    pthread_mutex_unlock(&watch->pool->lock);
    return go_on;
}

static void *baseline_worker(void *user)
{
    struct baseline_pool *pool = user;
    for (;;) {
        pthread_mutex_lock(&pool->lock);
        while (pool->next < pool->tasks.count && pool->tasks.data[pool->next].loaded)
            pool->next++;
        bool done = pool->next == pool->tasks.count || pool->run->interrupted;
        struct baseline_task *task = done ? NULL : &pool->tasks.data[pool->next++];
        pthread_mutex_unlock(&pool->lock);
        if (done)
            return NULL;
        struct baseline_watch watch = {pool, task};
        task->status =
            baseline_compute(&task->request, task->arena, task->list, baseline_progress, &watch, &task->baseline);
        task->finished = task->status == CORUN_OK && !task->baseline.interrupted;
    }
}

void baseline_pool_begin(struct baseline_pool *pool, struct run *run)
{
    *pool = (struct baseline_pool){.run = run};
    pthread_mutex_init(&pool->lock, NULL);
}

enum corun_status baseline_pool_add(struct baseline_pool *pool, const struct baseline_request *request,
                                    const char *stage, size_t *index)
{
    struct baseline_task task = {.request = *request, .stage = stage};
    enum corun_status status = baseline_key(request, &task.key);
    if (status != CORUN_OK)
        return status;
    for (*index = 0; *index < pool->tasks.count; ++*index) {
        if (!strcmp(pool->tasks.data[*index].key.hex, task.key.hex))
            return CORUN_OK;
    }
    task.list = corun_diagnostics_create();
    task.arena = arena_create();
    if (task.list && task.arena)
        task.loaded =
            baseline_load(pool->run->job->cache_directory, &task.key, task.arena, pool->run->list, &task.baseline);
    task.finished = task.loaded;
    if (task.list && task.arena && vector_push(&pool->tasks, task))
        return CORUN_OK;
    if (task.list)
        corun_diagnostics_destroy(task.list);
    arena_destroy(task.arena);
    return CORUN_MEMORY;
}

enum corun_status baseline_pool_run(struct baseline_pool *pool)
{
    struct run *run = pool->run;
    size_t to_do = 0;
    uint64_t cycles = 0;
    for (size_t t = 0; t < pool->tasks.count; t++) {
        to_do += !pool->tasks.data[t].loaded;
        cycles += pool->tasks.data[t].loaded ? 0 : pool->tasks.data[t].request.window.cycles;
    }
    run->cycles_all += cycles;
    uint32_t jobs = parallel_jobs(run->job->baseline_jobs);
    double start = run_clock();
    parallel_run(to_do < jobs ? (uint32_t)to_do : jobs, baseline_worker, pool);
    run->baseline_seconds += run_clock() - start;
    run->cycles_done += cycles;
    for (size_t t = 0; t < pool->tasks.count; t++) {
        struct baseline_task *task = &pool->tasks.data[t];
        if (task->status != CORUN_OK) {
            diagnostics_pass_on(task->list, run->list);
            return task->status;
        }
        if (task->finished && !task->loaded) /* others have not begun, or were interrupted */
            baseline_store(run->job->cache_directory, &task->key, &task->request, &task->baseline, run->list);
    }
    return CORUN_OK;
}

void baseline_pool_end(struct baseline_pool *pool)
{
    for (size_t t = 0; t < pool->tasks.count; t++) {
        corun_diagnostics_destroy(pool->tasks.data[t].list);
        arena_destroy(pool->tasks.data[t].arena);
    }
    vector_free(&pool->tasks);
    pthread_mutex_destroy(&pool->lock);
}
