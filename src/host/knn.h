/* SPDX-License-Identifier: MIT */
/* The mean of the five nearest samples as a prediction (EMU, section 5.4.1.2: K nearest neighbours, K = 5). */
#ifndef CORUN_HOST_KNN_H
#define CORUN_HOST_KNN_H

#include "base/arena.h"
#include "corun/host.h"

/*
 * Distances are Euclidean over size, cores and ways, each divided by its range among the samples; of equal ones the earlier sample is nearer. With
 * fewer than five samples all count. The model and what it needs are the arena's. ARGUMENT: there are no samples; MEMORY.
 */
enum corun_status host_knn_create(const struct corun_host_sample *samples, size_t count, struct arena *arena,
                                  struct corun_diagnostics *list, struct corun_host_model *model);

#endif
