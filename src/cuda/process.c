/* SPDX-License-Identifier: MIT */
/* The one instance of the front door in this process: its lock, its start and its end. */
#include "cuda/process.h"

#include "cuda/abi.h"
#include "cuda/capture.h"
#include "cuda/checkpoint.h"
#include "cuda/checkpoint_signal.h"
#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/engine.h"
#include "cuda/entry.h"
#include "cuda/profile.h"
#include "cuda/record.h"
#include "cuda/remote.h"
#include "cuda/settings.h"

#include <string.h>
#include <time.h>

/*
 * CUDA's interface names no instance: a program calls cudaMalloc(pointer, bytes) and nothing more. So there is one,
 * here, and this is the only mutable state at file scope of the library.
 */
static struct process instance = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                  .loading_lock = PTHREAD_MUTEX_INITIALIZER,
                                  .caller = {.wanted = PTHREAD_COND_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER}};
static pthread_once_t prepared = PTHREAD_ONCE_INIT, driver_found = PTHREAD_ONCE_INIT;
static _Thread_local struct thread_state this_thread;
_Thread_local bool corun_per_thread, corun_driver_call;

struct process *process_get(void)
{
    return &instance;
}

struct thread_state *thread_get(void)
{
    return &this_thread;
}

struct device *process_device(struct process *process, int ordinal)
{
    return ordinal >= 0 && (uint32_t)ordinal < process->device_count ? &process->devices[ordinal] : NULL;
}

struct context *process_current_context(const struct process *process, const struct thread_state *thread)
{
    if (thread->contexts.count)
        return thread->contexts.data[thread->contexts.count - 1];
    return process->device_count ? process->devices[thread->device].primary : NULL;
}

static void before_fork(void)
{
    pthread_mutex_lock(&instance.lock);
    remote_before_fork(instance.remote);
}

static void after_fork_in_parent(void)
{
    remote_after_fork(instance.remote);
    pthread_mutex_unlock(&instance.lock);
}

static void after_fork_in_child(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    memcpy(&instance.lock, &fresh, sizeof fresh);
    instance.forked = instance.ready;
    instance.record = NULL; /* the parent's */
    instance.capture = NULL;
    if (instance.checkpoint)
        checkpoint_signal_forget();
    instance.checkpoint = NULL;
    remote_forked(instance.remote);
}

static void prepare(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* The end of the process: what is still in streams is dropped, as a driver does. */
static __attribute__((destructor)) void finish(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    /* A program may end in the middle of a call, from a signal handler: then nobody gives back the lock. */
    if (instance.forked || pthread_mutex_timedlock(&instance.lock, &until))
        return;
    instance.ended = true;
    for (uint32_t i = 0; i < instance.device_count; i++)
        record_sampled(&instance, &instance.devices[i]);
    for (size_t i = 0; i < instance.contexts.count; i++)
        profile_record_all(&instance, instance.contexts.data[i]);
    record_close(instance.record);
    instance.record = NULL;
    checkpoint_close(&instance);
    capture_close(&instance);
    pthread_mutex_unlock(&instance.lock);
}

/* Settings, devices: once, at the first call that needs them. */
static int start(struct process *process)
{
    if (process->forked) {
        say("this process was forked from one that had used CUDA before: CUDA cannot be used in it");
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (process->ready)
        return CUDA_SUCCESS;
    if (process->failed)
        return CUDA_ERROR_NOT_INITIALIZED;
    process->list = corun_diagnostics_create();
    if (!process->list || !settings_read(process)) {
        if (process->list)
            say_diagnostics(process->list);
        process->failed = true;
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    process->record = record_open(process);
    process->capture = capture_open(process);
    checkpoint_begin(process);
    engine_prepare(process);
    process->ready = true;
    return CUDA_SUCCESS;
}

static void find_driver(void)
{
    driver_calls_find(&instance.driver);
}

const struct driver_calls *process_driver(void)
{
    pthread_once(&driver_found, find_driver);
    return &instance.driver;
}

int process_enter(void)
{
    pthread_once(&prepared, prepare);
    instance.calls_wanting++;
    pthread_mutex_lock(&instance.lock);
    instance.calls_wanting--;
    if (this_thread.calls_functions) /* as CUDA does: whoever waited in one would wait for itself */
        return instance.forked ? CUDA_ERROR_NOT_INITIALIZED : CUDA_ERROR_NOT_PERMITTED;
    instance.calls++;
    int error = start(&instance);
    checkpoint_enter(&instance);
    if (!error)
        engine_host_returns(&instance);
    return error;
}
