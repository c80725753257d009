/* SPDX-License-Identifier: MIT */
/*
 * Tasks of isolated runs for several threads: each task loads from the cache, waits for another process, or simulates.
 */
#include "case/baseline_pool.h"

#include "base/parallel.h"
#include "case/cache_lock.h"

#include <string.h>
#include <unistd.h>

#define SECONDS_BETWEEN_RENEWALS 5.0
#define MICROSECONDS_BETWEEN_LOOKS 20000

struct baseline_watch {
    struct baseline_pool *pool;
    struct baseline_task *task;
    const struct cache_lock *lock;
    double renewed;
};

static bool report_progress(struct baseline_pool *pool, struct baseline_task *task, uint64_t cycle)
{
    uint64_t cycles = 0;
    pthread_mutex_lock(&pool->lock);
    task->cycle = cycle;
    for (size_t t = 0; t < pool->tasks.count; t++)
        cycles += pool->tasks.data[t].cycle;
    bool proceed = run_progress(pool->run, task->stage, cycle, task->request.window.cycles, cycles);
    pthread_mutex_unlock(&pool->lock);
    return proceed;
}

static bool baseline_progress(void *user, uint64_t cycle)
{
    struct baseline_watch *watch = user;
    if (run_clock() - watch->renewed > SECONDS_BETWEEN_RENEWALS) {
        watch->renewed = run_clock();
        cache_lock_renew(watch->lock);
    }
    return report_progress(watch->pool, watch->task, cycle);
}

/* With the lock: another process may just have been done. What is damaged has been told when it was looked for first. */
static bool load_again(struct baseline_pool *pool, struct baseline_task *task)
{
    pthread_mutex_lock(&pool->lock);
    task->loaded = baseline_load(pool->run->job->cache_directory, &task->key, task->arena, NULL, &task->baseline);
    task->finished = task->loaded;
    pthread_mutex_unlock(&pool->lock);
    return task->loaded;
}

/* Ends the lock, which may be none. */
static void compute(struct baseline_pool *pool, struct baseline_task *task, struct cache_lock *lock)
{
    struct baseline_watch watch = {pool, task, lock, run_clock()};
    if (lock->descriptor < 0 || !load_again(pool, task)) {
        task->status =
            baseline_compute(&task->request, task->arena, task->list, baseline_progress, &watch, &task->baseline);
        pthread_mutex_lock(&pool->lock);
        task->finished = task->status == CORUN_OK && !task->baseline.interrupted;
        if (task->finished)
            baseline_store(pool->run->job->cache_directory, &task->key, &task->request, &task->baseline,
                           pool->run->list);
        pthread_mutex_unlock(&pool->lock);
    }
    cache_lock_release(lock);
}

/* Until the other process is done, has ended, or has shown no sign of life for too long. */
static void wait_and_compute(struct baseline_pool *pool, struct baseline_task *task)
{
    struct cache_lock lock;
    int64_t touched = 0, last = 0;
    double since = run_clock();
    while (cache_lock_try(pool->run->job->cache_directory, &task->key, &lock, &touched) == CACHE_LOCK_ELSEWHERE) {
        if (touched != last)
            since = run_clock();
        last = touched;
        if (run_clock() - since > CACHE_LOCK_LEASE_SECONDS)
            break;
        if (!report_progress(pool, task, 0)) {
            task->baseline.interrupted = true;
            return;
        }
        usleep(MICROSECONDS_BETWEEN_LOOKS);
    }
    compute(pool, task, &lock);
}

/* The next one that nobody has begun; then those of other processes; NULL: there is none, or the run is to end. */
static struct baseline_task *next_task(struct baseline_pool *pool, bool *elsewhere)
{
    struct baseline_task *task = NULL;
    pthread_mutex_lock(&pool->lock);
    while (pool->next < pool->tasks.count && pool->tasks.data[pool->next].loaded)
        pool->next++;
    if (pool->next < pool->tasks.count)
        task = &pool->tasks.data[pool->next++];
    for (size_t t = 0; !task && t < pool->tasks.count; t++)
        task = pool->tasks.data[t].elsewhere ? &pool->tasks.data[t] : NULL;
    *elsewhere = task && task->elsewhere;
    if (task)
        task->elsewhere = false;
    bool end = pool->run->interrupted;
    pthread_mutex_unlock(&pool->lock);
    return end ? NULL : task;
}

static void *baseline_worker(void *user)
{
    struct baseline_pool *pool = user;
    const char *directory = pool->run->job->cache_directory;
    struct baseline_task *task;
    bool elsewhere;
    while ((task = next_task(pool, &elsewhere))) {
        struct cache_lock lock = {.descriptor = -1};
        int64_t touched;
        if (elsewhere) {
            wait_and_compute(pool, task);
        } else if (directory && cache_lock_try(directory, &task->key, &lock, &touched) == CACHE_LOCK_ELSEWHERE) {
            pthread_mutex_lock(&pool->lock);
            task->elsewhere = true;
            pthread_mutex_unlock(&pool->lock);
        } else {
            compute(pool, task, &lock);
        }
    }
    return NULL;
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
