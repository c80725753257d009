/* SPDX-License-Identifier: MIT */
/*
 * Slices: every kernel of a module becomes one that can run a part of its grid, any number of consecutive thread blocks, as a launch of
 * its own (index rectification: Zhong and He, "Kernelet", TPDS 2014, section 4.1). Whoever launches
 *
 *     grid (gx, gy, gz)          as          slices of n0, n1, … thread blocks, one after the other, side by side, in any order
 *
 * gives each slice a one-dimensional grid of its n thread blocks, the shape of thread block, shared memory and arguments of the whole
 * grid, and behind those arguments a struct slice_arguments. Thread block i of the slice then is thread block first + i of the grid,
 * x fastest: `%ctaid` says where that one lies, `%nctaid` is (gx, gy, gz), and so in all functions that the kernel calls.
 *
 *     struct slice_arguments arguments;
 *     for (uint64_t first = 0; first < slice_total(grid); first += n)
 *         slice_arguments_set(&arguments, grid, first, id), launch(min(n, slice_total(grid) - first), …, &arguments);
 *
 * A slice that is the whole grid is a launch like any other, as long as the grid has at most SLICE_MOST_BLOCKS thread blocks.
 *
 * The launcher keeps whole what it was asked to launch cooperatively or in clusters of several thread blocks: no kernel shows that.
 */
#ifndef CORUN_REWRITE_SLICE_H
#define CORUN_REWRITE_SLICE_H

#include "rewrite/rewritten.h"

/* The last parameter of a kernel that was sliced: `.param .align 16 .b8 corun_slice[40]`, with a suffix if that name is taken. */
#define SLICE_PARAMETER "corun_slice"
#define SLICE_PARAMETER_ALIGN 16u
#define SLICE_MOST_BLOCKS INT32_MAX /* of one slice: CUDA's limit for x */
#define SLICE_MOST_ROWS 65535u      /* CUDA's limit for y and for z */

/* Filled by slice_arguments_set. */
struct slice_arguments {
    uint32_t first_x, grid_x; /* of the slice's first thread block in the grid; thread blocks of the grid */
    uint32_t first_y, grid_y;
    uint32_t first_z, grid_z;
    uint32_t row_reciprocal, layer_reciprocal; /* 2^32 / grid_x and 2^32 / grid_y, rounded down, at most 2^32 - 1 */
    uint64_t grid_id; /* %gridid: the same number for all slices of a launch, another one for each launch */
};
_Static_assert(sizeof(struct slice_arguments) == 40, "the layout is that of the parameter");

/* A rewrite_pass: rewritten.h. */
enum corun_status slice_module(const struct ptx_module *source, struct corun_diagnostics *list,
                               struct rewritten *rewritten);

/* Thread blocks of a grid: up to 2^63 with the limits of CUDA. */
static inline uint64_t slice_total(const uint32_t grid[3])
{
    return (uint64_t)grid[0] * grid[1] * grid[2];
}

/* May a launch have this grid? One that may not is nobody's to take apart: its parts would be good, and the program is to hear that it is not. */
static inline bool slice_grid_is_good(const uint32_t grid[3])
{
    return slice_total(grid) && grid[0] <= SLICE_MOST_BLOCKS && grid[1] <= SLICE_MOST_ROWS &&
           grid[2] <= SLICE_MOST_ROWS;
}

/*
 * For the slice that starts with thread block `first` of a grid, below slice_total(grid). A slice of n thread blocks needs
 * first + n <= slice_total(grid) and n <= SLICE_MOST_BLOCKS; grid[0] is at most INT32_MAX.
 */
static inline void slice_arguments_set(struct slice_arguments *arguments, const uint32_t grid[3], uint64_t first,
                                       uint64_t grid_id)
{
    const uint64_t row = first / grid[0], one = UINT64_C(1) << 32;
    *arguments = (struct slice_arguments){.first_x = (uint32_t)(first % grid[0]),
                                          .grid_x = grid[0],
                                          .first_y = (uint32_t)(row % grid[1]),
                                          .grid_y = grid[1],
                                          .first_z = (uint32_t)(row / grid[1]),
                                          .grid_z = grid[2],
                                          .row_reciprocal = (uint32_t)(grid[0] == 1 ? one - 1 : one / grid[0]),
                                          .layer_reciprocal = (uint32_t)(grid[1] == 1 ? one - 1 : one / grid[1]),
                                          .grid_id = grid_id};
}

#endif
