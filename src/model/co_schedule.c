/* SPDX-License-Identifier: MIT */
/* Co-schedules of two kernels: the candidates, what each brings, and the balanced one. */
#include "model/co_schedule.h"

#include "model/prediction_memo.h"

#include <math.h>

/* Of an IPC that has been solved for: what its digits leave open (docs/model.md). */
#define REACH_MARGIN 1.001

double model_profit(const double together[2], const double alone[2])
{
    double sum = 0;
    for (uint32_t k = 0; k < 2; k++) {
        if (!(alone[k] > 0))
            return NAN;
        sum += together[k] / alone[k];
    }
    return 1 - 1 / sum;
}

double model_profit_limit(const struct model_gpu *gpu, const double reach[2], const double alone[2])
{
    double slots = gpu->schedulers * gpu->issue_rate, most[2];
    if (!(alone[0] > 0 && alone[1] > 0))
        return INFINITY;
    uint32_t first = alone[0] <= alone[1] ? 0 : 1; /* a slot is worth more to the slower one */
    most[first] = fmin(reach[first] * REACH_MARGIN, slots);
    most[1 - first] = fmin(reach[1 - first] * REACH_MARGIN, slots * REACH_MARGIN - most[first]);
    return 1 - 1 / (most[0] / alone[0] + most[1] / alone[1]);
}

double model_imbalance(const struct model_gpu *gpu, const struct model_kernel *const kernels[2],
                       const uint32_t slices[2], const double ipc[2], double seconds[2])
{
    for (uint32_t k = 0; k < 2; k++) {
        double instructions = kernels[k]->tb_instructions * slices[k];
        seconds[k] = ipc[k] > 0 ? instructions / ipc[k] / (1e3 * gpu->clock_khz) : INFINITY;
    }
    return isinf(seconds[0]) || isinf(seconds[1]) ? INFINITY : fabs(seconds[0] - seconds[1]);
}

uint32_t model_candidates(const struct model_gpu *gpu, const struct model_kernel *const kernels[2],
                          uint32_t residents[MODEL_MAX_CO_SCHEDULES][2])
{
    uint32_t most = model_kernel_residents_beside(gpu, kernels[0], kernels[1], 1), count = 0;
    for (uint32_t first = 1; first <= most && count < MODEL_MAX_CO_SCHEDULES; first++) {
        uint32_t second = model_kernel_residents_beside(gpu, kernels[1], kernels[0], first);
        if (second == 0)
            break;
        /* with room for one more of the first, the next candidate has all of this one and more */
        if (model_kernel_residents_beside(gpu, kernels[0], kernels[1], second) > first)
            continue;
        residents[count][0] = first;
        residents[count++][1] = second;
    }
    return count;
}

enum corun_status model_co_schedules(const struct model_gpu *gpu, const struct model_kernel *const kernels[2],
                                     const double alone[2], struct model_co_schedule list[MODEL_MAX_CO_SCHEDULES],
                                     uint32_t *count)
{
    uint32_t residents[MODEL_MAX_CO_SCHEDULES][2], candidates = model_candidates(gpu, kernels, residents);
    struct prediction_memo memo = {.count = 0};
    *count = 0;
    for (uint32_t i = 0; i < candidates; i++) {
        struct model_prediction prediction;
        enum corun_status status = prediction_of_pair(gpu, kernels, residents[i], MODEL_LUMPED, &memo, &prediction);
        if (status != CORUN_OK)
            return status;
        struct model_co_schedule *one = &list[(*count)++];
        *one = (struct model_co_schedule){.residents = {residents[i][0], residents[i][1]},
                                          .ipc = {prediction.ipc[0], prediction.ipc[1]},
                                          .profit = model_profit(prediction.ipc, alone)};
        double difference = model_imbalance(gpu, kernels, one->residents, one->ipc, one->seconds);
        one->imbalance = isinf(difference) ? 1 : difference / fmax(one->seconds[0], one->seconds[1]);
    }
    return CORUN_OK;
}

static double difference_of(const struct model_co_schedule *one)
{
    double difference = fabs(one->seconds[0] - one->seconds[1]);
    return isnan(difference) ? INFINITY : difference; /* neither comes to an end */
}

const struct model_co_schedule *model_balanced(const struct model_co_schedule *list, uint32_t count)
{
    const struct model_co_schedule *best = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (!best || difference_of(&list[i]) < difference_of(best))
            best = &list[i];
    return best;
}

const struct model_co_schedule *model_most_profitable(const struct model_co_schedule *list, uint32_t count)
{
    const struct model_co_schedule *best = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (!best || list[i].profit > best->profit)
            best = &list[i];
    return best;
}
