/* SPDX-License-Identifier: MIT */
/*
 * Programs that wait for a kernel without calling CUDA: they look at mapped memory again and again. The machine advances
 * in calls only, so that cycles do not depend on the host's speed; but if a program has not called for seconds while
 * there is work, a thread of ours advances it instead. Whoever calls in time never meets it. Where the machine's time follows the clock of the
 * host (corund --pace), that thread looks all the time.
 */
#include "cuda/idle.h"

#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/engine.h"
#include "cuda/process.h"
#include "cuda/remote.h"
#include "cuda/stream.h"

#include <signal.h>
#include <unistd.h>

#define LOOK_MICROSECONDS 250000u
#define QUIET_LOOKS 12u /* 3 s */
#define PACED_LOOK_MICROSECONDS 2000u

static bool has_work(const struct process *process)
{
    for (size_t c = 0; c < process->contexts.count; c++) {
        const struct context *context = process->contexts.data[c];
        for (size_t i = 0; !context->destroyed && i < context->streams.count; i++)
            if (!stream_idle(context->streams.data[i]) && !context->streams.data[i]->queue.first->started)
                return true;
        if (context->device->scheduler.launches.count || context->device->scheduler.transfers.count)
            return true;
    }
    return false;
}

/* Where time goes on by itself, what the program has asked for starts without its help. */
static void *look_alone(void *user)
{
    struct process *process = user;
    bool ended = false;
    while (!ended) {
        usleep(PACED_LOOK_MICROSECONDS);
        pthread_mutex_lock(&process->lock);
        ended = process->ended;
        if (!ended && has_work(process))
            engine_look(process);
        pthread_mutex_unlock(&process->lock);
    }
    return NULL;
}

static void *advance_alone(void *user)
{
    struct process *process = user;
    uint64_t seen = 0;
    uint32_t quiet = 0;
    for (;;) {
        usleep(LOOK_MICROSECONDS);
        pthread_mutex_lock(&process->lock);
        quiet = process->calls == seen && has_work(process) ? quiet + 1 : 0;
        seen = process->calls;
        /* What waits for others, as for a value in memory, is not helped: they need the lock. */
        while (quiet >= QUIET_LOOKS && !process->ended && process->calls == seen && has_work(process))
            if (!engine_nudge(process))
                break;
        bool ended = process->ended;
        pthread_mutex_unlock(&process->lock);
        if (ended)
            return NULL;
    }
}

void idle_start(struct process *process)
{
    sigset_t all, before;
    pthread_t thread;
    if (process->watched)
        return;
    process->watched = true;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are the program's */
    if (pthread_create(&thread, NULL, remote_paced(process->remote) ? look_alone : advance_alone, process) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
