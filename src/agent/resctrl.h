/* SPDX-License-Identifier: MIT */
/*
 * Ways of the last-level cache for groups of processors, and what groups of threads move to and from memory: the kernel's resctrl
 * (Documentation/filesystems/resctrl.rst). Processors are put in a group, not threads: a thread that was given no group of its own has that of the
 * processor it runs on. Everything that is made is written to the journal first.
 */
#ifndef CORUN_AGENT_RESCTRL_H
#define CORUN_AGENT_RESCTRL_H

#include "agent/control_file.h"
#include "agent/journal.h"

#define RESCTRL_ROOT "/sys/fs/resctrl"
#define RESCTRL_DOMAINS 64u

struct resctrl {
    bool ways;      /* it divides the cache; else no_ways says why not */
    bool bandwidth; /* it measures what goes to and from memory; else no_bandwidth says why not */
    char no_ways[160], no_bandwidth[160];
    char root[CONTROL_PATH];
    char resource[8];                  /* "L3", or "L3CODE" and "L3DATA" as two */
    bool two_masks;                    /* code and data have masks of their own: both get the same */
    uint32_t way_count, least_ways;    /* of a mask */
    uint32_t groups;                   /* that can be made, with the one that is there */
    uint32_t domains[RESCTRL_DOMAINS]; /* the caches whose masks are set */
    uint32_t domain_count;
    struct journal *journal;
};

/* Looks at what is there, and changes nothing. `root`: RESCTRL_ROOT for all but tests. */
void resctrl_open(struct resctrl *resctrl, const char *root, struct journal *journal);

/* Groups of ways, `number` from 0 on. All return 0, or what went wrong. */
int resctrl_create(struct resctrl *resctrl, uint32_t number);
/* Its ways on all caches, at least least_ways of them: a mask that is too small is filled up from its lower end. */
int resctrl_set_ways(const struct resctrl *resctrl, uint32_t number, uint64_t mask);
/* Processors go to that group, out of the one that they were in. */
int resctrl_set_cores(const struct resctrl *resctrl, uint32_t number, const cpu_set_t *cores);

/* Groups of threads that are measured, `number` from 0 on. */
int resctrl_watch(struct resctrl *resctrl, uint32_t number);
int resctrl_watch_thread(const struct resctrl *resctrl, uint32_t number, pid_t thread);
/* Bytes so far; NAN. */
double resctrl_traffic(const struct resctrl *resctrl, uint32_t number);

#endif
