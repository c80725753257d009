/* SPDX-License-Identifier: MIT */
/*
 * The latency of memory over the requests that are under way, measured on the simulated GPU by micro-benchmarks (after Baghsorkhi et al.,
 * PPoPP 2012, as Zhong and He, Kernelet, TPDS 2014, section 4.3 do) and fitted by a line for each kind of access.
 */
#ifndef CORUN_CASE_LATENCY_LINES_H
#define CORUN_CASE_LATENCY_LINES_H

#include "model/gpu.h"

#define LATENCY_LINES_MAX_POINTS 12u

struct latency_line {
    struct model_line line;
    double residual; /* root mean square of the relative differences */
    uint32_t count;
    struct model_latency_point points[LATENCY_LINES_MAX_POINTS];
};

/*
 * Every SM runs 1, 2, 4, … warps that chase pointers through memory beyond all caches: each has one load under way, of one line for all
 * lanes or of a line for each lane. A point is the mean time of a step. Kept in the cache of results by content, so that a GPU is measured
 * once. `cache_directory`: NULL for no cache. Statuses of a run.
 */
enum corun_status latency_lines_measure(const struct corun_gpu_config *config, const char *cache_directory,
                                        struct corun_diagnostics *list, struct latency_line lines[MODEL_ACCESSES]);
/* model_gpu_describe, with the measured lines. */
enum corun_status latency_lines_describe_gpu(const struct corun_gpu_config *config, const char *cache_directory,
                                             struct corun_diagnostics *list, struct model_gpu *gpu);

#endif
