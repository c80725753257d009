/* SPDX-License-Identifier: MIT */
/*
 * A kernel's profile where no counters of a simulated GPU are at hand (Kernelet, section 4.1): instructions and accesses from some thread
 * blocks that are run without timing, the time alone from the machine that serves.
 */
#ifndef CORUN_SERVE_SAMPLED_H
#define CORUN_SERVE_SAMPLED_H

#include "corun/queue.h"
#include "model/profile.h"
#include "serve/kernel.h"

/* From 16 thread blocks of the grid. What model_profile_sample returns. */
enum corun_status sampled_model(const struct corun_gpu_config *config, const struct corun_grid *grid,
                                struct corun_diagnostics *list, struct model_kernel *model);
/*
 * What follows from the time of one launch alone: alone_ticks (core cycles), ipc, and the utilisations of the profile, whose other numbers
 * are there. memory_utilization counts the loads that no cache of an SM answers: what the L2 answers of them counts too, stores do
 * not; it is 1 at most.
 */
void sampled_time(const struct corun_gpu_config *config, uint64_t nanoseconds, struct corun_queue_profile *profile);

#endif
