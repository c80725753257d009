/* SPDX-License-Identifier: MIT */
/* Tasks: made, copied, freed with what they own. */
#include "cuda/task.h"

#include "cuda/caller.h"
#include "cuda/copy.h"
#include "cuda/graph_condition.h"
#include "cuda/journaled_machine.h"
#include "cuda/process.h"
#include "cuda/stream.h"

#include <stdlib.h>
#include <string.h>

struct task *task_create(enum task_kind kind)
{
    struct task *task = calloc(1, sizeof *task);
    if (task)
        task->kind = kind;
    return task;
}

struct task *task_copy(const struct task *task)
{
    struct task *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *task;
    copy->queued.next = NULL;
    if (task->kind == TASK_LAUNCH)
        copy->launch.walk = NULL;
    if (task->kind == TASK_CALL)
        copy->call.called = NULL;
    copy->stream = NULL;
    copy->queued.started = false;
    if (task->kind == TASK_LAUNCH && task->launch.request.parameters) {
        copy->launch.request.parameters = malloc(task->launch.request.parameter_bytes + 1);
        if (!copy->launch.request.parameters) {
            free(copy);
            return NULL;
        }
        memcpy(copy->launch.request.parameters, task->launch.request.parameters, task->launch.request.parameter_bytes);
    }
    if (task->kind == TASK_COPY && task->copy.staged) {
        size_t bytes = copy_bytes(&task->copy);
        copy->copy.staged = malloc(bytes);
        if (!copy->copy.staged) {
            free(copy);
            return NULL;
        }
        memcpy(copy->copy.staged, task->copy.staged, bytes);
        copy->copy.from.host = copy->copy.staged;
    }
    if (task->kind == TASK_RECORD || task->kind == TASK_WAIT)
        copy->event.event->references++;
    if (task->kind == TASK_CONDITION)
        copy->condition->references++;
    return copy;
}

void task_free(struct process *process, struct task *task)
{
    switch (task->kind) {
    case TASK_LAUNCH:
        free(task->launch.request.parameters);
        corun_functional_end(task->launch.run, NULL);
        journaled_machine_release(process, task->launch.grid);
        launch_walk_end(task->launch.walk);
        break;
    case TASK_COPY:
        free(task->copy.staged);
        break;
    case TASK_RECORD:
    case TASK_WAIT:
        event_release(process, task->event.event);
        break;
    case TASK_CONDITION:
        graph_condition_release(process, task->condition);
        break;
    case TASK_CALL:
        if (task->call.called)
            caller_release(task->call.called);
        break;
    case TASK_NOTHING:
        user_references_free(process, &task->users);
        break;
    default:
        break;
    }
    free(task);
}
