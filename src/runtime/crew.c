/* SPDX-License-Identifier: MIT */
/* Crews: launches of jobs as workers, and ahead of the launch before. */
#include "runtime/crew.h"

#include "rewrite/workers.h"
#include "runtime/state.h"

#include <string.h>

/* %gridid of a launch: one that no other launch has. */
static uint64_t grid_id(struct runtime *runtime, const struct job *job, uint32_t launch)
{
    return job->number * workload_of(runtime, job)->commands->launch_count + launch + 1;
}

/* The worker kernel as so many workers, or with `workers` 0 as the grid. Workers without `drop` read the plain arguments alone. */
static bool give(struct runtime *runtime, const struct job *job, uint32_t launch, uint32_t workers,
                 const struct worker_dropping_arguments *last, uint32_t stream)
{
    const struct command *command = workload_of(runtime, job)->launches[launch].command;
    const uint32_t *grid = command->grid, *block = command->block;
    uint64_t values[MOST_ARGUMENTS];
    void *arguments[MOST_ARGUMENTS + 1];
    slice_arguments_fill(runtime, job, launch, IMAGE_WORKERS, values, arguments);
    arguments[command->argument_count] = (void *)(uintptr_t)last;
    return CALL(runtime, launch(job->image->functions[IMAGE_WORKERS][launch], workers ? workers : grid[0],
                                workers ? 1 : grid[1], workers ? 1 : grid[2], block[0], block[1], block[2],
                                command->shared_bytes, runtime->streams[stream].stream, arguments, NULL));
}

bool crew_launch_direct(struct runtime *runtime, const struct job *job, uint32_t launch, uint32_t stream)
{
    struct worker_dropping_arguments arguments = {.room = 0};
    worker_arguments_set(&arguments.plain, workload_of(runtime, job)->launches[launch].command->grid, WORKERS_DIRECT);
    arguments.plain.grid_id = grid_id(runtime, job, launch);
    return give(runtime, job, launch, 0, &arguments, stream);
}

void runtime_horizon(const struct runtime *runtime, uint32_t index, uint32_t *first, uint32_t *end)
{
    const struct job *job = index < runtime->jobs.count ? &runtime->jobs.data[index] : NULL;
    *first = *end = 0;
    if (!job || job->state != JOB_READY || job->leaves)
        return;
    const struct workload *workload = &runtime->workloads.data[job->workload];
    const struct workload_commands *commands = workload->commands;
    *first = *end = job->launch;
    while (*end < commands->launch_count &&
           workload->launches[*end].place == workload->launches[*first].place + (*end - *first))
        ++*end;
}

/* The stream waits for what has been given to others. */
static bool wait_for_streams(struct runtime *runtime, uint32_t stream, uint32_t others)
{
    for (uint32_t i = 0; i < runtime->options.streams; i++) {
        const struct flights *flights = &runtime->streams[i];
        if (i == stream || !(others >> i & 1) || !stream_busy(flights))
            continue;
        const struct flight *last = &flights->items.data[flights->items.count - 1];
        if (!CALL(runtime, stream_wait(runtime->streams[stream].stream, last->end, 0)))
            return false;
    }
    return true;
}

static bool launch_workers(struct runtime *runtime, const struct job *job, const struct runtime_crew *crew)
{
    struct worker_dropping_arguments arguments = {.returned = crew->returned, .room = crew->room};
    struct worker_arguments *plain = &arguments.plain;
    worker_arguments_set(plain, workload_of(runtime, job)->launches[crew->launch].command->grid, crew->flags);
    plain->queue = crew->queue;
    plain->places = crew->places;
    plain->previous = crew->previous;
    plain->stride = crew->stride;
    plain->ranges = crew->ranges;
    plain->range_more = crew->range_more;
    plain->grid_id = grid_id(runtime, job, crew->launch);
    return give(runtime, job, crew->launch, crew->workers, &arguments, crew->stream);
}

static bool launch_crew(struct runtime *runtime, struct job *job, const struct runtime_crew *crew)
{
    if (crew->launch == job->launch && !slice_wait_for_copies(runtime, job, crew->stream))
        return false;
    return wait_for_streams(runtime, crew->stream, crew->behind) && table_order(runtime, crew->stream) &&
           (crew->workers ? launch_workers(runtime, job, crew)
                          : slice_launch_whole(runtime, job, crew->launch, crew->stream));
}

/* Every launch ahead is in a stream behind the first one, which has waited for the copies before it. */
static enum corun_status give_crew(struct runtime *runtime, const struct runtime_crew *crew)
{
    struct job *job = &runtime->jobs.data[crew->job];
    struct flights *flights = &runtime->streams[crew->stream];
    struct flight flight = {.job = crew->job,
                            .launch = crew->launch,
                            .count = crew->workers,
                            .given = runtime->latest,
                            .crew = true,
                            .uncounted = crew->uncounted,
                            .end = clock_event(runtime)};
    job->in_flight++; /* from here on: if the context fails, this one may have done it */
    if (!flight.end || !launch_crew(runtime, job, crew) || !CALL(runtime, event_record(flight.end, flights->stream)) ||
        !vector_push(&flights->items, flight))
        return runtime_trouble(runtime);
    return CORUN_OK;
}

enum corun_status runtime_crew(struct runtime *runtime, const struct runtime_crew *crew)
{
    uint32_t first, end;
    runtime_horizon(runtime, crew->job, &first, &end);
    if (crew->launch < first || crew->launch >= end || crew->stream >= runtime->options.streams)
        return CORUN_ARGUMENT;
    const struct job *job = &runtime->jobs.data[crew->job];
    const struct workload_launch *about = &workload_of(runtime, job)->launches[crew->launch];
    if (crew->workers && (about->refusal || !runtime->options.workers))
        return CORUN_ARGUMENT;
    if (runtime->error) /* the context has gone; runtime_wait says so */
        return CORUN_FAULT;
    runtime_enter(runtime);
    enum corun_status status = give_crew(runtime, crew);
    runtime_leave(runtime);
    return status;
}

/* All launches are complete, and no crew is in flight: the results go. */
static enum corun_status leave(struct runtime *runtime, uint32_t index, uint64_t time)
{
    struct job *job = &runtime->jobs.data[index];
    if (job->in_flight)
        return CORUN_OK;
    job->leaves = false;
    return slice_proceed(runtime, index, time);
}

enum corun_status crew_ended(struct runtime *runtime, uint32_t stream, const struct flight *flight, uint64_t time)
{
    struct job *job = &runtime->jobs.data[flight->job];
    struct runtime_event event = {.kind = RUNTIME_CREW_ENDED,
                                  .job = flight->job,
                                  .launch = flight->launch,
                                  .time = time,
                                  .count = flight->count,
                                  .stream = stream};
    uint64_t last = runtime->streams[stream].last_end, begin = flight->given > last ? flight->given : last;
    job->in_flight--;
    if (!tally_add(&runtime->tally, TALLY_KERNEL, begin, time) || !wait_tell(runtime, &event))
        return CORUN_MEMORY;
    return job->leaves ? leave(runtime, flight->job, time) : CORUN_OK;
}

static enum corun_status complete(struct runtime *runtime, uint32_t index)
{
    struct job *job = &runtime->jobs.data[index];
    struct runtime_event event = {
        .kind = RUNTIME_LAUNCH_ENDED, .job = index, .launch = job->launch, .time = runtime->latest};
    if (!wait_tell(runtime, &event))
        return CORUN_MEMORY;
    job->launch++;
    job->command++;
    if (job->launch < workload_of(runtime, job)->commands->launch_count)
        return slice_proceed(runtime, index, runtime->latest);
    job->leaves = true;
    return leave(runtime, index, runtime->latest);
}

enum corun_status runtime_complete(struct runtime *runtime, uint32_t index, uint32_t launch)
{
    uint32_t first, end;
    runtime_horizon(runtime, index, &first, &end);
    if (first == end || launch != first)
        return CORUN_ARGUMENT;
    if (runtime->error)
        return CORUN_FAULT;
    runtime_enter(runtime);
    enum corun_status status = complete(runtime, index);
    runtime_leave(runtime);
    return status;
}
