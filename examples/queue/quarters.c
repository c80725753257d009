/* SPDX-License-Identifier: MIT */
/*
 * A kernel scheduler of one's own (docs/queue.md): the oldest launch, a quarter of it at a time.
 *
 *     cc -std=c17 -O2 -shared -fPIC $(pkg-config --cflags corun) quarters.c -o quarters.so
 *     corun queue --scheduler ./quarters.so --scheduler base bs tea
 */
#include <corun/queue.h>

static enum corun_status quarters(void *state, const struct corun_queue_view *view, struct corun_queue_plan *plan)
{
    (void)state;
    uint32_t slice = view->launches[view->first].tbs / 4 + 1;
    plan->grants[0] = (struct corun_queue_grant){.launch = view->first, .slice_tbs = slice, .in_flight_tbs = slice};
    plan->grant_count = 1;
    plan->until = CORUN_QUEUE_EXHAUSTED;
    return CORUN_OK;
}

const struct corun_queue_scheduler corun_queue_scheduler = {.version = CORUN_QUEUE_VERSION,
                                                            .name = "quarters",
                                                            .summary = "the oldest launch, in quarters",
                                                            .paper = "",
                                                            .plan = quarters};
