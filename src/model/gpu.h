/* SPDX-License-Identifier: MIT */
/*
 * A GPU as the analytical model sees it: one SM, cut into as many virtual SMs as it has warp schedulers (Zhong and He, Kernelet, TPDS
 * 2014, section 4.3, "Adaptation to GPUs with multiple warp schedulers"), and the latency of memory over the requests that are under way.
 */
#ifndef CORUN_MODEL_GPU_H
#define CORUN_MODEL_GPU_H

#include "corun/config.h"

/* What a memory access can be: each class has a latency line of its own, and in the chain a state of its own. */
enum model_access {
    MODEL_COALESCED,   /* one request for the warp: its lanes share a line */
    MODEL_UNCOALESCED, /* up to a request for each lane */
    MODEL_ACCESSES
};

/* Latency = slope · x + intercept: a0 and b0 of section 4.3. x: requests under way of one SM, while every SM has as many. Core cycles. */
struct model_line {
    double slope, intercept;
};

/* What the resident thread blocks of an SM share. */
struct model_capacity {
    uint32_t threads, tbs, registers, shared_bytes, barriers;
};

struct model_gpu {
    uint32_t sms;
    uint32_t schedulers; /* of an SM: the number of its virtual SMs, at least 1 */
    /*
     * Warp instructions that a scheduler issues in a core cycle: 0.5 on the C2050, else 1. The equations know one instruction for each ready
     * warp and round; a second one (issue_width) is in the peak, and nowhere else.
     */
    double issue_rate;
    uint32_t issue_width;
    uint32_t clock_khz; /* of the core */
    struct model_capacity capacity;
    struct model_line latency[MODEL_ACCESSES];
};

/*
 * Everything but the latency lines, from a configuration: issue_rate is 1 over warp_issue_cycles. The lines are measured
 * (src/case/latency_lines.h); until they are set they are zero, and predictions refuse.
 */
void model_gpu_describe(const struct corun_gpu_config *config, struct model_gpu *gpu);
/* Warp instructions per core cycle that an SM can issue at most: 1 on the C2050, 8 on the GTX 680 (section 5.1). */
double model_gpu_peak(const struct model_gpu *gpu);

/* A measured point of a latency line. */
struct model_latency_point {
    double requests; /* x */
    double cycles;
};
/*
 * Least squares of the relative differences (the paper does not say how it fits; in absolute ones the few points of a memory that is
 * overwhelmed would decide alone), slope at least 0 and intercept at least 1. `residual` (may be NULL): root mean square of the relative
 * differences. ARGUMENT: fewer than two different x, or a number that is not finite and above 0.
 */
enum corun_status model_line_fit(const struct model_latency_point *points, size_t count, struct model_line *line,
                                 double *residual);

#endif
