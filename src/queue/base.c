/* SPDX-License-Identifier: MIT */
/*
 * Base: kernel consolidation (Ravi et al., HPDC 2011, as section 5.1 of Kernelet compares itself with it). Launches go into streams as they
 * come, whole, and the GPU runs side by side what fits beside the thread blocks of those before. Where kernels have thread blocks enough
 * to fill the GPU, that is the end of one and the beginning of the next.
 */
#include "queue/schedulers.h"

enum { PARAMETER_STREAMS };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_STREAMS] = {"streams", CORUN_QUEUE_MAX_GRANTS, 1, CORUN_QUEUE_MAX_GRANTS, true,
                           "launches that the GPU holds at a time, each in a stream of its own", NULL},
};

struct base_state {
    uint32_t streams;
};

static enum corun_status base_start(void *memory, const struct corun_queue_device *device, const double *values,
                                    const char **refusal)
{
    struct base_state *state = memory;
    (void)device;
    (void)refusal;
    state->streams = (uint32_t)values[PARAMETER_STREAMS];
    return CORUN_OK;
}

static enum corun_status base_plan(void *memory, const struct corun_queue_view *view, struct corun_queue_plan *plan)
{
    const struct base_state *state = memory;
    uint32_t launch = view->first;
    for (uint32_t busy = view->in_flight; busy < state->streams && launch != CORUN_QUEUE_NONE; busy++) {
        plan->grants[plan->grant_count++] = (struct corun_queue_grant){.launch = launch};
        launch = view->launches[launch].next;
    }
    return CORUN_OK; /* without grants: until a stream is free */
}

const struct corun_queue_scheduler base_scheduler = {
    .version = CORUN_QUEUE_VERSION,
    .name = "base",
    .summary = "kernel consolidation: whole launches into streams as they come",
    .paper = "Zhong and He, Kernelet, TPDS 2014, section 5.1; Ravi et al., HPDC 2011",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .state_bytes = sizeof(struct base_state),
    .start = base_start,
    .plan = base_plan,
};
