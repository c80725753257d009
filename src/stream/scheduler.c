/* SPDX-License-Identifier: MIT */
/* Which task of the streams is next, and what is in flight. */
#include "stream/scheduler.h"

#include "base/later.h"

#include <string.h>

void stream_scheduler_remove(struct stream_scheduler *scheduler, const struct stream_group *group)
{
    for (size_t i = 0; i < scheduler->groups.count; i++)
        if (scheduler->groups.data[i] == group) {
            scheduler->groups.data[i] = scheduler->groups.data[--scheduler->groups.count];
            return;
        }
}

bool stream_group_add(struct stream_group *group, struct stream_queue *queue)
{
    queue->group = group;
    return vector_push(&group->queues, queue);
}

void stream_group_remove(struct stream_group *group, struct stream_queue *queue)
{
    group->gone_cycle = later(group->gone_cycle, queue->free_cycle);
    if (queue->blocking)
        group->gone_blocking_cycle = later(group->gone_blocking_cycle, queue->free_cycle);
    for (size_t i = 0; i < group->queues.count; i++)
        if (group->queues.data[i] == queue) {
            /* The order of queues decides nothing but ties that do not arise: sequence numbers are unique. */
            group->queues.data[i] = group->queues.data[--group->queues.count];
            break;
        }
}

void stream_append(struct stream_host *host, struct stream_queue *queue, struct stream_task *task, uint64_t cycle)
{
    task->queue = queue;
    task->next = NULL;
    task->sequence = ++host->last_sequence;
    task->submitted_cycle = cycle;
    host->launches_waiting += task->kind == STREAM_LAUNCH;
    if (queue->last)
        queue->last->next = task;
    else
        queue->first = task;
    queue->last = task;
}

void stream_insert(struct stream_host *host, struct stream_task *before, struct stream_task *task)
{
    struct stream_queue *queue = before->queue;
    task->queue = queue;
    task->next = before->next;
    task->sequence = before->sequence;
    task->submitted_cycle = before->submitted_cycle;
    host->launches_waiting += task->kind == STREAM_LAUNCH;
    before->next = task;
    if (queue->last == before)
        queue->last = task;
}

static bool precedes(const struct stream_queue *queue, const struct stream_task *task)
{
    return queue->first && queue->first->sequence < task->sequence;
}

/* Is the first task of its queue free to start, and since when? */
static bool is_ready(const struct stream_scheduler *scheduler, const struct stream_task *task, uint64_t *since)
{
    const struct stream_queue *queue = task->queue;
    const struct stream_group *group = queue->group;
    *since = later(queue->free_cycle, task->submitted_cycle);
    if (queue == group->legacy) {
        *since = later(*since, group->gone_blocking_cycle);
        for (size_t i = 0; i < group->queues.count; i++) {
            const struct stream_queue *other = group->queues.data[i];
            if (!other->blocking || other == queue)
                continue;
            if (precedes(other, task))
                return false;
            *since = later(*since, other->free_cycle);
        }
    } else if (queue->blocking && group->legacy) {
        if (precedes(group->legacy, task))
            return false;
        *since = later(*since, group->legacy->free_cycle);
    }
    if (task->event) {
        if (task->event->completed < task->event_count)
            return false;
        if (task->event->clock == scheduler)
            *since = later(*since, task->event->cycle);
    }
    return !scheduler->may_start || scheduler->may_start(scheduler->user, task, since);
}

/*
 * May one more kernel start beside those that run? Thread blocks of a cooperative one wait for each other, so all must find room: it
 * has the GPU for itself.
 */
static bool has_room(const struct stream_scheduler *scheduler, const struct stream_task *task)
{
    size_t running = scheduler->launches.count - scheduler->nested;
    return task->kind != STREAM_LAUNCH || !running ||
           (running < STREAM_MOST_RUNNING && !scheduler->alone && !task->cooperative);
}

bool stream_goes_first(const struct stream_scheduler *scheduler, const struct stream_task *task,
                       const struct stream_task *other)
{
    int32_t mine = task->queue->priority, others = other->queue->priority;
    return scheduler->in_order_of_calls || mine == others ? task->sequence < other->sequence : mine < others;
}

struct stream_task *stream_next(const struct stream_scheduler *scheduler, uint64_t *since)
{
    struct stream_task *best = NULL;
    for (size_t g = 0; g < scheduler->groups.count; g++) {
        const struct stream_group *group = scheduler->groups.data[g];
        for (size_t i = 0; i < group->queues.count; i++) {
            struct stream_task *task = group->queues.data[i]->first;
            uint64_t cycle;
            if (!task || task->started || !has_room(scheduler, task) ||
                (best && !stream_goes_first(scheduler, task, best)) || !is_ready(scheduler, task, &cycle))
                continue;
            best = task;
            *since = cycle;
        }
    }
    return best;
}

enum corun_status stream_start_launch(struct stream_scheduler *scheduler, struct stream_task *task,
                                      uint32_t application, const struct corun_grid *grid, uint64_t since)
{
    const struct stream_machine *machine = &scheduler->machine;
    struct stream_queue *queue = task->queue;
    if (queue->launched) /* a kernel behind another one of its stream */
        since = later(since, queue->free_cycle + machine->operations->configuration(machine->machine)->launch_latency +
                                 scheduler->gap_cycles);
    task->application = application;
    enum corun_status status = machine->operations->launch(
        machine->machine, application, grid, stream_machine_cycle(scheduler, since), queue->priority, &task->number);
    if (status == CORUN_OK && !vector_push(&scheduler->launches, task))
        status = CORUN_MEMORY;
    if (status != CORUN_OK)
        return status;
    task->started = queue->launched = true;
    if (task->nested)
        scheduler->nested++;
    else
        scheduler->alone = task->cooperative;
    return CORUN_OK;
}

bool stream_start_transfer(struct stream_scheduler *scheduler, struct stream_task *task,
                           const struct transfer *transfer, uint64_t since)
{
    task->started = true;
    if (!vector_push(&scheduler->transfers, task))
        return false;
    const struct stream_machine *machine = &scheduler->machine;
    uint64_t cycles = transfer_cycles(machine->operations->configuration(machine->machine), transfer);
    task->start_cycle =
        machine->operations->copy(machine->machine, transfer->engine, stream_machine_cycle(scheduler, since), cycles);
    task->end_cycle = task->start_cycle + cycles;
    task->start_cycle += scheduler->base_cycle;
    task->end_cycle += scheduler->base_cycle;
    return true;
}

/* Takes out the one at `index`; the others stay in their order. */
static void take_out(struct stream_task **tasks, size_t *count, size_t index)
{
    memmove(&tasks[index], &tasks[index + 1], (--*count - index) * sizeof *tasks);
}

void stream_collect(struct stream_scheduler *scheduler)
{
    const struct stream_machine *machine = &scheduler->machine;
    for (size_t i = 0; i < scheduler->launches.count;) {
        struct stream_task *task = scheduler->launches.data[i];
        struct corun_launched launched;
        machine->operations->launched(machine->machine, task->application, task->number, &launched);
        if (!launched.ended) {
            i++;
            continue;
        }
        take_out(scheduler->launches.data, &scheduler->launches.count, i);
        scheduler->nested -= task->nested;
        task->start_cycle = scheduler->base_cycle + launched.first_cycle;
        task->end_cycle = scheduler->base_cycle + launched.last_cycle;
        uint32_t application = task->application, number = task->number;
        scheduler->ended(scheduler->user, task, &launched);
        if (machine->operations)
            (void)machine->operations->forget(machine->machine, application,
                                              number); /* else its application has gone */
        if (launched.status != CORUN_OK)
            i = 0; /* that may have taken others away */
    }
    uint64_t now = scheduler->base_cycle + (machine->operations ? machine->operations->cycles(machine->machine) : 0);
    for (size_t i = 0; i < scheduler->transfers.count;) {
        struct stream_task *task = scheduler->transfers.data[i];
        if (task->end_cycle > now) {
            i++;
            continue;
        }
        take_out(scheduler->transfers.data, &scheduler->transfers.count, i);
        scheduler->ended(scheduler->user, task, NULL);
    }
}

uint64_t stream_next_transfer(const struct stream_scheduler *scheduler)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < scheduler->transfers.count; i++)
        if (scheduler->transfers.data[i]->end_cycle < next)
            next = scheduler->transfers.data[i]->end_cycle;
    return next == UINT64_MAX ? next : stream_machine_cycle(scheduler, next);
}

void stream_finish(struct stream_scheduler *scheduler, struct stream_task *task, uint64_t cycle)
{
    struct stream_queue *queue = task->queue;
    queue->first = task->next;
    if (!queue->first)
        queue->last = NULL;
    queue->free_cycle = later(queue->free_cycle, cycle);
    task->end_cycle = cycle;
    if (task->kind == STREAM_LAUNCH) {
        scheduler->host->launches_waiting--;
        scheduler->host->room_cycle = cycle;
    }
}

bool stream_forget(struct stream_scheduler *scheduler, const struct stream_task *task)
{
    for (size_t i = 0; i < scheduler->launches.count; i++)
        if (scheduler->launches.data[i] == task) {
            take_out(scheduler->launches.data, &scheduler->launches.count, i);
            scheduler->nested -= task->nested;
            return true;
        }
    for (size_t i = 0; i < scheduler->transfers.count; i++)
        if (scheduler->transfers.data[i] == task) {
            take_out(scheduler->transfers.data, &scheduler->transfers.count, i);
            return true;
        }
    return false;
}

bool stream_reached(const struct stream_queue *queue, uint64_t sequence, uint64_t *cycle)
{
    if (queue->first && queue->first->sequence <= sequence)
        return false;
    *cycle = later(*cycle, queue->free_cycle);
    return true;
}
