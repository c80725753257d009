/* SPDX-License-Identifier: MIT */
/* The one reader of /proc/PID/stat, and of what a thread waits in. */
#include "base/process_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Fields that follow the name, and are numbers but for the first: the state is field 3, the parent 4, the time of birth 22. */
enum { FIRST_FIELD = 3, BORN_FIELD = 22 };

bool process_stat_parse(const char *text, struct process_stat *stat)
{
    struct process_stat found;
    const char *at = strrchr(text, ')'); /* of the name, which may have anything in it, parentheses too */
    if (!at || sscanf(at, ") %c %d", &found.state, &found.parent) != 2)
        return false;
    for (int field = FIRST_FIELD; at && field <= BORN_FIELD; field++) /* to the blank before each */
        at = strchr(at + 1, ' ');
    if (!at || sscanf(at, "%" SCNu64, &found.born) != 1)
        return false;
    *stat = found;
    return true;
}

/* The beginning of a small file; false: there is nothing of it. */
static bool read_beginning(const char *path, char *text, size_t bytes)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    for (ssize_t got = 1; descriptor >= 0 && got && length < bytes - 1;) {
        got = read(descriptor, text + length, bytes - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) /* it has ended meanwhile */
            break;
        length += (size_t)got;
    }
    if (descriptor >= 0)
        close(descriptor);
    text[length] = 0;
    return length > 0;
}

bool process_stat_read(pid_t process, pid_t thread, struct process_stat *stat)
{
    char path[64], whose[16] = "self", text[1024];
    if (process != PROCESS_SELF)
        snprintf(whose, sizeof whose, "%d", process);
    if (thread == PROCESS_WHOLE)
        snprintf(path, sizeof path, "/proc/%s/stat", whose);
    else
        snprintf(path, sizeof path, "/proc/%s/task/%d/stat", whose, thread);
    return process >= 0 && thread >= 0 && read_beginning(path, text, sizeof text) && process_stat_parse(text, stat);
}

/* The file has "running", or the number of the system call and its arguments: of a futex the address, what to do, a value, and a time or null. */
bool process_thread_waits(pid_t thread)
{
    char path[64], text[256];
    long number;
    uint64_t arguments[4];
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
    return read_beginning(path, text, sizeof text) &&
           sscanf(text, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &number, &arguments[0], &arguments[1],
                  &arguments[2], &arguments[3]) == 5 &&
           number == SYS_futex && arguments[3] == 0;
}
