/* SPDX-License-Identifier: MIT */
/* One job, alone, with one of its launches in slices. */
#include "runtime/measure.h"

#include "runtime/state.h"

struct measured {
    uint32_t workload, launch, streams;
    uint64_t slice, begin, nanoseconds;
};

static enum corun_status give(struct runtime *runtime, struct measured *measured, const struct runtime_event *ready)
{
    uint64_t tbs = runtime->workloads.data[measured->workload].launches[ready->launch].tbs;
    bool cut = ready->launch == measured->launch && measured->slice && measured->slice < tbs;
    uint64_t size = cut ? measured->slice : tbs;
    enum corun_status status = CORUN_OK;
    if (ready->launch == measured->launch)
        measured->begin = runtime_now(runtime);
    for (uint64_t first = 0, i = 0; first < tbs && status == CORUN_OK; first += size, i++)
        status = runtime_slice(runtime, ready->job, first, size < tbs - first ? size : tbs - first,
                               (uint32_t)(i % measured->streams));
    return status == CORUN_FAULT ? CORUN_OK : status; /* runtime_wait says so */
}

static bool is_alone(const struct runtime *runtime)
{
    for (size_t i = 0; i < runtime->jobs.count; i++)
        if (runtime->jobs.data[i].state != JOB_FREE)
            return false;
    return true;
}

enum corun_status runtime_measure(struct runtime *runtime, uint32_t workload, uint32_t launch, uint64_t slice,
                                  uint32_t streams, struct corun_diagnostics *list, uint64_t *nanoseconds)
{
    struct measured measured = {.workload = workload, .launch = launch, .streams = streams, .slice = slice};
    struct runtime_launch about;
    struct runtime_event event = {0};
    uint32_t job;
    runtime_launch_at(runtime, workload, launch, &about);
    if (slice && slice < about.tbs && about.refusal)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "kernel %s cannot be sliced: %s", about.kernel,
                            about.refusal);
    if (!streams || streams > runtime->options.streams || !is_alone(runtime))
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s is to be measured alone, in up to %u streams",
                            about.kernel, runtime->options.streams);
    enum corun_status status = runtime_submit(runtime, workload, &job);
    while (status == CORUN_OK && event.kind != RUNTIME_ENDED && event.kind != RUNTIME_FAILED) {
        status = runtime_wait(runtime, UINT64_MAX, list, &event);
        if (status == CORUN_OK && event.kind == RUNTIME_READY)
            status = give(runtime, &measured, &event);
        if (event.kind == RUNTIME_LAUNCH_ENDED && event.launch == launch)
            measured.nanoseconds = event.time - measured.begin;
    }
    if (status == CORUN_OK && event.kind == RUNTIME_FAILED)
        status = corun_report(list, CORUN_FAULT, CORUN_NOWHERE, "kernel %s: %s", about.kernel, event.failure);
    if (event.kind == RUNTIME_ENDED || event.kind == RUNTIME_FAILED)
        runtime_release(runtime, job);
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

/* The least of three on a GPU, whose times vary; on a simulated one they do not. */
static enum corun_status measure_least(struct runtime *runtime, uint32_t workload, uint32_t launch, uint64_t slice,
                                       uint32_t streams, struct corun_diagnostics *list, uint64_t *nanoseconds)
{
    enum corun_status status = CORUN_OK;
    *nanoseconds = UINT64_MAX;
    for (int i = 0; i < (runtime->info.simulated ? 1 : 3) && status == CORUN_OK; i++) {
        uint64_t time = 0;
        status = runtime_measure(runtime, workload, launch, slice, streams, list, &time);
        *nanoseconds = time < *nanoseconds ? time : *nanoseconds;
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
