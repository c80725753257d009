/* SPDX-License-Identifier: MIT */
/* Where runs of a program begin and end. */
#include "cuda/runs.h"

#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/entry.h"
#include "cuda/process.h"
#include "cuda/remote.h"
#include "cuda/stream.h"
#include "cuda/task.h"

void runs_asked(struct process *process, const struct task *task)
{
    struct runs *runs = &process->runs;
    bool launch = task->kind == TASK_LAUNCH;
    bool copy = task->kind == TASK_COPY || task->kind == TASK_FILL;
    bool to_host = task->kind == TASK_COPY && task->copy.engine == ENGINE_TO_HOST;
    if (!process->remote || runs->marked || to_host || (!launch && !copy))
        return; /* results that are fetched belong to the run before */
    if (!runs->begun || runs->told)
        *runs = (struct runs){.begun = true, .begin = task->stream->context->device->host_cycle};
    runs->launches += launch;
}

void runs_waited(struct process *process, uint64_t cycle)
{
    struct runs *runs = &process->runs;
    if (!process->remote || runs->marked || !runs->begun || !runs->launches || cycle < runs->begin)
        return;
    remote_run(process->remote, cycle - runs->begin, runs->told);
    runs->told = true;
}

/* ---- marked by the program ---- */

CORUN_CUDA_EXPORT uint64_t corun_cuda_begin_run(void);
CORUN_CUDA_EXPORT uint64_t corun_cuda_begin_run(void)
{
    struct process *process = process_get();
    uint64_t begun = 0;
    if (!process_enter() && process->remote) {
        process->runs.marked = true;
        begun = process->devices[0].host_cycle + 1; /* 0 is none */
    }
    pthread_mutex_unlock(&process->lock);
    return begun;
}

CORUN_CUDA_EXPORT enum corun_status corun_cuda_end_run(uint64_t begun);
CORUN_CUDA_EXPORT enum corun_status corun_cuda_end_run(uint64_t begun)
{
    struct process *process = process_get();
    enum corun_status status = CORUN_UNSUPPORTED;
    if (!process_enter() && process->remote) {
        uint64_t now = process->devices[0].host_cycle + 1;
        status = begun && begun <= now ? CORUN_OK : CORUN_ARGUMENT;
        if (status == CORUN_OK)
            remote_run(process->remote, now - begun, false);
    }
    pthread_mutex_unlock(&process->lock);
    return status;
}
