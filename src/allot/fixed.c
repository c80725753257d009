/* SPDX-License-Identifier: MIT */
/* fixed: every query gets the same cores and ways of its own, and waits until they are free; batch gets the rest. */
#include "allot/policies.h"

enum { CORES, WAYS };

static const struct corun_host_parameter parameters[] = {
    [CORES] = {"cores", 1, 1, 1024, true, "of each query", NULL},
    [WAYS] = {"ways", 1, 0, 64, true, "of each query; 0: the common ones", NULL},
};

struct fixed {
    struct corun_host_share share;
};

static enum corun_status start(void *state, const struct corun_host_view *view, const double *values,
                               struct corun_host_allowances *allowances)
{
    struct fixed *fixed = state;
    fixed->share = (struct corun_host_share){(uint32_t)values[CORES], (uint32_t)values[WAYS]};
    if (fixed->share.cores <= view->core_count && fixed->share.ways <= view->way_count)
        return CORUN_OK;
    allowances->refusal = "gives a query more than the host has";
    return CORUN_ARGUMENT;
}

static void decide(void *state, const struct corun_host_view *view, struct corun_host_moment moment,
                   struct corun_host_allowances *allowances)
{
    const struct fixed *fixed = state;
    (void)moment;
    for (;;) {
        struct corun_host_share free = allot_free(view, allowances);
        uint32_t q = allot_first_waiting(view, allowances);
        if (q == CORUN_HOST_NONE || free.cores < fixed->share.cores || free.ways < fixed->share.ways)
            return;
        allowances->query[q] = fixed->share;
        allowances->start[q] = true;
    }
}

const struct corun_host_policy allot_fixed = {
    .version = CORUN_HOST_POLICY_VERSION,
    .name = "fixed",
    .summary = "the same cores and ways for every query, in order of arrival; batch gets the rest",
    .paper = "none",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .needs = 1u << CORUN_HOST_CAN_CORES | 1u << CORUN_HOST_CAN_START | 1u << CORUN_HOST_CAN_QUERY,
    .state_bytes = sizeof(struct fixed),
    .start = start,
    .decide = decide,
};
