/* SPDX-License-Identifier: MIT */
/* What a program tells corund of itself (corun/client.h). */
#include "cuda/entry.h"
#include "cuda/process.h"
#include "cuda/remote.h"

CORUN_CUDA_EXPORT enum corun_status corun_cuda_set_goal(enum corun_goal_kind kind, double value);
CORUN_CUDA_EXPORT enum corun_status corun_cuda_set_goal(enum corun_goal_kind kind, double value)
{
    struct process *process = process_get();
    int error = process_enter();
    enum corun_status status = CORUN_UNSUPPORTED;
    if (!error && process->remote)
        status = remote_set_goal(process->remote, kind, value);
    pthread_mutex_unlock(&process->lock);
    return status;
}
