/* SPDX-License-Identifier: MIT */
/* Launches of jobs, whole or in slices, and the copies between them. */
#include "rewrite/slice.h"

#include "runtime/state.h"

#include <string.h>

/* Where a buffer lies for the kernels of a form. */
static unsigned long long place_of(struct runtime *runtime, const struct job *job, size_t buffer, enum image_form form)
{
    const struct workload *workload = workload_of(runtime, job);
    if (workload->commands->buffers[buffer].symbol)
        return job->image->places[form][buffer];
    return workload->resident[buffer].bytes ? workload->resident[buffer].address : job->blocks[buffer].address;
}

static bool copy_within(struct runtime *runtime, const struct job *job, const struct command *copy)
{
    const struct command_buffer *to = &workload_of(runtime, job)->commands->buffers[copy->to];
    enum image_form forms[] = {runtime_form(runtime), IMAGE_PLAIN};
    unsigned long long from = place_of(runtime, job, copy->from, forms[0]) + copy->from_offset;
    for (uint32_t i = 0; i < (to->symbol ? 2 : 1); i++) /* a variable lies in each module */
        if (!CALL(runtime, copy_within(place_of(runtime, job, copy->to, forms[i]) + copy->to_offset, from,
                                       copy->copy_bytes, runtime->between_stream)))
            return false;
    return true;
}

enum corun_status slice_proceed(struct runtime *runtime, uint32_t index, uint64_t time)
{
    struct job *job = &runtime->jobs.data[index];
    const struct workload_commands *commands = workload_of(runtime, job)->commands;
    bool copied = false;
    clock_give(runtime, job->gate);
    job->gate = NULL;
    job->gated = 0;
    for (; job->command < commands->command_count && !commands->commands[job->command].kernel; job->command++) {
        if (!copy_within(runtime, job, &commands->commands[job->command]))
            return runtime_trouble(runtime);
        copied = true;
    }
    if (copied &&
        (!(job->gate = clock_event(runtime)) || !CALL(runtime, event_record(job->gate, runtime->between_stream))))
        return runtime_trouble(runtime);
    if (job->command == commands->command_count)
        return transfer_leave(runtime, index);
    job->state = JOB_READY;
    job->handed_out = job->completed = 0;
    job->told_ready = true;
    struct runtime_event event = {.kind = RUNTIME_READY, .job = index, .launch = job->launch, .time = time};
    return wait_tell(runtime, &event) ? CORUN_OK : CORUN_MEMORY;
}

bool slice_wait_for_copies(struct runtime *runtime, struct job *job, uint32_t stream)
{
    uint32_t bit = UINT32_C(1) << stream;
    void *handle = runtime->streams[stream].stream;
    if (job->gate && !(job->gated & bit) && !CALL(runtime, stream_wait(handle, job->gate, 0)))
        return false;
    job->gated |= bit;
    bool behind =
        runtime->options.in_turns && runtime->last_copy && runtime->copies_known[stream] < runtime->copies_given;
    runtime->copies_known[stream] = runtime->copies_given;
    return !behind || CALL(runtime, stream_wait(handle, runtime->last_copy, 0));
}

void slice_arguments_fill(struct runtime *runtime, const struct job *job, uint32_t launch, enum image_form form,
                          uint64_t *values, void **arguments)
{
    const struct command *command = workload_of(runtime, job)->launches[launch].command;
    for (uint32_t i = 0; i < command->argument_count; i++) {
        const struct command_argument *argument = &command->arguments[i];
        values[i] = argument->bits + (argument->is_buffer ? place_of(runtime, job, argument->buffer, form) : 0);
        arguments[i] = &values[i];
    }
}

/* A part of a launch, as a kernel of that form; `first` is 0 for a launch as a whole. */
static bool launch_form(struct runtime *runtime, const struct job *job, uint32_t launch, enum image_form form,
                        uint64_t first, uint64_t count, uint32_t stream)
{
    const struct workload *workload = workload_of(runtime, job);
    const struct command *command = workload->launches[launch].command;
    bool sliced = form == IMAGE_SLICED && !workload->launches[launch].refusal;
    uint64_t values[MOST_ARGUMENTS];
    void *arguments[MOST_ARGUMENTS + 1];
    struct slice_arguments slice;
    slice_arguments_fill(runtime, job, launch, form, values, arguments);
    arguments[command->argument_count] = &slice;
    const uint32_t *grid = command->grid, *block = command->block;
    slice_arguments_set(&slice, grid, first, job->number * workload->commands->launch_count + launch + 1);
    return CALL(runtime, launch(job->image->functions[form][launch], sliced ? (uint32_t)count : grid[0],
                                sliced ? 1 : grid[1], sliced ? 1 : grid[2], block[0], block[1], block[2],
                                command->shared_bytes, runtime->streams[stream].stream, arguments, NULL));
}

bool slice_launch_whole(struct runtime *runtime, const struct job *job, uint32_t launch, uint32_t stream)
{
    const struct workload *workload = workload_of(runtime, job);
    const struct workload_launch *about = &workload->launches[launch];
    enum image_form form = workload->rewritten_only ? runtime_form(runtime) : IMAGE_PLAIN;
    if (form == IMAGE_WORKERS && !about->refusal)
        return crew_launch_direct(runtime, job, launch, stream);
    bool sliced = form == IMAGE_SLICED && !about->refusal, good = true;
    uint64_t most = sliced && about->tbs > SLICE_MOST_BLOCKS ? SLICE_MOST_BLOCKS : about->tbs;
    for (uint64_t first = 0; first < about->tbs && good; first += most) {
        uint64_t rest = about->tbs - first;
        good = launch_form(runtime, job, launch, form, first, rest < most ? rest : most, stream);
    }
    return good;
}

enum corun_status slice_launch(struct runtime *runtime, uint32_t index, uint64_t first, uint64_t count, uint32_t stream)
{
    struct job *job = &runtime->jobs.data[index];
    struct flights *flights = &runtime->streams[stream];
    bool whole = count == workload_of(runtime, job)->launches[job->launch].tbs;
    struct flight flight = {.job = index,
                            .launch = job->launch,
                            .first = first,
                            .count = count,
                            .given = runtime->latest,
                            .end = clock_event(runtime)};
    job->in_flight++; /* from here on: if the context fails, this one may have done it */
    job->handed_out += count;
    if (!flight.end || !slice_wait_for_copies(runtime, job, stream) ||
        !(whole ? slice_launch_whole(runtime, job, job->launch, stream)
                : launch_form(runtime, job, job->launch, IMAGE_SLICED, first, count, stream)) ||
        !CALL(runtime, event_record(flight.end, flights->stream)) || !vector_push(&flights->items, flight))
        return runtime_trouble(runtime);
    runtime->statistics.slices++;
    return CORUN_OK;
}

size_t runtime_in_flight(const struct runtime *runtime, uint32_t stream)
{
    return runtime->streams[stream].items.count - runtime->streams[stream].first;
}

enum corun_status runtime_slice(struct runtime *runtime, uint32_t index, uint64_t first, uint64_t count,
                                uint32_t stream)
{
    const struct job *job = index < runtime->jobs.count ? &runtime->jobs.data[index] : NULL;
    if (!job || job->state != JOB_READY || stream >= runtime->options.streams)
        return CORUN_ARGUMENT;
    const struct workload_launch *about = &workload_of(runtime, job)->launches[job->launch];
    if (!count || first >= about->tbs || count > about->tbs - first || count > about->tbs - job->handed_out ||
        (count < about->tbs && (about->refusal || runtime->options.workers || count > SLICE_MOST_BLOCKS)))
        return CORUN_ARGUMENT;
    if (runtime->error) /* the context has gone; runtime_wait says so */
        return CORUN_FAULT;
    runtime_enter(runtime);
    enum corun_status status = slice_launch(runtime, index, first, count, stream);
    runtime_leave(runtime);
    return status;
}
