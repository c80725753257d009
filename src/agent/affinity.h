/* SPDX-License-Identifier: MIT */
/* On which processors threads may run: sched_setaffinity. */
#ifndef CORUN_AGENT_AFFINITY_H
#define CORUN_AGENT_AFFINITY_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* "0-3,8,10-11", as the kernel writes lists. False: it is none, names a processor above 1023, or is empty. */
bool affinity_parse(const char *text, cpu_set_t *cores);
/* In `text`, which is returned; cut where it is too long. */
const char *affinity_format(const cpu_set_t *cores, char *text, size_t bytes);

/*
 * All threads of a process, also those that it makes meanwhile. 0 or the error of the first thread that could not be moved; threads that end
 * meanwhile are none. ENOMEM.
 */
int affinity_set_process(pid_t pid, const cpu_set_t *cores);
int affinity_set_thread(pid_t thread, const cpu_set_t *cores);
int affinity_get_thread(pid_t thread, cpu_set_t *cores);

#endif
