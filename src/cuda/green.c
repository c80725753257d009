/* SPDX-License-Identifier: MIT */
/* What contexts are for the machine: an application on all SMs, and one for each green context on its own. */
#include "cuda/green.h"

#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/engine.h"
#include "cuda/graph.h"
#include "cuda/process.h"
#include "cuda/profile.h"
#include "cuda/stream.h"

#include <stdlib.h>

struct green_grain green_grain_of(const struct device *device, bool any_sm)
{
    uint32_t capability = device->config.compute_capability;
    if (capability < 60)
        return (struct green_grain){0, 0};
    if (any_sm || capability < 80)
        return (struct green_grain){2, 2};
    return capability < 90 ? (struct green_grain){4, 2} : (struct green_grain){8, 8};
}

struct green *green_create(struct process *process, struct context *context, uint32_t first_sm, uint32_t sm_count)
{
    struct green *green = calloc(1, sizeof *green);
    if (!green)
        return NULL;
    *green = (struct green){.object = {OBJECT_GREEN},
                            .context = context,
                            .first_sm = first_sm,
                            .sm_count = sm_count,
                            .application = CORUN_NO_APPLICATION,
                            .id = ++process->next_stream_id};
    if (!vector_push(&context->greens, green)) {
        free(green);
        return NULL;
    }
    if (!object_add(process, &green->object)) {
        context->greens.count--;
        free(green);
        return NULL;
    }
    return green;
}

static void leave_as(const struct context *context, uint32_t *application)
{
    const struct stream_machine *machine = &context->device->scheduler.machine;
    profile_record(process_get(), context, *application);
    if (*application != CORUN_NO_APPLICATION)
        (void)machine->operations->leave(machine->machine, *application);
    *application = CORUN_NO_APPLICATION;
}

int green_destroy(struct process *process, struct green *green)
{
    struct context *context = green->context;
    int error = CUDA_SUCCESS;
    for (size_t s = context->streams.count; s-- > 0;) {
        struct stream *stream = s < context->streams.count ? context->streams.data[s] : NULL;
        if (!stream || stream->green != green)
            continue;
        int waited = engine_wait_stream(process, stream);
        error = error == CUDA_SUCCESS ? waited : error;
    }
    for (size_t s = context->streams.count; s-- > 0;)
        if (context->streams.data[s]->green == green)
            stream_free(process, context->streams.data[s]);
    leave_as(context, &green->application);
    for (size_t g = 0; g < context->greens.count; g++)
        if (context->greens.data[g] == green)
            context->greens.data[g--] = context->greens.data[--context->greens.count];
    object_remove(process, &green->object);
    free(green);
    return error;
}

static struct stream *create_stream(struct process *process, struct green *green, int priority)
{
    struct stream *stream = stream_create(process, green->context, STREAM_NON_BLOCKING, priority);
    if (stream)
        stream->green = green;
    return stream;
}

/* What is asked of one stream from now on waits for what another one has been asked for. */
static int follow(struct process *process, struct stream *stream, struct stream *behind)
{
    struct event *event = event_create(process, stream->context, 0);
    if (!event)
        return CUDA_ERROR_OUT_OF_MEMORY;
    int error = api_record_in(process, event, behind);
    if (error == CUDA_SUCCESS)
        error = api_wait_event_in(process, event, stream);
    event_release(process, event);
    return error;
}

/* Captures of the green context's streams (NULL: of all), or those that are this graph (NULL: whichever), fail. */
static int spoil_captures(const struct context *context, const struct green *green, const struct graph *graph)
{
    int error = CUDA_SUCCESS;
    for (size_t s = 0; s < context->streams.count; s++) {
        struct stream *stream = context->streams.data[s];
        if (!stream->capture || (green && stream->green != green) || (graph && stream->capture != graph))
            continue;
        (void)graph_spoil_capture(stream);
        error = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return error;
}

int green_record(struct process *process, struct green *green, struct event *event)
{
    const struct context *context = green->context;
    if (event->context != context)
        return CUDA_ERROR_INVALID_HANDLE;
    int error = spoil_captures(context, green, NULL);
    if (error == CUDA_SUCCESS && !green->gathers && !(green->gathers = create_stream(process, green, 0)))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t s = 0; s < context->streams.count && error == CUDA_SUCCESS; s++) {
        struct stream *stream = context->streams.data[s];
        if (stream->green == green && stream != green->gathers && stream != green->holds)
            error = follow(process, green->gathers, stream);
    }
    return error == CUDA_SUCCESS ? api_record_in(process, event, green->gathers) : error;
}

int green_wait(struct process *process, struct green *green, struct event *event)
{
    const struct context *context = green->context;
    const struct graph *captured = graph_being_captured(event->context, event->capture);
    int error = spoil_captures(context, green, NULL), of_event = CUDA_SUCCESS;
    if (captured)
        of_event = spoil_captures(event->context, NULL, captured);
    error = error == CUDA_SUCCESS ? of_event : error;
    if (error == CUDA_SUCCESS && !green->holds && !(green->holds = create_stream(process, green, 0)))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t s = 0; s < context->streams.count && error == CUDA_SUCCESS; s++) {
        struct stream *stream = context->streams.data[s];
        if (stream->green == green && stream != green->gathers && !stream->destroyed)
            error = api_wait_event_in(process, event, stream);
    }
    return error;
}

struct stream *green_stream_create(struct process *process, struct green *green, int priority)
{
    struct stream *stream = create_stream(process, green, priority);
    if (stream && green->holds && follow(process, stream, green->holds) != CUDA_SUCCESS) {
        stream_free(process, stream);
        return NULL;
    }
    return stream;
}

enum corun_status green_join_machine(struct context *context, struct green *green, uint32_t *application)
{
    struct corun_application_description description = {.name = "program", .print = print_device_text};
    uint32_t *joined = green ? &green->application : &context->application;
    enum corun_status status = CORUN_OK;
    if (green) {
        description.first_sm = green->first_sm;
        description.sm_count = green->sm_count;
    }
    if (*joined == CORUN_NO_APPLICATION) {
        const struct stream_machine *machine = &context->device->scheduler.machine;
        status = machine->operations->add(machine->machine, &description, context->memory_index, joined);
    }
    *application = *joined;
    return status;
}

void green_leave_machine(struct context *context)
{
    leave_as(context, &context->application);
    for (size_t g = 0; g < context->greens.count; g++)
        leave_as(context, &context->greens.data[g]->application);
}

void green_forget_machine(struct context *context)
{
    context->application = CORUN_NO_APPLICATION;
    for (size_t g = 0; g < context->greens.count; g++)
        context->greens.data[g]->application = CORUN_NO_APPLICATION;
}

void green_free_all(struct process *process, struct context *context)
{
    for (size_t g = 0; g < context->greens.count; g++) {
        object_remove(process, &context->greens.data[g]->object);
        free(context->greens.data[g]);
    }
    vector_free(&context->greens);
}
