/* SPDX-License-Identifier: MIT */
/* Grids that kernels have launched: their streams, and when a grid is complete. */
#include "cuda/nested.h"

#include "base/later.h"
#include "cuda/abi.h"
#include "cuda/capture.h"
#include "cuda/checkpoint.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/device_runtime.h"
#include "cuda/engine.h"
#include "cuda/module.h"
#include "cuda/process.h"
#include "cuda/refusal.h"
#include "cuda/stream.h"
#include "cuda/task.h"
#include "isa/executor.h"

#include <stdlib.h>

/* Handles that CUDA gives to streams of its own. */
enum { HANDLE_NULL, HANDLE_LEGACY, HANDLE_PER_THREAD, HANDLE_TAIL, HANDLE_FORGET };

struct nested_stream {
    struct nested *first, *last; /* the first one is ready, under way, or waits for an event */
    uint64_t free_cycle;
};

struct nested_event {
    uint64_t asked, reached; /* how many of its recordings */
    uint64_t cycle;          /* when that was reached */
};

/* A grid that was launched, or a place in a stream at which an event is recorded or waited for. */
struct nested {
    struct nested *next;       /* in its stream, or among tail launches */
    struct nested *ready_next; /* among those that are ready */
    struct nested *all_before, *all_next;
    struct nested *parent;     /* that launched it; NULL: the host did, or it stands for another one */
    struct nested *stands_for; /* which is complete when this one is; NULL: none */
    struct context *context;
    enum device_launch_kind kind;
    struct task *task; /* of a grid */
    bool by_host;      /* then the task is in a stream of the host */
    bool running;
    struct nested_stream *stream; /* NULL: none */
    struct stream_queue queue;    /* its task's: where its priority is */
    uint64_t asked_cycle;         /* the earliest one at which it can start */
    struct corun_module_instance *instance;
    uint64_t slot; /* device_launch_begun */
    struct nested_event *event;
    uint64_t event_count;
    /* What it has launched. */
    struct pointer_map streams, events;
    uint64_t live; /* and not complete; tail launches that have not had their turn do not count */
    struct nested *tail_first, *tail_last;
    bool ended; /* its own thread blocks */
    uint64_t end_cycle;
};

static void free_values(struct pointer_map *map)
{
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].key)
            free(map->entries[i].value);
    pointer_map_free(map);
}

static struct nested *add(struct nested_launches *nested)
{
    struct nested *one = calloc(1, sizeof *one);
    if (!one)
        return NULL;
    one->all_next = nested->all;
    if (nested->all)
        nested->all->all_before = one;
    return nested->all = one;
}

static void drop(struct process *process, struct nested_launches *nested, struct nested *one)
{
    if (one->all_before)
        one->all_before->all_next = one->all_next;
    else
        nested->all = one->all_next;
    if (one->all_next)
        one->all_next->all_before = one->all_before;
    nested->running -= one->running;
    if (one->task && !one->by_host)
        task_free(process, one->task);
    free_values(&one->streams);
    free_values(&one->events);
    free(one);
}

/* ---- what can start, and what is complete ---- */

static void complete(struct process *process, struct nested_launches *nested, struct nested *one, uint64_t cycle);
static void settle(struct process *process, struct nested_launches *nested, struct nested *grid);

static void push_ready(struct nested_launches *nested, struct nested *one)
{
    one->ready_next = NULL;
    if (nested->ready_last)
        nested->ready_last->ready_next = one;
    else
        nested->ready_first = one;
    nested->ready_last = one;
}

/* Those whose turn it is, of streams that wait for this event. */
static void wake_waiting(struct process *process, struct nested_launches *nested, const struct nested *grid,
                         const struct nested_event *event)
{
    for (bool any = true; any;) {
        any = false;
        for (size_t i = 0; i < grid->streams.capacity && !any; i++) {
            struct nested_stream *stream = grid->streams.entries[i].key ? grid->streams.entries[i].value : NULL;
            struct nested *first = stream ? stream->first : NULL;
            any = first && first->kind == DEVICE_LAUNCH_WAIT && first->event == event &&
                  event->reached >= first->event_count;
            if (any)
                complete(process, nested, first, later(stream->free_cycle, event->cycle));
        }
    }
}

/* It has come to its turn; `cycle`: when what it follows was complete, 0 if that is nothing. A grid that follows takes as long as the host's do. */
static void activate(struct process *process, struct nested_launches *nested, struct nested *one, uint64_t cycle)
{
    one->asked_cycle = later(one->asked_cycle, cycle);
    if (one->kind == DEVICE_LAUNCH_GRID) {
        one->queue.launched = cycle != 0;
        one->queue.free_cycle = cycle;
        push_ready(nested, one);
    } else if (one->kind == DEVICE_LAUNCH_RECORD) {
        struct nested_event *event = one->event;
        struct nested *grid = one->parent;
        event->reached = one->event_count;
        event->cycle = one->asked_cycle;
        grid->live++; /* it stays while others are told */
        complete(process, nested, one, one->asked_cycle);
        wake_waiting(process, nested, grid, event);
        grid->live--;
        settle(process, nested, grid);
    } else if (one->event->reached >= one->event_count) {
        complete(process, nested, one, later(one->asked_cycle, one->event->cycle));
    }
}

/* Is a grid complete with all that it launched? Then its tail launches have their turns; the last of them stands for the grid. */
static void settle(struct process *process, struct nested_launches *nested, struct nested *grid)
{
    struct nested *tail = grid->tail_first;
    if (!grid->ended || grid->live)
        return;
    if (!tail) {
        complete(process, nested, grid, grid->end_cycle);
        return;
    }
    uint64_t cycle = grid->end_cycle;
    grid->tail_first = tail->next;
    if (grid->tail_first) {
        grid->live++;
    } else {
        tail->parent = NULL;
        tail->stands_for = grid->stands_for ? grid->stands_for : grid;
        if (grid->stands_for)
            drop(process, nested, grid);
    }
    activate(process, nested, tail, cycle);
}

/* With all that it launched. It is gone then. */
static void complete(struct process *process, struct nested_launches *nested, struct nested *one, uint64_t cycle)
{
    if (one->stands_for) {
        struct nested *other = one->stands_for;
        drop(process, nested, one);
        one = other;
    }
    struct nested *parent = one->parent;
    struct nested_stream *stream = one->stream;
    struct nested *follower = stream ? one->next : NULL;
    struct task *root = one->by_host ? one->task : NULL;
    drop(process, nested, one);
    if (root) {
        root->launch.nested = NULL;
        engine_finish(process, root, cycle);
        return;
    }
    parent->end_cycle = later(parent->end_cycle, cycle);
    if (stream) {
        stream->first = follower;
        stream->free_cycle = cycle;
    }
    if (follower)
        activate(process, nested, follower, cycle);
    parent->live--;
    settle(process, nested, parent);
}

struct task *nested_next(struct nested_launches *nested, uint64_t *since)
{
    struct nested *one = nested->ready_first;
    if (!one || nested->running >= NESTED_MOST_RUNNING)
        return NULL;
    nested->ready_first = one->ready_next;
    if (!nested->ready_first)
        nested->ready_last = NULL;
    one->running = true;
    nested->running++;
    device_launch_begun(one->instance, one->slot);
    *since = one->asked_cycle;
    return one->task;
}

bool nested_ended(struct process *process, struct nested_launches *nested, struct task *task, uint64_t cycle)
{
    struct nested *one = task->launch.nested;
    if (!one)
        return false;
    nested->running -= one->running;
    one->running = false;
    one->ended = true;
    one->end_cycle = later(one->end_cycle, cycle);
    settle(process, nested, one);
    return true;
}

void nested_abandon(struct process *process, struct nested_launches *nested, const struct context *context)
{
    struct nested **link = &nested->ready_first;
    nested->ready_last = NULL;
    while (*link)
        if ((*link)->context == context) {
            *link = (*link)->ready_next;
        } else {
            nested->ready_last = *link;
            link = &(*link)->ready_next;
        }
    for (struct nested *one = nested->all, *next; one; one = next) {
        next = one->all_next;
        if (one->context != context)
            continue;
        if (one->by_host)
            one->task->launch.nested = NULL;
        else if (one->running)
            (void)stream_forget(&context->device->scheduler, &one->task->queued);
        drop(process, nested, one);
    }
}

/* ---- what kernels have launched ---- */

void nested_prepare(struct process *process, const struct context *context, const struct module *module)
{
    process->nests = true;
    device_launch_prepare(module->loaded, &(struct device_launch_limits){.gpu = context->device->config,
                                                                         .pending = device_runtime_pending(context)});
}

/* One launch among those that were taken together. */
struct taken {
    struct module *module;
    struct device_launch *launch;
    size_t order;
};

static int compare(const void *a, const void *b)
{
    const struct taken *one = a, *other = b;
    if (one->launch->cycle != other->launch->cycle)
        return one->launch->cycle < other->launch->cycle ? -1 : 1;
    if (one->launch->sm != other->launch->sm)
        return one->launch->sm < other->launch->sm ? -1 : 1;
    return one->order < other->order ? -1 : 1;
}

/* The launch in flight that has a grid; NULL: there is none. */
static struct task *task_of_grid(const struct device *device, const struct corun_grid *grid)
{
    for (size_t i = 0; i < device->scheduler.launches.count; i++) {
        struct task *task = task_of(device->scheduler.launches.data[i]);
        if (task->launch.grid == grid)
            return task;
    }
    return NULL;
}

/* A launch as one that has launched others. NULL when out of memory. */
static struct nested *parent_of(struct nested_launches *nested, struct task *task)
{
    struct nested *one = task->launch.nested;
    if (one || !(one = add(nested)))
        return one;
    one->context = task->stream->context;
    one->task = task;
    one->by_host = true;
    return task->launch.nested = one;
}

static void *value_of(struct pointer_map *map, uint64_t number, size_t bytes)
{
    const void *key = (const void *)(uintptr_t)number;
    void *value = pointer_map_get(map, key);
    if (!value && (value = calloc(1, bytes)) && !pointer_map_set(map, key, value)) {
        free(value);
        value = NULL;
    }
    return value;
}

/* The stream of a launch; NULL: it is in none, or there is no memory. */
static struct nested_stream *stream_of(struct nested *parent, const struct device_launch *launch)
{
    const uint64_t made = UINT64_C(1) << 63, own = UINT64_C(0xffff);
    uint64_t tb = (uint64_t)(launch->tb + UINT64_C(1)) << 16, key = launch->stream | made;
    if (launch->stream == HANDLE_FORGET || launch->stream == HANDLE_TAIL)
        return NULL;
    if (launch->stream == HANDLE_NULL || launch->stream == HANDLE_LEGACY)
        key = tb | own;
    else if (launch->stream == HANDLE_PER_THREAD)
        key = tb | launch->thread;
    return value_of(&parent->streams, key, sizeof(struct nested_stream));
}

/* Puts it where it has to wait. */
static void enter(struct process *process, struct nested_launches *nested, struct nested *one,
                  const struct device_launch *launch)
{
    struct nested *parent = one->parent;
    if (launch->stream == HANDLE_TAIL && one->kind == DEVICE_LAUNCH_GRID) {
        if (parent->tail_first)
            parent->tail_last->next = one;
        else
            parent->tail_first = one;
        parent->tail_last = one;
        return;
    }
    parent->live++;
    struct nested_stream *stream = one->stream = stream_of(parent, launch);
    if (stream && stream->first) {
        stream->last->next = one;
        stream->last = one;
        return;
    }
    if (stream)
        stream->first = stream->last = one;
    activate(process, nested, one, stream ? stream->free_cycle : 0);
}

/* Its task, which takes the parameters over. NULL when out of memory, or if the kernel cannot be run. */
static struct task *make_task(struct process *process, struct nested *one, struct device_launch *launch,
                              struct module *module)
{
    const struct task *parent = one->parent->task;
    struct function *function;
    if (module_function(process, module, launch->kernel->info.name, &function) != CUDA_SUCCESS)
        return NULL;
    if (!function->kernel) {
        launch_refuse(process, function, function->name, function->refused);
        return NULL;
    }
    struct task *task = task_create(TASK_LAUNCH);
    if (!task)
        return NULL;
    task->stream = parent->stream;
    task->queued.kind = STREAM_LAUNCH;
    task->queued.queue = &one->queue;
    task->queued.nested = true;
    task->launch.untimed = parent->launch.untimed;
    task->launch.nested = one;
    task->launch.depth = parent->launch.depth + (launch->stream != HANDLE_TAIL);
    task->launch.request = (struct launch_request){.function = function,
                                                   .grid = launch->grid,
                                                   .block = launch->block,
                                                   .dynamic_shared_bytes = launch->dynamic_shared_bytes,
                                                   .parameters = launch->parameters,
                                                   .parameter_bytes = function->kernel->info.parameter_bytes};
    launch->parameters = NULL;
    one->queue.priority = parent->queued.queue->priority;
    one->instance = module->loaded;
    one->slot = launch->slot;
    return task;
}

/* One launch becomes known. False when out of memory. */
static bool take(struct process *process, struct nested_launches *nested, struct task *by, const struct taken *taken)
{
    struct device_launch *launch = taken->launch;
    const struct device *device = by->stream->context->device;
    struct nested *parent = parent_of(nested, by), *one = parent ? add(nested) : NULL;
    if (!one)
        return false;
    one->context = by->stream->context;
    one->parent = parent;
    one->kind = launch->kind;
    uint64_t latency = device_cycles(device, device->config.launch_interval_ns);
    one->asked_cycle = launch->direct ? device->cycle : device->scheduler.base_cycle + launch->cycle;
    if (launch->kind == DEVICE_LAUNCH_GRID) {
        one->asked_cycle += latency;
        one->task = make_task(process, one, launch, taken->module);
        if (!one->task) {
            device_launch_begun(taken->module->loaded, launch->slot);
            drop(process, nested, one);
            return true;
        }
    } else {
        one->event = value_of(&parent->events, launch->event, sizeof *one->event);
        if (!one->event)
            return false;
        one->event->asked += launch->kind == DEVICE_LAUNCH_RECORD;
        one->event_count = one->event->asked;
    }
    enter(process, nested, one, launch);
    return true;
}

static bool take_from_modules(struct context *context, struct device_launch_list *list, struct taken **all)
{
    bool good = true;
    VECTOR(struct module *) modules = {0};
    for (size_t m = 0; m < context->modules.count && good; m++) {
        struct module *module = context->modules.data[m];
        good = !module->launches || device_launch_take(module->loaded, list);
        while (good && modules.count < list->launches.count)
            good = vector_push(&modules, module);
    }
    *all = good ? calloc(list->launches.count + 1, sizeof **all) : NULL;
    for (size_t i = 0; *all && i < list->launches.count; i++)
        (*all)[i] = (struct taken){modules.data[i], &list->launches.data[i], i};
    vector_free(&modules);
    return *all != NULL;
}

int nested_collect(struct process *process, struct nested_launches *nested, struct context *context,
                   struct task *parent)
{
    struct device_launch_list list = {0};
    struct taken *all = NULL;
    bool good = take_from_modules(context, &list, &all);
    if (good && list.launches.count) {
        checkpoint_refuse(process, "its kernels launch kernels (dynamic parallelism)");
        capture_refuse(process, "kernels of the program launch kernels (dynamic parallelism)");
        qsort(all, list.launches.count, sizeof *all, compare);
    }
    for (size_t i = 0; good && i < list.launches.count; i++) {
        struct task *by = parent ? parent : task_of_grid(context->device, all[i].launch->parent);
        good = !by || take(process, nested, by, &all[i]);
    }
    for (size_t i = 0; i < list.launches.count; i++)
        free(list.launches.data[i].parameters);
    vector_free(&list.launches);
    free(all);
    return good ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
