/* SPDX-License-Identifier: MIT */
/* Processes and threads as /proc tells of them. */
#ifndef CORUN_AGENT_PROCESS_H
#define CORUN_AGENT_PROCESS_H

#include "base/vector.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process or a thread: the number alone may be another one's later, the number with the time of its start may not. */
struct process_id {
    pid_t pid;
    uint64_t born; /* clock ticks since boot */
};

/* False: there is no such process, or thread of any. A process that has ended and that nobody has waited for is none. */
bool process_find(pid_t pid, struct process_id *id);
bool process_lives(struct process_id id);
/* Whether `thread` is one of that process. */
bool process_has_thread(pid_t pid, pid_t thread);

typedef VECTOR(pid_t) process_list;
/* Appends the threads of a process, in no order; those of a process that is gone are none. False when out of memory. */
bool process_threads(pid_t pid, process_list *threads);
/* Appends the process and all that it has started and that are still there, and theirs. False when out of memory. */
bool process_tree(pid_t pid, process_list *processes);
/* Whether `pid` is in the tree of `root`. */
bool process_descends(pid_t pid, pid_t root);

/* Processor time in ns since the start, all threads; NAN if it is gone. */
double process_cpu_ns(pid_t pid);
/* Of one thread. */
double process_thread_cpu_ns(pid_t pid, pid_t thread);

#endif
