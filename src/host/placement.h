/* SPDX-License-Identifier: MIT */
/* Batch programs are placed on nodes: at random, or where they do most. */
#ifndef CORUN_HOST_PLACEMENT_H
#define CORUN_HOST_PLACEMENT_H

#include "corun/status.h"

/*
 * Kinds 0, 1, …, kinds - 1, 0, … go to as many nodes, each to one, in an order that a seed decides: kind[n] is that of node n, and every kind comes as often
 * as any other, give or take one.
 */
void host_place_at_random(size_t nodes, size_t kinds, uint64_t seed, size_t *kind);
/*
 * The same programs where they do most together: `values` is [services][kinds], what a kind is worth beside a service; node n has service
 * n modulo services. MEMORY.
 */
enum corun_status host_place_best(size_t nodes, size_t services, size_t kinds, const double *values, size_t *kind);

#endif
