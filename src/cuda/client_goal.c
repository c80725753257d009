/* SPDX-License-Identifier: MIT */
/* What a program tells corund of itself (corun/client.h). */
#include "corun/client.h"
#include "cuda/context.h"
#include "cuda/engine.h"
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

/* Of the devices on which the process has a context; false: it has none. */
static bool be_idle(struct process *process, uint64_t nanoseconds, enum corun_status *status)
{
    bool any = false;
    for (uint32_t i = 0; i < process->device_count && *status == CORUN_OK; i++) {
        struct device *device = &process->devices[i];
        bool used = false;
        for (size_t c = 0; c < process->contexts.count; c++)
            used |= process->contexts.data[c]->device == device && !process->contexts.data[c]->destroyed;
        any |= used;
        uint64_t until = UINT64_MAX;
        if (nanoseconds != CORUN_UNTIL_CALLED)
            until = device->host_cycle + device_cycles(device, nanoseconds);
        if (used)
            *status = engine_host_idles(process, device, until);
    }
    return any;
}

CORUN_CUDA_EXPORT enum corun_status corun_cuda_say_idle(uint64_t nanoseconds);
CORUN_CUDA_EXPORT enum corun_status corun_cuda_say_idle(uint64_t nanoseconds)
{
    struct process *process = process_get();
    enum corun_status status = CORUN_OK;
    int error = process_enter();
    if (!error && nanoseconds > CORUN_LONGEST_IDLE_NS && nanoseconds != CORUN_UNTIL_CALLED)
        status = CORUN_ARGUMENT;
    else if (error || !be_idle(process, nanoseconds, &status))
        status = CORUN_UNSUPPORTED;
    pthread_mutex_unlock(&process->lock);
    return status;
}
