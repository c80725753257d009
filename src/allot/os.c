/* SPDX-License-Identifier: MIT */
/* os: the operating system alone. Everything shares all cores and the whole cache, and queries start when they arrive. */
#include "allot/policies.h"

enum { SHARE, INSTANCES, QUERIES };

struct os {
    uint32_t queries;
};

static const struct corun_host_parameter parameters[] = {
    [SHARE] = {"share", 0, 0, 1, true, "who gets equal turns on the cores", "threads|applications"},
    [INSTANCES] = {"instances", 0, 0, 1024, true, "of each batch program that run; 0: all", NULL},
    [QUERIES] = {"queries", 16, 0, 256, true, "of a service that run at a time; 0: all", NULL},
};

static enum corun_status start(void *state, const struct corun_host_view *view, const double *values,
                               struct corun_host_allowances *allowances)
{
    struct os *os = state;
    os->queries = (uint32_t)values[QUERIES];
    for (uint32_t a = 0; a < view->application_count && values[INSTANCES] > 0; a++)
        allowances->instances[a] = (uint32_t)values[INSTANCES];
    allowances->fairness = values[SHARE] > 0 ? CORUN_HOST_FAIR_APPLICATIONS : CORUN_HOST_FAIR_THREADS;
    return CORUN_OK;
}

static void decide(void *state, const struct corun_host_view *view, struct corun_host_moment moment,
                   struct corun_host_allowances *allowances)
{
    const struct os *os = state;
    (void)moment;
    allot_start_up_to(view, os->queries, allowances);
}

const struct corun_host_policy allot_os = {
    .version = CORUN_HOST_POLICY_VERSION,
    .name = "os",
    .summary = "everything shares all cores and the whole cache",
    .paper = "EMU, section 5.3.2",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .state_bytes = sizeof(struct os),
    .start = start,
    .decide = decide,
};
