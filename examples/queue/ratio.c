/* SPDX-License-Identifier: MIT */
/*
 * A kernel scheduler that measures co-schedules (docs/queue.md): two kinds of kernels side by side, so many thread blocks of each on an SM, until one
 * of them has no more launches. The rest runs alone, in slices, the oldest launch first.
 *
 *     cc -std=c17 -O2 -shared -fPIC $(pkg-config --cflags corun) ratio.c -o ratio.so
 *     corun queue --scheduler ./ratio.so:first=0,second=1,first_tbs=4,second_tbs=8 bs tea
 */
#include <corun/queue.h>

enum { FIRST, SECOND, FIRST_TBS, SECOND_TBS, WAITING };

static const struct corun_policy_parameter parameters[] = {
    [FIRST] = {"first", 0, 0, 31, true, "one of the kinds, in the order of the command line", NULL},
    [SECOND] = {"second", 1, 0, 31, true, "the other one", NULL},
    [FIRST_TBS] = {"first_tbs", 1, 1, 64, true, "thread blocks of the first on an SM", NULL},
    [SECOND_TBS] = {"second_tbs", 1, 1, 64, true, "thread blocks of the second on an SM", NULL},
    [WAITING] = {"waiting", 0, 0, 16, true, "slices of each that wait for places on the SMs", NULL},
};

struct ratio {
    uint32_t kinds[2], tbs[2], waiting;
};

static enum corun_status start(void *state, const struct corun_queue_device *device, const double *values,
                               const char **refusal)
{
    (void)device;
    *(struct ratio *)state = (struct ratio){{(uint32_t)values[FIRST], (uint32_t)values[SECOND]},
                                            {(uint32_t)values[FIRST_TBS], (uint32_t)values[SECOND_TBS]},
                                            (uint32_t)values[WAITING]};
    *refusal = "first and second are the same kind";
    return values[FIRST] == values[SECOND] ? CORUN_ARGUMENT : CORUN_OK;
}

/* With none waiting, slices are cut to what has places. Alone a kernel has what fills the GPU in flight, and one slice more. */
static struct corun_queue_grant grant(const struct corun_queue_view *view, uint32_t launch, uint32_t tbs,
                                      uint32_t waiting)
{
    const struct corun_queue_profile *profile = &view->kinds[view->launches[launch].kind].profile;
    uint32_t sms = view->device->sm_count, slice = profile->smallest_slice ? profile->smallest_slice : sms;
    uint32_t places = tbs * sms;
    if (!waiting && slice > places)
        slice = places;
    return (struct corun_queue_grant){.launch = launch, .slice_tbs = slice, .in_flight_tbs = places + waiting * slice};
}

static enum corun_status plan(void *state, const struct corun_queue_view *view, struct corun_queue_plan *plan)
{
    const struct ratio *ratio = state;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t kind = ratio->kinds[i];
        if (kind < view->kind_count && view->kinds[kind].pending)
            plan->grants[plan->grant_count++] = grant(view, view->kinds[kind].first, ratio->tbs[i], ratio->waiting);
    }
    if (plan->grant_count < 2) {
        const struct corun_queue_profile *profile = &view->kinds[view->launches[view->first].kind].profile;
        plan->grants[0] = grant(view, view->first, profile->tbs_per_sm, 1);
        plan->grant_count = 1;
    }
    plan->until = CORUN_QUEUE_EXHAUSTED | CORUN_QUEUE_NEW_KIND;
    return CORUN_OK;
}

const struct corun_queue_scheduler corun_queue_scheduler = {.version = CORUN_QUEUE_VERSION,
                                                            .name = "ratio",
                                                            .summary = "two kinds side by side, in a ratio",
                                                            .paper = "",
                                                            .parameters = parameters,
                                                            .parameter_count = sizeof parameters / sizeof parameters[0],
                                                            .needs_profiles = true,
                                                            .state_bytes = sizeof(struct ratio),
                                                            .start = start,
                                                            .plan = plan};
