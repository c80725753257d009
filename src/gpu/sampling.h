/* SPDX-License-Identifier: MIT */
/*
 * Sampled simulation in the machine (corun/sampling.h).
 *
 *     TIMED     in full. A launch with few thread blocks, or of a kind of which not enough is known
 *     WATCHED   so far in full; after each wave of thread blocks its rate is compared with that of the waves before
 *     DRAINING  the rate is steady: no further thread block starts
 *     SKIPPED   nothing of it is timed, for its like are known well enough; it runs when its time has come
 *     ESTIMATED its thread blocks have ended, the last ones without timing; in flight until the estimated cycle
 *
 * All that is decided here, is decided in integers and between two
 * steps: neither host threads nor compilers can change it.
 */
#ifndef CORUN_GPU_SAMPLING_H
#define CORUN_GPU_SAMPLING_H

#include "base/ratio.h"
#include "corun/sampling.h"
#include "gpu/launch.h"

struct corun_archive;
struct corun_gpu;
struct sampling;

/* NULL when out of memory. */
struct sampling *sampling_create(const struct corun_sampling *settings);
void sampling_destroy(struct sampling *sampling);

/* The launch is in flight. */
void sampling_begin(struct corun_gpu *gpu, struct launch *launch);
/* When something happens to a launch by itself; NEVER: nothing does. */
uint64_t sampling_moment(const struct launch *launch);
/* After a step: looks at its rate, and takes up dispatching again where its thread blocks wait for others. */
void sampling_look(struct corun_gpu *gpu, struct launch *launch);
/*
 * All that has been dispatched of it has ended, and its writes have been performed: the rest runs. True: the launch has ended. False: it goes on,
 * or its application was stopped.
 */
bool sampling_ends(struct corun_gpu *gpu, uint32_t application, struct launch *launch);

/* What is known of groups, before the launches; and what a launch is taken for, if anything. */
void sampling_archive(struct corun_archive *archive, struct corun_gpu *gpu);
void sampling_archive_launch(struct corun_archive *archive, const struct corun_gpu *gpu, struct launch *launch);

/* Rows, as many as there is room for; how many there are. */
size_t sampling_groups(const struct sampling *sampling, struct corun_sampled_group *rows, size_t room);

#endif
