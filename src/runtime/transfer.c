/* SPDX-License-Identifier: MIT */
/*
 * The memory command scheduler (Kernelet, section 3.2): jobs get device memory in the order in which they came, all that they need at
 * once, and nobody overtakes; so working sets beyond the memory take turns, and no job starves. Inputs go through one stream, results
 * through another, beside kernels, unless copies and kernels take turns.
 */
#include "runtime/state.h"

#include <stdlib.h>
#include <string.h>

void transfer_append(struct runtime *runtime, uint32_t index)
{
    struct job *jobs = runtime->jobs.data;
    uint32_t *link = &runtime->waiting_first;
    uint32_t last = runtime->waiting_last;
    if (last != NO_JOB && jobs[last].number < jobs[index].number) /* but for one that comes back, the youngest */
        link = &jobs[last].next;
    while (*link != NO_JOB && jobs[*link].number < jobs[index].number)
        link = &jobs[*link].next;
    jobs[index].next = *link;
    *link = index;
    jobs[index].state = JOB_WAITING;
    if (jobs[index].next == NO_JOB)
        runtime->waiting_last = index;
}

static void take_first(struct runtime *runtime)
{
    runtime->waiting_first = runtime->jobs.data[runtime->waiting_first].next;
    if (runtime->waiting_first == NO_JOB)
        runtime->waiting_last = NO_JOB;
}

void transfer_return(struct runtime *runtime, struct job *job)
{
    struct workload *workload = workload_of(runtime, job);
    for (size_t i = 0; i < workload->commands->buffer_count; i++)
        blocks_give(fence_blocks(runtime, workload), &job->blocks[i]);
    workload_give_image(runtime, workload, job->image);
    job->image = NULL;
    clock_give(runtime, job->gate);
    job->gate = NULL;
}

/* What a stream of copies has to wait for, in turns. */
static bool wait_for_kernels(struct runtime *runtime, void *stream)
{
    bool good = true;
    for (uint32_t i = 0; runtime->options.in_turns && i < runtime->options.streams && good; i++) {
        const struct flights *flights = &runtime->streams[i];
        if (stream_busy(flights))
            good = CALL(runtime, stream_wait(stream, flights->items.data[flights->items.count - 1].end, 0));
    }
    return good;
}

static bool begin_copies(struct runtime *runtime, void *stream, struct flight *flight)
{
    bool roughly = runtime->options.host_times && !runtime->driver.simulated;
    flight->given = runtime->latest;
    flight->copies = true;
    flight->begin = roughly ? NULL : clock_event(runtime);
    flight->end = clock_event(runtime);
    return (roughly || flight->begin) && flight->end && wait_for_kernels(runtime, stream) &&
           (roughly || CALL(runtime, event_record(flight->begin, stream)));
}

static bool end_copies(struct runtime *runtime, uint32_t stream, const struct flight *flight)
{
    if (!CALL(runtime, event_record(flight->end, runtime->streams[stream].stream)) ||
        !vector_push(&runtime->streams[stream].items, *flight))
        return false;
    runtime->last_copy = flight->end;
    runtime->copies_given++;
    return true;
}

/* From the host's data, or zeros. */
static bool fill(struct runtime *runtime, const struct command_buffer *buffer, unsigned long long place, void *stream,
                 struct flight *flight)
{
    if (!buffer->bytes)
        return true;
    if (!buffer->initial)
        return CALL(runtime, memory_fill(place, 0, buffer->bytes, stream));
    flight->bytes += buffer->bytes;
    return CALL(runtime, copy_in(place, buffer->initial, buffer->bytes, stream));
}

/* From what stays on the device; the first job brings that. */
static bool refill(struct runtime *runtime, const struct workload *workload, const struct job *job, size_t index,
                   void *stream, struct flight *flight)
{
    const struct command_buffer *buffer = &workload->commands->buffers[index];
    unsigned long long pristine = workload->pristine[index].address;
    return (workload->resident_loaded || fill(runtime, buffer, pristine, stream, flight)) &&
           CALL(runtime, copy_within(job->blocks[index].address, pristine, buffer->bytes, stream));
}

/* A variable, in each module that the job may launch of. */
static bool fill_variable(struct runtime *runtime, const struct job *job, size_t index, void *stream,
                          struct flight *flight)
{
    const struct command_buffer *buffer = &workload_of(runtime, job)->commands->buffers[index];
    bool good = job->image != NULL;
    for (uint32_t form = 0; form < IMAGE_FORMS && good; form++) {
        const unsigned long long *places = job->image->places[form];
        good = !places || fill(runtime, buffer, places[index], stream, flight);
    }
    return good;
}

static bool fill_all(struct runtime *runtime, const struct job *job, void *stream, struct flight *flight)
{
    struct workload *workload = workload_of(runtime, job);
    bool good = job->image != NULL, filled = good && job->image->filled;
    for (size_t i = 0; i < workload->commands->buffer_count && good; i++) {
        const struct command_buffer *buffer = &workload->commands->buffers[i];
        if (buffer->symbol) /* one of each module; what is kept is as the modules were loaded */
            good = buffer->kept || filled || fill_variable(runtime, job, i, stream, flight);
        else if (workload->pristine[i].bytes)
            good = refill(runtime, workload, job, i, stream, flight);
        else if (!workload->resident[i].bytes)
            good = fill(runtime, buffer, job->blocks[i].address, stream, flight);
        else if (!workload->resident_loaded)
            good = fill(runtime, buffer, workload->resident[i].address, stream, flight);
    }
    workload->resident_loaded |= good;
    if (good)
        job->image->filled = job->image->shared;
    return good;
}

/* One of so many bytes, unless it is there. False: there is no room now (*full), or an error that is noted. */
static bool take_block(struct runtime *runtime, struct blocks *blocks, uint64_t bytes, struct block *block, bool *full)
{
    int error = 0;
    if (block->address || blocks_take(blocks, bytes, block, &error))
        return true;
    *full = !error;
    (void)runtime_worked(runtime, error);
    return false;
}

/* Blocks for all buffers of a job and, for the first of its workload, for what stays. */
static enum corun_status take_blocks(struct runtime *runtime, struct job *job, bool *full)
{
    struct workload *workload = workload_of(runtime, job);
    struct blocks *blocks = fence_blocks(runtime, workload);
    bool good = true;
    for (size_t i = 0; i < workload->commands->buffer_count && good; i++) {
        const struct command_buffer *buffer = &workload->commands->buffers[i];
        struct block *block = workload->resident[i].bytes ? &workload->resident[i] : &job->blocks[i];
        if (!buffer->symbol)
            good = take_block(runtime, blocks, buffer->bytes, block, full) &&
                   take_block(runtime, blocks, workload->pristine[i].bytes, &workload->pristine[i], full);
    }
    return runtime->error ? CORUN_FAULT : CORUN_OK;
}

enum corun_status transfer_begin(struct runtime *runtime, uint32_t index, bool *full)
{
    struct job *job = &runtime->jobs.data[index];
    struct workload *workload = workload_of(runtime, job);
    void *stream = runtime->streams[STREAM_IN].stream;
    struct flight flight = {.job = index};
    const struct blocks *blocks = fence_blocks(runtime, workload);
    if (!fence_ready(runtime, workload))
        return runtime_trouble(runtime);
    *full = blocks->used_bytes > blocks->most_bytes - workload->cost;
    enum corun_status status = *full ? CORUN_OK : take_blocks(runtime, job, full);
    if (status == CORUN_OK && !*full && !job->image && !(job->image = workload_take_image(runtime, workload)))
        status = runtime_trouble(runtime);
    if (*full || status != CORUN_OK) {
        transfer_return(runtime, job);
        return status;
    }
    if (!begin_copies(runtime, stream, &flight) || !fill_all(runtime, job, stream, &flight) ||
        !end_copies(runtime, STREAM_IN, &flight))
        return runtime_trouble(runtime);
    runtime->statistics.bytes_in += flight.bytes;
    job->state = JOB_ARRIVING;
    job->command = 0;
    job->launch = 0;
    return CORUN_OK;
}

/* Blocks of one job more. False: there is no room, or an error that is noted. */
static bool reserve_job(struct runtime *runtime, uint32_t index, struct block *held, size_t *count)
{
    struct workload *workload = &runtime->workloads.data[index];
    bool good = true;
    for (size_t i = 0; i < workload->commands->buffer_count && good; i++) {
        const struct command_buffer *buffer = &workload->commands->buffers[i];
        bool full = false, own = !buffer->symbol && buffer->bytes && !workload->resident[i].bytes;
        held[*count] = (struct block){0};
        good = !own || take_block(runtime, fence_blocks(runtime, workload), buffer->bytes, &held[*count], &full);
        *count += own && good;
    }
    return good;
}

/* The same of the host, for its results. */
static bool reserve_results(struct runtime *runtime, const struct workload *workload, struct block *held, size_t *count)
{
    bool good = true;
    for (size_t i = 0; i < workload->commands->buffer_count && good; i++) {
        const struct command_buffer *buffer = &workload->commands->buffers[i];
        bool full = false;
        held[*count] = (struct block){0};
        if (!buffer->is_output || !buffer->bytes)
            continue;
        good = take_block(runtime, &runtime->pinned, buffer->bytes, &held[*count], &full);
        *count += good;
    }
    return good;
}

enum corun_status runtime_reserve(struct runtime *runtime, const uint32_t *workloads, uint32_t count, uint32_t jobs,
                                  uint32_t results, struct corun_diagnostics *list)
{
    size_t buffers = 0, held = 0, held_results = 0;
    for (uint32_t k = 0; k < count; k++)
        buffers += runtime->workloads.data[workloads[k]].commands->buffer_count;
    struct block *blocks = calloc(buffers * jobs + 1, sizeof *blocks);
    struct block *on_host = calloc(buffers * results + 1, sizeof *on_host);
    bool good = blocks && on_host && !runtime->options.fence; /* an arena is one allocation */
    runtime_enter(runtime);
    for (uint32_t j = 0; j < jobs && good; j++)
        for (uint32_t k = 0; k < count && good; k++)
            good = reserve_job(runtime, workloads[k], blocks, &held);
    for (uint32_t j = 0; j < results && on_host && !runtime->error; j++)
        for (uint32_t k = 0; k < count && !runtime->error; k++)
            (void)reserve_results(runtime, &runtime->workloads.data[workloads[k]], on_host, &held_results);
    while (held)
        blocks_give(&runtime->memory, &blocks[--held]);
    while (held_results)
        blocks_give(&runtime->pinned, &on_host[--held_results]);
    runtime_leave(runtime);
    bool room = blocks && on_host;
    free(blocks);
    free(on_host);
    if (runtime->error)
        return runtime_fault(runtime, list, "memory of jobs");
    return room ? CORUN_OK : CORUN_MEMORY;
}

enum corun_status transfer_admit(struct runtime *runtime)
{
    while (runtime->waiting_first != NO_JOB) {
        uint32_t index = runtime->waiting_first;
        bool full = false;
        enum corun_status status = transfer_begin(runtime, index, &full);
        if (status != CORUN_OK || full)
            return status;
        take_first(runtime);
    }
    return CORUN_OK;
}

enum corun_status transfer_leave(struct runtime *runtime, uint32_t index)
{
    struct job *job = &runtime->jobs.data[index];
    const struct workload *workload = workload_of(runtime, job);
    uint32_t copies = runtime->options.in_turns ? STREAM_IN : STREAM_OUT;
    void *stream = runtime->streams[copies].stream;
    struct flight flight = {.job = index};
    job->state = JOB_LEAVING;
    if (!begin_copies(runtime, stream, &flight) || (job->gate && !CALL(runtime, stream_wait(stream, job->gate, 0))))
        return runtime_trouble(runtime);
    for (size_t i = 0; i < workload->commands->buffer_count; i++) {
        const struct command_buffer *buffer = &workload->commands->buffers[i];
        int error = 0;
        unsigned long long from =
            buffer->symbol ? job->image->places[runtime_form(runtime)][i] : job->blocks[i].address;
        if (!buffer->is_output || !buffer->bytes || runtime->options.no_results || job->no_results)
            continue;
        if (!job->results[i].address && !blocks_take(&runtime->pinned, buffer->bytes, &job->results[i], &error)) {
            (void)runtime_worked(runtime, error);
            return runtime_trouble(runtime);
        }
        if (workload->resident[i].bytes)
            from = workload->resident[i].address;
        if (!CALL(runtime, copy_out((void *)(uintptr_t)job->results[i].address, from, buffer->bytes, stream)))
            return runtime_trouble(runtime);
        flight.bytes += buffer->bytes;
    }
    if (runtime->options.fence && !fence_read(runtime, job, stream))
        return runtime_trouble(runtime);
    runtime->statistics.bytes_out += flight.bytes;
    return end_copies(runtime, copies, &flight) ? CORUN_OK : runtime_trouble(runtime);
}

enum corun_status runtime_submit(struct runtime *runtime, uint32_t workload, uint32_t *number)
{
    size_t buffers = runtime->workloads.data[workload].commands->buffer_count;
    struct job job = {.state = JOB_WAITING,
                      .workload = workload,
                      .number = runtime->submitted,
                      .blocks = calloc(buffers + 1, sizeof *job.blocks),
                      .results = calloc(buffers + 1, sizeof *job.results)};
    *number = runtime->free_job;
    bool good = job.blocks && job.results;
    if (good && *number != NO_JOB) {
        runtime->free_job = runtime->jobs.data[*number].next;
        runtime->jobs.data[*number] = job;
    } else if (good) {
        *number = (uint32_t)runtime->jobs.count;
        good = vector_push(&runtime->jobs, job);
    }
    if (!good) {
        free(job.blocks);
        free(job.results);
        return CORUN_MEMORY;
    }
    runtime->submitted++;
    transfer_append(runtime, *number);
    runtime_enter(runtime);
    enum corun_status status = transfer_admit(runtime);
    runtime_leave(runtime);
    runtime->statistics.memory_waits += runtime->jobs.data[*number].state == JOB_WAITING;
    return status == CORUN_FAULT ? CORUN_OK : status; /* runtime_wait looks after that */
}

void runtime_leave_results(struct runtime *runtime, uint32_t job)
{
    runtime->jobs.data[job].no_results = true;
}

const void *runtime_result(const struct runtime *runtime, uint32_t job, size_t buffer)
{
    return (const void *)(uintptr_t)runtime->jobs.data[job].results[buffer].address;
}

void runtime_release(struct runtime *runtime, uint32_t index)
{
    struct job *job = &runtime->jobs.data[index];
    for (size_t i = 0; i < workload_of(runtime, job)->commands->buffer_count; i++)
        blocks_give(&runtime->pinned, &job->results[i]);
    blocks_give(&runtime->pinned, &job->record);
    free(job->blocks);
    free(job->results);
    *job = (struct job){.next = runtime->free_job};
    runtime->free_job = index;
}
