/* SPDX-License-Identifier: MIT */
/*
 * A captured program on the machine: its host asks for tasks in streams and waits where it waited, and they run when
 * the streams let them, as under `corun exec`: by the scheduler that both share (stream/scheduler.h; docs/captures.md, "Time").
 */
#include "workload/capture_timed.h"

#include <stdlib.h>
#include <string.h>

#define NON_BLOCKING 1u

struct stream_event *timed_event(struct timed *timed, uint64_t number)
{
    while (timed->events.count < number) {
        struct stream_event *event = calloc(1, sizeof *event);
        if (!event || !vector_push(&timed->events, event)) {
            free(event);
            return NULL;
        }
        event->clock = &timed->scheduler;
    }
    return timed->events.data[number - 1];
}

static void task_destroy(struct timed_task *task)
{
    corun_grid_destroy(task->grid);
    free(task);
}

void timed_destroy(struct timed *timed)
{
    if (!timed)
        return;
    for (size_t i = 0; i < timed->group.queues.count; i++) {
        struct stream_queue *queue = timed->group.queues.data[i];
        while (queue->first) {
            struct stream_task *task = queue->first;
            queue->first = task->next;
            task_destroy(timed_task_of(task));
        }
        free(queue);
    }
    for (size_t i = 0; i < timed->events.count; i++)
        free(timed->events.data[i]);
    vector_free(&timed->events);
    vector_free(&timed->group.queues);
    vector_free(&timed->scheduler.groups);
    vector_free(&timed->scheduler.launches);
    vector_free(&timed->scheduler.transfers);
    free(timed);
}

/* ---- the host ---- */

static bool add_stream(struct timed *timed, const uint64_t *numbers)
{
    struct stream_queue *queue = calloc(1, sizeof *queue);
    if (!queue || !stream_group_add(&timed->group, queue)) {
        free(queue);
        return false;
    }
    queue->blocking = !(numbers[1] & NON_BLOCKING);
    queue->priority = (int32_t)((int64_t)numbers[2] - (INT64_C(1) << 31));
    if (numbers[1] & CAPTURE_LEGACY)
        timed->group.legacy = queue;
    return true;
}

static bool is_effect(enum capture_kind kind)
{
    return kind == CAPTURE_BLOCK || kind == CAPTURE_WRITE || kind == CAPTURE_FILL || kind == CAPTURE_COPY ||
           kind == CAPTURE_CHECK;
}

static enum stream_task_kind kind_of(enum capture_kind kind)
{
    return kind == CAPTURE_LAUNCH ? STREAM_LAUNCH : kind == CAPTURE_TRANSFER ? STREAM_TRANSFER : STREAM_POINT;
}

/* The host asks for the task at timed->next and moves on behind what belongs to it. */
static bool ask(struct timed *timed)
{
    const struct captured *captured = timed->replay->captured;
    const struct capture_operation *operation = &captured->operations.data[timed->next];
    const uint64_t *numbers = operation->numbers;
    struct stream_event *event = operation->kind == CAPTURE_WAIT ? timed_event(timed, numbers[1]) : NULL;
    struct timed_task *task = calloc(1, sizeof *task);
    if (!task || (operation->kind == CAPTURE_WAIT && !event)) {
        free(task);
        return false;
    }
    task->operation = operation;
    task->first_effect = ++timed->next;
    while (timed->next < captured->operations.count && is_effect(captured->operations.data[timed->next].kind))
        timed->next++;
    task->effect_end = timed->next;
    task->task.kind = kind_of(operation->kind);
    task->task.cooperative = operation->kind == CAPTURE_LAUNCH && numbers[9];
    task->task.event = event;
    task->task.event_count = event ? numbers[2] : 0;
    stream_append(&timed->host, timed->group.queues.data[numbers[0]], &task->task, timed->host_cycle);
    return true;
}

/* Has what the host waits for here ended? Then the host resumes, from when it had. */
static bool arrives(struct timed *timed, const struct capture_operation *operation)
{
    uint64_t cycle = 0;
    if (operation->kind == CAPTURE_AWAIT_EVENT) {
        const struct stream_event *event = timed_event(timed, operation->numbers[0]);
        if (!event || event->completed < operation->numbers[1])
            return false;
        cycle = event->cycle;
    }
    for (size_t i = 0; operation->kind != CAPTURE_AWAIT_EVENT && i < timed->group.queues.count; i++) {
        bool waits = operation->kind != CAPTURE_AWAIT_STREAM || i == operation->numbers[0];
        if (waits && !stream_reached(timed->group.queues.data[i], timed->host.last_sequence, &cycle))
            return false;
    }
    if (cycle > timed->host_cycle)
        timed->host_cycle = cycle;
    return true;
}

/* The host runs until it has to wait. False when out of memory. */
static bool run_host(struct timed *timed)
{
    const struct captured *captured = timed->replay->captured;
    while (timed->next < captured->operations.count) {
        const struct capture_operation *operation = &captured->operations.data[timed->next];
        bool was_full = timed->full;
        timed->full = timed->host.launches_waiting >= STREAM_MOST_WAITING;
        if (timed->full)
            return true;
        if (was_full && timed->host.room_cycle > timed->host_cycle)
            timed->host_cycle = timed->host.room_cycle;
        switch (operation->kind) {
        case CAPTURE_LAUNCH:
        case CAPTURE_TRANSFER:
        case CAPTURE_POINT:
        case CAPTURE_RECORD:
        case CAPTURE_WAIT:
            if (!ask(timed))
                return false;
            continue;
        case CAPTURE_AWAIT_STREAM:
        case CAPTURE_AWAIT_ALL:
        case CAPTURE_AWAIT_EVENT:
            if (!arrives(timed, operation))
                return true;
            break;
        case CAPTURE_STREAM:
            if (!add_stream(timed, operation->numbers))
                return false;
            break;
        default:
            replay_perform(timed->replay, timed->next);
        }
        timed->next++;
    }
    timed->host_ended = true;
    return true;
}

/* ---- tasks ---- */

/* What the host can see without copying is compared only where nothing else can have changed it. */
static void do_effects(struct replay *replay, const struct timed_task *task)
{
    bool launch = task->operation->kind == CAPTURE_LAUNCH;
    for (size_t i = task->first_effect; i < task->effect_end; i++)
        if (!launch || task->in_order)
            replay_perform(replay, i);
}

static void finish(struct timed *timed, struct timed_task *task, uint64_t cycle)
{
    uint64_t sequence = task->task.sequence;
    timed->ended++;
    timed->last_ended = sequence > timed->last_ended ? sequence : timed->last_ended;
    task->in_order &= timed->ended == sequence && timed->last_ended == sequence;
    do_effects(timed->replay, task);
    stream_finish(&timed->scheduler, &task->task, cycle);
    task_destroy(task);
}

static void has_ended(void *user, struct stream_task *task, const struct corun_launched *launched)
{
    (void)launched; /* of a launch that failed the machine says why: it has stopped the application */
    finish(user, timed_task_of(task), task->end_cycle);
}

static enum corun_status start_launch(struct timed *timed, struct timed_task *task, uint64_t since)
{
    struct replay *replay = timed->replay;
    enum corun_status status = replay_make_grid(replay, task->operation->shape, NULL, &task->grid);
    replay_perform(replay, task->first_effect - 1); /* a cooperative one needs its two words at zero */
    if (status == CORUN_OK)
        status = stream_start_launch(&timed->scheduler, &task->task, timed->application, task->grid, since);
    if (status == CORUN_LIMIT) /* it can never fit: the machine has stopped the application, and says so */
        return CORUN_OK;
    size_t running = timed->scheduler.launches.count;
    task->in_order = running == 1;
    for (size_t i = 0; running > 1 && i < running; i++)
        timed_task_of(timed->scheduler.launches.data[i])->in_order = false;
    return status;
}

static enum corun_status start(struct timed *timed, struct timed_task *task, uint64_t since)
{
    const uint64_t *numbers = task->operation->numbers;
    if (task->operation->kind == CAPTURE_LAUNCH)
        return start_launch(timed, task, since);
    if (task->operation->kind == CAPTURE_TRANSFER) {
        struct transfer transfer = {(enum corun_copy_engine)numbers[1], numbers[2], numbers[3], numbers[4]};
        return stream_start_transfer(&timed->scheduler, &task->task, &transfer, since) ? CORUN_OK : CORUN_MEMORY;
    }
    if (task->operation->kind == CAPTURE_RECORD) {
        struct stream_event *event = timed_event(timed, numbers[1]);
        if (!event)
            return CORUN_MEMORY;
        event->completed = numbers[2];
        event->cycle = since;
    }
    finish(timed, task, since);
    return CORUN_OK;
}

struct timed *timed_create(struct replay *replay)
{
    struct timed *timed = calloc(1, sizeof *timed);
    if (!timed)
        return NULL;
    timed->replay = replay;
    timed->scheduler.host = &timed->host;
    timed->scheduler.ended = has_ended;
    timed->scheduler.user = timed;
    if (!vector_push(&timed->scheduler.groups, &timed->group)) {
        timed_destroy(timed);
        return NULL;
    }
    return timed;
}

static bool all_ended(const struct timed *timed, uint64_t *cycle)
{
    *cycle = timed->host_cycle;
    for (size_t i = 0; i < timed->group.queues.count; i++)
        if (!stream_reached(timed->group.queues.data[i], timed->host.last_sequence, cycle))
            return false;
    return timed->host_ended;
}

enum corun_status timed_proceed(struct timed *timed, struct corun_gpu *gpu, uint32_t application,
                                struct corun_proceeding *proceeding)
{
    timed->scheduler.machine = stream_machine_of_gpu(gpu);
    timed->application = application;
    if (!timed->begun)
        timed->host_cycle = proceeding->start_cycle;
    timed->begun = true;
    stream_collect(&timed->scheduler);
    for (;;) {
        uint64_t since = 0;
        if (!run_host(timed))
            return CORUN_MEMORY;
        struct stream_task *task = stream_next(&timed->scheduler, &since);
        if (!task)
            break;
        enum corun_status status = start(timed, timed_task_of(task), since);
        if (status != CORUN_OK)
            return status;
    }
    corun_gpu_wake(gpu, application, stream_next_transfer(&timed->scheduler));
    proceeding->ended = all_ended(timed, &proceeding->end_cycle);
    return CORUN_OK;
}
