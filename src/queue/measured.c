/* SPDX-License-Identifier: MIT */
/* Speeds of co-schedules over speeds alone. */
#include "queue/measured.h"

uint32_t measured_candidates(const struct corun_queue_view *view, const uint32_t kinds[2],
                             uint32_t residents[MODEL_MAX_CO_SCHEDULES][2])
{
    struct model_gpu gpu;
    struct model_kernel kernels[2];
    const struct model_kernel *const both[2] = {&kernels[0], &kernels[1]};
    describe_device(view->device, &gpu);
    for (int i = 0; i < 2; i++)
        describe_kernel(&view->kinds[kinds[i]].profile, &kernels[i]);
    return model_candidates(&gpu, both, residents);
}

/* Thread blocks per tick. */
static bool measure_alone(const struct corun_queue_view *view, uint32_t kind, double *speed)
{
    struct corun_queue_grant grant = describe_alone(view, kind);
    struct corun_queue_co_schedule alone = {
        .kinds = {kind, CORUN_QUEUE_NONE}, .slice_tbs = {grant.slice_tbs}, .in_flight_tbs = {grant.in_flight_tbs}};
    struct corun_queue_speeds speeds;
    if (!view->measure(view->measurer, &alone, &speeds) || !speeds.tbs[0] || !speeds.ticks)
        return false;
    *speed = (double)speeds.tbs[0] / (double)speeds.ticks;
    return true;
}

bool measured_profit(const struct corun_queue_view *view, const uint32_t kinds[2], const uint32_t residents[2],
                     double *profit)
{
    struct corun_queue_co_schedule pair;
    struct corun_queue_speeds speeds;
    double alone[2], together[2];
    for (int i = 0; i < 2; i++) {
        struct corun_queue_grant grant = describe_grant(view, kinds[i], residents[i], 0);
        pair.kinds[i] = kinds[i];
        pair.slice_tbs[i] = grant.slice_tbs;
        pair.in_flight_tbs[i] = grant.in_flight_tbs;
        if (!measure_alone(view, kinds[i], &alone[i]))
            return false;
    }
    if (!view->measure(view->measurer, &pair, &speeds) || !speeds.ticks)
        return false;
    for (int i = 0; i < 2; i++)
        together[i] = (double)speeds.tbs[i] / (double)speeds.ticks;
    *profit = model_profit(together, alone);
    return true;
}
