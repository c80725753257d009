/* SPDX-License-Identifier: MIT */
/*
 * static-opt: the operating system, with so many instances of batch programs that the services keep their goals. How many these are is found
 * beforehand by trying (host/study.h), which is what makes it a bound and no policy for a real host: EMU, section 5.5.2.
 */
#include "allot/policies.h"

enum { INSTANCES, QUERIES };

struct static_opt {
    uint32_t queries;
};

static const struct corun_host_parameter parameters[] = {
    [INSTANCES] = {"instances", 0, 0, 1024, true, "of each batch program that run", NULL},
    [QUERIES] = {"queries", 16, 0, 256, true, "of a service that run at a time; 0: all", NULL},
};

static enum corun_status start(void *state, const struct corun_host_view *view, const double *values,
                               struct corun_host_allowances *allowances)
{
    struct static_opt *static_opt = state;
    static_opt->queries = (uint32_t)values[QUERIES];
    for (uint32_t a = 0; a < view->application_count; a++)
        allowances->instances[a] = (uint32_t)values[INSTANCES];
    return CORUN_OK;
}

static void decide(void *state, const struct corun_host_view *view, struct corun_host_moment moment,
                   struct corun_host_allowances *allowances)
{
    const struct static_opt *static_opt = state;
    (void)moment;
    allot_start_up_to(view, static_opt->queries, allowances);
}

const struct corun_host_policy allot_static_opt = {
    .version = CORUN_HOST_POLICY_VERSION,
    .name = "static-opt",
    .summary = "everything shared, with as many batch instances as were found to do no harm",
    .paper = "Wang, thesis, SJTU 2017, section 5.5.2",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .needs = 1u << CORUN_HOST_CAN_INSTANCES,
    .state_bytes = sizeof(struct static_opt),
    .start = start,
    .decide = decide,
};
