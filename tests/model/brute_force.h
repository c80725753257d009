/* SPDX-License-Identifier: MIT */
/*
 * The chain again, in another way: every warp by name. A state says of each warp whether it is ready or waits, and for what; a transition is a
 * product over the warps; the steady state comes from elimination without subtraction (Grassmann, Taksar and Heyman 1985). No binomials, no
 * counts, no iteration: nothing is shared with src/model/chain.c but the definition.
 */
#ifndef CORUN_TESTS_MODEL_BRUTE_FORCE_H
#define CORUN_TESTS_MODEL_BRUTE_FORCE_H

#include "model/chain.h"

#include <stdlib.h>

enum { READY, WAITS_COALESCED, WAITS_UNCOALESCED, WARP_STATES };

static inline const struct chain_kernel *kernel_of(const struct chain *chain, uint32_t warp)
{
    return &chain->kernels[warp >= chain->kernels[0].warps];
}

static inline uint32_t warp_state(uint32_t state, uint32_t warp)
{
    for (; warp; warp--)
        state /= WARP_STATES;
    return state % WARP_STATES;
}

/* The duration of a round from this state, and the latencies in it. */
static inline double round_from(const struct chain *chain, uint32_t warps, uint32_t state,
                                double latency[MODEL_ACCESSES])
{
    double ready = 0, requests = 0;
    for (uint32_t w = 0; w < warps; w++) {
        uint32_t is = warp_state(state, w);
        ready += is == READY;
        requests += is == READY ? 0 : kernel_of(chain, w)->requests[is - 1];
    }
    for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++)
        latency[kind] = chain->latency[kind].slope * requests + chain->latency[kind].intercept;
    return ready > 0 ? ready : 1;
}

static inline double warp_probability(const struct chain_kernel *kernel, uint32_t from, uint32_t to, double duration,
                                      const double latency[MODEL_ACCESSES])
{
    double u = kernel->uncoalesced;
    if (from == READY)
        return to == READY ? 1 - kernel->wait : kernel->wait * (to == WAITS_COALESCED ? 1 - u : u);
    double wakes = duration < latency[from - 1] ? duration / latency[from - 1] : 1;
    return to == READY ? wakes : to == from ? 1 - wakes : 0;
}

/* matrix: n × n, overwritten; steady: n. States that cannot be reached must have been left out by probabilities of 0 into them. */
static inline void eliminate(double *matrix, uint32_t n, double *steady)
{
    for (uint32_t k = n - 1; k > 0; k--) {
        double out = 0;
        for (uint32_t j = 0; j < k; j++)
            out += matrix[(size_t)k * n + j];
        for (uint32_t i = 0; i < k; i++) {
            matrix[(size_t)i * n + k] /= out;
            for (uint32_t j = 0; j < k; j++)
                matrix[(size_t)i * n + j] += matrix[(size_t)i * n + k] * matrix[(size_t)k * n + j];
        }
    }
    double sum = steady[0] = 1;
    for (uint32_t k = 1; k < n; k++) {
        steady[k] = 0;
        for (uint32_t i = 0; i < k; i++)
            steady[k] += steady[i] * matrix[(size_t)i * n + k];
        sum += steady[k];
    }
    for (uint32_t k = 0; k < n; k++)
        steady[k] /= sum;
}

/* Kernels of 1 to some 6 warps together; latencies above the number of warps, so that every state leads to every other. */
static inline void brute_force(const struct chain *chain, double ipc[CHAIN_KERNELS])
{
    uint32_t warps = chain->kernels[0].warps + chain->kernels[1].warps, n = 1;
    for (uint32_t w = 0; w < warps; w++)
        n *= WARP_STATES;
    double *matrix = calloc((size_t)n * n, sizeof *matrix), *steady = calloc(n, sizeof *steady), time = 0;
    for (uint32_t from = 0; from < n; from++) {
        double latency[MODEL_ACCESSES], duration = round_from(chain, warps, from, latency);
        for (uint32_t to = 0; to < n; to++) {
            double p = 1;
            for (uint32_t w = 0; w < warps; w++)
                p *= warp_probability(kernel_of(chain, w), warp_state(from, w), warp_state(to, w), duration, latency);
            matrix[(size_t)from * n + to] = p;
        }
    }
    eliminate(matrix, n, steady);
    ipc[0] = ipc[1] = 0;
    for (uint32_t s = 0; s < n; s++) {
        double latency[MODEL_ACCESSES];
        time += steady[s] * round_from(chain, warps, s, latency);
        for (uint32_t w = 0; w < warps; w++)
            ipc[w >= chain->kernels[0].warps] += warp_state(s, w) == READY ? steady[s] : 0;
    }
    ipc[0] /= time;
    ipc[1] /= time;
    free(steady);
    free(matrix);
}

#endif
