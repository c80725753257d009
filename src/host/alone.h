/* SPDX-License-Identifier: MIT */
/* What a simulated host does for one application without any other: the baselines, and what models learn from. */
#ifndef CORUN_HOST_ALONE_H
#define CORUN_HOST_ALONE_H

#include "host/arrivals.h"

/* One query, cold, on cores and ways of its own with nobody else there. POLICY if the host has not so much; MEMORY. */
enum corun_status host_query_alone(const struct host_machine *machine, const struct host_application *service,
                                   double size, double effort, struct corun_host_share share,
                                   struct corun_diagnostics *list, struct corun_host_prediction *measured);

/* One instance of a batch program with everything to itself: instructions per ns, over two seconds. MEMORY. */
enum corun_status host_batch_alone(const struct host_machine *machine, const struct host_application *batch,
                                   struct corun_diagnostics *list, double *rate);

/* The mean duration in ns of so many queries of a service, with everything to themselves, one after the other. MEMORY. */
enum corun_status host_mean_alone(const struct host_machine *machine, const struct host_application *service,
                                  uint64_t seed, uint32_t queries, struct corun_diagnostics *list, double *mean_ns);

/*
 * Samples for models: `sizes` sizes in equal steps from the smallest query to the largest, on every number of cores, with eight numbers of ways from 1 to all; their
 * efforts are drawn like those of arriving queries. Owned by the arena.
 */
enum corun_status host_samples(const struct host_machine *machine, const struct host_application *service,
                               uint64_t seed, uint32_t sizes, struct arena *arena, struct corun_diagnostics *list,
                               struct corun_host_sample **samples, size_t *count);

#endif
