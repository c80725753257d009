/* SPDX-License-Identifier: MIT */
/*
 * In a call that advances the machine, the call writes the checkpoint at its next step. Between two calls, where the program may be in the midst of
 * anything, a thread of ours does.
 */
#include "cuda/checkpoint_signal.h"

#include "cuda/checkpoint.h"
#include "cuda/process.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#define LOOK_MICROSECONDS 1000u
#define MOST_LOOKS \
    10000u /* for a program that stays in a call and takes no step: a function of its own may never end */

static const int signals[] = {SIGTERM, SIGINT};

static void take_signal(int number)
{
    struct checkpoint *checkpoint = process_get()->checkpoint;
    int before = errno;
    checkpoint->signal = number;
    sem_post(&checkpoint->signalled);
    errno = before;
}

void checkpoint_signal_end(const struct checkpoint *checkpoint)
{
    int number = checkpoint->signal;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    signal(number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    kill(getpid(), number);
    for (;;)
        pause();
}

/* Is the program in a call? It lets go of the lock now and then. */
static bool in_a_call(const struct process *process)
{
    return process->calls_waiting;
}

static void *wait_for_signal(void *user)
{
    struct checkpoint *checkpoint = user;
    struct process *process = process_get();
    while (sem_wait(&checkpoint->signalled))
        ;
    for (uint32_t look = 0; look < MOST_LOOKS; look++) {
        process->calls_wanting++;
        pthread_mutex_lock(&process->lock);
        process->calls_wanting--;
        bool nothing = checkpoint->over || checkpoint->replays; /* the file is there */
        if (!nothing && !in_a_call(process))
            checkpoint_save(process, true);
        if (nothing || !in_a_call(process))
            break;
        pthread_mutex_unlock(&process->lock);
        usleep(LOOK_MICROSECONDS);
    }
    checkpoint_signal_end(checkpoint);
}

static void take_over(int number)
{
    struct sigaction before, ours = {.sa_handler = take_signal, .sa_flags = SA_RESTART};
    sigemptyset(&ours.sa_mask);
    if (!sigaction(number, NULL, &before) && !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL)
        (void)sigaction(number, &ours, NULL);
}

bool checkpoint_signal_begin(struct checkpoint *checkpoint)
{
    sigset_t all, before;
    pthread_t thread;
    if (sem_init(&checkpoint->signalled, 0, 0))
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool made = pthread_create(&thread, NULL, wait_for_signal, checkpoint) == 0;
    if (made)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (size_t i = 0; made && checkpoint->path[0] && i < sizeof signals / sizeof *signals; i++)
        take_over(signals[i]);
    return made;
}

void checkpoint_signal_forget(void)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction now;
        if (!sigaction(signals[i], NULL, &now) && now.sa_handler == take_signal)
            signal(signals[i], SIG_DFL);
    }
}
