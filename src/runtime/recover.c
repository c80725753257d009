/* SPDX-License-Identifier: MIT */
/*
 * A kernel has failed. Its context is of no use any more, and all streams tell the same error: whose kernel did it, the driver does not
 * say. So everything on the device is given up, and a new context is made. Jobs with slices under way are suspects: each of them runs
 * once more, alone, and the one that fails again is the one. Everybody else starts over.
 */
#include "runtime/state.h"

#include <stdlib.h>

/* Everything that jobs had on the device has gone. */
static void forget_device(struct runtime *runtime)
{
    for (size_t i = 0; i < runtime->jobs.count; i++) {
        struct job *job = &runtime->jobs.data[i];
        if (job->state == JOB_FREE)
            continue;
        for (size_t b = 0; b < workload_of(runtime, job)->commands->buffer_count; b++) {
            job->blocks[b] = (struct block){0};
            if (job->state != JOB_OVER)
                blocks_give(&runtime->pinned, &job->results[b]);
        }
        blocks_give(&runtime->pinned, &job->record);
        workload_give_image(runtime, workload_of(runtime, job), job->image);
        job->image = NULL;
        job->gate = NULL;
        job->gated = 0;
        job->leaves = false;
    }
    runtime->arrived.count = 0;
    table_drop(runtime);
    blocks_clear(&runtime->pinned);
    for (size_t i = 0; i < runtime->workloads.count; i++) {
        workload_unpin(runtime, &runtime->workloads.data[i]);
        workload_forget(&runtime->workloads.data[i]);
    }
    blocks_forget(&runtime->memory);
    runtime_drop_context(runtime);
}

/* A new context. The host's memory is page-locked for it anew. */
static enum corun_status renew(struct runtime *runtime, struct corun_diagnostics *list)
{
    forget_device(runtime);
    runtime->error = 0;
    if (runtime_make_context(runtime)) {
        for (size_t i = 0; i < runtime->workloads.count; i++)
            workload_pin(runtime, &runtime->workloads.data[i]);
        return CORUN_OK;
    }
    return runtime_fault(runtime, list, "a kernel has failed, and the device cannot be used again in this process");
}

static enum corun_status tell_failed(struct runtime *runtime, uint32_t index, int error)
{
    struct job *job = &runtime->jobs.data[index];
    job->state = JOB_OVER;
    job->failure = driver_error(&runtime->driver, error);
    runtime->statistics.jobs_failed++;
    struct runtime_event event = {
        .kind = RUNTIME_FAILED, .job = index, .launch = job->launch, .time = runtime->latest, .failure = job->failure};
    return wait_tell(runtime, &event) ? CORUN_OK : CORUN_MEMORY;
}

/* Waits for everything of the only job that is on the device. */
static enum corun_status finish_alone(struct runtime *runtime, uint32_t index)
{
    struct job *job = &runtime->jobs.data[index];
    while (job->state != JOB_OVER && !runtime->error) {
        bool any = false;
        size_t seen = runtime->seen.count;
        for (uint32_t i = 0; i < STREAMS && !runtime->error; i++)
            if (stream_busy(&runtime->streams[i]))
                (void)CALL(runtime,
                           event_synchronize(runtime->streams[i].items.data[runtime->streams[i].items.count - 1].end));
        enum corun_status status = runtime->error ? CORUN_FAULT : wait_look(runtime, &any);
        if (status == CORUN_OK && job->state == JOB_READY && !job->handed_out)
            status = slice_launch(runtime, index, 0, workload_of(runtime, job)->launches[job->launch].tbs, 0);
        /* The caller has launched nothing of this, and hears of its end alone. */
        if (job->state == JOB_OVER)
            runtime->seen.data[seen] = runtime->seen.data[runtime->seen.count - 1];
        runtime->seen.count = job->state == JOB_OVER ? seen + 1 : seen;
        if (status == CORUN_MEMORY)
            return status;
    }
    return runtime->error ? CORUN_FAULT : CORUN_OK;
}

/* Once more from its beginning, with nobody else there. */
static enum corun_status run_alone(struct runtime *runtime, uint32_t index, struct corun_diagnostics *list)
{
    bool full = false;
    uint32_t first = runtime->waiting_first, last = runtime->waiting_last;
    runtime->waiting_first = runtime->waiting_last = NO_JOB; /* nobody comes meanwhile */
    enum corun_status status = transfer_begin(runtime, index, &full);
    if (status == CORUN_OK)
        status = finish_alone(runtime, index);
    int error = runtime->error;
    if (status == CORUN_FAULT) {
        status = renew(runtime, list);
        if (status == CORUN_OK)
            status = tell_failed(runtime, index, error);
    }
    runtime->waiting_first = first;
    runtime->waiting_last = last;
    return status;
}

/* Jobs that are not suspected go back to where they came from. */
static enum corun_status return_others(struct runtime *runtime)
{
    for (uint32_t i = 0; i < runtime->jobs.count; i++) {
        struct job *job = &runtime->jobs.data[i];
        bool was_there = job->state == JOB_ARRIVING || job->state == JOB_READY || job->state == JOB_LEAVING;
        struct runtime_event event = {.kind = RUNTIME_RETURNED, .job = i, .time = runtime->latest};
        if (!was_there || job->in_flight)
            continue;
        if (job->told_ready && !wait_tell(runtime, &event))
            return CORUN_MEMORY;
        runtime->statistics.jobs_returned += job->told_ready;
        job->told_ready = false;
        transfer_append(runtime, i);
    }
    return CORUN_OK;
}

/* What was to be told of jobs that start over has become void. */
static void drop_seen(struct runtime *runtime)
{
    size_t kept = 0;
    for (size_t i = 0; i < runtime->seen.count; i++) {
        enum runtime_event_kind kind = runtime->seen.data[i].kind;
        if (kind == RUNTIME_ENDED || kind == RUNTIME_FAILED)
            runtime->seen.data[kept++] = runtime->seen.data[i];
    }
    runtime->seen.count = kept;
}

enum corun_status recover(struct runtime *runtime, struct corun_diagnostics *list)
{
    uint32_t suspects = 0;
    int error = runtime->error;
    drop_seen(runtime);
    enum corun_status status = renew(runtime, list);
    struct runtime_event renewed = {.kind = RUNTIME_RENEWED, .time = runtime->latest};
    if (status == CORUN_OK && runtime->table_bytes && !wait_tell(runtime, &renewed))
        status = CORUN_MEMORY;
    if (status == CORUN_OK)
        status = return_others(runtime);
    for (uint32_t i = 0; i < runtime->jobs.count; i++)
        suspects += runtime->jobs.data[i].in_flight != 0;
    if (!suspects && status == CORUN_OK) /* it was no kernel */
        return corun_report(list, CORUN_FAULT, CORUN_NOWHERE, "%s: %s", runtime->info.device,
                            driver_error(&runtime->driver, error));
    for (uint32_t i = 0; i < runtime->jobs.count && status == CORUN_OK; i++) {
        struct job *job = &runtime->jobs.data[i];
        if (!job->in_flight)
            continue;
        job->in_flight = 0;
        status = suspects == 1 ? tell_failed(runtime, i, error) : run_alone(runtime, i, list);
    }
    return status == CORUN_OK && !runtime->error ? transfer_admit(runtime) : status;
}
