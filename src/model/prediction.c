/* SPDX-License-Identifier: MIT */
/* From an SM to its virtual SMs, one chain for each kind of them, and back. */
#include "model/prediction.h"

#include "model/expansion.h"
#include "model/prediction_memo.h"

#include <math.h>
#include <string.h>

#define EXACT_TOLERANCE 1e-9
/* Where a decision's expansion does not settle (model/expansion.h). */
#define DECISION_TOLERANCE 1e-5

/* Of `warps` warps that are dealt to the schedulers in turn, the first one to scheduler `from`: how many this scheduler has. */
static uint32_t dealt(uint32_t warps, uint32_t schedulers, uint32_t from, uint32_t scheduler)
{
    uint32_t turn = (scheduler + schedulers - from % schedulers) % schedulers;
    return warps / schedulers + (turn < warps % schedulers);
}

static void describe_kernel(const struct model_kernel *kernel, struct chain_kernel *own)
{
    *own = (struct chain_kernel){.wait = kernel->memory_share,
                                 .uncoalesced = kernel->uncoalesced_share,
                                 .requests = {kernel->coalesced_requests, kernel->uncoalesced_requests}};
}

/* The chain's steady state, if it is not known yet. */
static enum corun_status solve(const struct chain *chain, struct prediction_memo *memo, struct chain_steady *steady)
{
    uint32_t first = chain->kernels[0].warps, second = chain->kernels[1].warps;
    if (first + second == 0) {
        *steady = (struct chain_steady){.stalled = 1};
        return CORUN_OK;
    }
    for (uint32_t i = 0; i < memo->count; i++)
        if (memo->entries[i].warps[0] == first && memo->entries[i].warps[1] == second) {
            *steady = memo->entries[i].steady;
            return CORUN_OK;
        }
    enum corun_status status =
        chain->states == MODEL_LUMPED ? expansion_solve(chain, steady) : chain_solve(chain, steady);
    if (status == CORUN_OK && memo->count < PREDICTION_MEMO_ENTRIES) {
        memo->entries[memo->count].warps[0] = first;
        memo->entries[memo->count].warps[1] = second;
        memo->entries[memo->count++].steady = *steady;
    }
    return status;
}

enum corun_status prediction_of_pair(const struct model_gpu *gpu, const struct model_kernel *const kernels[2],
                                     const uint32_t tbs[2], enum model_states states, struct prediction_memo *memo,
                                     struct model_prediction *prediction)
{
    struct chain chain = {.states = states, .tolerance = states == MODEL_EXACT ? EXACT_TOLERANCE : DECISION_TOLERANCE};
    uint64_t warps[2] = {0, 0};
    if (gpu->schedulers == 0 || !(gpu->issue_rate > 0) || tbs[0] + (uint64_t)tbs[1] == 0)
        return CORUN_ARGUMENT;
    for (uint32_t k = 0; k < 2; k++) {
        if (tbs[k] == 0)
            continue;
        describe_kernel(kernels[k], &chain.kernels[k]);
        warps[k] = (uint64_t)tbs[k] * kernels[k]->tb_warps;
        if (warps[k] == 0 || warps[k] > (uint64_t)CHAIN_MAX_WARPS * gpu->schedulers)
            return CORUN_ARGUMENT;
    }
    /* Slots in place of cycles, and the requests of a virtual SM in place of the SM's. */
    for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++)
        chain.latency[kind] = (struct model_line){gpu->latency[kind].slope * gpu->schedulers * gpu->issue_rate,
                                                  gpu->latency[kind].intercept * gpu->issue_rate};
    *prediction = (struct model_prediction){0};
    struct chain_steady steady = {0};
    uint32_t largest = 0;
    for (uint32_t s = 0; s < gpu->schedulers; s++) {
        uint32_t own[2] = {dealt((uint32_t)warps[0], gpu->schedulers, 0, s),
                           dealt((uint32_t)warps[1], gpu->schedulers, (uint32_t)(warps[0] % gpu->schedulers), s)};
        chain.kernels[0].warps = own[0];
        chain.kernels[1].warps = own[1];
        enum corun_status status = solve(&chain, memo, &steady);
        if (status != CORUN_OK)
            return status;
        for (uint32_t k = 0; k < 2; k++)
            prediction->ipc[k] += steady.ipc[k] * gpu->issue_rate;
        prediction->stalled += steady.stalled / gpu->schedulers;
        prediction->idle_warps += steady.idle_warps;
        if (steady.states > largest) {
            largest = steady.states;
            prediction->iterations = steady.iterations;
        }
    }
    prediction->total = prediction->ipc[0] + prediction->ipc[1];
    return CORUN_OK;
}

enum corun_status model_predict_pair(const struct model_gpu *gpu, const struct model_kernel *const kernels[2],
                                     const uint32_t tbs[2], enum model_states states,
                                     struct model_prediction *prediction)
{
    struct prediction_memo memo = {.count = 0};
    return prediction_of_pair(gpu, kernels, tbs, states, &memo, prediction);
}

enum corun_status model_predict(const struct model_gpu *gpu, const struct model_kernel *kernel, uint32_t tbs,
                                enum model_states states, struct model_prediction *prediction)
{
    const struct model_kernel *const kernels[2] = {kernel, NULL};
    return model_predict_pair(gpu, kernels, (const uint32_t[2]){tbs, 0}, states, prediction);
}
