/* SPDX-License-Identifier: MIT */
/* One job, alone, with one of its launches in slices. */
#include "runtime/measure.h"

#include "base/kernel_name.h"
#include "runtime/state.h"

struct measured {
    uint32_t workload, launch, streams;
    uint64_t slice, most, begin, nanoseconds; /* most: slices in flight */
    uint64_t tbs, size, first,
        given; /* of the launch under way: thread blocks of it, of a slice, given; slices given */
};

/* Up to so many slices. */
static enum corun_status give(struct runtime *runtime, struct measured *measured, uint32_t job, uint64_t most)
{
    enum corun_status status = CORUN_OK;
    for (uint64_t i = 0; i < most && measured->first < measured->tbs && status == CORUN_OK; i++) {
        uint64_t left = measured->tbs - measured->first, count = measured->size < left ? measured->size : left;
        status = runtime_slice(runtime, job, measured->first, count, (uint32_t)(measured->given++ % measured->streams));
        measured->first += count;
    }
    return status == CORUN_FAULT ? CORUN_OK : status; /* runtime_wait says so */
}

static enum corun_status take(struct runtime *runtime, struct measured *measured, const struct runtime_event *event)
{
    bool meant = event->launch == measured->launch;
    if (event->kind == RUNTIME_READY) {
        measured->tbs = runtime->workloads.data[measured->workload].launches[event->launch].tbs;
        measured->size = meant && measured->slice && measured->slice < measured->tbs ? measured->slice : measured->tbs;
        measured->first = measured->given = 0;
        measured->begin = meant ? runtime_now(runtime) : measured->begin;
        return give(runtime, measured, event->job, measured->most);
    }
    if (event->kind == RUNTIME_SLICE_ENDED)
        return give(runtime, measured, event->job, 1);
    if (event->kind == RUNTIME_LAUNCH_ENDED && meant)
        measured->nanoseconds = event->time - measured->begin;
    return CORUN_OK;
}

static bool is_alone(const struct runtime *runtime)
{
    for (size_t i = 0; i < runtime->jobs.count; i++)
        if (runtime->jobs.data[i].state != JOB_FREE)
            return false;
    return true;
}

static enum corun_status measure(struct runtime *runtime, struct measured *measured, struct corun_diagnostics *list)
{
    struct runtime_launch about;
    struct runtime_event event = {0};
    uint32_t job;
    runtime_launch_at(runtime, measured->workload, measured->launch, &about);
    if (measured->slice && measured->slice < about.tbs && about.refusal)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "kernel %s cannot be sliced: %s",
                            KERNEL_NAME(about.kernel), about.refusal);
    if (!measured->streams || measured->streams > runtime->options.streams || !is_alone(runtime))
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s is to be measured alone, in up to %u streams",
                            about.kernel, runtime->options.streams);
    enum corun_status status = runtime_submit(runtime, measured->workload, &job);
    while (status == CORUN_OK && event.kind != RUNTIME_ENDED && event.kind != RUNTIME_FAILED) {
        status = runtime_wait(runtime, UINT64_MAX, list, &event);
        if (status == CORUN_OK)
            status = take(runtime, measured, &event);
    }
    if (status == CORUN_OK && event.kind == RUNTIME_FAILED)
        status =
            corun_report(list, CORUN_FAULT, CORUN_NOWHERE, "kernel %s: %s", KERNEL_NAME(about.kernel), event.failure);
    if (event.kind == RUNTIME_ENDED || event.kind == RUNTIME_FAILED)
        runtime_release(runtime, job);
    return status;
}

enum corun_status runtime_measure(struct runtime *runtime, uint32_t workload, uint32_t launch, uint64_t slice,
                                  uint32_t streams, struct corun_diagnostics *list, uint64_t *nanoseconds)
{
    struct measured measured = {
        .workload = workload, .launch = launch, .streams = streams, .slice = slice, .most = UINT64_MAX};
    enum corun_status status = measure(runtime, &measured, list);
    *nanoseconds = measured.nanoseconds;
    return status;
}

/* Slices of that size that fill the GPU, and one that waits. */
static uint32_t streams_for(const struct runtime *runtime, const struct runtime_launch *about, uint64_t slice)
{
    uint64_t fit = (uint64_t)(about->tbs_per_sm ? about->tbs_per_sm : 1) * runtime->info.sms;
    uint64_t count = (fit + slice - 1) / slice + 1;
    return count < runtime->options.streams ? (uint32_t)count : runtime->options.streams;
}

/*
 * The least of three on a GPU, whose times vary; on a simulated one they do not. Slices are given as a queue does it: the next one when one has been
 * seen to end, so that what the host does for each is in the time. One more than fits waits behind the oldest.
 */
static enum corun_status measure_least(struct runtime *runtime, uint32_t workload, uint32_t launch, uint64_t slice,
                                       uint32_t streams, struct corun_diagnostics *list, uint64_t *nanoseconds)
{
    enum corun_status status = CORUN_OK;
    *nanoseconds = UINT64_MAX;
    for (int i = 0; i < (runtime->info.simulated ? 1 : 3) && status == CORUN_OK; i++) {
        struct measured measured = {
            .workload = workload, .launch = launch, .streams = streams, .slice = slice, .most = streams + 1};
        status = measure(runtime, &measured, list);
        *nanoseconds = measured.nanoseconds < *nanoseconds ? measured.nanoseconds : *nanoseconds;
    }
    return status;
}

enum corun_status runtime_smallest_slice(struct runtime *runtime, uint32_t workload, uint32_t launch, double most,
                                         struct corun_diagnostics *list, uint64_t *slice, uint64_t *nanoseconds)
{
    struct runtime_launch about;
    uint64_t sms = runtime->info.sms, time = 0;
    runtime_launch_at(runtime, workload, launch, &about);
    *slice = about.tbs;
    enum corun_status status = runtime_measure(runtime, workload, launch, 0, 1, list, nanoseconds); /* fills caches */
    if (status == CORUN_OK)
        status = measure_least(runtime, workload, launch, 0, 1, list, nanoseconds);
    for (uint64_t size = sms; status == CORUN_OK && !about.refusal && size * 2 <= about.tbs;
         size += size < 4 * sms ? sms : size / 2 / sms * sms) {
        status = measure_least(runtime, workload, launch, size, streams_for(runtime, &about, size), list, &time);
        if (status == CORUN_OK && (double)time <= (1 + most) * (double)*nanoseconds) {
            *slice = size;
            break;
        }
    }
    return status;
}
