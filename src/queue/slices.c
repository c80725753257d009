/* SPDX-License-Identifier: MIT */
/*
 * Slices: one launch after the other, alone, cut into slices of a given size: what slicing costs, against `sequential` (Kernelet, Zhong and He,
 * TPDS 2014, section 4.1).
 */
#include "queue/schedulers.h"

enum { PARAMETER_TBS, PARAMETER_IN_FLIGHT };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_TBS] = {"tbs", 1, 1, UINT32_MAX, true, "thread blocks of a slice", NULL},
    [PARAMETER_IN_FLIGHT] = {"in_flight", 1, 1, 1024, true, "slices in flight: 1: one after the other", NULL},
};

struct slices_state {
    uint32_t tbs, in_flight;
};

static enum corun_status slices_start(void *memory, const struct corun_queue_device *device, const double *values,
                                      const char **refusal)
{
    struct slices_state *state = memory;
    (void)device;
    (void)refusal;
    state->tbs = (uint32_t)values[PARAMETER_TBS];
    state->in_flight = (uint32_t)values[PARAMETER_IN_FLIGHT];
    return CORUN_OK;
}

static enum corun_status slices_plan(void *memory, const struct corun_queue_view *view, struct corun_queue_plan *plan)
{
    const struct slices_state *state = memory;
    uint64_t most = (uint64_t)state->tbs * state->in_flight;
    if (view->in_flight) {
        plan->until = CORUN_QUEUE_LAUNCH_END;
        return CORUN_OK;
    }
    plan->grants[plan->grant_count++] =
        (struct corun_queue_grant){.launch = view->first,
                                   .slice_tbs = state->tbs,
                                   .in_flight_tbs = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX};
    return CORUN_OK;
}

const struct corun_queue_scheduler slices_scheduler = {
    .version = CORUN_QUEUE_VERSION,
    .name = "slices",
    .summary = "one launch after the other, in slices of a given size",
    .paper = "Zhong and He, Kernelet, TPDS 2014, section 4.1",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .state_bytes = sizeof(struct slices_state),
    .start = slices_start,
    .plan = slices_plan,
};
