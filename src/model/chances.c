/* SPDX-License-Identifier: MIT */
/* The chances of warps whose accesses are not told apart, and those of the mean round. */
#include "model/chances.h"

#include <math.h>

#define LUMPING_ROUNDS 4u
#define MEAN_ROUNDS 12u

/* A number for each state of a row. */
typedef double row_of[CHAIN_MAX_WARPS + 1];

static void pure_row(const struct chain *chain, uint32_t k, uint32_t idle, row_of chances)
{
    enum model_access kind = chain->kernels[k].uncoalesced >= 1 ? MODEL_UNCOALESCED : MODEL_COALESCED;
    double each[CHAIN_KERNELS], all = chain->kernels[0].warps + (double)chain->kernels[1].warps;
    for (uint32_t i = 0; i < CHAIN_KERNELS; i++)
        each[i] = chain->kernels[i].requests[chain->kernels[i].uncoalesced >= 1 ? MODEL_UNCOALESCED : MODEL_COALESCED];
    for (uint32_t b = 0; b <= chain->kernels[1].warps; b++) {
        double waiting = (int32_t)b, ready = all - idle - waiting, duration = ready > 1 ? ready : 1;
        double latency = chances_latency(chain, kind, idle * each[0] + waiting * each[1]);
        chances[b] = duration / (latency > duration ? latency : duration);
    }
}

/* What the waiting warps of a row's states have asked for: mean and variance of the requests of one of each kernel, and of all. */
struct requests {
    row_of means[CHAIN_KERNELS], variances[CHAIN_KERNELS], mean, variance;
};

static void sum_requests(const struct chain *chain, uint32_t idle, row_of waiting[CHAIN_KERNELS],
                         struct requests *requests)
{
    uint32_t count = chain->kernels[1].warps + 1;
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++) {
        const double *each = chain->kernels[k].requests;
        double apart = each[MODEL_UNCOALESCED] - each[MODEL_COALESCED], least = each[MODEL_COALESCED];
        for (uint32_t b = 0; b < count; b++) {
            requests->means[k][b] = least + waiting[k][b] * apart;
            requests->variances[k][b] = waiting[k][b] * (1 - waiting[k][b]) * apart * apart;
        }
    }
    for (uint32_t b = 0; b < count; b++) {
        double other = (int32_t)b;
        requests->mean[b] = idle * requests->means[0][b] + other * requests->means[1][b];
        requests->variance[b] = idle * requests->variances[0][b] + other * requests->variances[1][b];
    }
}

/* The chance of a warp that waits for an access of a kind, where what is under way has a mean and a deviation: averaged over the two points that have the same. */
static inline double averaged_chance(const struct chain *chain, enum model_access kind, double mean, double deviation,
                                     double duration)
{
    double shorter = chances_latency(chain, kind, mean - deviation),
           longer = chances_latency(chain, kind, mean + deviation);
    shorter = shorter > duration ? shorter : duration;
    longer = longer > duration ? longer : duration;
    return duration * (shorter + longer) / (2 * shorter * longer);
}

/*
 * Seen from a warp of kernel k that waits for an access of some kind, each of the others waits for an uncoalesced one with the chance
 * `waiting` of its kernel.
 */
static void lump_kernel(const struct chain *chain, uint32_t idle, uint32_t k, const struct requests *requests,
                        row_of waiting, row_of chances)
{
    const double *each = chain->kernels[k].requests;
    double all = chain->kernels[0].warps + (double)chain->kernels[1].warps, share = chain->kernels[k].uncoalesced;
    for (uint32_t b = 0; b <= chain->kernels[1].warps; b++) {
        double variance = requests->variance[b] - requests->variances[k][b], ready = all - idle - (int32_t)b;
        double deviation = sqrt(variance > 0 ? variance : 0), duration = ready > 1 ? ready : 1;
        double others = requests->mean[b] - requests->means[k][b];
        double coalesced = averaged_chance(chain, MODEL_COALESCED, others + each[MODEL_COALESCED], deviation, duration),
               uncoalesced =
                   averaged_chance(chain, MODEL_UNCOALESCED, others + each[MODEL_UNCOALESCED], deviation, duration);
        waiting[b] = share * coalesced / (share * coalesced + (1 - share) * uncoalesced);
        chances[b] = coalesced + waiting[b] * (uncoalesced - coalesced);
    }
}

/* What the waiting warps wait for depends on the chances in turn: the rounds settle that. */
static void mixed_row(const struct chain *chain, uint32_t idle, row_of chances[CHAIN_KERNELS])
{
    row_of waiting[CHAIN_KERNELS];
    struct requests requests;
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
        for (uint32_t b = 0; b <= chain->kernels[1].warps; b++)
            waiting[k][b] = chain->kernels[k].uncoalesced;
    for (uint32_t round = 0; round < LUMPING_ROUNDS; round++) {
        sum_requests(chain, idle, waiting, &requests);
        for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
            if (chances_mixed(&chain->kernels[k]) || round + 1 == LUMPING_ROUNDS)
                lump_kernel(chain, idle, k, &requests, waiting[k], chances[k]);
    }
}

void chances_lumped(const struct chain *chain, uint32_t idle, double chances[CHAIN_KERNELS][CHAIN_MAX_WARPS + 1])
{
    if (chances_mixed(&chain->kernels[0]) || chances_mixed(&chain->kernels[1])) {
        mixed_row(chain, idle, chances);
        return;
    }
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
        pure_row(chain, k, idle, chances[k]);
}

void chances_in_the_mean(const struct chain *chain, double waits[CHAIN_KERNELS], double uncoalesced[CHAIN_KERNELS])
{
    double duration = chain->kernels[0].warps + (double)chain->kernels[1].warps, requests = 0;
    for (uint32_t round = 0; round < MEAN_ROUNDS; round++) {
        double latencies[MODEL_ACCESSES], ready = 0, next = 0;
        for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++) {
            double latency = chances_latency(chain, kind, requests);
            latencies[kind] = latency > duration ? latency : duration;
        }
        for (uint32_t k = 0; k < CHAIN_KERNELS; k++) {
            const struct chain_kernel *kernel = &chain->kernels[k];
            double longer = kernel->uncoalesced * latencies[MODEL_UNCOALESCED],
                   latency = longer + (1 - kernel->uncoalesced) * latencies[MODEL_COALESCED];
            waits[k] = kernel->wait * latency / (duration + kernel->wait * latency);
            uncoalesced[k] = longer / latency;
            double waiting = kernel->warps * waits[k];
            ready += kernel->warps - waiting;
            next +=
                waiting * (kernel->requests[MODEL_COALESCED] +
                           uncoalesced[k] * (kernel->requests[MODEL_UNCOALESCED] - kernel->requests[MODEL_COALESCED]));
        }
        requests = next;
        duration = (duration + (ready > 1 ? ready : 1)) / 2;
    }
}
