/* SPDX-License-Identifier: MIT */
/* Sequential: one launch after the other, whole, in the order in which they became ready (Kernelet, figure 6: the reference). */
#include "queue/schedulers.h"

static enum corun_status sequential_plan(void *state, const struct corun_queue_view *view,
                                         struct corun_queue_plan *plan)
{
    (void)state;
    if (view->in_flight)
        return CORUN_OK; /* until it has ended */
    plan->grants[plan->grant_count++] = (struct corun_queue_grant){.launch = view->first};
    return CORUN_OK;
}

const struct corun_queue_scheduler sequential_scheduler = {
    .version = CORUN_QUEUE_VERSION,
    .name = "sequential",
    .summary = "one launch after the other",
    .paper = "Zhong and He, Kernelet, TPDS 2014, figure 6",
    .plan = sequential_plan,
};
