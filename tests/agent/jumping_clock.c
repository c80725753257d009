/* SPDX-License-Identifier: MIT */
/* Loaded into a program, this makes the clock that people set jump by years, to and fro, each time it is read. */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static __thread unsigned reads;

static long jump(void)
{
    return reads++ % 2 ? 1000000000 : -500000000;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI)
        time->tv_sec += jump();
    return result;
}

int gettimeofday(struct timeval *restrict value, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *value = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *value)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (value)
        *value = now.tv_sec;
    return now.tv_sec;
}
