/* SPDX-License-Identifier: MIT */
/* A pool of threads with one lock, and the record of what it did. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* gettid */
#endif
#include "tasks.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * There where the program is linked with corun_trace (include/corun/trace.h): it is told whose loads and stores come next.
 */
extern void corun_trace_task(uint32_t query, uint32_t phase, uint32_t task) __attribute__((weak));
extern void corun_trace_pause(void) __attribute__((weak));
#define TELL_NS 5000000u  /* between two words of how far a query is */
#define SERIAL UINT32_MAX /* in place of a task's number: the calling thread before that phase */

struct need {
    uint32_t earlier, task;
};

struct phase {
    const char *name;
    uint64_t serial_ns; /* of the calling thread before it */
    uint32_t task_count, need_count;
    uint64_t *task_ns;
    struct need *needs; /* sorted by `earlier` */
};

struct query {
    struct phase *phases;
    uint32_t phase_count;
    uint64_t serial_ns, wall_ns; /* behind the last phase; of everything */
    bool complete;
};

struct tasks {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* something may begin, everything has ended, or the pool ends */
    pthread_t *workers;
    uint32_t threads;
    bool ending;
    /* The phase that is being worked off: */
    task_function *function;
    void *user;
    uint32_t count, left; /* tasks; those that have not ended */
    uint32_t *ready;      /* a heap of those that may begin */
    uint32_t ready_count;
    uint32_t *waits,
        *first; /* by task: needs that have not ended; where its own begin in `needs`, which is sorted by `earlier` */
    struct need *needs;
    uint32_t need_count;
    uint32_t task_room, need_room;
    uint64_t *task_ns;
    const char *name;
    /* How far the query is: */
    tasks_progress *tell;
    void *tell_context;
    double span_from, span_to;
    uint32_t span_phases, span_phase;
    uint64_t told_ns;
    int32_t *ids; /* of the threads */
    uint32_t id_count;
    /* What is measured: */
    struct query *queries;
    uint32_t query_count, query; /* `query`: the one under way, else SERIAL */
    uint32_t phase;              /* its next phase */
    uint64_t serial_since, wall_since;
};

static void *reallocate(void *memory, size_t count, size_t bytes)
{
    memory = reallocarray(memory, count ? count : 1, bytes);
    if (!memory) {
        fprintf(stderr, "there is no memory for %zu times %zu bytes\n", count, bytes);
        exit(1);
    }
    return memory;
}

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void trace(const struct tasks *tasks, uint32_t task)
{
    if (corun_trace_task && tasks->query != SERIAL)
        corun_trace_task(tasks->query, tasks->phase, task);
}

static void trace_pause(void)
{
    if (corun_trace_pause)
        corun_trace_pause();
}

/* With the lock, which is left while it is told. */
static void tell_progress(struct tasks *tasks)
{
    uint64_t now_ns;
    if (!tasks->tell || tasks->span_phase >= tasks->span_phases ||
        (now_ns = now(CLOCK_MONOTONIC)) < tasks->told_ns + TELL_NS)
        return;
    double phase = tasks->span_phase + (double)(tasks->count - tasks->left) / tasks->count;
    double progress = tasks->span_from + (tasks->span_to - tasks->span_from) * phase / tasks->span_phases;
    tasks->told_ns = now_ns;
    pthread_mutex_unlock(&tasks->lock);
    tasks->tell(tasks->tell_context, progress < 1 ? progress : 1);
    pthread_mutex_lock(&tasks->lock);
}

static void heap_push(struct tasks *tasks, uint32_t task)
{
    uint32_t *heap = tasks->ready, at = tasks->ready_count++;
    for (; at && heap[(at - 1) / 2] > task; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = task;
}

static uint32_t heap_pop(struct tasks *tasks)
{
    uint32_t *heap = tasks->ready, lowest = heap[0], last = heap[--tasks->ready_count], at = 0;
    for (uint32_t child = 1; child < tasks->ready_count; at = child, child = 2 * at + 1) {
        child += child + 1 < tasks->ready_count && heap[child + 1] < heap[child];
        if (heap[child] >= last)
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return lowest;
}

/* With the lock: works until no task may begin. */
static void work(struct tasks *tasks)
{
    while (tasks->ready_count) {
        uint32_t task = heap_pop(tasks);
        pthread_mutex_unlock(&tasks->lock);
        trace(tasks, task);
        uint64_t since = now(CLOCK_THREAD_CPUTIME_ID);
        tasks->function(tasks->user, task);
        tasks->task_ns[task] = now(CLOCK_THREAD_CPUTIME_ID) - since;
        trace_pause();
        pthread_mutex_lock(&tasks->lock);
        uint32_t more = 0;
        for (uint32_t i = tasks->first[task]; i < tasks->first[task + 1]; i++)
            if (!--tasks->waits[tasks->needs[i].task]) {
                heap_push(tasks, tasks->needs[i].task);
                more++;
            }
        if (!--tasks->left || more > 1) /* one of them is for this thread */
            pthread_cond_broadcast(&tasks->wake);
        if (tasks->left)
            tell_progress(tasks);
    }
}

static void *worker(void *user)
{
    struct tasks *tasks = user;
    pthread_mutex_lock(&tasks->lock);
    tasks->ids[tasks->id_count++] = gettid();
    pthread_cond_broadcast(&tasks->wake);
    while (!tasks->ending) {
        work(tasks);
        if (!tasks->ending)
            pthread_cond_wait(&tasks->wake, &tasks->lock);
    }
    pthread_mutex_unlock(&tasks->lock);
    return NULL;
}

struct tasks *tasks_create(uint32_t threads)
{
    struct tasks *tasks = reallocate(NULL, 1, sizeof *tasks);
    *tasks = (struct tasks){.threads = threads, .query = SERIAL};
    tasks->ids = reallocate(NULL, threads, sizeof *tasks->ids);
    tasks->ids[tasks->id_count++] = gettid();
    pthread_mutex_init(&tasks->lock, NULL);
    pthread_cond_init(&tasks->wake, NULL);
    tasks->workers = reallocate(NULL, threads, sizeof *tasks->workers);
    for (uint32_t i = 1; i < threads; i++)
        if (pthread_create(&tasks->workers[i - 1], NULL, worker, tasks)) {
            fprintf(stderr, "there is no thread %u of %u\n", i + 1, threads);
            exit(1);
        }
    return tasks;
}

void tasks_destroy(struct tasks *tasks)
{
    pthread_mutex_lock(&tasks->lock);
    tasks->ending = true;
    pthread_cond_broadcast(&tasks->wake);
    pthread_mutex_unlock(&tasks->lock);
    for (uint32_t i = 1; i < tasks->threads; i++)
        pthread_join(tasks->workers[i - 1], NULL);
    for (uint32_t q = 0; q < tasks->query_count; q++) {
        for (uint32_t p = 0; p < tasks->queries[q].phase_count; p++) {
            free(tasks->queries[q].phases[p].task_ns);
            free(tasks->queries[q].phases[p].needs);
        }
        free(tasks->queries[q].phases);
    }
    free(tasks->queries);
    free(tasks->workers);
    free(tasks->ids);
    free(tasks->ready);
    free(tasks->waits);
    free(tasks->first);
    free(tasks->task_ns);
    free(tasks->needs);
    pthread_mutex_destroy(&tasks->lock);
    pthread_cond_destroy(&tasks->wake);
    free(tasks);
}

uint32_t tasks_threads(const struct tasks *tasks)
{
    return tasks->threads;
}

void tasks_thread_ids(struct tasks *tasks, int32_t *ids)
{
    pthread_mutex_lock(&tasks->lock);
    while (tasks->id_count < tasks->threads)
        pthread_cond_wait(&tasks->wake, &tasks->lock);
    memcpy(ids, tasks->ids, tasks->threads * sizeof *ids);
    pthread_mutex_unlock(&tasks->lock);
}

void tasks_tell_progress(struct tasks *tasks, tasks_progress *tell, void *context)
{
    tasks->tell = tell;
    tasks->tell_context = context;
}

void tasks_span(struct tasks *tasks, double from, double to, uint32_t phases)
{
    tasks->span_from = from;
    tasks->span_to = to;
    tasks->span_phases = phases;
    tasks->span_phase = 0;
}

static void keep_shortest(uint64_t *kept, uint64_t time, bool again)
{
    if (!again || time < *kept)
        *kept = time;
}

/* The query's next phase: as it is, or where it is not run for the first time, with the shorter times. */
static void record_phase(struct tasks *tasks, uint64_t serial_ns)
{
    struct query *query = &tasks->queries[tasks->query];
    bool again = query->complete;
    if (!again) {
        query->phases = reallocate(query->phases, query->phase_count + 1u, sizeof *query->phases);
        struct phase *phase = &query->phases[query->phase_count++];
        *phase = (struct phase){.name = tasks->name, .task_count = tasks->count, .need_count = tasks->need_count};
        phase->task_ns = reallocate(NULL, tasks->count, sizeof *phase->task_ns);
        phase->needs = reallocate(NULL, tasks->need_count, sizeof *phase->needs);
        if (tasks->need_count)
            memcpy(phase->needs, tasks->needs, tasks->need_count * sizeof *phase->needs);
    }
    struct phase *phase = &query->phases[tasks->phase++];
    assert(tasks->phase <= query->phase_count && phase->task_count == tasks->count);
    keep_shortest(&phase->serial_ns, serial_ns, again);
    for (uint32_t i = 0; i < tasks->count; i++)
        keep_shortest(&phase->task_ns[i], tasks->task_ns[i], again);
}

void tasks_begin(struct tasks *tasks, const char *name, task_function *function, void *user, uint32_t count)
{
    tasks->name = name;
    tasks->function = function;
    tasks->user = user;
    tasks->count = count;
    tasks->need_count = 0;
    if (count >= tasks->task_room) {
        tasks->task_room = 2 * count + 64;
        tasks->ready = reallocate(tasks->ready, tasks->task_room, sizeof *tasks->ready);
        tasks->waits = reallocate(tasks->waits, tasks->task_room, sizeof *tasks->waits);
        tasks->first = reallocate(tasks->first, tasks->task_room, sizeof *tasks->first);
        tasks->task_ns = reallocate(tasks->task_ns, tasks->task_room, sizeof *tasks->task_ns);
    }
    memset(tasks->waits, 0, count * sizeof *tasks->waits);
}

void tasks_need(struct tasks *tasks, uint32_t task, uint32_t earlier)
{
    assert(earlier < task && task < tasks->count);
    if (tasks->need_count == tasks->need_room) {
        tasks->need_room = 2 * tasks->need_room + 64;
        tasks->needs = reallocate(tasks->needs, tasks->need_room, sizeof *tasks->needs);
    }
    tasks->needs[tasks->need_count++] = (struct need){earlier, task};
    tasks->waits[task]++;
}

static int compare_needs(const void *a, const void *b)
{
    const struct need *x = a, *y = b;
    return x->earlier != y->earlier ? (x->earlier > y->earlier) - (x->earlier < y->earlier)
                                    : (x->task > y->task) - (x->task < y->task);
}

void tasks_run(struct tasks *tasks)
{
    uint64_t serial_ns = now(CLOCK_THREAD_CPUTIME_ID) - tasks->serial_since;
    trace_pause();
    pthread_mutex_lock(&tasks->lock);
    if (tasks->need_count)
        qsort(tasks->needs, tasks->need_count, sizeof *tasks->needs, compare_needs);
    uint32_t need = 0;
    for (uint32_t i = 0; i <= tasks->count; i++) {
        tasks->first[i] = need;
        while (need < tasks->need_count && tasks->needs[need].earlier == i)
            need++;
    }
    tasks->left = tasks->count;
    for (uint32_t i = 0; i < tasks->count; i++)
        if (!tasks->waits[i])
            heap_push(tasks, i);
    pthread_cond_broadcast(&tasks->wake);
    while (tasks->left) {
        work(tasks);
        if (tasks->left)
            pthread_cond_wait(&tasks->wake, &tasks->lock);
    }
    tasks->span_phase++;
    pthread_mutex_unlock(&tasks->lock);
    if (tasks->query != SERIAL)
        record_phase(tasks, serial_ns);
    trace(tasks, SERIAL);
    tasks->serial_since = now(CLOCK_THREAD_CPUTIME_ID);
}

void tasks_phase(struct tasks *tasks, const char *name, task_function *function, void *user, uint32_t count)
{
    tasks_begin(tasks, name, function, user, count);
    tasks_run(tasks);
}

void tasks_query_begin(struct tasks *tasks, uint32_t query)
{
    if (query >= tasks->query_count) {
        tasks->queries = reallocate(tasks->queries, query + 1u, sizeof *tasks->queries);
        memset(tasks->queries + tasks->query_count, 0, (query + 1u - tasks->query_count) * sizeof *tasks->queries);
        tasks->query_count = query + 1u;
    }
    tasks->query = query;
    tasks->phase = 0;
    tasks_span(tasks, 0, 1, 1);
    trace(tasks, SERIAL);
    tasks->wall_since = now(CLOCK_MONOTONIC);
    tasks->serial_since = now(CLOCK_THREAD_CPUTIME_ID);
}

void tasks_query_end(struct tasks *tasks)
{
    uint64_t serial_ns = now(CLOCK_THREAD_CPUTIME_ID) - tasks->serial_since;
    uint64_t wall_ns = now(CLOCK_MONOTONIC) - tasks->wall_since;
    trace_pause();
    struct query *query = &tasks->queries[tasks->query];
    keep_shortest(&query->serial_ns, serial_ns, query->complete);
    keep_shortest(&query->wall_ns, wall_ns, query->complete);
    query->complete = true;
    tasks->query = SERIAL;
}

uint64_t tasks_query_wall(const struct tasks *tasks, uint32_t query)
{
    return tasks->queries[query].wall_ns;
}

void tasks_report(const struct tasks *tasks, FILE *file)
{
    fputc('[', file);
    for (uint32_t q = 0; q < tasks->query_count; q++) {
        const struct query *query = &tasks->queries[q];
        fprintf(file, "%s\n {\"wall_ns\": %" PRIu64 ", \"serial_ns\": %" PRIu64 ", \"phases\": [", q ? "," : "",
                query->wall_ns, query->serial_ns);
        for (uint32_t p = 0; p < query->phase_count; p++) {
            const struct phase *phase = &query->phases[p];
            fprintf(file, "%s\n  {\"name\": \"%s\", \"serial_ns\": %" PRIu64 ", \"tasks_ns\": [", p ? "," : "",
                    phase->name, phase->serial_ns);
            for (uint32_t i = 0; i < phase->task_count; i++)
                fprintf(file, "%s%" PRIu64, i ? "," : "", phase->task_ns[i]);
            fputs("], \"needs\": [", file);
            for (uint32_t i = 0; i < phase->need_count; i++)
                fprintf(file, "%s[%u,%u]", i ? "," : "", phase->needs[i].task, phase->needs[i].earlier);
            fputs("]}", file);
        }
        fputs("]}", file);
    }
    fputc(']', file);
}
