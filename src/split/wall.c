/* SPDX-License-Identifier: MIT */
/*
 * Devices work side by side: the CPU's team, and a thread for each GPU that sleeps in the driver while its part runs. The program's
 * thread sleeps until one of them tells of an end.
 */
#include "split/engine.h"

#include "split/clock.h"
#include "split/gpu.h"
#include "split/team.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct desk { /* what lies on a device's desk */
    bool ordered, ended;
    uint64_t begin, end;
    struct executor_event event;
};

struct wall {
    struct executor executor;
    struct corun_split *split;
    pthread_mutex_t mutex;
    pthread_cond_t news;   /* a part has ended */
    pthread_cond_t orders; /* a GPU's thread has something to do */
    bool quit;
    double start;
    struct desk desks[CORUN_SPLIT_MAX_DEVICES];
    uint32_t thread_count;
    pthread_t threads[MAX_GPUS];
};

struct manager {
    struct wall *wall;
    uint32_t device;
};

static struct wall *wall_of(struct executor *executor)
{
    return (struct wall *)executor;
}

static void *manage_gpu(void *argument)
{
    struct manager manager = *(struct manager *)argument;
    struct wall *wall = manager.wall;
    struct desk *desk = &wall->desks[manager.device];
    free(argument);
    pthread_mutex_lock(&wall->mutex);
    while (!wall->quit) {
        if (!desk->ordered) {
            pthread_cond_wait(&wall->orders, &wall->mutex);
            continue;
        }
        struct executor_event event = {.ended = true, .device = manager.device};
        uint64_t begin = desk->begin, end = desk->end;
        desk->ordered = false;
        pthread_mutex_unlock(&wall->mutex);
        gpu_run_part(wall->split->gpus[manager.device - 1], begin, end, &event);
        event.time = clock_seconds() - wall->start;
        pthread_mutex_lock(&wall->mutex);
        desk->event = event;
        desk->ended = true;
        pthread_cond_signal(&wall->news);
    }
    pthread_mutex_unlock(&wall->mutex);
    return NULL;
}

static void cpu_ended(void *user, const struct team_result *result)
{
    struct wall *wall = user;
    double time = clock_seconds() - wall->start;
    pthread_mutex_lock(&wall->mutex);
    wall->desks[CPU].event = (struct executor_event){.ended = true,
                                                     .device = CPU,
                                                     .time = time,
                                                     .part = {.done = result->done, .seconds = result->seconds},
                                                     .status = result->status};
    wall->desks[CPU].ended = true;
    pthread_cond_signal(&wall->news);
    pthread_mutex_unlock(&wall->mutex);
}

static void begin_run(struct executor *executor)
{
    wall_of(executor)->start = clock_seconds();
}

static double wall_now(struct executor *executor)
{
    return clock_seconds() - wall_of(executor)->start;
}

static void start(struct executor *executor, uint32_t device, uint64_t begin, uint64_t end)
{
    struct wall *wall = wall_of(executor);
    if (device == CPU) {
        team_start(wall->split->team, begin, end, 0, cpu_ended, wall);
        return;
    }
    pthread_mutex_lock(&wall->mutex);
    struct desk *desk = &wall->desks[device];
    desk->begin = begin;
    desk->end = end;
    desk->ordered = true;
    pthread_cond_broadcast(&wall->orders);
    pthread_mutex_unlock(&wall->mutex);
}

static void recall(struct executor *executor, uint32_t device)
{
    if (device == CPU)
        team_recall(wall_of(executor)->split->team);
}

static uint64_t progress(struct executor *executor, uint32_t device)
{
    return device == CPU ? team_progress(wall_of(executor)->split->team) : 0;
}

/* The end that came first of those that nobody has heard of. */
static struct desk *next_news(struct wall *wall)
{
    struct desk *next = NULL;
    for (uint32_t d = 0; d < wall->split->device_count; d++) {
        struct desk *desk = &wall->desks[d];
        if (desk->ended && (!next || desk->event.time < next->event.time))
            next = desk;
    }
    return next;
}

static void wait_event(struct executor *executor, double deadline, struct executor_event *event)
{
    struct wall *wall = wall_of(executor);
    double until = wall->start + deadline;
    struct timespec time = {(time_t)until, (long)((until - (double)(time_t)until) * 1e9)};
    struct desk *desk;
    int problem = 0;
    pthread_mutex_lock(&wall->mutex);
    while (!(desk = next_news(wall)) && problem != ETIMEDOUT) {
        if (deadline > 0)
            problem = pthread_cond_timedwait(&wall->news, &wall->mutex, &time);
        else
            pthread_cond_wait(&wall->news, &wall->mutex);
    }
    if (desk) {
        *event = desk->event;
        desk->ended = false;
    }
    pthread_mutex_unlock(&wall->mutex);
}

static void destroy(struct executor *executor)
{
    struct wall *wall = wall_of(executor);
    pthread_mutex_lock(&wall->mutex);
    wall->quit = true;
    pthread_cond_broadcast(&wall->orders);
    pthread_mutex_unlock(&wall->mutex);
    for (uint32_t i = 0; i < wall->thread_count; i++)
        pthread_join(wall->threads[i], NULL);
    pthread_cond_destroy(&wall->orders);
    pthread_cond_destroy(&wall->news);
    pthread_mutex_destroy(&wall->mutex);
    free(wall);
}

static bool create_managers(struct wall *wall)
{
    for (uint32_t i = 0; i < wall->split->gpu_count; i++) {
        struct manager *manager = malloc(sizeof *manager);
        if (!manager)
            return false;
        *manager = (struct manager){wall, i + 1};
        if (pthread_create(&wall->threads[i], NULL, manage_gpu, manager)) {
            free(manager);
            return false;
        }
        wall->thread_count++;
    }
    return true;
}

struct executor *wall_create(struct corun_split *split)
{
    static const struct executor_operations operations = {begin_run, wall_now,   start,  recall,
                                                          progress,  wait_event, destroy};
    struct wall *wall = calloc(1, sizeof *wall);
    pthread_condattr_t attributes;
    if (!wall)
        return NULL;
    wall->executor.operations = &operations;
    wall->split = split;
    pthread_mutex_init(&wall->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&wall->news, &attributes);
    pthread_cond_init(&wall->orders, NULL);
    pthread_condattr_destroy(&attributes);
    if (create_managers(wall))
        return &wall->executor;
    destroy(&wall->executor);
    return NULL;
}
