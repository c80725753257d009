/* SPDX-License-Identifier: MIT */
/* Sees what has ended, in every stream the oldest first, and tells the caller. */
#include "runtime/state.h"

#include "base/later.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

bool wait_tell(struct runtime *runtime, const struct runtime_event *event)
{
    return vector_push(&runtime->seen, *event);
}

static enum corun_status slice_ended(struct runtime *runtime, uint32_t stream, const struct flight *flight,
                                     uint64_t time)
{
    struct job *job = &runtime->jobs.data[flight->job];
    uint64_t begin = later(flight->given, runtime->streams[stream].last_end);
    if (runtime->options.in_turns) /* it has waited for all copies before */
        begin = later(begin, runtime->streams[STREAM_IN].last_end);
    struct runtime_event event = {.kind = RUNTIME_SLICE_ENDED,
                                  .job = flight->job,
                                  .launch = flight->launch,
                                  .time = time,
                                  .first = flight->first,
                                  .count = flight->count,
                                  .stream = stream};
    job->in_flight--;
    job->completed += flight->count;
    if (!tally_add(&runtime->tally, TALLY_KERNEL, begin, time) || !wait_tell(runtime, &event))
        return CORUN_MEMORY;
    if (job->completed < workload_of(runtime, job)->launches[job->launch].tbs)
        return CORUN_OK;
    event.kind = RUNTIME_LAUNCH_ENDED;
    if (!wait_tell(runtime, &event))
        return CORUN_MEMORY;
    job->launch++;
    job->command++;
    return slice_proceed(runtime, flight->job, time);
}

static enum corun_status copies_ended(struct runtime *runtime, const struct flight *flight, uint64_t time)
{
    struct job *job = &runtime->jobs.data[flight->job];
    uint64_t begin = flight->begin ? time : flight->given;
    if (flight->begin)
        (void)clock_reached(runtime, flight->begin, &begin);
    clock_give(runtime, flight->begin);
    if (runtime->last_copy == flight->end)
        runtime->last_copy = NULL;
    if (!tally_add(&runtime->tally, TALLY_COPY, begin, time))
        return CORUN_MEMORY;
    if (job->state == JOB_ARRIVING && runtime->options.in_turns)
        return vector_push(&runtime->arrived, flight->job) ? CORUN_OK : CORUN_MEMORY;
    if (job->state == JOB_ARRIVING)
        return slice_proceed(runtime, flight->job, time);
    job->state = JOB_OVER;
    transfer_return(runtime, job);
    job->failure = runtime->options.fence ? fence_trespass(runtime, job) : NULL;
    struct runtime_event event = {.kind = job->failure ? RUNTIME_FAILED : RUNTIME_ENDED,
                                  .job = flight->job,
                                  .launch = job->launch,
                                  .time = time,
                                  .failure = job->failure};
    *(job->failure ? &runtime->statistics.jobs_failed : &runtime->statistics.jobs_ended) += 1;
    return wait_tell(runtime, &event) ? CORUN_OK : CORUN_MEMORY;
}

/* In turns, kernels have theirs when nothing is being copied: then all are ready whose data have come. */
static enum corun_status turn_to_kernels(struct runtime *runtime)
{
    enum corun_status status = CORUN_OK;
    if (stream_busy(&runtime->streams[STREAM_IN]))
        return status;
    for (size_t i = 0; i < runtime->arrived.count && status == CORUN_OK; i++)
        status = slice_proceed(runtime, runtime->arrived.data[i], runtime->streams[STREAM_IN].last_end);
    runtime->arrived.count = 0;
    return status;
}

/* Those that have been seen to end, out of the way now and then. */
static void compact(struct flights *flights)
{
    if (flights->first < 64 || flights->first * 2 < flights->items.count)
        return;
    memmove(flights->items.data, flights->items.data + flights->first,
            (flights->items.count - flights->first) * sizeof *flights->items.data);
    flights->items.count -= flights->first;
    flights->first = 0;
}

/* A time of the runtime's by the host's clock. */
static uint64_t by_host(const struct runtime *runtime, uint64_t time)
{
    return runtime->base_wall + time - runtime->base_time - runtime->idle_time;
}

static bool has_ended(struct runtime *runtime, const struct flight *flight, uint64_t *time)
{
    bool roughly = runtime->options.host_times;
    return roughly ? clock_seen(runtime, flight->end, time) : clock_reached(runtime, flight->end, time);
}

static void note_flight(struct runtime *runtime, const struct flight *flight, uint32_t stream, uint64_t end)
{
    const struct job *job = &runtime->jobs.data[flight->job];
    uint64_t begin = later(flight->given, runtime->streams[stream].last_end);
    uint64_t launches = workload_of(runtime, job)->commands->launch_count;
    calls_note_device(&runtime->calls,
                      flight->copies ? "copies"
                      : flight->crew ? "crew"
                                     : "slice",
                      by_host(runtime, begin), by_host(runtime, end),
                      (uint32_t)(job->number * launches + flight->launch), stream);
}

enum corun_status wait_look(struct runtime *runtime, bool *any)
{
    enum corun_status status = CORUN_OK;
    *any = false;
    for (uint32_t i = STREAMS; i-- > 0 && status == CORUN_OK;) { /* copies first: slices wait for them */
        struct flights *flights = &runtime->streams[i];
        uint64_t time;
        while (status == CORUN_OK && stream_busy(flights) &&
               has_ended(runtime, &flights->items.data[flights->first], &time)) {
            struct flight flight = flights->items.data[flights->first++];
            *any = true;
            note_flight(runtime, &flight, i, time);
            status = flight.copies ? copies_ended(runtime, &flight, time)
                     : flight.crew ? crew_ended(runtime, i, &flight, time)
                                   : slice_ended(runtime, i, &flight, time);
            flights->last_end = time;
            clock_give(runtime, flight.end);
        }
        compact(flights);
    }
    if (status == CORUN_OK && !runtime->error)
        status = table_look(runtime, any);
    if (status == CORUN_OK && !runtime->error && *any)
        status = transfer_admit(runtime); /* in turns, copies of what fits come before kernels */
    if (status == CORUN_OK && !runtime->error)
        status = turn_to_kernels(runtime);
    return runtime->error ? CORUN_FAULT : status;
}

/* What the host gave to the device first, of all that has not ended; NULL: nothing is under way. */
static const struct flight *oldest(const struct runtime *runtime)
{
    const struct flight *best = NULL;
    for (uint32_t i = 0; i < STREAMS; i++) {
        const struct flights *flights = &runtime->streams[i];
        if (stream_busy(flights) && (!best || flights->items.data[flights->first].given < best->given))
            best = &flights->items.data[flights->first];
    }
    return best;
}

/* The one that happened first, of those that are to be told. */
static struct runtime_event take_seen(struct runtime *runtime)
{
    size_t best = 0;
    for (size_t i = 1; i < runtime->seen.count; i++)
        if (runtime->seen.data[i].time < runtime->seen.data[best].time)
            best = i;
    struct runtime_event event = runtime->seen.data[best];
    memmove(&runtime->seen.data[best], &runtime->seen.data[best + 1],
            (--runtime->seen.count - best) * sizeof *runtime->seen.data);
    return event;
}

static void sleep_for(uint64_t nanoseconds)
{
    struct timespec time = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
    while (nanosleep(&time, &time))
        ;
}

/* Nothing is under way until then. */
static void be_idle(struct runtime *runtime, uint64_t until, uint64_t now)
{
    if (until <= now)
        return;
    if (!runtime->driver.simulated) {
        sleep_for(until - now);
        return;
    }
    runtime->idle_time += until - now;
    runtime->latest = until;
}

/* A job that waits although nobody else has memory: the driver has less of it than it said. */
static bool fail_starved(struct runtime *runtime)
{
    uint32_t index = runtime->waiting_first;
    for (size_t i = 0; i < runtime->jobs.count; i++) {
        enum job_state state = runtime->jobs.data[i].state;
        if (state == JOB_ARRIVING || state == JOB_READY || state == JOB_LEAVING)
            return false;
    }
    if (index == NO_JOB)
        return false;
    struct job *job = &runtime->jobs.data[index];
    runtime->waiting_first = job->next;
    if (runtime->waiting_first == NO_JOB)
        runtime->waiting_last = NO_JOB;
    job->state = JOB_OVER;
    job->failure = "CUDA_ERROR_OUT_OF_MEMORY";
    runtime->statistics.jobs_failed++;
    struct runtime_event event = {
        .kind = RUNTIME_FAILED, .job = index, .time = runtime->latest, .failure = job->failure};
    return wait_tell(runtime, &event);
}

/* One look at what there is, and a little waiting if there is nothing. True: *event is to be told. */
static enum corun_status look_and_wait(struct runtime *runtime, uint64_t until, struct runtime_event *event, bool *told)
{
    bool any = false, known = runtime->seen.count && !runtime->driver.simulated; /* a simulated GPU goes on by looks */
    enum corun_status status = known ? CORUN_OK : wait_look(runtime, &any);
    *told = status == CORUN_OK && runtime->seen.count;
    if (*told)
        *event = take_seen(runtime);
    if (*told || status != CORUN_OK || any)
        return status;
    const struct flight *first = oldest(runtime);
    uint64_t now = until != UINT64_MAX ? clock_now(runtime) : 0;
    *event = (struct runtime_event){.kind = RUNTIME_NONE, .time = runtime->latest};
    *told = first ? now >= until : !fail_starved(runtime);
    if (*told && !first && until != UINT64_MAX) {
        be_idle(runtime, until, now);
        event->time = until;
    } else if (first && !*told) {
        int result = RESULT(runtime, event_query(first->end));
        if (result != NOT_READY)
            (void)runtime_worked(runtime, result);
    }
    return runtime->error ? CORUN_FAULT : CORUN_OK;
}

enum corun_status runtime_wait(struct runtime *runtime, uint64_t until, struct corun_diagnostics *list,
                               struct runtime_event *event)
{
    bool told = false;
    enum corun_status status = CORUN_OK;
    runtime_enter(runtime);
    while (!told && status == CORUN_OK) {
        status = runtime->error ? CORUN_FAULT : look_and_wait(runtime, until, event, &told);
        if (status == CORUN_FAULT)
            status = recover(runtime, list);
    }
    runtime_leave(runtime);
    return status == CORUN_MEMORY ? corun_report(list, status, CORUN_NOWHERE, "out of memory for jobs") : status;
}
