/* SPDX-License-Identifier: MIT */
/* How long a launch takes, from ends that are seen by who waits for them. Callers hold a lock of their own. */
#ifndef CORUN_SHIM_PACE_H
#define CORUN_SHIM_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct kernel;

struct pace {
    uint64_t each_ns; /* 0: not known */
    uint64_t seen_ns, under_way;
    bool exactly;          /* seen_ns is when a launch began, as far as others had ended */
    struct kernel *kernel; /* of the one launch under way, and its thread blocks */
    uint64_t blocks;
};

/* So many are under way at that time. `closely`: whoever looks does so all the time. A longer time of a launch counts at once, shorter ones bit by bit. */
void pace_see(struct pace *pace, uint64_t under_way, bool closely, uint64_t time_ns);
/* One more is. Where nothing else was, what it takes will be its kernel's. */
void pace_begun(struct pace *pace, struct kernel *kernel, uint64_t blocks);

#endif
