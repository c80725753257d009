/* SPDX-License-Identifier: MIT */
/* Who is placed with whom: the assignment problem. */
#ifndef CORUN_HOST_ASSIGNMENT_H
#define CORUN_HOST_ASSIGNMENT_H

#include "corun/status.h"

/*
 * The rows are assigned to different columns so that the sum of their values is the largest: `values` is [count][count], finite; column[r] is that of
 * row r. By shortest augmenting paths with the potentials of the Hungarian algorithm (Kuhn, The Hungarian method for the assignment problem,
 * 1955; Jonker and Volgenant, A shortest augmenting path algorithm for dense and sparse linear assignment problems, 1987): count^3 steps at
 * most. Of equal assignments always the same one comes out. MEMORY.
 */
enum corun_status host_assign(const double *values, size_t count, size_t *column);

#endif
