/* SPDX-License-Identifier: MIT */
/* Events of the processor, counted by the kernel for given processes (perf_event_open). */
#ifndef CORUN_AGENT_COUNTERS_H
#define CORUN_AGENT_COUNTERS_H

#include "agent/process.h"

enum counters_event {
    COUNTERS_INSTRUCTIONS, /* that a processor has retired in user mode */
    COUNTERS_CLOCK         /* processor time in ns, counted by the kernel in software: it is everywhere */
};

struct counters {
    VECTOR(int) files;
};

/* 0 if this host counts that; else what the kernel says, and *why in words (constant text). */
int counters_try(enum counters_event event, const char **why);

/*
 * Counts a process from now on: all its threads, and all threads and processes that they start. Or one thread alone. 0, or what went wrong;
 * ESRCH: it is gone.
 */
int counters_add_process(struct counters *counters, enum counters_event event, pid_t pid);
int counters_add_thread(struct counters *counters, enum counters_event event, pid_t thread);
/* So many since they were added; NAN if nothing was, or one cannot be read. Where the kernel took turns, as many as that comes to. */
double counters_read(const struct counters *counters);
void counters_end(struct counters *counters);

#endif
