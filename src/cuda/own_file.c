/* SPDX-License-Identifier: MIT */
#include "cuda/own_file.h"

#include "base/process_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Nanoseconds since the host started. Two processes of a script may start within one tick; this tells them apart. */
static uint64_t now(void)
{
    struct timespec time;
    return clock_gettime(CLOCK_BOOTTIME, &time) ? 0 : (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int own_file_create(const char *folder, char *path, size_t bytes)
{
    struct process_stat stat = {.born = 0};
    (void)process_stat_read(PROCESS_SELF, PROCESS_WHOLE, &stat);
    for (unsigned attempt = 0;; attempt++) {
        int length = snprintf(path, bytes, "%s/%" PRIu64 "-%" PRIu64 "-%ld-%u", folder, stat.born, now(),
                              (long)getpid(), attempt);
        if (length < 0 || (size_t)length >= bytes) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0 || errno != EEXIST)
            return descriptor;
    }
}
