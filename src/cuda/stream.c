/* Streams, events, and the tasks that wait in streams. */
#include "cuda/process.h"

#include "cuda/capture.h"
#include "cuda/graph.h"

#include <stdlib.h>

struct stream *stream_create(struct process *process, struct context *context, unsigned flags, int priority)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    *stream = (struct stream){.object = {OBJECT_STREAM},
                              .context = context,
                              .flags = flags,
                              .priority = priority,
                              .id = ++process->next_stream_id};
    if (!vector_push(&context->streams, stream)) {
        free(stream);
        return NULL;
    }
    if (!object_add(process, &stream->object)) {
        context->streams.count--;
        free(stream);
        return NULL;
    }
    return stream;
}

void stream_free(struct process *process, struct stream *stream)
{
    struct context *context = stream->context;
    if (stream->free_cycle > context->gone_cycle)
        context->gone_cycle = stream->free_cycle;
    if (!(stream->flags & STREAM_NON_BLOCKING) && stream->free_cycle > context->gone_blocking_cycle)
        context->gone_blocking_cycle = stream->free_cycle;
    object_remove(process, &stream->object);
    for (size_t i = 0; i < context->streams.count; i++)
        if (context->streams.data[i] == stream) {
            context->streams.count--;
            /* The order of streams decides nothing but ties that do not arise: sequence numbers are unique. */
            context->streams.data[i] = context->streams.data[context->streams.count];
            break;
        }
    while (stream->first) {
        struct task *task = stream->first;
        stream->first = task->next;
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
    vector_free(&event->capture_front);
    free(event);
}

struct task *task_create(enum task_kind kind)
{
    struct task *task = calloc(1, sizeof *task);
    if (task)
        task->kind = kind;
    return task;
}

void task_free(struct process *process, struct task *task)
{
    switch (task->kind) {
    case TASK_LAUNCH:
        free(task->launch.request.parameters);
        corun_launch_destroy(task->launch.grid);
        break;
    case TASK_COPY:
        free(task->copy.staged);
        break;
    case TASK_RECORD:
    case TASK_WAIT:
        event_release(process, task->event.event);
        break;
    default:
        break;
    }
    free(task);
}

int stream_append(struct process *process, struct stream *stream, struct task *task)
{
    if (stream->capture)
        return graph_capture(process, stream, task);
    idle_start(process);
    task->stream = stream;
    task->sequence = ++process->next_sequence;
    task->next = NULL;
    task->submitted_cycle = stream->context->device->host_cycle;
    process->launches_waiting += task->kind == TASK_LAUNCH;
    process->values_waiting += task->kind == TASK_WAIT_VALUE;
    if (stream->last)
        stream->last->next = task;
    else
        stream->first = task;
    stream->last = task;
    return CUDA_SUCCESS;
}

bool stream_idle(const struct stream *stream)
{
    return stream->first == NULL;
}
