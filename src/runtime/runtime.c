/* SPDX-License-Identifier: MIT */
/* A runtime is opened and closed: its driver, its context, streams, and what it says of itself. */
#include "runtime/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT_BLOCKING = 4, STREAM_ON_ITS_OWN = 1 };
enum {
    CLOCK_RATE = 13,
    MULTIPROCESSORS = 16,
    THREADS_PER_MULTIPROCESSOR = 39,
    MAJOR = 75,
    MINOR = 76,
    SHARED_BYTES_PER_MULTIPROCESSOR = 81,
    REGISTERS_PER_MULTIPROCESSOR = 82
}; /* attributes of a device */

static const enum driver_entry needed[] = {
    DRIVER_device_get,      DRIVER_device_name,       DRIVER_device_attribute, DRIVER_context_create,
    DRIVER_context_destroy, DRIVER_context_get,       DRIVER_context_set,      DRIVER_memory_allocate,
    DRIVER_memory_free,     DRIVER_memory_info,       DRIVER_memory_fill,      DRIVER_host_register,
    DRIVER_host_unregister, DRIVER_copy_in,           DRIVER_copy_out,         DRIVER_copy_within,
    DRIVER_stream_create,   DRIVER_stream_wait,       DRIVER_event_create,     DRIVER_event_destroy,
    DRIVER_event_record,    DRIVER_event_synchronize, DRIVER_event_query,      DRIVER_event_elapsed,
    DRIVER_module_load,     DRIVER_module_unload,     DRIVER_module_function,  DRIVER_module_variable,
    DRIVER_launch};

bool runtime_worked(struct runtime *runtime, int result)
{
    if (result && !runtime->error)
        runtime->error = result;
    return !result;
}

void runtime_enter(struct runtime *runtime)
{
    if (runtime->held)
        return;
    (void)RESULT(runtime, context_get(&runtime->outside));
    (void)CALL(runtime, context_set(runtime->context));
}

void runtime_leave(struct runtime *runtime)
{
    if (runtime->held)
        return;
    (void)RESULT(runtime, context_set(runtime->outside));
}

enum corun_status runtime_fault(struct runtime *runtime, struct corun_diagnostics *list, const char *what)
{
    int error = runtime->error;
    runtime->error = 0;
    if (!error)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for %s", what);
    return corun_report(list, CORUN_FAULT, CORUN_NOWHERE, "%s: %s: %s", runtime->info.device, what,
                        driver_error(&runtime->driver, error));
}

enum corun_status runtime_trouble(const struct runtime *runtime)
{
    return runtime->error ? CORUN_FAULT : CORUN_MEMORY;
}

bool runtime_make_context(struct runtime *runtime)
{
    bool made = favour_divides(runtime)
                    ? CALL(runtime, context_retain(&runtime->context, runtime->device)) &&
                          CALL(runtime, context_set(runtime->context))
                    : CALL(runtime, context_create(&runtime->context, CONTEXT_BLOCKING, runtime->device));
    if (!made)
        return false;
    bool good = CALL(runtime, stream_create(&runtime->clock_stream, STREAM_ON_ITS_OWN)) &&
                CALL(runtime, stream_create(&runtime->between_stream, STREAM_ON_ITS_OWN));
    for (uint32_t i = RUNTIME_MOST_STREAMS; i < STREAMS && good; i++)
        good = CALL(runtime, stream_create(&runtime->streams[i].stream, STREAM_ON_ITS_OWN));
    return good && favour_make_streams(runtime) && clock_begin(runtime, runtime->latest) && table_create(runtime);
}

void runtime_drop_context(struct runtime *runtime)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        vector_free(&runtime->streams[i].items);
    memset(runtime->streams, 0, sizeof runtime->streams);
    runtime->last_copy = NULL;
    runtime->copies_given = 0;
    memset(runtime->copies_known, 0, sizeof runtime->copies_known);
    vector_free(&runtime->events); /* they go with the context, as streams do */
    runtime->base_event = NULL;
    runtime->plugs = (struct plugs){0}; /* so do plugs */
    favour_drop(runtime);
    if (runtime->context && favour_divides(runtime))
        (void)runtime->driver.context_release(runtime->device);
    else if (runtime->context)
        (void)runtime->driver.context_destroy(runtime->context);
    runtime->context = NULL;
}

static enum corun_status find_device(struct runtime *runtime, struct corun_diagnostics *list)
{
    struct runtime_info *info = &runtime->info;
    int sms = 0, threads = 0, clock = 0, major = 0, minor = 0, shared = 0, registers = 0;
    snprintf(info->device, sizeof info->device, "GPU %u", runtime->options.device);
    if (runtime->options.device >= runtime->driver.count)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "there is no device %u: the driver has %u",
                            runtime->options.device, runtime->driver.count);
    if (!CALL(runtime, device_get(&runtime->device, (int)runtime->options.device)) ||
        !CALL(runtime, device_name(info->device, (int)sizeof info->device, runtime->device)) ||
        !CALL(runtime, device_attribute(&sms, MULTIPROCESSORS, runtime->device)) ||
        !CALL(runtime, device_attribute(&threads, THREADS_PER_MULTIPROCESSOR, runtime->device)) ||
        !CALL(runtime, device_attribute(&clock, CLOCK_RATE, runtime->device)) ||
        !CALL(runtime, device_attribute(&major, MAJOR, runtime->device)) ||
        !CALL(runtime, device_attribute(&minor, MINOR, runtime->device)))
        return runtime_fault(runtime, list, "the device");
    (void)RESULT(runtime, device_attribute(&shared, SHARED_BYTES_PER_MULTIPROCESSOR, runtime->device));
    (void)RESULT(runtime, device_attribute(&registers, REGISTERS_PER_MULTIPROCESSOR, runtime->device));
    info->sms = (uint32_t)sms;
    info->capability = (uint32_t)(10 * major + minor);
    info->threads_per_sm = (uint32_t)threads;
    info->shared_bytes_per_sm = (uint32_t)shared;
    info->registers_per_sm = (uint32_t)registers;
    info->clock_khz = (uint32_t)clock;
    info->simulated = runtime->driver.simulated;
    return CORUN_OK;
}

static enum corun_status open_device(struct runtime *runtime, struct corun_diagnostics *list)
{
    size_t free_bytes = 0, all_bytes = 0;
    enum corun_status status = find_device(runtime, list);
    if (status != CORUN_OK)
        return status;
    if (favour_divides(runtime) && runtime->options.own_sms >= runtime->info.sms)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s has %u SMs: with %u of its own none is left",
                            runtime->info.device, runtime->info.sms, runtime->options.own_sms);
    (void)runtime->driver.context_get(&runtime->outside);
    runtime->pinned = (struct blocks){.driver = &runtime->driver, .of_host = true, .most_bytes = UINT64_MAX / 2};
    bool good = runtime_make_context(runtime) && CALL(runtime, memory_info(&free_bytes, &all_bytes));
    runtime_leave(runtime);
    if (!good) {
        bool refused;
        status = favour_refuse(runtime, list, &refused);
        return status != CORUN_OK
                   ? status
                   : runtime_fault(runtime, list, refused ? "streams with SMs of their own" : "the context");
    }
    uint64_t most = free_bytes - free_bytes / 16;
    if (runtime->options.memory_bytes && runtime->options.memory_bytes < most)
        most = runtime->options.memory_bytes;
    runtime->info.memory_bytes = most;
    runtime->memory = (struct blocks){.driver = &runtime->driver, .most_bytes = most};
    return CORUN_OK;
}

enum corun_status runtime_open(const struct runtime_options *options, struct corun_diagnostics *list,
                               struct runtime **result)
{
    *result = NULL;
    if (options->streams > RUNTIME_MOST_STREAMS)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "a runtime has up to %u streams, not %u",
                            RUNTIME_MOST_STREAMS, options->streams);
    struct runtime *runtime = calloc(1, sizeof *runtime);
    if (!runtime)
        return CORUN_MEMORY;
    runtime->options = *options;
    runtime->options.library = NULL; /* the caller's */
    runtime->options.streams = options->streams ? options->streams : RUNTIME_MOST_STREAMS;
    runtime->free_job = runtime->waiting_first = runtime->waiting_last = NO_JOB;
    enum corun_status status =
        driver_open(&runtime->driver, options->library, needed, sizeof needed / sizeof *needed, list);
    if (status == CORUN_OK)
        status = favour_check(runtime, list);
    if (status == CORUN_OK)
        status = open_device(runtime, list);
    if (status != CORUN_OK)
        runtime_close(runtime);
    else
        *result = runtime;
    return status;
}

void runtime_close(struct runtime *runtime)
{
    if (!runtime)
        return;
    runtime_hold(runtime, false);
    if (runtime->context) {
        runtime_enter(runtime);
        for (uint32_t i = 0; i < STREAMS; i++) /* nothing may still be moving in memory of the host */
            if (stream_busy(&runtime->streams[i]))
                (void)runtime->driver.event_synchronize(
                    runtime->streams[i].items.data[runtime->streams[i].items.count - 1].end);
        for (size_t j = 0; j < runtime->jobs.count; j++)
            for (size_t b = 0; runtime->jobs.data[j].results &&
                               b < workload_of(runtime, &runtime->jobs.data[j])->commands->buffer_count;
                 b++)
                blocks_give(&runtime->pinned, &runtime->jobs.data[j].results[b]);
        for (size_t j = 0; j < runtime->jobs.count; j++)
            blocks_give(&runtime->pinned, &runtime->jobs.data[j].record);
        plug_finish(runtime);
        table_drop(runtime);
        blocks_clear(&runtime->pinned);
        for (size_t i = 0; i < runtime->workloads.count; i++)
            workload_unpin(runtime, &runtime->workloads.data[i]);
        runtime_leave(runtime);
    }
    runtime_drop_context(runtime); /* modules and memory go with it */
    for (size_t j = 0; j < runtime->jobs.count; j++) {
        free(runtime->jobs.data[j].blocks);
        free(runtime->jobs.data[j].results);
        workload_give_image(runtime, workload_of(runtime, &runtime->jobs.data[j]), runtime->jobs.data[j].image);
    }
    for (size_t i = 0; i < runtime->workloads.count; i++)
        workload_free(&runtime->workloads.data[i]);
    blocks_forget(&runtime->memory);
    vector_free(&runtime->workloads);
    vector_free(&runtime->jobs);
    vector_free(&runtime->arrived);
    vector_free(&runtime->seen);
    tally_free(&runtime->tally);
    calls_free(&runtime->calls);
    free(runtime);
}

void runtime_describe(const struct runtime *runtime, struct runtime_info *info)
{
    *info = runtime->info;
}

void runtime_hold(struct runtime *runtime, bool held)
{
    if (held == runtime->held)
        return;
    if (held)
        runtime_enter(runtime);
    runtime->held = held;
    if (!held)
        runtime_leave(runtime);
}

void runtime_note_calls(struct runtime *runtime)
{
    runtime->calls.wanted = true;
    runtime->calls.first_ns = calls_clock();
}

enum corun_status runtime_write_calls(const struct runtime *runtime, const char *path, struct corun_diagnostics *list)
{
    return calls_write(&runtime->calls, path, list);
}

void runtime_sleep(struct runtime *runtime, uint64_t nanoseconds)
{
    runtime_enter(runtime);
    calls_begin(&runtime->calls);
    (void)runtime_worked(runtime, calls_note(&runtime->calls, "sleep", driver_sleep(&runtime->driver, nanoseconds)));
    runtime_leave(runtime);
}

uint64_t runtime_now(struct runtime *runtime)
{
    runtime_enter(runtime);
    uint64_t now = clock_now(runtime);
    runtime_leave(runtime);
    return now;
}

void runtime_statistics(struct runtime *runtime, struct runtime_statistics *statistics)
{
    *statistics = runtime->statistics;
    statistics->copy_nanoseconds = tally_length(&runtime->tally, TALLY_COPY);
    statistics->kernel_nanoseconds = tally_length(&runtime->tally, TALLY_KERNEL);
    statistics->overlap_nanoseconds = tally_overlap(&runtime->tally);
    statistics->memory_peak_bytes = runtime->memory.peak_bytes;
}

void runtime_begin_statistics(struct runtime *runtime)
{
    runtime->statistics = (struct runtime_statistics){0};
    runtime->memory.peak_bytes = runtime->memory.used_bytes;
    tally_free(&runtime->tally);
}
