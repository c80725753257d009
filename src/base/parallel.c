/* SPDX-License-Identifier: MIT */
/* A function runs on several threads, the calling one among them, until all have ended. */
#include "base/parallel.h"

#include <pthread.h>
#include <unistd.h>

uint32_t parallel_jobs(uint32_t asked)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (asked)
        return asked;
    return processors > 0 ? (uint32_t)processors : 1;
}

void parallel_run(uint32_t jobs, void *(*work)(void *user), void *user)
{
    pthread_t threads[PARALLEL_MAX - 1];
    uint32_t started = 0;
    while (started + 1 < jobs && started + 1 < PARALLEL_MAX && !pthread_create(&threads[started], NULL, work, user))
        started++;
    work(user);
    while (started)
        pthread_join(threads[--started], NULL);
}
