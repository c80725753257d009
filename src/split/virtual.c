/* SPDX-License-Identifier: MIT */
/*
 * Devices take turns on the host, and time is added up as if they had worked side by side. Where the times come from:
 *
 *   rate tables      of the options: exact, for tests and studies; the task's CPU function does the work of every device
 *   simulated GPUs   a part runs at once and says how long it took in simulated time
 *   the CPU beside   measured alone, several times, the median; only as far as the time of the next event reaches, because
 *   simulated GPUs   then the strategy may recall the rest
 */
#include "split/engine.h"
#include "split/gpu.h"
#include "split/repeat.h"
#include "split/team.h"

#include <math.h>
#include <stdlib.h>

struct place {
    bool busy, recalled;
    uint64_t begin, end;
    double start;
    bool known;                  /* `event` says how it ends */
    struct executor_event event; /* of a GPU or a rate table */
    uint64_t done;               /* of a measured CPU: so far, */
    double seconds;              /* and in which time */
    enum corun_status status;
};

struct virtual
{
    struct executor executor;
    struct corun_split *split;
    double now;
    struct place places[CORUN_SPLIT_MAX_DEVICES];
    uint64_t taken[CORUN_SPLIT_MAX_DEVICES]; /* iterations of a device in all runs, for tables that fail */
};

static struct virtual *virtual_of(struct executor *executor)
{
    return (struct virtual *)executor;
}

static bool is_measured(const struct virtual *v, uint32_t device)
{
    return !v->split->rates && device == CPU;
}

static void begin_run(struct executor *executor)
{
    virtual_of(executor)->now = 0;
}

static double virtual_now(struct executor *executor)
{
    return virtual_of(executor)->now;
}

/* By table: the event is known from the start. */
static void start_by_table(struct virtual *v, uint32_t device)
{
    struct place *place = &v->places[device];
    const struct corun_split_rate_table *table = &v->split->rates[device];
    struct executor_event *event = &place->event;
    double seconds = table->seconds(table->context, place->begin, place->end);
    v->taken[device] += place->end - place->begin;
    bool fails = table->fails_at && v->taken[device] > table->fails_at;
    event->part.done = fails ? 0 : place->end - place->begin;
    event->part.seconds = seconds;
    event->time = place->start + seconds;
    event->status = fails ? CORUN_FAULT : CORUN_OK;
    event->failure = fails ? "the table of rates says so" : NULL;
    place->known = true;
}

static void start_gpu(struct virtual *v, uint32_t device)
{
    struct place *place = &v->places[device];
    struct executor_event *event = &place->event;
    gpu_run_part(v->split->gpus[device - 1], place->begin, place->end, event);
    event->time = place->start + event->setup_seconds + event->part.seconds;
    place->known = true;
}

static void start(struct executor *executor, uint32_t device, uint64_t begin, uint64_t end)
{
    struct virtual *v = virtual_of(executor);
    struct place *place = &v->places[device];
    *place = (struct place){.busy = true, .begin = begin, .end = end, .start = v->now};
    place->event.ended = true;
    place->event.device = device;
    if (v->split->rates)
        start_by_table(v, device);
    else if (device != CPU)
        start_gpu(v, device);
}

/* The most whole granules that a table's CPU completes in a time: at least one, as its threads finish what they have begun. */
static uint64_t done_by_table(const struct virtual *v, const struct place *place, double seconds)
{
    const struct corun_split_rate_table *table = &v->split->rates[CPU];
    uint64_t granularity = v->split->task.granularity;
    uint64_t low = 0, high = (place->end - place->begin) / granularity; /* granules */
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (table->seconds(table->context, place->begin, place->begin + middle * granularity) <= seconds)
            low = middle;
        else
            high = middle - 1;
    }
    return low * granularity;
}

static void recall_by_table(struct virtual *v, struct place *place)
{
    const struct corun_split_rate_table *table = &v->split->rates[CPU];
    uint64_t granularity = v->split->task.granularity, all = place->end - place->begin;
    uint64_t done = done_by_table(v, place, v->now - place->start);
    if (place->start + table->seconds(table->context, place->begin, place->begin + done) < v->now)
        done += granularity; /* the granule under way is finished */
    if (place->event.status != CORUN_OK || done >= all)
        return;
    double seconds = table->seconds(table->context, place->begin, place->begin + done);
    place->event.part.done = done;
    place->event.part.seconds = seconds;
    place->event.time = fmax(v->now, place->start + seconds);
}

static void recall(struct executor *executor, uint32_t device)
{
    struct virtual *v = virtual_of(executor);
    struct place *place = &v->places[device];
    if (device != CPU || place->recalled)
        return;
    place->recalled = true;
    if (v->split->rates)
        recall_by_table(v, place);
}

static uint64_t progress(struct executor *executor, uint32_t device)
{
    struct virtual *v = virtual_of(executor);
    struct place *place = &v->places[device];
    if (device != CPU)
        return 0;
    return v->split->rates ? done_by_table(v, place, v->now - place->start) : place->done;
}

/* Lets the measured CPU go on until its part is over or its time has come to `until`. */
static void advance_cpu(struct virtual *v, double until)
{
    struct place *place = &v->places[CPU];
    while (place->status == CORUN_OK && place->begin + place->done < place->end && !place->recalled &&
           place->start + place->seconds < until) {
        double limit = isinf(until) ? 0 : until - place->start - place->seconds;
        struct team_result result = repeat_part(v->split, place->begin + place->done, place->end, limit,
                                                (unsigned)v->split->parameters.repeats);
        place->done += result.done;
        place->seconds += result.seconds;
        place->status = result.status;
    }
    bool over = place->recalled || place->status != CORUN_OK || place->begin + place->done >= place->end;
    if (!over)
        return;
    place->known = true;
    place->event.part.done = place->done;
    place->event.part.seconds = place->seconds;
    place->event.status = place->status;
    place->event.time = fmax(v->now, place->start + place->seconds);
}

/* The work of a part that a table has timed. */
static void do_work(const struct virtual *v, struct place *place)
{
    const struct corun_split_task *task = &v->split->task;
    uint64_t done = place->event.part.done;
    if (v->split->rates && task->cpu && done && place->event.status == CORUN_OK)
        place->event.status = task->cpu(task->context, place->begin, place->begin + done, 0);
}

static void wait_event(struct executor *executor, double deadline, struct executor_event *event)
{
    struct virtual *v = virtual_of(executor);
    struct place *next = NULL;
    double time = deadline > 0 ? deadline : INFINITY;
    for (uint32_t d = 0; d < v->split->device_count; d++) {
        struct place *place = &v->places[d];
        if (place->busy && place->known && (place->event.time < time || (!next && place->event.time <= time))) {
            next = place;
            time = place->event.time;
        }
    }
    struct place *cpu = &v->places[CPU];
    if (cpu->busy && is_measured(v, CPU) && !cpu->known) {
        advance_cpu(v, time);
        if (cpu->known && cpu->event.time <= time) {
            next = cpu;
            time = cpu->event.time;
        }
    }
    v->now = time;
    if (!next)
        return;
    do_work(v, next);
    *event = next->event;
    next->busy = false;
}

static void destroy(struct executor *executor)
{
    free(executor);
}

struct executor *virtual_create(struct corun_split *split)
{
    static const struct executor_operations operations = {begin_run, virtual_now, start,  recall,
                                                          progress,  wait_event,  destroy};
    struct virtual *v = calloc(1, sizeof *v);
    if (!v)
        return NULL;
    v->executor.operations = &operations;
    v->split = split;
    return &v->executor;
}
