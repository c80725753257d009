/* SPDX-License-Identifier: MIT */
/* The machine: processors, the last-level cache, the clock. */
#ifndef CORUN_AGENT_TOPOLOGY_H
#define CORUN_AGENT_TOPOLOGY_H

#include "agent/placing.h"

#include <sched.h>

struct topology {
    uint32_t core_count;
    uint16_t cores[PLACING_CORES]; /* numbers of the processors, ascending */
    cpu_set_t set;                 /* the same */
    uint32_t ways;                 /* of the last-level cache of the first of them; 1 if not known */
    uint64_t cache_bytes;          /* 0 if not known */
    uint32_t clock_khz;            /* 1000000 if not known */
    char model[96];                /* of the processor; "" */
};

/* `cores`: those that may be given out; NULL: all that the caller may run on. `system`: "/sys/devices/system/cpu" for all but tests. */
void topology_read(struct topology *topology, const cpu_set_t *cores, const char *system);

#endif
