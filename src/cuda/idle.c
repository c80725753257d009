/* SPDX-License-Identifier: MIT */
/*
 * Programs that wait for a kernel without calling CUDA: they look at mapped memory again and again. The machine advances
 * in calls only, so that cycles do not depend on the host's speed; but if a program has not called for its patience
 * (seconds, unless it is told otherwise) while there is work, a thread of ours advances it instead. Whoever calls in time, or waits in a call, never
 * meets it. Seconds are those in which
 * the program runs or sleeps: those in which it waits for a processor are the host's load. Where the machine's time follows the clock of the host
 * (corund --pace), that thread looks all the time.
 */
#include "cuda/idle.h"

#include "base/process_stat.h"
#include "cuda/checkpoint.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/engine.h"
#include "cuda/process.h"
#include "cuda/remote.h"
#include "cuda/stream.h"
#include "cuda/user_object.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MICROSECONDS 250000u
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
    return process->untimed.count != 0;
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

/* Runs, or waits for a processor or a disk. */
static bool is_busy(pid_t thread)
{
    struct process_stat stat;
    return process_stat_read(PROCESS_SELF, thread, &stat) && (stat.state == 'R' || stat.state == 'D');
}

/* Whether a thread of the program is; false where that cannot be told. */
static bool program_is_busy(void)
{
    DIR *threads = opendir("/proc/self/task");
    bool busy = false;
    for (struct dirent *entry; threads && !busy && (entry = readdir(threads));) {
        pid_t thread = isdigit((unsigned char)*entry->d_name) ? (pid_t)atol(entry->d_name) : 0;
        busy = thread && thread != gettid() && is_busy(thread);
    }
    if (threads)
        closedir(threads);
    return busy;
}

static uint64_t processor_microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* What the program has had of the time between two looks, in which its threads have run for so long together. */
static uint64_t time_of_program(uint64_t run, uint64_t look)
{
    return run >= look || !program_is_busy() ? look : run;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void *advance_alone(void *user)
{
    struct process *process = user;
    const uint64_t patience = process->patience_microseconds, look = lesser(LOOK_MICROSECONDS, patience);
    uint64_t seen = 0, quiet = 0, processor = processor_microseconds();
    for (;;) {
        usleep((useconds_t)look);
        pthread_mutex_lock(&process->lock);
        uint64_t before = processor;
        processor = processor_microseconds();
        bool still = process->calls == seen && !process->calls_waiting && has_work(process);
        quiet = still ? quiet + time_of_program(processor - before, look) : 0;
        seen = process->calls;
        /* What waits for others, as for a value in memory, is not helped: they need the lock. */
        uint64_t enough = process->interprocess ? lesser(SHARED_QUIET_MICROSECONDS, patience)
                          : process->checkpoint ? SAVED_QUIET_MICROSECONDS
                                                : patience;
        while (quiet >= enough && !process->ended && process->calls == seen && has_work(process)) {
            checkpoint_refuse(process, "it waits for its GPU without calling CUDA, for as long as its host takes");
            if (!engine_nudge(process))
                break;
            pthread_mutex_unlock(&process->lock); /* a kernel may wait for what the program is about to call */
            usleep(YIELD_MICROSECONDS);
            pthread_mutex_lock(&process->lock);
        }
        bool ended = process->ended;
        struct user_object *gone = user_objects_take(process);
        pthread_mutex_unlock(&process->lock);
        user_objects_end(gone);
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
