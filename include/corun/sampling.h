/* SPDX-License-Identifier: MIT */
/*
 * Sampled simulation: some launches, and of long launches some thread blocks, are timed; all others run without timing and are given an
 * estimate. Everything is executed, so memory and results are those of a run in full; cycles and counters are estimates with an interval.
 */
#ifndef CORUN_SAMPLING_H
#define CORUN_SAMPLING_H

#include "corun/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CORUN_SAMPLING_ERROR 20000u /* 2 % */
#define CORUN_SAMPLING_EVERY 128u

struct corun_sampling {
    uint32_t error; /* half width of the 95 % interval of a rate that is good enough, in millionths of the rate */
    uint32_t every; /* of launches whose like are well known, one in so many is timed */
};

/*
 * `error=2%,every=128`, each of them optional; NULL and "" are the initial values. USAGE: the list has the message, which begins with `option`.
 */
enum corun_status corun_sampling_parse(const char *text, const char *option, struct corun_diagnostics *list,
                                       struct corun_sampling *sampling);

/* Launches of one kernel with one shape. Cycles of launches are from their start to their end, summed up. */
struct corun_sampled_group {
    const char *name; /* of the kernel; valid as long as the GPU is */
    uint32_t tb_count, tb_threads;
    uint32_t launches;                 /* that have ended */
    uint32_t timed;                    /* of these, in full */
    uint32_t parted;                   /* of these, some of their thread blocks */
    uint64_t cycles, estimated_cycles; /* of all; of what was not timed */
    uint64_t margin_cycles; /* half width of the 95 % interval of `cycles`; UINT64_MAX: one sample, nothing is known */
    uint64_t warp_instructions, timed_warp_instructions;
};

#ifdef __cplusplus
}
#endif
#endif
