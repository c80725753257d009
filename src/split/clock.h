/* SPDX-License-Identifier: MIT */
/* The host's clocks in seconds: one that only goes forward, and the processor time of a thread. */
#ifndef CORUN_SPLIT_CLOCK_H
#define CORUN_SPLIT_CLOCK_H

#include <time.h>

/* Seconds on a clock that only goes forward. */
static inline double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Processor time of the calling thread. */
static inline double clock_thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
