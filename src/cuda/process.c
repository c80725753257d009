/* The one instance of the front door in this process, its lock, and the frame of every call. */
#include "cuda/process.h"

#include "cuda/capture.h"
#include "cuda/settings.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * CUDA's interface names no instance: a program calls cudaMalloc(pointer, bytes) and nothing more. So there is one,
 * here, and this is the only mutable state at file scope of the library.
 */
static struct process instance = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static _Thread_local struct thread_state thread;
_Thread_local bool corun_per_thread, corun_driver_call;

struct process *process_get(void)
{
    return &instance;
}

struct thread_state *thread_get(void)
{
    return &thread;
}

static void before_fork(void)
{
    pthread_mutex_lock(&instance.lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&instance.lock);
}

static void after_fork_in_child(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    memcpy(&instance.lock, &fresh, sizeof fresh);
    instance.forked = instance.ready;
    instance.record = NULL; /* the parent's */
    instance.capture = NULL;
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
    record_close(instance.record);
    instance.record = NULL;
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
    engine_prepare(process);
    process->ready = true;
    return CUDA_SUCCESS;
}

static void begin(struct call *call)
{
    pthread_once(&prepared, prepare);
    *call = (struct call){.process = &instance, .thread = &thread, .driver = corun_driver_call};
    pthread_mutex_lock(&instance.lock);
    instance.calls++;
    call->error = start(&instance);
}

bool runtime_begin_device(struct call *call)
{
    begin(call);
    if (call->error == CUDA_SUCCESS && call->process->device_count == 0)
        call->error = CUDA_ERROR_NO_DEVICE;
    return call->error == CUDA_SUCCESS;
}

bool runtime_begin(struct call *call)
{
    return corun_driver_call ? driver_begin(call) : primary_begin(call);
}

bool primary_begin(struct call *call)
{
    if (!runtime_begin_device(call))
        return false;
    struct thread_state *state = call->thread;
    /* A context that the driver API has made current is the runtime's, too. */
    if (state->contexts.count)
        call->context = state->contexts.data[state->contexts.count - 1];
    else
        call->context = cuda_context_primary(call->process, state->device);
    if (!call->context)
        call->error = CUDA_ERROR_OUT_OF_MEMORY;
    else if (call->context->destroyed)
        call->error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    else
        call->error = call->context->error;
    return call->error == CUDA_SUCCESS;
}

bool driver_begin_started(struct call *call)
{
    begin(call);
    if (call->error == CUDA_SUCCESS && !call->process->driver_started)
        call->error = CUDA_ERROR_NOT_INITIALIZED;
    return call->error == CUDA_SUCCESS;
}

bool driver_begin(struct call *call)
{
    begin(call);
    struct thread_state *state = call->thread;
    if (call->error != CUDA_SUCCESS)
        return false;
    if (state->contexts.count)
        call->context = state->contexts.data[state->contexts.count - 1];
    else if (call->process->device_count) /* the runtime's, if it has been used */
        call->context = call->process->devices[state->device].primary;
    if (!call->process->driver_started && !call->context)
        call->error = CUDA_ERROR_NOT_INITIALIZED;
    else if (!call->context)
        call->error = CUDA_ERROR_INVALID_CONTEXT;
    else if (call->context->destroyed)
        call->error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    else
        call->error = call->context->error;
    return call->error == CUDA_SUCCESS;
}

int call_end(struct call *call)
{
    corun_per_thread = false;
    pthread_mutex_unlock(&call->process->lock);
    return call->error;
}

int runtime_end(struct call *call)
{
    /* cudaErrorNotReady is an answer, not a failure. */
    if (call->error != CUDA_SUCCESS && call->error != CUDA_ERROR_NOT_READY && !call->driver)
        call->thread->last_error = call->error;
    return call_end(call);
}

int runtime_end_quietly(struct call *call)
{
    return call_end(call);
}

void process_pause(struct process *process)
{
    pthread_mutex_unlock(&process->lock);
    pthread_mutex_lock(&process->lock);
}

bool object_add(struct process *process, struct object *object)
{
    return pointer_map_set(&process->objects, object, object);
}

void object_remove(struct process *process, struct object *object)
{
    pointer_map_remove(&process->objects, object);
}

void *object_find(struct process *process, const void *handle, enum object_kind kind)
{
    struct object *object = pointer_map_get(&process->objects, handle);
    return object && object->kind == kind ? object : NULL;
}
