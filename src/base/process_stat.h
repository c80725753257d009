/* SPDX-License-Identifier: MIT */
/* What /proc/PID/stat says of a process or a thread. */
#ifndef CORUN_BASE_PROCESS_STAT_H
#define CORUN_BASE_PROCESS_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_stat {
    char state; /* as proc(5) has them: R runs, T is stopped, Z has ended, … */
    pid_t parent;
    uint64_t born; /* ticks since the host started: numbers of processes begin anew, these do not */
};

/* Of this process. */
#define PROCESS_SELF 0
/* Of the process as a whole. */
#define PROCESS_WHOLE 0

/*
 * Of a thread of a process, or of PROCESS_WHOLE. False: there is none, or it is hidden from us, and nothing is written. Allocates nothing and takes
 * no lock, so a child between fork and exec may ask.
 */
bool process_stat_read(pid_t process, pid_t thread, struct process_stat *stat);
/*
 * Does a thread of this process wait for another one, with no time after which it goes on by itself: in a futex? False where that is hidden from us. Allocates
 * nothing.
 */
bool process_thread_waits(pid_t thread);
/* process_stat_read of the text of such a file. False: that is none. */
bool process_stat_parse(const char *text, struct process_stat *stat);

#endif
