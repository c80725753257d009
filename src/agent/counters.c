/* SPDX-License-Identifier: MIT */
/* perf_event_open, thread by thread: an event that is inherited counts what a thread starts, not its siblings. */
#include "agent/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(enum counters_event event, pid_t thread, bool inherit)
{
    struct perf_event_attr attributes = {.type =
                                             event == COUNTERS_INSTRUCTIONS ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
                                         .size = sizeof attributes,
                                         .config = event == COUNTERS_INSTRUCTIONS ? (uint64_t)PERF_COUNT_HW_INSTRUCTIONS
                                                                                  : (uint64_t)PERF_COUNT_SW_TASK_CLOCK,
                                         .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
                                         .inherit = inherit,
                                         .exclude_kernel = event == COUNTERS_INSTRUCTIONS,
                                         .exclude_hv = event == COUNTERS_INSTRUCTIONS};
    return (int)syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int counters_try(enum counters_event event, const char **why)
{
    int fd = open_event(event, 0, true);
    int error = fd < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    *why = !error                              ? "counted"
           : error == EACCES || error == EPERM ? "not allowed: see /proc/sys/kernel/perf_event_paranoid"
           : error == ENOENT || error == ENODEV || error == EOPNOTSUPP
               ? "this processor, or virtual machine, has no counters"
               : "the kernel has no perf events";
    return error;
}

static int add(struct counters *counters, enum counters_event event, pid_t thread, bool inherit)
{
    int fd = open_event(event, thread, inherit);
    if (fd < 0)
        return errno;
    if (vector_push(&counters->files, fd))
        return 0;
    close(fd);
    return ENOMEM;
}

int counters_add_thread(struct counters *counters, enum counters_event event, pid_t thread)
{
    return add(counters, event, thread, false);
}

int counters_add_process(struct counters *counters, enum counters_event event, pid_t pid)
{
    process_list threads = {0};
    int error = process_threads(pid, &threads) ? threads.count ? 0 : ESRCH : ENOMEM;
    for (size_t i = 0; i < threads.count && !error; i++) {
        error = add(counters, event, threads.data[i], true);
        error = error == ESRCH ? 0 : error; /* this thread has ended meanwhile */
    }
    vector_free(&threads);
    return error;
}

double counters_read(const struct counters *counters)
{
    double sum = counters->files.count ? 0 : NAN;
    for (size_t i = 0; i < counters->files.count; i++) {
        uint64_t values[3]; /* count, enabled, running */
        if (read(counters->files.data[i], values, sizeof values) != sizeof values)
            return NAN;
        if (values[2])
            sum += (double)values[0] * ((double)values[1] / (double)values[2]);
    }
    return sum;
}

void counters_end(struct counters *counters)
{
    for (size_t i = 0; i < counters->files.count; i++)
        close(counters->files.data[i]);
    vector_free(&counters->files);
}
