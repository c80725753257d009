/* SPDX-License-Identifier: MIT */
/*
 * The Markov chain of Kernelet (Zhong and He, TPDS 2014, section 4.3): how fast a kernel runs alone, and two side by side, from the
 * probabilities that a warp begins and stops to wait for memory. Pure functions; nothing is kept.
 */
#ifndef CORUN_MODEL_PREDICTION_H
#define CORUN_MODEL_PREDICTION_H

#include "model/kernel.h"

struct model_prediction {
    double ipc[2];       /* of each kernel: warp instructions per core cycle and SM (equations 3 to 5) */
    double total;        /* their sum (equation 6) */
    double stalled;      /* share of the cycles in which no warp was ready */
    double idle_warps;   /* mean over the rounds, of an SM, both kernels */
    uint32_t iterations; /* of the solver, of the largest chain that was solved */
};

/* How the three states of a warp (ready; waiting for a coalesced, for an uncoalesced access) are treated where both kinds occur. */
enum model_states {
    MODEL_LUMPED, /* two states, with the mean latency of the waiting warps: what decisions use (docs/model.md has its error) */
    MODEL_EXACT /* the chain over both numbers of idle warps as the paper has it; seconds for two large kernels */
};

/*
 * A kernel alone with `tbs` resident thread blocks on each SM, above 0; ipc[1] is 0. What the number of warps leaves over when divided by
 * the schedulers is spread as the machine does: some schedulers have one warp more.
 * ARGUMENT: a number is out of its range, or the GPU has no latency lines. MEMORY.
 */
enum corun_status model_predict(const struct model_gpu *gpu, const struct model_kernel *kernel, uint32_t tbs,
                                enum model_states states, struct model_prediction *prediction);
/* Two kernels with so many resident thread blocks each; 0 of one of them is the other alone. */
enum corun_status model_predict_pair(const struct model_gpu *gpu, const struct model_kernel *const kernels[2],
                                     const uint32_t tbs[2], enum model_states states,
                                     struct model_prediction *prediction);

#endif
