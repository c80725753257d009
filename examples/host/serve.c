/* SPDX-License-Identifier: MIT */
/* Queries that arrive at random, for programs that share a host under an agent: who waits, who works, how long it took. */
#include "corun/service.h"
#include "program.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct house {
    const struct program *program;
    const struct program_serving *serving;
    struct corun_service *agent;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct waiting { /* by number of the query, modulo `room` */
        uint64_t arrived_ns;
        uint32_t size;
    } * waiting;
    uint32_t room;
    uint64_t came, answers;
    double *times_ms; /* [times_room] of the latest */
    uint32_t times_room;
};

struct worker {
    struct house *house;
    pthread_t thread;
    uint64_t query;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
        ;
}

/* In (0, 1]. */
static double even(uint64_t seed, uint64_t index)
{
    return ((double)(program_random(seed, index) >> 11) + 1) * 0x1p-53;
}

static uint32_t size_of(const struct program *program, const struct program_serving *serving, uint64_t query)
{
    for (uint64_t draw = 0;; draw++) {
        double size = -log(even(serving->seed + 1, query + draw * UINT64_C(0x100000000))) * serving->size;
        if (size <= serving->largest)
            return size < program->least ? program->least : (uint32_t)ceil(size);
    }
}

static void tell(void *context, double progress)
{
    const struct worker *worker = context;
    corun_service_progress(worker->house->agent, worker->query, progress);
}

static void note_answer(struct house *house, const struct waiting *query)
{
    double ms = (double)(now_ns() - query->arrived_ns) * 1e-6;
    pthread_mutex_lock(&house->lock);
    house->times_ms[house->answers++ % house->times_room] = ms;
    pthread_cond_signal(&house->changed);
    pthread_mutex_unlock(&house->lock);
}

static void *work(void *user)
{
    struct worker *worker = user;
    struct house *house = worker->house;
    const struct program *program = house->program;
    int32_t ids[1024];
    void *state = program->create(house->serving->largest, house->serving->seed);
    struct tasks *tasks = tasks_create(house->serving->threads);
    tasks_thread_ids(tasks, ids);
    tasks_tell_progress(tasks, tell, worker);
    while (corun_service_next(house->agent, &worker->query)) {
        pthread_mutex_lock(&house->lock);
        struct waiting query = house->waiting[worker->query % house->room];
        pthread_mutex_unlock(&house->lock);
        corun_service_begin(house->agent, worker->query, ids, house->serving->threads);
        program->prepare(state, query.size, program_random(house->serving->seed, worker->query));
        tasks_span(tasks, 0, 1, 1);
        program->run(state, tasks);
        corun_service_end(house->agent, worker->query);
        note_answer(house, &query);
    }
    tasks_destroy(tasks);
    program->destroy(state);
    return NULL;
}

/* Queries come; without a gap, the next one when all have been answered. */
static void let_come(struct house *house)
{
    const struct program_serving *serving = house->serving;
    uint64_t at_ns = now_ns();
    for (uint64_t query = 0; !serving->queries || query < serving->queries; query++) {
        at_ns += (uint64_t)(-log(even(serving->seed + 2, query)) * serving->gap_ms * 1e6);
        sleep_until(at_ns);
        pthread_mutex_lock(&house->lock);
        while (house->came - house->answers >= (serving->gap_ms > 0 ? house->room : 1))
            pthread_cond_wait(&house->changed, &house->lock);
        house->waiting[query % house->room] =
            (struct waiting){serving->gap_ms > 0 ? at_ns : now_ns(), size_of(house->program, serving, query)};
        uint32_t size = house->waiting[query % house->room].size;
        house->came++;
        pthread_mutex_unlock(&house->lock);
        corun_service_arrive(house->agent, query, size);
    }
    corun_service_finish(house->agent);
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static void print_times(struct house *house)
{
    uint64_t kept = house->answers < house->times_room ? house->answers : house->times_room;
    if (!kept)
        return;
    qsort(house->times_ms, kept, sizeof *house->times_ms, compare);
    printf("%s: %" PRIu64 " queries, P50 %.3f ms, P99 %.3f ms, longest %.3f ms\n", house->program->name, house->answers,
           house->times_ms[(kept - 1) / 2], house->times_ms[(uint64_t)ceil(0.99 * (double)kept) - 1],
           house->times_ms[kept - 1]);
}

/* ---- batch programs ---- */

struct batch {
    struct corun_service *agent;
    uint64_t runs;
};

static void tell_work(void *context, double progress)
{
    const struct batch *batch = context;
    corun_service_work(batch->agent, (double)batch->runs + progress);
}

static int run_batch(const struct program *program, const struct program_serving *serving)
{
    struct batch batch = {.agent = corun_service_open_batch(serving->agent, program->name)};
    void *state = program->create(serving->size, serving->seed);
    struct tasks *tasks = tasks_create(serving->threads);
    if (!batch.agent)
        return 1;
    tasks_tell_progress(tasks, tell_work, &batch);
    for (; !serving->queries || batch.runs < serving->queries; batch.runs++, tell_work(&batch, 0)) {
        program->prepare(state, serving->size, program_random(serving->seed, batch.runs));
        tasks_span(tasks, 0, 1, 1);
        program->run(state, tasks);
    }
    printf("%s: %" PRIu64 " runs\n", program->name, batch.runs);
    tasks_destroy(tasks);
    program->destroy(state);
    corun_service_close(batch.agent);
    return 0;
}

int program_serve(const struct program *program, const struct program_serving *serving)
{
    if (program->batch)
        return run_batch(program, serving);
    struct house house = {.program = program, .serving = serving, .room = 65536, .times_room = 1000000};
    struct worker *workers = program_allocate(serving->workers, sizeof *workers);
    house.waiting = program_allocate(house.room, sizeof *house.waiting);
    house.times_ms = program_allocate(house.times_room, sizeof *house.times_ms);
    house.agent = corun_service_open(serving->agent, program->name, serving->workers);
    pthread_mutex_init(&house.lock, NULL);
    pthread_cond_init(&house.changed, NULL);
    bool started = house.agent;
    for (uint32_t i = 0; i < serving->workers && started; i++) {
        workers[i].house = &house;
        started = !pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    if (!started) {
        fprintf(stderr, "%s: no thread can be started\n", program->name);
        exit(1);
    }
    let_come(&house);
    for (uint32_t i = 0; i < serving->workers; i++)
        pthread_join(workers[i].thread, NULL);
    print_times(&house);
    corun_service_close(house.agent);
    pthread_cond_destroy(&house.changed);
    pthread_mutex_destroy(&house.lock);
    free(house.times_ms);
    free(house.waiting);
    free(workers);
    return 0;
}
