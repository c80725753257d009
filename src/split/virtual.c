/* SPDX-License-Identifier: MIT */
/*
 * Devices take turns on the host, and time is added up as if they had worked side by side. Where the times come from:
 *
 *   rate tables      of the options: exact, for tests and studies; the task's CPU function does the work of every device
 *   simulated GPUs   parts are enqueued, and the GPU is simulated as far as the next thing that ends; events tell simulated time
 *   the CPU beside   measured alone, several times, the median; only as far as the time of the next event reaches, because
 *   simulated GPUs   then the strategy may recall the rest
 */
#include "split/engine.h"

#include "driver/driver.h"
#include "split/gpu.h"
#include "split/repeat.h"
#include "split/team.h"

#include <math.h>
#include <stdlib.h>

struct place {
    bool recalled, fed, hurried;
    uint64_t begin, end;
    double start;
    bool known;                  /* `event` says how it ends */
    struct executor_event event; /* of a GPU or a rate table */
    uint64_t done;               /* of a measured CPU: so far, */
    double seconds;              /* and in which time */
    uint64_t asks;               /* of its function in that time, whether it is needed */
    uint64_t before;             /* done before the last advance */
    enum corun_status status;
};

/* What a device has to do: parts, the oldest first, and results on their way back. */
struct desk {
    struct place parts[MOST_PARTS];
    uint32_t count, stale; /* the first of them are stale */
    struct place deliveries[MOST_DELIVERIES];
    uint32_t delivery_count;
    double origin;     /* from which a simulated GPU counts */
    double worked;     /* until then it has been simulated */
    double free;       /* a table's device has done all its parts */
    uint64_t fetching; /* iterations of a fetch that may be under way on a simulated GPU */
    uint64_t fetched;  /* of the last one that has ended, if nobody has been told; */
    double fetched_seconds;
};

struct virtual
{
    struct executor executor;
    struct corun_split *split;
    double now;
    struct desk desks[CORUN_SPLIT_MAX_DEVICES];
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
    struct virtual *v = virtual_of(executor);
    for (uint32_t d = 0; d < v->split->device_count;
         d++) { /* what is under way continues where the run before has ended */
        v->desks[d].origin -= v->now;
        v->desks[d].worked -= v->now;
        v->desks[d].free = fmax(0, v->desks[d].free - v->now);
        for (uint32_t i = 0; i < v->desks[d].count; i++) {
            v->desks[d].parts[i].start -= v->now;
            v->desks[d].parts[i].event.time -= v->now;
        }
    }
    v->now = 0;
}

static double virtual_now(struct executor *executor)
{
    return virtual_of(executor)->now;
}

static double table_seconds(const struct virtual *v, uint32_t device, uint64_t begin, uint64_t end)
{
    const struct corun_split_rate_table *table = &v->split->rates[device];
    return table->seconds(table->user, begin, end);
}

/* By table: the event is known from the start. A part begins when the one before has ended. */
static void start_by_table(struct virtual *v, uint32_t device, struct place *place)
{
    const struct corun_split_rate_table *table = &v->split->rates[device];
    struct executor_event *event = &place->event;
    double seconds = table_seconds(v, device, place->begin, place->end) + (place->fed ? 0 : table->back);
    v->taken[device] += place->end - place->begin;
    bool fails = table->fails_at && v->taken[device] > table->fails_at;
    event->part.done = fails ? 0 : place->end - place->begin;
    event->part.seconds = seconds;
    event->time = fmax(place->start, v->desks[device].free) + seconds;
    event->status = fails ? CORUN_FAULT : CORUN_OK;
    event->failure = fails ? "the table of rates says so" : NULL;
    v->desks[device].free = event->time;
    place->known = true;
}

/* So much of simulated time may pass on a GPU between what ends there and what somebody decides then. */
static const double look_seconds = 2e-8;

static bool is_part_over(const struct virtual *v, uint32_t device)
{
    const struct desk *desk = &v->desks[device];
    return desk->count && (desk->parts[0].known || gpu_part_ready(v->split->gpus[device - 1]));
}

static bool is_delivery_over(const struct virtual *v, uint32_t device)
{
    const struct desk *desk = &v->desks[device];
    return desk->delivery_count && (desk->deliveries[0].known || gpu_delivery_ready(v->split->gpus[device - 1]));
}

/* Simulates a GPU up to `time`, or until the next thing has ended there. false: it has ended, or nothing is under way. */
static bool work_until(struct virtual *v, uint32_t device, double time)
{
    struct desk *desk = &v->desks[device];
    while ((desk->count || desk->delivery_count) && !is_part_over(v, device) && !is_delivery_over(v, device)) {
        if (desk->worked >= time - 1e-9)
            return true;
        double seconds = fmin(look_seconds, time - desk->worked);
        gpu_work_for(v->split->gpus[device - 1], seconds);
        desk->worked += seconds;
    }
    return false;
}

/* What is begun now on a GPU that is at work comes after what the GPU has done until now. */
static void catch_up(struct virtual *v, uint32_t device)
{
    struct desk *desk = &v->desks[device];
    if ((!desk->count && !desk->delivery_count && !desk->fetching) || !v->split->driver->simulated)
        return;
    if (v->now - desk->worked > 1e-9)
        gpu_work_for(v->split->gpus[device - 1], v->now - desk->worked);
    desk->worked = fmax(desk->worked, v->now);
}

/* A GPU with nothing to do need not be simulated: its time begins anew with what it is given now. */
static void take_up(struct virtual *v, uint32_t device)
{
    struct desk *desk = &v->desks[device];
    struct corun_split_gpu *gpu = v->split->gpus[device - 1];
    catch_up(v, device);
    if (desk->fetching && gpu_fetched(gpu, &desk->fetched_seconds)) {
        desk->fetched = desk->fetching;
        desk->fetching = 0;
    }
    if (desk->count || desk->delivery_count || desk->fetching)
        return;
    gpu_set_origin(gpu);
    desk->origin = desk->worked = v->now;
}

static void start(struct executor *executor, uint32_t device, uint64_t begin, uint64_t end, bool fed)
{
    struct virtual *v = virtual_of(executor);
    struct desk *desk = &v->desks[device];
    struct place *place = &desk->parts[desk->count];
    *place = (struct place){.begin = begin, .end = end, .start = v->now, .fed = fed, .hurried = fed && device == CPU};
    place->event = (struct executor_event){.news = NEWS_ENDED, .device = device};
    if (v->split->rates) {
        start_by_table(v, device, place);
    } else if (device != CPU) {
        take_up(v, device);
        gpu_begin_part(v->split->gpus[device - 1], begin, end, fed);
    }
    desk->count++;
}

static void deliver(struct executor *executor, uint32_t device, uint64_t begin, uint64_t end)
{
    struct virtual *v = virtual_of(executor);
    struct desk *desk = &v->desks[device];
    if (!v->split->rates)
        catch_up(v, device);
    struct place *place = &desk->deliveries[desk->delivery_count++];
    *place = (struct place){.begin = begin, .end = end, .start = v->now, .known = v->split->rates != NULL};
    place->event = (struct executor_event){.news = NEWS_DELIVERED, .device = device, .time = v->now};
    if (v->split->rates) {
        place->event.time += v->split->rates[device].back;
        place->event.part = (struct corun_split_part){.begin = begin, .end = end, .done = end - begin};
    } else {
        gpu_begin_delivery(v->split->gpus[device - 1], begin, end);
    }
}

static bool fetch(struct executor *executor, uint32_t device, uint64_t begin, uint64_t end)
{
    struct virtual *v = virtual_of(executor);
    if (v->split->rates)
        return true;
    take_up(v, device);
    if (v->desks[device].fetching) /* it is late: what comes next would be later */
        return false;
    gpu_fetch(v->split->gpus[device - 1], begin, end);
    v->desks[device].fetching = end - begin;
    return true;
}

static bool fetched(struct executor *executor, uint32_t device, double *iterations, double *seconds)
{
    struct desk *desk = &virtual_of(executor)->desks[device];
    *iterations = (double)desk->fetched;
    *seconds = desk->fetched_seconds;
    desk->fetched = 0;
    return *iterations > 0 && *seconds > 0;
}

/* The most whole granules that a table's CPU completes in a time. */
static uint64_t done_by_table(const struct virtual *v, const struct place *place, double seconds)
{
    uint64_t granularity = v->split->task.granularity;
    uint64_t low = 0, high = (place->end - place->begin) / granularity; /* granules */
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (table_seconds(v, CPU, place->begin, place->begin + middle * granularity) <= seconds)
            low = middle;
        else
            high = middle - 1;
    }
    return low * granularity;
}

/* What a table's CPU will have done when it has finished the granule under way. */
static uint64_t begun_by_table(const struct virtual *v, const struct place *place)
{
    uint64_t done = done_by_table(v, place, v->now - place->start), all = place->end - place->begin;
    if (place->start + table_seconds(v, CPU, place->begin, place->begin + done) < v->now)
        done += v->split->task.granularity;
    return done < all ? done : all;
}

/* A table's part ends earlier than it was meant to. */
static void shorten_by_table(struct virtual *v, struct place *place, uint64_t count)
{
    double seconds = table_seconds(v, CPU, place->begin, place->begin + count);
    place->event.part.done = count;
    place->event.part.seconds = seconds;
    place->event.time = v->desks[CPU].free = fmax(v->now, place->start + seconds);
}

/* What is begun is given up when the function asks the next time. */
static uint64_t stop_by_table(struct virtual *v, struct place *place)
{
    double asks = v->split->rates[CPU].asks, passed = v->now - place->start;
    uint64_t done = done_by_table(v, place, passed);
    double ends = place->start + fmin(table_seconds(v, CPU, place->begin, place->begin + begun_by_table(v, place)),
                                      asks * ceil(passed / asks));
    if (place->event.status != CORUN_OK || place->event.time <= v->now)
        return place->event.part.done;
    place->event.part.done = done;
    place->event.part.seconds = ends - place->start;
    place->event.time = v->desks[CPU].free = fmax(v->now, ends);
    place->recalled = true;
    return done;
}

static uint64_t recall(struct executor *executor)
{
    struct virtual *v = virtual_of(executor);
    struct place *place = &v->desks[CPU].parts[0];
    if (!v->split->rates) {
        place->recalled = true;
        return place->done;
    }
    if (!place->recalled && place->event.status == CORUN_OK)
        shorten_by_table(v, place, begun_by_table(v, place));
    place->recalled = true;
    return place->event.part.done;
}

/* Where a parameter says how long a mean iteration takes the CPU. */
static double rated_seconds(const struct virtual *v, uint64_t begin, uint64_t end)
{
    const struct corun_split_task *task = &v->split->task;
    double work = task->work && end > begin ? task->work(task->user, begin, end) : (double)(end - begin);
    return v->split->parameters.cpu_seconds / fmax(1, v->split->threads) * work;
}

/* The most whole granules from `begin` on, up to `end`, that the CPU completes in a time by that parameter. */
static uint64_t rated_granules(const struct virtual *v, uint64_t begin, uint64_t end, double seconds)
{
    uint64_t granularity = v->split->task.granularity, low = 0, high = (end - begin) / granularity;
    double each = rated_seconds(v, begin, begin + granularity), granules = floor(seconds / each * (1 + 1e-9));
    if (!v->split->task.work)
        return granules < (double)high ? (uint64_t)granules : high;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (rated_seconds(v, begin, begin + middle * granularity) <= seconds * (1 + 1e-9))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* What the measured CPU has completed by now; it has begun more. */
static uint64_t completed(const struct virtual *v, const struct place *place)
{
    if (!(v->split->parameters.cpu_seconds > 0))
        return place->before;
    uint64_t end = place->begin + place->done;
    double passed = v->now - place->start, all = rated_seconds(v, place->begin, end);
    if (passed * (1 + 1e-9) >= all)
        return place->done;
    return rated_granules(v, place->begin, end, passed) * v->split->task.granularity;
}

/*
 * A function that asks gives up what it has begun when it asks the next time: it asks at even intervals. The CPU's memory has what was
 * given up, because the host has computed it before; the results of the GPU that was first are written over it.
 */
static uint64_t stop(struct executor *executor)
{
    struct virtual *v = virtual_of(executor);
    struct place *place = &v->desks[CPU].parts[0];
    double passed = v->now - place->start;
    if (v->split->rates && v->split->rates[CPU].asks > 0)
        return stop_by_table(v, place);
    if (v->split->rates || !place->asks || place->seconds <= passed)
        return recall(executor);
    double interval = place->seconds * v->split->threads / (double)place->asks;
    place->done = completed(v, place);
    place->seconds = fmin(place->seconds, interval * ceil(passed / interval));
    place->recalled = true;
    place->known = false; /* it ends earlier */
    return place->done;
}

static uint64_t take(struct executor *executor, uint64_t count)
{
    struct virtual *v = virtual_of(executor);
    struct place *place = &v->desks[CPU].parts[0];
    uint64_t granularity = v->split->task.granularity;
    uint64_t begun = place->begin + (v->split->rates ? begun_by_table(v, place) : place->done);
    uint64_t end = place->end - (count < place->end ? count : place->end);
    end -= end % granularity;
    end = end > begun ? end : begun;
    if (!v->desks[CPU].count || place->recalled || place->status != CORUN_OK || end >= place->end)
        return 0;
    uint64_t taken = place->end - end;
    place->end = end;
    if (v->split->rates)
        shorten_by_table(v, place, end - place->begin);
    return taken;
}

static uint64_t progress(struct executor *executor, uint32_t device, double *seconds)
{
    struct virtual *v = virtual_of(executor);
    struct place *place = &v->desks[device].parts[0];
    if (device != CPU || !v->desks[device].count)
        return 0;
    if (v->split->rates)
        return done_by_table(v, place, v->now - place->start);
    *seconds = fmax(*seconds, place->seconds);
    return place->done;
}

static uint64_t kept(struct executor *executor)
{
    const struct virtual *v = virtual_of(executor);
    const struct place *place = &v->desks[CPU].parts[0];
    if (!v->desks[CPU].count)
        return 0;
    if (v->split->rates)
        return v->split->rates[CPU].asks > 0 ? done_by_table(v, place, v->now - place->start)
                                             : begun_by_table(v, place);
    return place->asks ? completed(v, place) : place->done;
}

static double question_interval(struct executor *executor)
{
    const struct virtual *v = virtual_of(executor);
    const struct place *place = &v->desks[CPU].parts[0];
    if (!v->desks[CPU].count)
        return 0;
    double interval = v->split->rates ? v->split->rates[CPU].asks
                      : place->asks   ? place->seconds * v->split->threads / (double)place->asks
                                      : 0;
    return v->now - place->start < interval * (1 - 1e-9) ? 0 : interval;
}

static uint32_t stale(struct executor *executor, uint32_t device)
{
    return virtual_of(executor)->desks[device].stale;
}

/* The CPU's next iterations, as many as it begins in `limit` seconds (0: all), when a parameter says how long one takes. */
static struct team_result run_by_rate(struct virtual *v, struct place *place, double limit)
{
    uint64_t begin = place->begin + place->done, granularity = v->split->task.granularity, end = place->end;
    if (limit > 0) {
        uint64_t granules = rated_granules(v, begin, end, limit);
        if (!granules || rated_seconds(v, begin, begin + granules * granularity) < limit * (1 - 1e-9))
            granules++;
        end = granules < (end - begin + granularity - 1) / granularity ? begin + granules * granularity : end;
    }
    struct team_result result = split_team_run(v->split->team, begin, end, 0, false);
    result.seconds = rated_seconds(v, begin, begin + result.done);
    return result;
}

/* Lets the measured CPU compute until its part is over or its time has come to `until`. */
static void advance_cpu(struct virtual *v, double until)
{
    struct place *place = &v->desks[CPU].parts[0];
    while (place->status == CORUN_OK && place->begin + place->done < place->end && !place->recalled &&
           place->start + place->seconds < until) {
        double limit = isinf(until) ? 0 : until - place->start - place->seconds;
        struct team_result result =
            v->split->parameters.cpu_seconds > 0
                ? run_by_rate(v, place, limit)
                : repeat_part(v->split, place->begin + place->done, place->end, limit, place->hurried);
        place->before = place->done;
        place->done += result.done;
        place->seconds += result.seconds;
        place->asks += result.asks;
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
        place->event.status = task->cpu(task->user, place->begin, place->begin + done, 0);
}

/*
 * Simulates a GPU as far as the next part that ends there, or delivery if there is no part; but not beyond `time`, when somebody else
 * may give it something to do.
 */
static void look_at_gpu(struct virtual *v, uint32_t device, double time)
{
    struct desk *desk = &v->desks[device];
    struct corun_split_gpu *gpu = v->split->gpus[device - 1];
    struct place *part = &desk->parts[0], *delivery = &desk->deliveries[0];
    bool both = desk->count && desk->delivery_count; /* what follows the end of one may not wait for the other's */
    bool looks = v->split->driver->simulated && (both || !isinf(time));
    if (looks && work_until(v, device, time))
        return;
    if (desk->count && !part->known && (!looks || gpu_part_ready(gpu))) {
        gpu_end_part(gpu, &part->event);
        part->event.time = fmax(v->now, part->event.time + desk->origin);
        part->known = true;
        desk->worked = fmax(desk->worked, part->event.time);
    }
    if (desk->delivery_count && !delivery->known && (!desk->count || gpu_delivery_ready(gpu))) {
        gpu_end_delivery(gpu, &delivery->event);
        delivery->event.time = fmax(v->now, delivery->event.time + desk->origin);
        delivery->known = true;
        desk->worked = fmax(desk->worked, delivery->event.time);
    }
}

static void consider(struct place *place, struct place **next, double *time)
{
    if (!place->known || (*next ? place->event.time >= *time : place->event.time > *time))
        return;
    *next = place;
    *time = place->event.time;
}

/* When the CPU ends its part if nobody takes any of it; infinite if that has to be measured. */
static double end_of_cpu(const struct virtual *v)
{
    const struct place *place = &v->desks[CPU].parts[0];
    if (v->split->rates || !v->desks[CPU].count || !(v->split->parameters.cpu_seconds > 0))
        return INFINITY;
    if (place->known)
        return place->event.time;
    double left = place->recalled ? 0 : rated_seconds(v, place->begin + place->done, place->end);
    return fmax(v->now, place->start + place->seconds + left);
}

/* What ends first, at `time` or before; NULL: nothing does. */
static struct place *find_next(struct virtual *v, double *time)
{
    struct place *next = NULL;
    double limit = fmin(*time, end_of_cpu(v));
    for (uint32_t d = 0; d < v->split->device_count; d++) {
        struct desk *desk = &v->desks[d];
        if (!v->split->rates && d != CPU)
            look_at_gpu(v, d, limit);
        if (desk->delivery_count)
            consider(&desk->deliveries[0], &next, time);
        if (desk->count)
            consider(&desk->parts[0], &next, time);
    }
    struct place *cpu = &v->desks[CPU].parts[0];
    if (v->desks[CPU].count && is_measured(v, CPU) && !cpu->known) {
        advance_cpu(v, *time);
        if (cpu->known && cpu->event.time <= *time) {
            next = cpu;
            *time = cpu->event.time;
        }
    }
    return next;
}

static void drop_delivery(struct desk *desk)
{
    desk->delivery_count--;
    for (uint32_t i = 0; i < desk->delivery_count; i++)
        desk->deliveries[i] = desk->deliveries[i + 1];
}

static void drop_part(struct desk *desk)
{
    desk->count--;
    desk->stale -= desk->stale > 0;
    for (uint32_t i = 0; i < desk->count; i++)
        desk->parts[i] = desk->parts[i + 1];
}

/* Ends all that a device has to do; nobody hears of it. */
static void clear(struct virtual *v, uint32_t device)
{
    struct desk *desk = &v->desks[device];
    struct executor_event event;
    for (; desk->count; drop_part(desk))
        if (!v->split->rates && !desk->parts[0].known)
            gpu_end_part(v->split->gpus[device - 1], &event);
    for (; desk->delivery_count; drop_delivery(desk))
        if (!v->split->rates && !desk->deliveries[0].known)
            gpu_end_delivery(v->split->gpus[device - 1], &event);
}

static void wait_event(struct executor *executor, double deadline, struct executor_event *event)
{
    struct virtual *v = virtual_of(executor);
    double time = deadline > 0 ? deadline : INFINITY;
    struct place *next = find_next(v, &time);
    if (isinf(time)) /* nobody has anything to do */
        return;
    v->now = fmax(v->now, time);
    if (!next)
        return;
    struct desk *desk = &v->desks[next->event.device];
    bool delivery = next == &desk->deliveries[0], is_stale = !delivery && desk->stale;
    if (!delivery && !is_stale)
        do_work(v, next);
    *event = next->event;
    event->news = is_stale ? NEWS_NONE : event->news;
    if (delivery)
        drop_delivery(desk);
    else
        drop_part(desk);
    if (event->device != CPU && event->status != CORUN_OK)
        clear(v, event->device);
}

/* The next event may change when others come. */
static bool more(struct executor *executor)
{
    (void)executor;
    return false;
}

static bool give_up(struct executor *executor, uint32_t device, const char *why)
{
    (void)executor;
    (void)device;
    (void)why;
    return false; /* simulated GPUs and tables answer */
}

static void release(struct executor *executor)
{
    struct virtual *v = virtual_of(executor);
    for (uint32_t d = 1; d < v->split->device_count; d++)
        v->desks[d].stale = v->desks[d].count;
}

static bool destroy(struct executor *executor)
{
    struct virtual *v = virtual_of(executor);
    for (uint32_t d = 1; d < v->split->device_count; d++)
        clear(v, d);
    free(executor);
    return true;
}

struct executor *virtual_create(struct corun_split *split)
{
    static const struct executor_operations operations = {
        begin_run, virtual_now,       start, deliver,    fetch, fetched, recall,  stop,   take, progress,
        kept,      question_interval, stale, wait_event, more,  give_up, release, destroy};
    struct virtual *v = calloc(1, sizeof *v);
    if (!v)
        return NULL;
    v->executor.operations = &operations;
    v->split = split;
    return &v->executor;
}
