/* SPDX-License-Identifier: MIT */
/*
 * Where in a body a worker asks for the next thread block: late enough that it does not take what another worker would have come to sooner,
 * and early enough that the answer is there at the end. The way to the end is counted in instructions, a load from memory as many.
 */
#ifndef CORUN_REWRITE_WORKER_POINTS_H
#define CORUN_REWRITE_WORKER_POINTS_H

#include "ptx/module.h"

struct worker_points {
    const uint32_t *instructions; /* in front of which to ask, ascending; none lies in a loop */
    uint32_t count;
};

/* Of a kernel. A thread comes to at least one of them, unless its way to the end is short everywhere. OK or MEMORY. */
enum corun_status worker_points_create(const struct ptx_function *function, struct arena *arena,
                                       struct worker_points *points);

#endif
