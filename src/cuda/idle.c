/* SPDX-License-Identifier: MIT */
/*
 * Programs that wait for a kernel without calling CUDA: they look at mapped memory again and again. The machine advances
 * in calls only, so that cycles do not depend on the host's speed; but if a program has not called for its patience
 * (seconds, unless it is told otherwise) while there is work, a thread of ours advances it instead. Where all threads of the program wait for each other
 * and functions wait in streams, only such a function can end that, and the machine is advanced at once. Whoever calls in time, or waits in a call, never
 * meets it. Seconds are those in which
 * the program runs or sleeps: those in which it waits for a processor are the host's load. Where the machine's time follows the clock of the host
 * (corund --pace), that thread looks all the time.
 */
#include "cuda/idle.h"

#include "cuda/caller.h"
#include "cuda/checkpoint.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/engine.h"
#include "cuda/process.h"
#include "cuda/program_threads.h"
#include "cuda/remote.h"
#include "cuda/stream.h"
#include "cuda/task.h"

#include <signal.h>
#include <unistd.h>

#define LOOK_MICROSECONDS 250000u
#define FUNCTION_LOOK_MICROSECONDS 4000u /* while functions wait in streams */
#define SAVED_QUIET_MICROSECONDS \
    60000000u /* help would depend on the host: a program whose state is saved gets none, and is refused */
#define YIELD_MICROSECONDS 100u
#define SHARED_QUIET_MICROSECONDS 250000u /* other processes of the program may wait for this one (interprocess.h) */
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
    for (size_t i = 0; i < process->calling.count; i++)
        if (process->calling.data[i]->call.called->ended)
            return true;
    return process->untimed.count != 0;
}

/* The thread of ours that all this runs in. */
static void begin(struct process *process)
{
    pthread_mutex_lock(&process->lock);
    process->watcher = gettid();
    pthread_mutex_unlock(&process->lock);
}

/* Where time goes on by itself, what the program has asked for starts without its help. */
static void *look_alone(void *user)
{
    struct process *process = user;
    bool ended = false;
    begin(process);
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

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t idle_patience(const struct process *process)
{
    const uint64_t patience = process->patience_microseconds;
    return process->interprocess ? lesser(SHARED_QUIET_MICROSECONDS, patience)
           : process->checkpoint ? SAVED_QUIET_MICROSECONDS
                                 : patience;
}

/*
 * Whether all threads of the program wait for each other, and a function in a stream is all that can wake one. Seen twice without anything between. The lock
 * is let go: who waits for it does not count.
 */
static bool waits_for_function(struct process *process)
{
    uint64_t run, before;
    if (!process->functions_waiting || process->checkpoint || process->calls_waiting || process->calls_wanting)
        return false;
    pthread_mutex_unlock(&process->lock);
    bool waits = program_waits(&before);
    if (waits) {
        usleep(YIELD_MICROSECONDS);
        waits = program_waits(&run) && run == before;
    }
    pthread_mutex_lock(&process->lock);
    return waits && !process->calls_wanting;
}

/* The program waits without calling: the machine goes on until it calls, or has nothing to do, or the program itself goes on. */
static void nudge(struct process *process, uint64_t seen, bool enough)
{
    while ((enough || waits_for_function(process)) && !process->ended && process->calls == seen && has_work(process)) {
        checkpoint_refuse(process, "it waits for its GPU without calling CUDA, for as long as its host takes");
        if (!engine_nudge(process))
            return;
        pthread_mutex_unlock(&process->lock); /* a kernel may wait for what the program is about to call */
        usleep(YIELD_MICROSECONDS);
        pthread_mutex_lock(&process->lock);
    }
}

/* Until the next look. The caller holds the lock. */
static uint64_t look_microseconds(const struct process *process)
{
    return lesser(process->functions_waiting ? FUNCTION_LOOK_MICROSECONDS : LOOK_MICROSECONDS,
                  process->patience_microseconds);
}

static void *advance_alone(void *user)
{
    struct process *process = user;
    uint64_t seen = 0, quiet = 0;
    struct program_time time = {0};
    bool ended = false;
    (void)program_time_since(&time, 0);
    begin(process);
    pthread_mutex_lock(&process->lock);
    while (!ended) {
        uint64_t look = look_microseconds(process);
        pthread_mutex_unlock(&process->lock);
        usleep((useconds_t)look);
        pthread_mutex_lock(&process->lock);
        bool still = process->calls == seen && !process->calls_waiting && has_work(process);
        uint64_t passed = program_time_since(&time, look);
        quiet = still ? quiet + passed : 0;
        seen = process->calls;
        /* What waits for others, as for a value in memory, is not helped: they need the lock. */
        if (still)
            nudge(process, seen, quiet >= idle_patience(process));
        caller_wait_owed(process);
        ended = process->ended;
    }
    pthread_mutex_unlock(&process->lock);
    return NULL;
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
