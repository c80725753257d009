/* SPDX-License-Identifier: MIT */
/*
 * Times are told by events of the driver: nanoseconds since a base event, which is replaced now and then, because the driver tells them
 * in milliseconds of single precision.
 */
#include "runtime/state.h"

#include <math.h>
#include <time.h>

/*
 * What time it is now, the device itself says where it is simulated. Elsewhere asking it takes 8 us (H100), and the host's clock is asked, which was
 * compared with the device's when the base was set. What has happened by then, events may tell to have happened a few us later.
 */
#define REBASE_NANOSECONDS UINT64_C(50000000) /* a float tells 4 ns there */

void *clock_event(struct runtime *runtime)
{
    void *event = NULL;
    if (runtime->events.count)
        return runtime->events.data[--runtime->events.count];
    return CALL(runtime, event_create(&event, 0)) ? event : NULL;
}

void clock_give(struct runtime *runtime, void *event)
{
    if (event && !vector_push(&runtime->events, event))
        (void)runtime->driver.event_destroy(event);
}

bool clock_reached(struct runtime *runtime, void *event, uint64_t *time)
{
    float milliseconds = 0;
    /* On an H100 this says in 0.4 us what the other call says in 2.5 us; a simulated GPU would go on while it is asked. */
    if (!runtime->driver.simulated && RESULT(runtime, event_query(event)) == NOT_READY)
        return false;
    int result = RESULT(runtime, event_elapsed(&milliseconds, runtime->base_event, event));
    if (result == NOT_READY || !runtime_worked(runtime, result))
        return false;
    /* The host has seen it: what it asks a simulated GPU for from now on, it asks for after that. */
    if (runtime->driver.simulated && !CALL(runtime, event_query(event)))
        return false;
    int64_t nanoseconds = llround(1e6 * (double)milliseconds); /* below 0: it was before the base */
    uint64_t base = runtime->base_time + runtime->idle_time;
    *time = nanoseconds >= 0 || base > (uint64_t)-nanoseconds ? base + (uint64_t)nanoseconds : 0;
    if (*time > runtime->latest)
        runtime->latest = *time;
    return true;
}

static uint64_t wall_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

bool clock_begin(struct runtime *runtime, uint64_t time)
{
    runtime->base_event = clock_event(runtime);
    runtime->base_time = time;
    runtime->idle_time = 0;
    bool good = runtime->base_event && CALL(runtime, event_record(runtime->base_event, runtime->clock_stream)) &&
                CALL(runtime, event_synchronize(runtime->base_event));
    runtime->base_wall = wall_ns();
    return good;
}

/* By the host's clock; false: the base is too old. */
static bool tell_by_host(struct runtime *runtime)
{
    uint64_t passed = wall_ns() - runtime->base_wall, time = runtime->base_time + runtime->idle_time + passed;
    if (runtime->driver.simulated || passed >= REBASE_NANOSECONDS)
        return false;
    runtime->latest = time > runtime->latest ? time : runtime->latest;
    return true;
}

bool clock_seen(struct runtime *runtime, void *event, uint64_t *time)
{
    uint64_t age = wall_ns() - runtime->base_wall;
    if (runtime->driver.simulated || age >= REBASE_NANOSECONDS)
        return clock_reached(runtime, event, time);
    int result = RESULT(runtime, event_query(event));
    if (result == NOT_READY || !runtime_worked(runtime, result) || !tell_by_host(runtime))
        return false;
    *time = runtime->latest;
    return true;
}

uint64_t clock_now(struct runtime *runtime)
{
    if (tell_by_host(runtime))
        return runtime->latest;
    uint64_t time = runtime->latest;
    void *event = clock_event(runtime);
    if (!event || !CALL(runtime, event_record(event, runtime->clock_stream)) ||
        !CALL(runtime, event_synchronize(event)) || !clock_reached(runtime, event, &time)) {
        clock_give(runtime, event);
        return runtime->latest;
    }
    uint64_t wall = wall_ns();
    if (runtime->driver.simulated && time - runtime->base_time - runtime->idle_time < REBASE_NANOSECONDS) {
        clock_give(runtime, event);
        return time;
    }
    clock_give(runtime, runtime->base_event);
    runtime->base_event = event;
    runtime->base_time = time;
    runtime->base_wall = wall;
    runtime->idle_time = 0;
    return time;
}
