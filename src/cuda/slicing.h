/* SPDX-License-Identifier: MIT */
/*
 * Launches in slices, on request: every module is rewritten as it is loaded (rewrite/slice.h), and a launch becomes slices of its grid
 * that run one after the other. A program finds the same results; what that costs it shows in its table.
 */
#ifndef CORUN_CUDA_SLICING_H
#define CORUN_CUDA_SLICING_H

#include "corun/gpu.h"
#include "rewrite/slice.h"

struct corun_launch_description;
struct launch_request;
struct module;
struct process;

/* How grids are cut. All zero: they are not. */
struct slicing {
    uint32_t blocks; /* of a slice; 0: a part of the grid */
    uint32_t part;   /* slices of a grid, nearly: the last one may be smaller */
    uint64_t seed;   /* of the order of the slices; 0: that of the grid */
};

/* BLOCKS or 1/PARTS, and then perhaps :SEED. False if it is neither. */
bool slicing_parse(const char *text, struct slicing *slicing);

static inline bool slicing_is_on(const struct slicing *slicing)
{
    return slicing->blocks || slicing->part;
}

/* Slices of a launch that is under way: the one at `place`, from 0, is the (offset + place * stride) % count-th of the grid. */
struct slice_walk {
    uint64_t total, blocks; /* thread blocks of the grid and of a slice */
    uint64_t count, place, offset, stride, id;
    uint64_t first_cycle;          /* of the first slice */
    struct corun_counters counted; /* in the slices that have ended */
};

/* NULL: that kernel was refused. */
const struct rewritten_kernel *slicing_kernel(const struct rewritten *slices, const char *name);

/* The first slice of a launch, or all of it in one where its thread blocks may wait for each other. NULL when out of memory; free(). */
struct slice_walk *slicing_begin(const struct slicing *slicing, const struct launch_request *request, uint64_t id);
/* The slice at hand in place of the whole grid: its shape, and its arguments behind those of the request. */
void slicing_describe(const struct slice_walk *walk, const struct launch_request *request,
                      struct corun_launch_description *description);
/* Goes to the next slice; false behind the last one. */
bool slicing_next(struct slice_walk *walk);

#endif
