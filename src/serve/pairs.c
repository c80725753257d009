/* SPDX-License-Identifier: MIT */
/* All ratios of all pairs are listed, measured side by side, and then looked up one by one. */
#include "serve/pairs.h"

#include "base/vector.h"
#include "queue/describe.h"

#include <math.h>
#include <stdlib.h>

struct pairs {
    struct steady *steady;
    struct serve_result *result;
    struct model_gpu gpu;
    struct corun_queue_kind *kinds;
    struct corun_queue_view view;
    struct model_kernel *models;
    VECTOR(struct corun_queue_co_schedule) list;
    VECTOR(struct serve_pair) rows;
    bool balanced_only;
};

static struct corun_queue_co_schedule co_schedule_of(const struct pairs *pairs, const uint32_t kernels[2],
                                                     const uint32_t residents[2])
{
    struct corun_queue_co_schedule row = {.kinds = {kernels[0], kernels[1]}};
    for (int i = 0; i < 2 && kernels[i] != CORUN_QUEUE_NONE; i++) {
        struct corun_queue_grant grant = residents ? describe_grant(&pairs->view, kernels[i], residents[i], 0)
                                                   : describe_alone(&pairs->view, kernels[i]);
        row.slice_tbs[i] = grant.slice_tbs;
        row.in_flight_tbs[i] = grant.in_flight_tbs;
    }
    return row;
}

static enum corun_status predict_alone(struct pairs *pairs)
{
    struct serve_result *result = pairs->result;
    result->predicted_alone = ARENA_ARRAY(result->arena, double, result->kernel_count + 1);
    result->measured_alone = ARENA_ARRAY(result->arena, double, result->kernel_count + 1);
    if (!result->predicted_alone || !result->measured_alone)
        return CORUN_MEMORY;
    for (uint32_t k = 0; k < result->kernel_count; k++) {
        struct model_prediction prediction;
        enum corun_status status =
            model_predict(&pairs->gpu, &pairs->models[k], model_kernel_residents(&pairs->gpu, &pairs->models[k]),
                          MODEL_LUMPED, &prediction);
        if (status == CORUN_MEMORY)
            return status;
        result->predicted_alone[k] = status == CORUN_OK ? prediction.ipc[0] : NAN;
        const uint32_t alone[2] = {k, CORUN_QUEUE_NONE};
        if (!vector_push(&pairs->list, co_schedule_of(pairs, alone, NULL)))
            return CORUN_MEMORY;
    }
    return CORUN_OK;
}

static enum corun_status predict_pair(struct pairs *pairs, uint32_t a, uint32_t b)
{
    const struct model_kernel *const both[2] = {&pairs->models[a], &pairs->models[b]};
    const double *alone = pairs->result->predicted_alone, predicted[2] = {alone[a], alone[b]};
    struct model_co_schedule list[MODEL_MAX_CO_SCHEDULES];
    uint32_t count;
    enum corun_status status = model_co_schedules(&pairs->gpu, both, predicted, list, &count);
    if (status != CORUN_OK)
        return status;
    const struct model_co_schedule *balanced = model_balanced(list, count);
    for (uint32_t i = 0; i < count; i++) {
        if (pairs->balanced_only && &list[i] != balanced)
            continue;
        const struct serve_pair row = {.kernels = {a, b},
                                       .residents = {list[i].residents[0], list[i].residents[1]},
                                       .balanced = &list[i] == balanced,
                                       .predicted_ipc = {list[i].ipc[0], list[i].ipc[1]},
                                       .predicted_profit = list[i].profit};
        if (!vector_push(&pairs->rows, row) ||
            !vector_push(&pairs->list, co_schedule_of(pairs, row.kernels, row.residents)))
            return CORUN_MEMORY;
    }
    return CORUN_OK;
}

/* Thread blocks in so many ticks, as warp instructions per cycle of an SM. */
static double ipc_of(const struct pairs *pairs, uint32_t kernel, uint64_t tbs, uint64_t ticks)
{
    const struct corun_queue_device *device = &pairs->result->device;
    double cycles = (double)ticks * device->core_khz / device->clock_khz;
    return (double)tbs * pairs->result->kernels[kernel].profile.tb_instructions / cycles / device->sm_count;
}

static enum corun_status look_up(struct pairs *pairs)
{
    struct serve_result *result = pairs->result;
    for (size_t i = 0; i < pairs->list.count; i++) {
        struct corun_queue_speeds speeds;
        enum corun_status status = steady_speeds(pairs->steady, &pairs->list.data[i], &speeds);
        if (status != CORUN_OK)
            return status;
        if (i < result->kernel_count) {
            result->measured_alone[i] = ipc_of(pairs, (uint32_t)i, speeds.tbs[0], speeds.ticks);
            continue;
        }
        struct serve_pair *row = &pairs->rows.data[i - result->kernel_count];
        double alone[2];
        for (int k = 0; k < 2; k++) {
            row->measured_ipc[k] = ipc_of(pairs, row->kernels[k], speeds.tbs[k], speeds.ticks);
            alone[k] = result->measured_alone[row->kernels[k]];
        }
        row->measured_profit = model_profit(row->measured_ipc, alone);
    }
    result->pairs = ARENA_ARRAY(result->arena, struct serve_pair, pairs->rows.count + 1);
    if (!result->pairs)
        return CORUN_MEMORY;
    for (size_t i = 0; i < pairs->rows.count; i++)
        result->pairs[i] = pairs->rows.data[i];
    result->pair_count = (uint32_t)pairs->rows.count;
    return CORUN_OK;
}

enum corun_status pairs_measure(struct steady *steady, bool balanced_only, struct serve_result *result,
                                struct corun_diagnostics *list)
{
    uint32_t count = result->kernel_count;
    struct pairs pairs = {.steady = steady,
                          .result = result,
                          .balanced_only = balanced_only,
                          .kinds = ARENA_ARRAY(result->arena, struct corun_queue_kind, count + 1),
                          .models = ARENA_ARRAY(result->arena, struct model_kernel, count + 1)};
    if (!pairs.kinds || !pairs.models)
        return CORUN_MEMORY;
    pairs.view = (struct corun_queue_view){.device = &result->device, .kinds = pairs.kinds};
    describe_device(&result->device, &pairs.gpu);
    for (uint32_t k = 0; k < count; k++) {
        pairs.kinds[k] = (struct corun_queue_kind){.profile = result->kernels[k].profile};
        describe_kernel(&pairs.kinds[k].profile, &pairs.models[k]);
    }
    enum corun_status status = predict_alone(&pairs);
    for (uint32_t a = 0; a < count; a++) {
        for (uint32_t b = a + 1; b < count && status == CORUN_OK; b++)
            status = predict_pair(&pairs, a, b);
    }
    if (status == CORUN_ARGUMENT)
        status = corun_report(list, status, CORUN_NOWHERE, "the chain can say nothing of these kernels on this GPU");
    if (status == CORUN_OK)
        status = steady_prepare(steady, pairs.list.data, pairs.list.count);
    if (status == CORUN_OK)
        status = look_up(&pairs);
    vector_free(&pairs.list);
    vector_free(&pairs.rows);
    return status;
}
