/* SPDX-License-Identifier: MIT */
/* What both interfaces do alike: launches, copies, fills, events and functions of the host, asked for in streams. */
#include "cuda/api.h"

#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/copy.h"
#include "cuda/device.h"
#include "cuda/engine.h"
#include "cuda/graph.h"
#include "cuda/graph_memory.h"
#include "cuda/green.h"
#include "cuda/interprocess.h"
#include "cuda/module.h"
#include "cuda/occupancy.h"
#include "cuda/parts.h"
#include "cuda/process.h"
#include "cuda/ranges.h"
#include "cuda/refusal.h"
#include "cuda/stream.h"
#include "cuda/task.h"
#include "isa/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values that lie behind pointers become one block, as the kernel's parameters lie. */
static int pack(const struct api_launch *launch, const struct corun_kernel_info *info, uint8_t *block)
{
    uint32_t count = function_parameter_count(launch->function);
    if (launch->arguments && launch->extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (launch->arguments) {
        for (uint32_t i = 0; i < count; i++) {
            if (!launch->arguments[i])
                return CUDA_ERROR_INVALID_VALUE;
            memcpy(block + info->parameters[i].offset_bytes, launch->arguments[i], info->parameters[i].bytes);
        }
        return CUDA_SUCCESS;
    }
    const void *values = NULL;
    size_t bytes = 0;
    for (void **at = launch->extra; at && at[0] != LAUNCH_PARAMETER_END; at += 2) {
        if (at[0] == LAUNCH_PARAMETER_POINTER)
            values = at[1];
        else if (at[0] == LAUNCH_PARAMETER_BYTES)
            bytes = *(const size_t *)at[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (count == 0)
        return CUDA_SUCCESS;
    if (!values)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(block, values, bytes < info->parameter_bytes ? bytes : info->parameter_bytes);
    return CUDA_SUCCESS;
}

bool api_shape_is_good(const struct function *function, struct corun_dim3 grid, struct corun_dim3 block)
{
    const struct corun_gpu_config *config = &function->module->context->device->config;
    return grid.x && grid.y && grid.z && block.x && block.y && block.z && grid.x <= 0x7fffffff && grid.y <= 65535 &&
           grid.z <= 65535 && block.z <= 64 && (uint64_t)block.x * block.y <= config->threads_per_tb &&
           (uint64_t)block.x * block.y * block.z <= config->threads_per_tb;
}

static int check_limits(const struct api_launch *launch, const struct corun_kernel_info *info)
{
    const struct corun_gpu_config *config = &launch->function->module->context->device->config;
    struct corun_dim3 block = launch->block;
    if (info->max_threads_per_tb && block.x * block.y * block.z > info->max_threads_per_tb)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (launch->dynamic_shared_bytes > launch->function->dynamic_shared_limit ||
        info->shared_bytes + launch->dynamic_shared_bytes > config->shared_bytes_per_tb)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* Why a kernel that launches kernels has no functions to do it with (module.c). */
static const char *explain_device_launch(const struct process *process)
{
    if (process->remote)
        return " (launches from the device, dynamic parallelism, are not there under corund: run it without `corun "
               "share`, "
               "or `corun exec` without --policy)";
    if (process->parting.crewing.on)
        return " (launches from the device, dynamic parallelism, are not there as workers: run it without --workers)";
    if (parting_pass(&process->parting))
        return " (launches from the device, dynamic parallelism, are not there in slices: run it without --slice)";
    return " (launches from the device, dynamic parallelism)";
}

int api_launch_request(const struct api_launch *asked, struct launch_request *request)
{
    struct api_launch in_blocks = *asked;
    const struct api_launch *launch = &in_blocks;
    struct function *function = launch->function;
    if (!function->kernel) {
        bool launches = strstr(function->refused, "cudaCDP2") || strstr(function->refused, "cudaLaunchDevice") ||
                        strstr(function->refused, "cudaGetParameterBuffer");
        const struct process *process = process_get();
        char reason[640];
        snprintf(reason, sizeof reason, "%s%s", function->refused, launches ? explain_device_launch(process) : "");
        launch_refuse(process_get(), function, function->name, reason);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    struct corun_kernel_info info;
    corun_kernel_describe(function_kernel(function, launch->dynamic_shared_bytes), &info);
    struct launch_cluster cluster = launch->cluster;
    int error =
        api_shape_is_good(function, launch->grid, launch->block) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONFIGURATION;
    if (error == CUDA_SUCCESS) {
        in_blocks.grid = launch_cluster_grid(function, launch->grid);
        if (!api_shape_is_good(function, launch->grid, launch->block))
            error = CUDA_ERROR_INVALID_CONFIGURATION;
    }
    if (error == CUDA_SUCCESS)
        error = launch_cluster_settle(function, launch->grid, &cluster);
    if (error == CUDA_SUCCESS)
        error = check_limits(launch, &info);
    if (error != CUDA_SUCCESS)
        return error;
    uint32_t threads = launch->block.x * launch->block.y * launch->block.z, fits;
    error = occupancy_of_function(function, threads, launch->dynamic_shared_bytes, &fits);
    if (error == CUDA_SUCCESS && fits == 0)
        error = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (error != CUDA_SUCCESS)
        return error;
    uint64_t tbs = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    uint32_t size = cluster.shape.x ? cluster.shape.x * cluster.shape.y * cluster.shape.z : 1;
    uint64_t most = (uint64_t)corun_gpu_clusters(&function->module->context->device->config, fits, size) * size;
    if (!most)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (launch->cooperative && tbs > most)
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    *request = (struct launch_request){.function = function,
                                       .host = launch->host,
                                       .grid = launch->grid,
                                       .block = launch->block,
                                       .dynamic_shared_bytes = (uint32_t)launch->dynamic_shared_bytes,
                                       .cooperative = launch->cooperative,
                                       .cluster = cluster,
                                       .parameters = calloc(1, info.parameter_bytes + 1),
                                       .parameter_bytes = info.parameter_bytes};
    if (!request->parameters)
        return CUDA_ERROR_OUT_OF_MEMORY;
    error = pack(launch, &info, request->parameters);
    if (error != CUDA_SUCCESS)
        free(request->parameters);
    return error;
}

/* In a stream that has fewer SMs than the device: what has to be there at once, is. Where on them a cluster would find room, nobody has worked out. */
static int check_green(const struct api_launch *launch, const struct launch_request *request, const struct green *green)
{
    uint32_t fits = 0, threads = launch->block.x * launch->block.y * launch->block.z;
    if (!green ||
        (!launch->cooperative && request->cluster.shape.x * request->cluster.shape.y * request->cluster.shape.z <= 1))
        return CUDA_SUCCESS;
    if (!launch->cooperative)
        return CUDA_ERROR_NOT_SUPPORTED;
    int error = occupancy_of_function(launch->function, threads, launch->dynamic_shared_bytes, &fits);
    uint64_t tbs = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    return error == CUDA_SUCCESS && tbs > (uint64_t)fits * green->sm_count ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
                                                                           : error;
}

int api_launch(struct call *call, const struct api_launch *launch)
{
    struct stream *stream;
    struct launch_request request;
    int error = stream_of_handle(call, launch->stream, &stream);
    if (error == CUDA_SUCCESS && stream->context != launch->function->module->context)
        error = CUDA_ERROR_INVALID_HANDLE;
    if (error == CUDA_SUCCESS)
        error = api_launch_request(launch, &request);
    if (error != CUDA_SUCCESS)
        return error;
    error = check_green(launch, &request, stream->green);
    struct task *task = error == CUDA_SUCCESS ? task_create(TASK_LAUNCH) : NULL;
    if (!task) {
        free(request.parameters);
        return error == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : error;
    }
    task->launch.request = request;
    if (!stream->capture)
        engine_host_launches(call->process, stream);
    error = stream_ask(call->process, stream, task);
    return error == CUDA_SUCCESS ? engine_make_room(call->process, call->context) : error;
}

int api_copy_sides(struct call *call, uint64_t to, uint64_t from, int kind, struct copy *copy)
{
    bool to_device = kind == COPY_HOST_TO_DEVICE || kind == COPY_DEVICE_TO_DEVICE;
    bool from_device = kind == COPY_DEVICE_TO_HOST || kind == COPY_DEVICE_TO_DEVICE;
    if (kind < COPY_HOST_TO_HOST || kind > COPY_DEFAULT)
        return CUDA_ERROR_INVALID_MEMCPY_DIRECTION;
    int error = copy_resolve(call->process, to, to_device, &copy->to);
    if (error == CUDA_SUCCESS)
        error = copy_resolve(call->process, from, from_device, &copy->from);
    if (error != CUDA_SUCCESS || kind == COPY_DEFAULT)
        return error;
    /* Device memory where the host's was said to be. Managed memory may be either. */
    if ((!to_device && !copy->to.host) || (!from_device && !copy->from.host))
        return CUDA_ERROR_INVALID_VALUE;
    if (!to_device)
        copy->to.context = NULL;
    if (!from_device)
        copy->from.context = NULL;
    return CUDA_SUCCESS;
}

int api_copy(struct call *call, struct copy *copy, void *handle, bool wait)
{
    struct stream *stream;
    int error = stream_of_handle(call, handle, &stream);
    if (error == CUDA_SUCCESS)
        error = copy_prepare(copy);
    if (error != CUDA_SUCCESS || copy_bytes(copy) == 0)
        return error;
    bool capturing = stream->capture != NULL;
    if (wait && capturing)
        return graph_spoil_capture(stream);
    /* Pageable memory of the host: what is read is read now, what is written is written when the call returns. */
    bool from_pageable = copy->from.host && !copy->from.pinned, to_pageable = copy->to.host && !copy->to.pinned;
    if (!wait && !capturing && from_pageable && !copy->read_in_stream)
        error = copy_stage(copy);
    struct task *task = error == CUDA_SUCCESS ? task_create(TASK_COPY) : NULL;
    if (!task) {
        free(copy->staged);
        return error == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : error;
    }
    task->copy = *copy;
    error = stream_ask(call->process, stream, task);
    if (error == CUDA_SUCCESS && (wait || (to_pageable && !capturing)))
        error = engine_wait_stream(call->process, stream);
    return error;
}

int api_copy_bytes(struct call *call, uint64_t to, uint64_t from, size_t bytes, int kind, void *stream, bool wait)
{
    struct copy copy = {.width_bytes = bytes, .height = 1, .depth = 1};
    copy.from.pitch = copy.to.pitch = copy.from.slice_bytes = copy.to.slice_bytes = bytes;
    if (bytes == 0)
        return kind < COPY_HOST_TO_HOST || kind > COPY_DEFAULT ? CUDA_ERROR_INVALID_MEMCPY_DIRECTION : CUDA_SUCCESS;
    struct copy_side from_side = copy.from, to_side = copy.to;
    int error = api_copy_sides(call, to, from, kind, &copy);
    if (error != CUDA_SUCCESS)
        return error;
    copy.from.pitch = from_side.pitch;
    copy.from.slice_bytes = from_side.slice_bytes;
    copy.to.pitch = to_side.pitch;
    copy.to.slice_bytes = to_side.slice_bytes;
    return api_copy(call, &copy, stream, wait);
}

void api_tell_freed_before(const struct context *context, uint64_t address, const char *by)
{
    const struct freed *freed = context ? memory_freed(context->memory, address) : NULL;
    if (freed && freed->address == address)
        say("note: %s of 0x%" PRIx64 ", which was freed before%s%s", by, address, *freed->freer ? " by " : "",
            freed->freer);
}

int api_free(struct call *call, uint64_t address, bool host, const char *by)
{
    struct process *process = call->process;
    const struct range *range = ranges_find(process, address);
    if (!address)
        return CUDA_SUCCESS;
    if (!range)
        api_tell_freed_before(call->context, address, by);
    if (!range || range->address != address || host != (range->kind == RANGE_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    if (interprocess_is_pooled(process, address))
        return interprocess_close_memory(call, address);
    struct context *owner = range->context;
    bool everybodys = !range_of_device(range);
    int error = engine_wait_context(process, owner);
    for (size_t i = 0; everybodys && i < process->contexts.count; i++)
        if (process->contexts.data[i] != owner && !process->contexts.data[i]->destroyed)
            (void)engine_wait_context(process, process->contexts.data[i]);
    struct graph_memory *of_graph = graph_memory_find(owner, address);
    int released = of_graph ? graph_memory_free(process, of_graph) : memory_release(process, address, by);
    return error == CUDA_SUCCESS ? released : error;
}

int api_fill(struct call *call, const struct fill *fill, void *handle, bool wait)
{
    struct stream *stream;
    int error = stream_of_handle(call, handle, &stream);
    if (error != CUDA_SUCCESS || !fill->width_bytes || !fill->height || !fill->depth)
        return error;
    struct fill checked = *fill;
    error = fill_prepare(call->process, &checked);
    if (error != CUDA_SUCCESS)
        return error;
    /* Memory that the host sees is filled when the call returns; that of another context, when this has done what was asked of it. */
    const bool elsewhere = checked.context != stream->context;
    wait = wait && !stream->capture && (checked.host || elsewhere);
    if (wait && elsewhere && !checked.host)
        error = engine_wait_context(call->process, checked.context);
    struct task *task = error == CUDA_SUCCESS ? task_create(TASK_FILL) : NULL;
    if (!task)
        return error == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : error;
    task->fill = checked;
    error = stream_ask(call->process, stream, task);
    return error == CUDA_SUCCESS && wait ? engine_wait_stream(call->process, stream) : error;
}

int api_record_in(struct process *process, struct event *event, struct stream *stream)
{
    if (stream->context != event->context)
        return CUDA_ERROR_INVALID_HANDLE;
    struct task *task = task_create(TASK_RECORD);
    if (!task)
        return CUDA_ERROR_OUT_OF_MEMORY;
    event->references++;
    task->event.event = event;
    if (!stream->capture) {
        task->event.count = event->shared ? interprocess_record(event) : ++event->recorded;
        event->capture = 0;
    }
    return stream_ask(process, stream, task);
}

int api_record(struct call *call, struct event *event, void *handle)
{
    struct stream *stream;
    int error = stream_of_handle(call, handle, &stream);
    return error == CUDA_SUCCESS ? api_record_in(call->process, event, stream) : error;
}

int api_wait_event_in(struct process *process, struct event *event, struct stream *stream)
{
    interprocess_follow(event);
    if (graph_refuse_join(process, stream->context, event->capture)) {
        say("not supported: a capture of streams of several devices or contexts");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    struct graph *captured = graph_being_captured(stream->context, event->capture);
    if (!stream->capture && captured) {
        /* The stream joins the capture that the event is part of. */
        if (stream == stream->context->legacy)
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        stream->capture = captured;
        stream->capture_origin = stream->capture_broken = false;
        stream->capture_front.count = 0;
    }
    if (!stream->capture && event->reached.completed >= event->recorded)
        return CUDA_SUCCESS;
    struct task *task = task_create(TASK_WAIT);
    if (!task)
        return CUDA_ERROR_OUT_OF_MEMORY;
    event->references++;
    task->event.event = event;
    task->event.count = event->recorded;
    return stream_ask(process, stream, task);
}

int api_wait_event(struct call *call, struct event *event, void *handle)
{
    struct stream *stream;
    int error = stream_of_handle(call, handle, &stream);
    return error == CUDA_SUCCESS ? api_wait_event_in(call->process, event, stream) : error;
}

int api_call_host(struct call *call, void *handle, abi_host_function function, abi_stream_callback callback, void *user)
{
    struct stream *stream;
    int error = stream_of_handle(call, handle, &stream);
    if (error == CUDA_SUCCESS && !function && !callback)
        error = CUDA_ERROR_INVALID_VALUE;
    if (error != CUDA_SUCCESS)
        return error;
    struct task *task = task_create(TASK_CALL);
    if (!task)
        return CUDA_ERROR_OUT_OF_MEMORY;
    task->call.callee = (struct callee){.function = function, .callback = callback, .user = user};
    return stream_ask(call->process, stream, task);
}

int api_elapsed(const struct event *start, const struct event *end, float *milliseconds)
{
    if ((start->flags | end->flags) & EVENT_DISABLE_TIMING || !start->recorded || !end->recorded ||
        start->context->device != end->context->device)
        return CUDA_ERROR_INVALID_HANDLE;
    if (start->reached.completed < start->recorded || end->reached.completed < end->recorded)
        return CUDA_ERROR_NOT_READY;
    *milliseconds = (float)((end->nanoseconds - start->nanoseconds) / 1e6);
    return CUDA_SUCCESS;
}

int api_stream_destroy(struct call *call, struct stream *stream)
{
    if (stream == stream->context->legacy)
        return CUDA_ERROR_INVALID_HANDLE;
    struct graph *graph; /* nobody can end the capture that began here any more */
    if (stream->capture_origin &&
        graph_end_capture(call->process, stream, stream->capture_thread, &graph) == CUDA_SUCCESS)
        graph_destroy(call->process, graph);
    /* What it was given still runs. */
    stream->destroyed = true;
    if (stream_idle(stream))
        stream_free(call->process, stream);
    return CUDA_SUCCESS;
}
