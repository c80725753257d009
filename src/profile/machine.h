/* SPDX-License-Identifier: MIT */
/* What the processor that measures is, as far as measurements need it. Takes about a second. */
#ifndef CORUN_PROFILE_MACHINE_H
#define CORUN_PROFILE_MACHINE_H

#include "corun/status.h"

struct profile_machine {
    char name[128];   /* as /proc/cpuinfo has it */
    double clock_ghz; /* from a chain of rotations, one cycle each, while it runs */
    double
        memory_ns; /* from load to load in a random chain through memory, less that of one through the last-level cache */
    double stream_ns;     /* for each line of a long stretch of memory that is read from one end to the other */
    uint64_t cache_bytes; /* of the last-level cache, as the system says; 0: it does not */
};

/* MEMORY. */
enum corun_status profile_machine_measure(struct profile_machine *machine);

#endif
