/* SPDX-License-Identifier: MIT */
/*
 * Devices work side by side: the CPU's team, and for each GPU a thread that enqueues parts and moves results back, and one that sleeps in
 * the driver until the oldest part has ended. The program's thread sleeps until one of them tells of an end.
 *
 * Beside a GPU that needs half a millisecond for everything, the way from thread to thread is long. So where there is one GPU, and all its
 * copies are of pinned memory, the program's thread enqueues by itself, and watches the GPU for `spin_us`. Then it sleeps, and the GPU's
 * threads sleep in the driver: one until the oldest part has ended, the other until the oldest delivery has.
 */
#include "split/engine.h"

#include "split/clock.h"
#include "split/gpu.h"
#include "split/team.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

struct order {
    uint64_t begin, end;
    bool fed, delivery, fetch;
};

enum { MOST_ORDERS = MOST_PARTS + MOST_DELIVERIES + 1, MOST_NEWS = MOST_ORDERS + 1 };

struct desk { /* what lies on a device's desk */
    struct order orders[MOST_ORDERS];
    uint32_t order_count;
    bool enqueuing;                    /* an order is being carried out */
    uint32_t begun;                    /* parts that are enqueued and have not ended */
    uint32_t delivering;               /* deliveries that the program's thread has enqueued and that have not ended */
    bool awaits_part, awaits_delivery; /* the GPU's threads have gone to sleep in the driver */
    uint64_t fetching, fetched; /* iterations of a fetch: enqueued; ended, and nobody has been told. Of who enqueues */
    double fetched_seconds;
    uint32_t stale; /* of the parts that are ordered or begun: so many of the oldest */
    bool silent;    /* it has been given up: whatever it still says is not heard */
    struct executor_event news[MOST_NEWS];
    uint32_t news_count;
};

struct wall {
    struct executor executor;
    struct corun_split *split;
    pthread_mutex_t mutex;
    pthread_cond_t news;   /* something has ended */
    pthread_cond_t orders; /* a GPU's threads have something to do */
    bool quit, hung;       /* hung: threads of a GPU may never come back */
    bool direct;           /* the program's thread enqueues */
    bool watching;         /* and looks for ends: the GPU's threads do not */
    double start;
    struct desk desks[CORUN_SPLIT_MAX_DEVICES];
    uint32_t thread_count;
    pthread_t threads[2 * MAX_GPUS];
};

struct manager {
    struct wall *wall;
    uint32_t device;
};

static struct wall *wall_of(struct executor *executor)
{
    return (struct wall *)executor;
}

/* The caller holds the mutex. */
static void tell(struct wall *wall, struct executor_event event)
{
    struct desk *desk = &wall->desks[event.device];
    if (!desk->silent && desk->news_count < MOST_NEWS)
        desk->news[desk->news_count++] = event;
    pthread_cond_signal(&wall->news);
}

static struct order next_order(struct desk *desk)
{
    struct order order = desk->orders[0];
    desk->order_count--;
    for (uint32_t i = 0; i < desk->order_count; i++)
        desk->orders[i] = desk->orders[i + 1];
    return order;
}

/* Whether what was last fetched is there. */
static void end_fetch(struct wall *wall, uint32_t device)
{
    struct desk *desk = &wall->desks[device];
    if (!desk->fetching || !gpu_fetched(wall->split->gpus[device - 1], &desk->fetched_seconds))
        return;
    desk->fetched = desk->fetching;
    desk->fetching = 0;
}

static bool begin_fetch(struct wall *wall, uint32_t device, const struct order *order)
{
    struct desk *desk = &wall->desks[device];
    end_fetch(wall, device);
    if (desk->fetching) /* it is late: what comes next would be later */
        return false;
    gpu_fetch(wall->split->gpus[device - 1], order->begin, order->end);
    desk->fetching = order->end - order->begin;
    return true;
}

/* Carries one order out; the mutex is free meanwhile. */
static void carry_out(struct wall *wall, uint32_t device, const struct order *order)
{
    struct corun_split_gpu *gpu = wall->split->gpus[device - 1];
    struct executor_event event = {.news = NEWS_DELIVERED, .device = device};
    pthread_mutex_unlock(&wall->mutex);
    if (order->delivery) {
        gpu_begin_delivery(gpu, order->begin, order->end);
        gpu_end_delivery(gpu, &event);
        event.time = clock_seconds() - wall->start;
    } else if (order->fetch) {
        (void)begin_fetch(wall, device, order);
    } else {
        gpu_begin_part(gpu, order->begin, order->end, order->fed);
    }
    pthread_mutex_lock(&wall->mutex);
    if (order->delivery)
        tell(wall, event);
    else if (!order->fetch)
        wall->desks[device].begun++;
}

/* Waits for the oldest delivery that the program's thread has enqueued; the mutex is free meanwhile. */
static void end_delivery(struct wall *wall, uint32_t device)
{
    struct desk *desk = &wall->desks[device];
    struct executor_event event = {.news = NEWS_DELIVERED, .device = device};
    desk->awaits_delivery = true;
    pthread_mutex_unlock(&wall->mutex);
    gpu_end_delivery(wall->split->gpus[device - 1], &event);
    event.time = clock_seconds() - wall->start;
    pthread_mutex_lock(&wall->mutex);
    desk->awaits_delivery = false;
    desk->delivering--;
    tell(wall, event);
    if (desk->awaits_part) /* it may have failed, and waits for quiet */
        pthread_cond_broadcast(&wall->orders);
}

/* Waits for the oldest part; the mutex is free meanwhile. */
static void end_part(struct wall *wall, uint32_t device)
{
    struct desk *desk = &wall->desks[device];
    struct executor_event event = {.news = NEWS_ENDED, .device = device};
    desk->awaits_part = true;
    pthread_mutex_unlock(&wall->mutex);
    gpu_end_part(wall->split->gpus[device - 1], &event);
    pthread_mutex_lock(&wall->mutex);
    if (event.status != CORUN_OK) /* who does the work again must not meet results that are on their way */
        desk->order_count = 0;
    while (event.status != CORUN_OK && (desk->enqueuing || desk->delivering) && !desk->silent) {
        if (desk->delivering && !desk->awaits_delivery)
            end_delivery(wall, device);
        else
            pthread_cond_wait(&wall->orders, &wall->mutex);
    }
    event.time = clock_seconds() - wall->start;
    desk->awaits_part = false;
    desk->begun--;
    event.news = desk->stale ? NEWS_NONE : NEWS_ENDED;
    desk->stale -= desk->stale > 0;
    tell(wall, event);
}

static void *enqueue(void *argument)
{
    struct manager manager = *(struct manager *)argument;
    struct wall *wall = manager.wall;
    struct desk *desk = &wall->desks[manager.device];
    free(argument);
    pthread_mutex_lock(&wall->mutex);
    while (!wall->quit || desk->delivering) {
        bool waits = desk->delivering && !desk->awaits_delivery && !wall->watching;
        if (!desk->order_count && !waits) {
            pthread_cond_wait(&wall->orders, &wall->mutex);
            continue;
        }
        if (waits) {
            end_delivery(wall, manager.device);
        } else {
            struct order order = next_order(desk);
            desk->enqueuing = true;
            carry_out(wall, manager.device, &order);
            desk->enqueuing = false;
        }
        pthread_cond_broadcast(&wall->orders); /* for who waits for parts, or for quiet */
    }
    pthread_mutex_unlock(&wall->mutex);
    return NULL;
}

static void *await_parts(void *argument)
{
    struct manager manager = *(struct manager *)argument;
    struct wall *wall = manager.wall;
    struct desk *desk = &wall->desks[manager.device];
    free(argument);
    pthread_mutex_lock(&wall->mutex);
    while (!wall->quit || desk->begun) {
        if (!desk->begun || wall->watching || desk->awaits_part) {
            pthread_cond_wait(&wall->orders, &wall->mutex);
            continue;
        }
        end_part(wall, manager.device);
    }
    pthread_mutex_unlock(&wall->mutex);
    return NULL;
}

static void cpu_ended(void *user, const struct team_result *result)
{
    struct wall *wall = user;
    double time = clock_seconds() - wall->start;
    pthread_mutex_lock(&wall->mutex);
    tell(wall, (struct executor_event){.news = NEWS_ENDED,
                                       .device = CPU,
                                       .time = time,
                                       .part = {.done = result->done, .seconds = result->seconds},
                                       .status = result->status});
    pthread_mutex_unlock(&wall->mutex);
}

static void begin_run(struct executor *executor)
{
    struct wall *wall = wall_of(executor);
    pthread_mutex_lock(&wall->mutex);
    wall->start = clock_seconds();
    wall->watching = wall->direct;
    pthread_mutex_unlock(&wall->mutex);
}

static double wall_now(struct executor *executor)
{
    return clock_seconds() - wall_of(executor)->start;
}

static void order(struct wall *wall, uint32_t device, struct order order)
{
    struct desk *desk = &wall->desks[device];
    pthread_mutex_lock(&wall->mutex);
    desk->orders[desk->order_count++] = order;
    pthread_cond_broadcast(&wall->orders);
    pthread_mutex_unlock(&wall->mutex);
}

static void start(struct executor *executor, uint32_t device, uint64_t begin, uint64_t end, bool fed)
{
    struct wall *wall = wall_of(executor);
    if (device == CPU) {
        split_team_start(wall->split->team, begin, end, 0, fed, cpu_ended, wall);
    } else if (wall->direct) {
        gpu_begin_part(wall->split->gpus[device - 1], begin, end, fed);
        pthread_mutex_lock(&wall->mutex);
        wall->desks[device].begun++;
        pthread_mutex_unlock(&wall->mutex);
    } else {
        order(wall, device, (struct order){.begin = begin, .end = end, .fed = fed});
    }
}

static void deliver(struct executor *executor, uint32_t device, uint64_t begin, uint64_t end)
{
    struct wall *wall = wall_of(executor);
    if (!wall->direct) {
        order(wall, device, (struct order){.begin = begin, .end = end, .delivery = true});
        return;
    }
    gpu_begin_delivery(wall->split->gpus[device - 1], begin, end);
    pthread_mutex_lock(&wall->mutex);
    wall->desks[device].delivering++;
    pthread_mutex_unlock(&wall->mutex);
}

static bool fetch(struct executor *executor, uint32_t device, uint64_t begin, uint64_t end)
{
    struct wall *wall = wall_of(executor);
    struct order fetch = {.begin = begin, .end = end, .fetch = true};
    if (wall->direct)
        return begin_fetch(wall, device, &fetch);
    order(wall, device, fetch);
    return true; /* as far as this thread knows */
}

/* Between runs: nobody enqueues. */
static bool fetched(struct executor *executor, uint32_t device, double *iterations, double *seconds)
{
    struct wall *wall = wall_of(executor);
    struct desk *desk = &wall->desks[device];
    if (desk->silent)
        return false;
    end_fetch(wall, device);
    *iterations = (double)desk->fetched;
    *seconds = desk->fetched_seconds;
    desk->fetched = 0;
    return *iterations > 0 && *seconds > 0;
}

static uint64_t recall(struct executor *executor)
{
    return split_team_recall(wall_of(executor)->split->team);
}

static uint64_t stop(struct executor *executor)
{
    return split_team_stop(wall_of(executor)->split->team);
}

static uint64_t take(struct executor *executor, uint64_t count)
{
    return split_team_take(wall_of(executor)->split->team, count);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the operation */
static uint64_t progress(struct executor *executor, uint32_t device, double *seconds)
{
    (void)seconds; /* until now */
    return device == CPU ? split_team_progress(wall_of(executor)->split->team) : 0;
}

static uint64_t kept(struct executor *executor)
{
    return split_team_kept(wall_of(executor)->split->team);
}

static double question_interval(struct executor *executor)
{
    return split_team_asks(wall_of(executor)->split->team);
}

static uint32_t stale(struct executor *executor, uint32_t device)
{
    struct wall *wall = wall_of(executor);
    pthread_mutex_lock(&wall->mutex);
    uint32_t count = wall->desks[device].stale;
    pthread_mutex_unlock(&wall->mutex);
    return count;
}

/* The device whose end came first of those that nobody has heard of; device_count if there is none. */
static uint32_t next_news(const struct wall *wall)
{
    uint32_t next = wall->split->device_count;
    for (uint32_t d = 0; d < wall->split->device_count; d++)
        if (wall->desks[d].news_count &&
            (next == wall->split->device_count || wall->desks[d].news[0].time < wall->desks[next].news[0].time))
            next = d;
    return next;
}

/* Ends what has ended on a GPU. Whether anything can be watched there. The caller holds the mutex, which is free meanwhile. */
static bool look(struct wall *wall, uint32_t device)
{
    struct desk *desk = &wall->desks[device];
    struct corun_split_gpu *gpu = wall->split->gpus[device - 1];
    bool part = desk->begun && !desk->awaits_part, delivery = desk->delivering && !desk->awaits_delivery;
    const bool watched = part || delivery;
    for (bool over = part; over && desk->begun;) {
        pthread_mutex_unlock(&wall->mutex);
        over = gpu_part_over(gpu);
        pthread_mutex_lock(&wall->mutex);
        if (over)
            end_part(wall, device);
    }
    while (delivery) {
        pthread_mutex_unlock(&wall->mutex);
        bool over = gpu_delivery_over(gpu);
        pthread_mutex_lock(&wall->mutex);
        /* Who waits for a part that has failed ends deliveries, too. */
        if (!over || !desk->delivering || desk->awaits_delivery)
            break;
        end_delivery(wall, device);
        delivery = desk->delivering && !desk->awaits_delivery;
    }
    return watched;
}

/* Looks at the GPUs until there are news, for a while; then the GPUs' threads do. The caller holds the mutex, which is free meanwhile. */
static void watch(struct wall *wall, double until)
{
    bool any = true;
    until = fmin(until, clock_seconds() + 1e-6 * wall->split->parameters.spin_us);
    while (any && next_news(wall) == wall->split->device_count && clock_seconds() < until) {
        any = false;
        for (uint32_t d = 1; d < wall->split->device_count; d++)
            any = look(wall, d) || any;
    }
    if (!any || next_news(wall) < wall->split->device_count)
        return;
    wall->watching = false;
    pthread_cond_broadcast(&wall->orders);
}

static void wait_event(struct executor *executor, double deadline, struct executor_event *event)
{
    struct wall *wall = wall_of(executor);
    double until = wall->start + deadline;
    struct timespec time = {(time_t)until, (long)((until - (double)(time_t)until) * 1e9)};
    uint32_t device;
    int problem = 0;
    pthread_mutex_lock(&wall->mutex);
    if (wall->watching)
        watch(wall, deadline > 0 ? until : INFINITY);
    while ((device = next_news(wall)) == wall->split->device_count && problem != ETIMEDOUT) {
        if (deadline > 0)
            problem = pthread_cond_timedwait(&wall->news, &wall->mutex, &time);
        else
            pthread_cond_wait(&wall->news, &wall->mutex);
    }
    if (device < wall->split->device_count) {
        struct desk *desk = &wall->desks[device];
        *event = desk->news[0];
        desk->news_count--;
        for (uint32_t i = 0; i < desk->news_count; i++)
            desk->news[i] = desk->news[i + 1];
        /* All parts of a GPU fail with the first: it has nothing more to tell. */
        desk->silent = desk->silent || (device != CPU && event->status != CORUN_OK);
        desk->news_count = desk->silent ? 0 : desk->news_count;
    }
    wall->watching = wall->direct;
    pthread_mutex_unlock(&wall->mutex);
}

static bool more(struct executor *executor)
{
    struct wall *wall = wall_of(executor);
    pthread_mutex_lock(&wall->mutex);
    bool any = next_news(wall) < wall->split->device_count;
    pthread_mutex_unlock(&wall->mutex);
    return any;
}

static bool give_up(struct executor *executor, uint32_t device, const char *why)
{
    struct wall *wall = wall_of(executor);
    if (!gpu_abandon(wall->split->gpus[device - 1], why))
        return false;
    pthread_mutex_lock(&wall->mutex);
    wall->desks[device].silent = true;
    wall->desks[device].news_count = 0;
    wall->desks[device].order_count = 0;
    wall->hung = true;
    pthread_cond_broadcast(&wall->orders);
    pthread_mutex_unlock(&wall->mutex);
    return true;
}

/* Nothing is enqueued any more when the program continues: it may change its buffers. What has not been enqueued need not be. */
static void release(struct executor *executor)
{
    struct wall *wall = wall_of(executor);
    pthread_mutex_lock(&wall->mutex);
    for (uint32_t d = 1; d < wall->split->device_count; d++) {
        struct desk *desk = &wall->desks[d];
        desk->order_count = 0;
        while (desk->enqueuing && !desk->silent)
            pthread_cond_wait(&wall->orders, &wall->mutex);
        desk->news_count = 0;
        desk->stale = desk->begun;
    }
    wall->watching = false;
    pthread_cond_broadcast(&wall->orders);
    pthread_mutex_unlock(&wall->mutex);
}

static bool destroy(struct executor *executor)
{
    struct wall *wall = wall_of(executor);
    pthread_mutex_lock(&wall->mutex);
    wall->quit = true;
    pthread_cond_broadcast(&wall->orders);
    bool hung = wall->hung;
    pthread_mutex_unlock(&wall->mutex);
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 1;
    for (uint32_t i = 0; i < wall->thread_count; i++) {
        if (!hung)
            pthread_join(wall->threads[i], NULL);
        else if (pthread_timedjoin_np(wall->threads[i], NULL, &limit))
            return false; /* it is in a driver that does not answer, and this is its own as long as the process lives */
    }
    pthread_cond_destroy(&wall->orders);
    pthread_cond_destroy(&wall->news);
    pthread_mutex_destroy(&wall->mutex);
    free(wall);
    return true;
}

static bool create_thread(struct wall *wall, uint32_t device, void *(*function)(void *))
{
    struct manager *manager = malloc(sizeof *manager);
    if (!manager)
        return false;
    *manager = (struct manager){wall, device};
    if (pthread_create(&wall->threads[wall->thread_count], NULL, function, manager)) {
        free(manager);
        return false;
    }
    wall->thread_count++;
    return true;
}

struct executor *wall_create(struct corun_split *split)
{
    static const struct executor_operations operations = {
        begin_run, wall_now,          start, deliver,    fetch, fetched, recall,  stop,   take, progress,
        kept,      question_interval, stale, wait_event, more,  give_up, release, destroy};
    struct wall *wall = calloc(1, sizeof *wall);
    pthread_condattr_t attributes;
    bool ok = true;
    if (!wall)
        return NULL;
    wall->executor.operations = &operations;
    wall->split = split;
    wall->direct = split->gpu_count == 1;
    for (uint32_t i = 0; i < split->task.buffer_count; i++)
        wall->direct = wall->direct && split->pinned[i];
    pthread_mutex_init(&wall->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&wall->news, &attributes);
    pthread_cond_init(&wall->orders, NULL);
    pthread_condattr_destroy(&attributes);
    for (uint32_t d = 1; d <= split->gpu_count && ok; d++)
        ok = create_thread(wall, d, enqueue) && create_thread(wall, d, await_parts);
    if (ok)
        return &wall->executor;
    (void)destroy(&wall->executor);
    return NULL;
}
