/* SPDX-License-Identifier: MIT */
/* How likely warps of a chain become ready: latencies as probabilities, and what waits in the mean. */
#ifndef CORUN_MODEL_CHANCES_H
#define CORUN_MODEL_CHANCES_H

#include "model/chain.h"

/* Slots, never less than without requests. */
static inline double chances_latency(const struct chain *chain, enum model_access kind, double requests)
{
    double latency = chain->latency[kind].slope * requests + chain->latency[kind].intercept;
    return latency > chain->latency[kind].intercept ? latency : chain->latency[kind].intercept;
}

/* That a warp becomes ready in a round of so many slots. */
static inline double chances_of(double duration, double latency)
{
    return latency > duration ? duration / latency : 1;
}

/* Whether a kernel has accesses of both kinds. */
static inline bool chances_mixed(const struct chain_kernel *kernel)
{
    return kernel->uncoalesced > 0 && kernel->uncoalesced < 1;
}

/*
 * Where only the number of waiting warps is known (MODEL_LUMPED): the chance of a waiting warp of each kernel, in the states in which `idle`
 * warps of the first kernel wait and 0, 1, … of the second.
 */
void chances_lumped(const struct chain *chain, uint32_t idle, double chances[CHAIN_KERNELS][CHAIN_MAX_WARPS + 1]);

/* The share of the warps of each kernel that waits, and of these those for uncoalesced accesses, if all rounds were as the mean one. */
void chances_in_the_mean(const struct chain *chain, double waits[CHAIN_KERNELS], double uncoalesced[CHAIN_KERNELS]);

#endif
