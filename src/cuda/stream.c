/* SPDX-License-Identifier: MIT */
/* Streams and events: made, found by their handles, given tasks, freed. */
#include "cuda/stream.h"

#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/capture.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/device_heap.h"
#include "cuda/entry.h"
#include "cuda/graph.h"
#include "cuda/idle.h"
#include "cuda/interprocess.h"
#include "cuda/module.h"
#include "cuda/object.h"
#include "cuda/process.h"
#include "cuda/task.h"

#include <stdlib.h>

int stream_priority(int priority)
{
    int least = priority < LEAST_PRIORITY ? priority : LEAST_PRIORITY;
    return least > GREATEST_PRIORITY ? least : GREATEST_PRIORITY;
}

struct stream *stream_create(struct process *process, struct context *context, unsigned flags, int priority)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    *stream = (struct stream){.object = {OBJECT_STREAM},
                              .context = context,
                              .queue = {.blocking = !(flags & STREAM_NON_BLOCKING), .priority = priority},
                              .flags = flags,
                              .id = ++process->next_stream_id,
                              .attributes = {.synchronization = 1, /* cudaSyncPolicyAuto */
                                             .memory_domain_map = {0, 1}}};
    if (!vector_push(&context->streams, stream)) {
        free(stream);
        return NULL;
    }
    bool queued = stream_group_add(&context->group, &stream->queue);
    if (!queued || !object_add(process, &stream->object)) {
        if (queued)
            stream_group_remove(&context->group, &stream->queue);
        context->streams.count--;
        free(stream);
        return NULL;
    }
    return stream;
}

void stream_free(struct process *process, struct stream *stream)
{
    struct context *context = stream->context;
    stream_group_remove(&context->group, &stream->queue);
    object_remove(process, &stream->object);
    for (size_t i = 0; i < context->streams.count; i++)
        if (context->streams.data[i] == stream) {
            context->streams.data[i] = context->streams.data[--context->streams.count];
            break;
        }
    while (stream->queue.first) {
        struct task *task = task_of(stream->queue.first);
        stream->queue.first = task->queued.next;
        task_free(process, task);
    }
    vector_free(&stream->capture_front);
    free(stream);
}

static struct stream *thread_stream(struct call *call)
{
    struct thread_state *thread = call->thread;
    for (size_t i = 0; i < thread->streams.count; i++)
        if (object_find(call->process, thread->streams.data[i], OBJECT_STREAM) &&
            thread->streams.data[i]->context == call->context)
            return thread->streams.data[i];
    struct stream *stream = stream_create(call->process, call->context, 0, 0);
    if (stream && !vector_push(&thread->streams, stream)) {
        stream_free(call->process, stream);
        return NULL;
    }
    return stream;
}

int stream_of_handle(struct call *call, const void *handle, struct stream **stream)
{
    if (handle == STREAM_PER_THREAD || (!handle && corun_per_thread)) {
        *stream = thread_stream(call);
        return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!handle || handle == STREAM_LEGACY) {
        *stream = call->context->legacy;
        return CUDA_SUCCESS;
    }
    *stream = object_find(call->process, handle, OBJECT_STREAM);
    if (*stream && (*stream)->destroyed)
        *stream = NULL;
    return *stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

struct event *event_create(struct process *process, struct context *context, unsigned flags)
{
    struct event *event = calloc(1, sizeof *event);
    if (!event)
        return NULL;
    *event = (struct event){.object = {OBJECT_EVENT}, .context = context, .flags = flags, .references = 1};
    event->reached.clock = &context->device->scheduler;
    if (!object_add(process, &event->object)) {
        free(event);
        return NULL;
    }
    return event;
}

void event_release(struct process *process, struct event *event)
{
    if (--event->references)
        return;
    object_remove(process, &event->object);
    capture_event_end(process, event);
    interprocess_end(process, event);
    vector_free(&event->capture_front);
    free(event);
}

static enum stream_task_kind queued_kind(enum task_kind kind)
{
    return kind == TASK_LAUNCH                      ? STREAM_LAUNCH
           : kind == TASK_COPY || kind == TASK_FILL ? STREAM_TRANSFER
                                                    : STREAM_POINT;
}

static void prepare(struct process *process, struct stream *stream, struct task *task)
{
    task->stream = stream;
    task->queued.kind = queued_kind(task->kind);
    if (task->kind == TASK_LAUNCH && task->launch.request.function->kernel)
        device_heap_launch(stream->context, task->launch.request.function->kernel);
    if (task->kind == TASK_LAUNCH)
        task->launch.untimed = !region_times(&process->region, task->launch.request.function->name);
    task->queued.cooperative = task->kind == TASK_LAUNCH && task->launch.request.cooperative;
    if (task->kind == TASK_WAIT) {
        task->queued.event = &task->event.event->reached;
        task->queued.event_count = task->event.count;
    }
    process->values_waiting += task->kind == TASK_WAIT_VALUE;
    process->functions_waiting += task->kind == TASK_CALL;
    runs_asked(process, task);
}

int stream_ask(struct process *process, struct stream *stream, struct task *task)
{
    if (stream->capture)
        return graph_capture(process, stream, task);
    int error = stream == stream->context->legacy ? graph_refuse_implicit(stream) : CUDA_SUCCESS;
    if (error != CUDA_SUCCESS) {
        task_free(process, task);
        return error;
    }
    idle_start(process);
    prepare(process, stream, task);
    stream_append(&process->host, &stream->queue, &task->queued, stream->context->device->host_cycle);
    return CUDA_SUCCESS;
}

void stream_ask_behind(struct process *process, struct task *before, struct task *task)
{
    prepare(process, before->stream, task);
    stream_insert(&process->host, &before->queued, &task->queued);
}

bool stream_idle(const struct stream *stream)
{
    return stream->queue.first == NULL;
}
