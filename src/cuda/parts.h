/* SPDX-License-Identifier: MIT */
/*
 * Launches that run as several launches, on request: in slices (slicing.h) or by workers (crew.h). Every module is rewritten for that as
 * it is loaded. A program finds the same results; what that costs it shows in its table.
 */
#ifndef CORUN_CUDA_PARTS_H
#define CORUN_CUDA_PARTS_H

#include "corun/gpu.h"
#include "cuda/crew.h"
#include "cuda/slicing.h"

struct process;

/* At most one of the two is on. */
struct parting {
    struct slicing slicing;
    struct crewing crewing;
};

/* What modules go through; NULL: launches run as they are. */
rewrite_pass *parting_pass(const struct parting *parting);

/* A launch that is under way. */
struct launch_walk {
    bool by_workers;
    uint64_t place;                /* of the launch at hand, from 0 */
    uint64_t first_cycle;          /* of the first one */
    struct corun_counters counted; /* in those that have ended */
    union {
        struct slice_walk slices;
        struct crew_walk crew;
    };
};

/* The first one of a launch that is the `id`-th of the process. NULL when out of memory. */
struct launch_walk *launch_walk_begin(const struct parting *parting, const struct launch_request *request,
                                      struct context *context, uint64_t id);
/* The one at hand in place of the whole grid: its shape, and its arguments behind those of the request. */
void launch_walk_describe(struct launch_walk *walk, const struct launch_request *request,
                          struct corun_launch_description *description);
/* Goes on to the next one; false if there is none. */
bool launch_walk_next(struct launch_walk *walk);
void launch_walk_end(struct launch_walk *walk);

#endif
