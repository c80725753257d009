/* SPDX-License-Identifier: MIT */
/* Contexts: an address space on a device with what lives in it. */
#include "cuda/context.h"

#include "cuda/abi.h"
#include "cuda/array.h"
#include "cuda/device.h"
#include "cuda/engine.h"
#include "cuda/graph_memory.h"
#include "cuda/green.h"
#include "cuda/image.h"
#include "cuda/machine.h"
#include "cuda/mipmap.h"
#include "cuda/module.h"
#include "cuda/object.h"
#include "cuda/pointer_map.h"
#include "cuda/process.h"
#include "cuda/ranges.h"
#include "cuda/stream.h"
#include "cuda/task.h"
#include "cuda/texture_reference.h"

#include <stdlib.h>

void cuda_context_fail(struct context *context, int error)
{
    if (context->error == CUDA_SUCCESS)
        context->error = error;
}

/* Arrays whose memory goes with their context's: their handles die now. */
static void free_arrays(struct process *process, const struct context *context)
{
    for (size_t i = 0; i < process->objects.capacity; i++) {
        struct object *object = process->objects.entries[i].value;
        if (object && object->kind == OBJECT_MIPMAPPED_ARRAY && ((struct mipmap *)object)->context == context)
            mipmap_forget(process, (struct mipmap *)object);
        object = process->objects.entries[i].value;
        if (!object || object->kind != OBJECT_ARRAY || ((struct array *)object)->context != context)
            continue;
        object_remove(process, object);
        free(object);
    }
}

static bool task_touches(const struct task *task, const struct context *context)
{
    return (task->kind == TASK_COPY && (task->copy.from.context == context || task->copy.to.context == context)) ||
           (task->kind == TASK_FILL && task->fill.context == context);
}

/* Copies and fills of other contexts may read and write its memory. */
static bool is_copied(const struct process *process, const struct context *dead)
{
    for (size_t c = 0; c < process->contexts.count; c++) {
        const struct context *context = process->contexts.data[c];
        for (size_t i = 0; i < context->streams.count; i++)
            for (struct stream_task *t = context->streams.data[i]->queue.first; t; t = t->next)
                if (task_touches(task_of(t), dead))
                    return true;
    }
    return false;
}

static void release(struct process *process, struct context *dead)
{
    for (size_t m = 0; m < dead->modules.count; m++)
        module_free(process, dead->modules.data[m]);
    for (size_t o = 0; o < dead->textures.count; o++)
        free(dead->textures.data[o]);
    vector_free(&dead->textures);
    graph_memory_forget(dead);
    free_arrays(process, dead);
    texture_references_free(process, dead);
    vector_free(&dead->modules);
    vector_free(&dead->image_modules);
    pointer_map_free(&dead->functions);
    vector_free(&dead->streams);
    green_free_all(process, dead);
    vector_free(&dead->group.queues);
    machine_memory_destroy(process, dead);
    dead->memory = NULL; /* nodes of graphs may name the context still */
    process->memories_used &= ~(1u << dead->memory_index);
    free(dead->reason);
    free(dead->crew);
    (void)vector_push(&process->gone, dead); /* the structure stays, a few hundred bytes */
}

/* What contexts had that are destroyed, unless others have still to do with it: that goes the next time. */
static void release_destroyed(struct process *process)
{
    for (size_t i = 0; i < process->contexts.count;) {
        struct context *context = process->contexts.data[i];
        if (!context->destroyed || is_copied(process, context)) {
            i++;
            continue;
        }
        process->contexts.data[i] = process->contexts.data[--process->contexts.count];
        release(process, context);
    }
}

struct context *cuda_context_create(struct process *process, struct device *device, bool primary)
{
    release_destroyed(process);
    struct context *context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    *context = (struct context){.object = {OBJECT_CONTEXT},
                                .device = device,
                                .application = CORUN_NO_APPLICATION,
                                .primary = primary,
                                .limits = CONTEXT_LIMITS};
    if (!machine_memory_create(process, context)) {
        free(context);
        return NULL;
    }
    if (!vector_push(&device->scheduler.groups, &context->group) || !ranges_share(process, context) ||
        !vector_push(&process->contexts, context) || !object_add(process, &context->object) ||
        !(context->legacy = stream_create(process, context, 0, 0))) {
        stream_scheduler_remove(&device->scheduler, &context->group);
        machine_memory_destroy(process, context);
        free(context);
        return NULL;
    }
    context->group.legacy = &context->legacy->queue;
    process->memories_used |= 1u << context->memory_index;
    if (primary)
        device->primary = context;
    return context;
}

struct context *cuda_context_primary(struct process *process, uint32_t device)
{
    struct device *of = &process->devices[device];
    return of->primary ? of->primary : cuda_context_create(process, of, true);
}

void cuda_context_destroy(struct process *process, struct context *context)
{
    engine_abandon(process, context);
    while (context->streams.count) {
        struct stream *stream = context->streams.data[context->streams.count - 1];
        stream_free(process, stream);
    }
    image_hand_over_managed(process, context);
    for (size_t i = 0; i < process->ranges.count;) {
        if (process->ranges.data[i].context == context)
            ranges_remove(process, process->ranges.data[i].address);
        else
            i++;
    }
    bool others = false;
    for (size_t i = 0; i < process->contexts.count; i++) {
        const struct context *other = process->contexts.data[i];
        others |= other != context && other->device == context->device && !other->destroyed;
    }
    if (!others) /* the next one finds a machine that has done nothing yet */
        engine_close(process, context->device);
    stream_scheduler_remove(&context->device->scheduler, &context->group);
    object_remove(process, &context->object);
    if (context->device->primary == context)
        context->device->primary = NULL;
    context->destroyed = true;
    release_destroyed(process);
}
