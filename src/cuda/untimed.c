/* SPDX-License-Identifier: MIT */
/* Launches without timing: their runs, and whose turn it is. */
#include "cuda/untimed.h"

#include "base/kernel_name.h"
#include "cuda/capture.h"
#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/device_runtime.h"
#include "cuda/engine.h"
#include "cuda/failure.h"
#include "cuda/launch_grid.h"
#include "cuda/module.h"
#include "cuda/nested.h"
#include "cuda/process.h"
#include "cuda/record.h"
#include "cuda/stream.h"
#include "cuda/task.h"

#include <string.h>

#define WATCHDOG UINT64_C(20000000000)    /* warp instructions of a thread block */
#define PATIENCE (UINT64_C(1) << 22)      /* warp instructions in which no thread block has ended */
#define LONG_PATIENCE (UINT64_C(1) << 27) /* the same where the order of tasks is a part of the result */
#define TURN (UINT64_C(1) << 18)          /* warp instructions, unless thread blocks end in it */

/* Captures are replayed in the order in which they were written; what is timed starts in the order in which the tasks before it ended. */
static uint64_t patience_of(const struct process *process)
{
    if (process->nests)
        return UINT64_MAX;
    return process->functional && !process->capture ? PATIENCE : LONG_PATIENCE;
}

static enum corun_status begin_part(struct process *process, struct task *task)
{
    enum corun_status status = launch_grid_create(process, task, &task->launch.grid);
    if (status != CORUN_OK)
        return status;
    capture_launch(process, task, task->launch.grid);
    return corun_functional_begin(task->launch.grid, WATCHDOG, process->list, print_device_text, NULL,
                                  &task->launch.run);
}

/* The part at hand has ended, or failed. False: it was the last one. */
static bool end_part(struct process *process, struct task *task, enum corun_status status)
{
    struct corun_functional_result result = {0};
    struct corun_counters *counted = &task->launch.counted;
    corun_functional_end(task->launch.run, &result);
    task->launch.run = NULL;
    counted->warp_instructions += result.warp_instructions;
    counted->thread_instructions += result.thread_instructions;
    counted->ptx_thread_instructions += result.ptx_thread_instructions;
    bool more = status == CORUN_OK && task->launch.walk && launch_walk_next(task->launch.walk);
    if (!more)
        record_launch(process, task->stream->context->device, task, task->launch.grid, counted);
    corun_grid_destroy(task->launch.grid);
    task->launch.grid = NULL;
    capture_launched(process);
    return more;
}

/* Until it has ended (*ended), or has not come on for so long. */
static enum corun_status run(struct process *process, struct task *task, uint64_t patience, bool *ended)
{
    enum corun_status status;
    bool more;
    *ended = false;
    do {
        bool part_ended = false;
        status = task->launch.run ? CORUN_OK : begin_part(process, task);
        if (status != CORUN_OK && !task->launch.grid)
            return status;
        if (status == CORUN_OK)
            status = corun_functional_continue(task->launch.run, patience, &part_ended);
        if (status == CORUN_OK && !part_ended)
            return CORUN_OK;
        more = end_part(process, task, status);
    } while (more);
    *ended = status == CORUN_OK;
    return status;
}

/* What a launch without timing has launched, and what that has. False if one failed: its context is in error then. */
static bool run_nested(struct process *process, struct task *root, uint64_t cycle)
{
    struct nested_launches nested = {0};
    struct context *context = root->stream->context;
    struct task *task = root;
    uint64_t since;
    bool more = true, ended = true;
    while (task) {
        enum corun_status status = task == root ? CORUN_OK : run(process, task, UINT64_MAX, &ended);
        int error = status == CORUN_OK ? nested_collect(process, &nested, context, task) : CUDA_SUCCESS;
        if (status != CORUN_OK || error != CUDA_SUCCESS) {
            nested_abandon(process, &nested, context);
            failure_of_launch(process, context, status != CORUN_OK ? status : CORUN_MEMORY);
            return false;
        }
        more = nested_ended(process, &nested, task, cycle);
        task = nested_next(&nested, &since);
    }
    if (!more)
        engine_finish(process, root, cycle);
    return true;
}

static size_t place_of(const struct process *process, const struct task *task)
{
    size_t i = 0;
    while (i < process->untimed.count && process->untimed.data[i] != task)
        i++;
    return i;
}

void untimed_beside(struct process *process)
{
    if (process->untimed.count)
        capture_refuse(process, "kernel %s waits for what the program does meanwhile",
                       KERNEL_NAME(process->untimed.data[0]->launch.request.function->name));
}

void untimed_forget(struct process *process, const struct task *task)
{
    size_t i = place_of(process, task);
    if (i == process->untimed.count)
        return;
    memmove(&process->untimed.data[i], &process->untimed.data[i + 1],
            (--process->untimed.count - i) * sizeof *process->untimed.data);
}

/* It stands still, and is in flight from now on. */
static enum corun_status stand(struct process *process, struct task *task)
{
    if (task->queued.started)
        return CORUN_OK;
    task->queued.started = true;
    return vector_push(&process->untimed, task) ? CORUN_OK : CORUN_MEMORY;
}

/* Goes on. The task may have gone then. */
static void go_on(struct process *process, struct task *task, uint64_t patience)
{
    struct context *context = task->stream->context;
    struct corun_module_instance *loaded = task->launch.request.function->module->loaded;
    const char *name = task->launch.request.function->name;
    bool ended;
    enum corun_status status = run(process, task, patience, &ended);
    if (status == CORUN_OK && !ended)
        status = stand(process, task);
    if (status == CORUN_OK && !ended)
        return;
    uint64_t cycle = task->queued.start_cycle, now = context->device->cycle;
    if (task->queued.started && cycle < now) /* what it waited for took time */
        cycle = now;
    task->queued.end_cycle = cycle;
    untimed_forget(process, task);
    if (status != CORUN_OK) {
        capture_refuse(process, "kernel %s failed", KERNEL_NAME(name));
        failure_of_launch(process, context, status);
    } else if (process->nests) {
        (void)run_nested(process, task, cycle);
    } else {
        engine_finish(process, task, cycle);
    }
    failure_tell_notes(process, loaded);
}

void untimed_start(struct process *process, struct task *task, uint64_t cycle)
{
    task->queued.start_cycle = task->queued.end_cycle = cycle;
    task->launch.counted = (struct corun_counters){0};
    go_on(process, task, patience_of(process));
}

bool untimed_turns(struct process *process)
{
    const bool any = process->untimed.count != 0;
    for (size_t i = 0; i < process->untimed.count;) {
        const struct task *task = process->untimed.data[i];
        go_on(process, process->untimed.data[i], TURN);
        if (i < process->untimed.count && process->untimed.data[i] == task)
            i++;
    }
    return any;
}
