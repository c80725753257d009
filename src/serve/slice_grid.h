/* SPDX-License-Identifier: MIT */
/*
 * A slice of a grid as a grid of its own: its thread block i is thread block first + i of the whole, with the %ctaid and the %nctaid that
 * it has there. This is what the rewritten kernel of src/rewrite does in software, at no cost in instructions or registers.
 */
#ifndef CORUN_SERVE_SLICE_GRID_H
#define CORUN_SERVE_SLICE_GRID_H

#include "corun/source.h"

struct slice_grid {
    struct corun_grid grid; /* first: a slice is its grid */
    struct corun_source_operations operations;
    const struct corun_grid *whole;
    uint32_t first;
};

/* Thread blocks [first, first + tbs) of `whole`, which must outlive the slice. The slice must not move afterwards. */
void slice_grid_make(struct slice_grid *slice, const struct corun_grid *whole, uint32_t first, uint32_t tbs);

#endif
