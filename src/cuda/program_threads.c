/* SPDX-License-Identifier: MIT */
/* The threads of this process, as /proc and their clocks have them. */
#include "cuda/program_threads.h"

#include "base/process_stat.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Is it so for every thread but this one? False where they cannot be listed. */
static bool every_other(bool (*is_so)(pid_t thread, void *user), void *user)
{
    _Alignas(struct dirent64) char entries[2048];
    int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t bytes = folder < 0 ? -1 : 1;
    bool every = folder >= 0;
    while (every && (bytes = getdents64(folder, entries, sizeof entries)) > 0) {
        for (ssize_t at = 0; every && at < bytes;) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);
            pid_t thread = isdigit((unsigned char)*entry->d_name) ? (pid_t)atol(entry->d_name) : 0;
            every = !thread || thread == gettid() || is_so(thread, user);
            at += entry->d_reclen;
        }
    }
    if (folder >= 0)
        close(folder);
    return every && bytes == 0;
}

/* Not one that runs, or waits for a processor or a disk. One that has ended meanwhile is none. */
static bool is_quiet(pid_t thread, void *busy)
{
    struct process_stat stat;
    if (process_stat_read(PROCESS_SELF, thread, &stat) && (stat.state == 'R' || stat.state == 'D'))
        *(bool *)busy = true;
    return !*(const bool *)busy;
}

bool program_is_busy(void)
{
    bool busy = false;
    (void)every_other(is_quiet, &busy);
    return busy;
}

/* The clock of the time that a thread of this process has run: pthread_getcpuclockid, for one that we know by its number. */
static clockid_t clock_of(pid_t thread)
{
    return (clockid_t)(~(unsigned)thread << 3 | 6u);
}

static void add_time(pid_t thread, uint64_t *run)
{
    struct timespec time;
    if (!clock_gettime(clock_of(thread), &time))
        *run += (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static bool waits(pid_t thread, void *run)
{
    add_time(thread, run);
    return process_thread_waits(thread);
}

bool program_waits(uint64_t *run)
{
    *run = 0;
    return every_other(waits, run);
}

struct standing {
    pid_t own;
    uint64_t run;
};

static bool stands(pid_t thread, void *user)
{
    struct standing *standing = user;
    bool busy = false;
    if (thread == standing->own)
        return true;
    add_time(thread, &standing->run);
    return is_quiet(thread, &busy);
}

bool program_thread_stands(pid_t thread, pid_t own, uint64_t *run)
{
    struct standing standing = {own, 0};
    bool so = process_thread_waits(thread) && every_other(stands, &standing);
    *run = standing.run;
    return so;
}

static uint64_t processor_microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t program_time_since(struct program_time *time, uint64_t look)
{
    uint64_t before = time->processor;
    time->processor = processor_microseconds();
    return time->processor - before >= look || !program_is_busy() ? look : time->processor - before;
}
