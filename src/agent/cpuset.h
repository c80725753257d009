/* SPDX-License-Identifier: MIT */
/*
 * Control groups with processors: one write moves all threads of a group, those that are made at that moment as well, and no thread can leave by
 * itself. Version 1 and version 2 of the kernel's interface. Everything that is made is written to the journal first; restore.h takes it back.
 */
#ifndef CORUN_AGENT_CPUSET_H
#define CORUN_AGENT_CPUSET_H

#include "agent/control_file.h"
#include "agent/journal.h"

struct cpuset {
    int version; /* 1, 2; 0: it cannot be used, and why_not says why */
    char mount[CONTROL_PATH];
    char folder[CONTROL_PATH]; /* of the agent's groups */
    char why_not[256];
    struct journal *journal;
};

/* Where things lie; the kernel's own for all but tests. */
struct cpuset_places {
    const char *mounts;      /* "/proc/self/mounts" */
    const char *self_groups; /* "/proc/self/cgroup" */
    const char *parent;      /* the group in which the agent's are made; NULL: the one that the agent is in */
};

/* Makes the agent's group with these processors. What cannot be is in why_not, never an error. */
void cpuset_open(struct cpuset *cpuset, const struct cpuset_places *places, const cpu_set_t *cores,
                 struct journal *journal);

/* A group of that name in the agent's. All return 0, or what went wrong. */
int cpuset_create(struct cpuset *cpuset, const char *name, const cpu_set_t *cores);
int cpuset_set(const struct cpuset *cpuset, const char *name, const cpu_set_t *cores);
/* The process with all its threads. *home is the group that it was in until now, in the journal as well, and the caller's to free; NULL: it needs not go back. */
int cpuset_add(struct cpuset *cpuset, const char *name, struct process_id process, char **home);
/* The processors that the group has now. */
int cpuset_get(const struct cpuset *cpuset, const char *name, cpu_set_t *cores);

#endif
