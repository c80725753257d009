/* SPDX-License-Identifier: MIT */
/*
 * Chains that were solved for a pair of kernels, by the warps of each on the virtual SM: where thread blocks have fewer warps than an SM has
 * schedulers, neighbouring co-schedules meet the same ones again.
 */
#ifndef CORUN_MODEL_PREDICTION_MEMO_H
#define CORUN_MODEL_PREDICTION_MEMO_H

#include "model/chain.h"

#define PREDICTION_MEMO_ENTRIES 128u

/* Of one GPU, one pair and one way to treat states; `count` is 0 at first. */
struct prediction_memo {
    uint32_t count;
    struct {
        uint32_t warps[CHAIN_KERNELS];
        struct chain_steady steady;
    } entries[PREDICTION_MEMO_ENTRIES];
};

/* model_predict_pair with a memo. */
enum corun_status prediction_of_pair(const struct model_gpu *gpu, const struct model_kernel *const kernels[2],
                                     const uint32_t tbs[2], enum model_states states, struct prediction_memo *memo,
                                     struct model_prediction *prediction);

#endif
