/* SPDX-License-Identifier: MIT */
/*
 * Launches in slices, on request: a launch becomes slices of its grid (rewrite/slice.h) that run one after the other.
 */
#ifndef CORUN_CUDA_SLICING_H
#define CORUN_CUDA_SLICING_H

#include "rewrite/slice.h"

struct corun_launch_description;
struct launch_request;

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
    uint64_t count, offset, stride, id;
};

/* All of a launch in one slice where its thread blocks may wait for each other. */
void slicing_begin(struct slice_walk *walk, const struct slicing *slicing, const struct launch_request *request,
                   uint64_t id);
/* A slice in place of the whole grid: its shape, and its arguments behind those of the request. */
void slicing_describe(const struct slice_walk *walk, uint64_t place, const struct launch_request *request,
                      struct corun_launch_description *description);

#endif
